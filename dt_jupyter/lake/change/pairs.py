"""Rows with weights, less those that came and went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model.hidden import WEIGHT, hidden

if TYPE_CHECKING:
    import pyarrow as pa

_ROW = hidden("row")


def paired_off(rows: pa.Table) -> pa.Table:
    """Rows of weight ±1 without those that are in it with both weights, copy by copy."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(rows[WEIGHT]).as_py()
    if ends["min"] == ends["max"]:
        return rows
    content = [c for c in rows.column_names if c != WEIGHT]
    if content and _is_hashed(rows.select(content)):
        different = rows.select(content).group_by(content).aggregate([]).num_rows
        if different == rows.num_rows:
            return rows
    weights = rows[WEIGHT].to_pylist()
    net: dict[int, int] = {}
    of_row = _contents(rows.select(content))
    for key, weight in zip(of_row, weights, strict=True):
        net[key] = net.get(key, 0) + weight
    if sum(map(abs, net.values())) == rows.num_rows:
        return rows
    kept = []
    for i, (key, weight) in enumerate(zip(of_row, weights, strict=True)):
        if net[key] * weight > 0:
            net[key] -= weight
            kept.append(i)
    return rows.take(pa.array(kept, pa.int64()))


def _is_hashed(rows: pa.Table) -> bool:
    """Whether Arrow groups the rows by exact bytes."""
    import pyarrow as pa

    return not any(pa.types.is_nested(f.type) or pa.types.is_floating(f.type) for f in rows.schema)


def _contents(rows: pa.Table) -> list[int]:
    """A number for each row, equal for rows of equal contents."""
    import pyarrow as pa

    if not _is_hashed(rows):
        seen: dict[str, int] = {}
        return [seen.setdefault(repr(row), len(seen)) for row in rows.to_pylist()]
    numbers = pa.array(range(rows.num_rows), pa.int64())
    grouped = rows.append_column(_ROW, numbers).group_by(rows.column_names)
    found = [0] * rows.num_rows
    for group in grouped.aggregate([(_ROW, "list")])[f"{_ROW}_list"].to_pylist():
        for i in group:
            found[i] = group[0]
    return found
