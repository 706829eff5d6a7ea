"""Rows with weights, less those that came and went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model.hidden import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa


def paired_off(rows: pa.Table) -> pa.Table:
    """Rows of weight ±1 without those that are in it with both weights, copy by copy."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(rows[WEIGHT]).as_py()
    if ends["min"] == ends["max"]:
        return rows
    content = [c for c in rows.column_names if c != WEIGHT]
    if _is_hashed(rows.select(content)):
        return _paired_off_by_group(rows, content)
    weights = rows[WEIGHT].to_pylist()
    net: dict[str, int] = {}
    texts = [repr(row) for row in rows.select(content).to_pylist()]
    for text, weight in zip(texts, weights, strict=True):
        net[text] = net.get(text, 0) + weight
    kept = []
    for i, (text, weight) in enumerate(zip(texts, weights, strict=True)):
        if net[text] * weight > 0:
            net[text] -= weight
            kept.append(i)
    return rows.take(pa.array(kept, pa.int64()))


def _paired_off_by_group(rows: pa.Table, content: list[str]) -> pa.Table:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    groups = rows.group_by(content, use_threads=False).aggregate([(WEIGHT, "sum")])
    net = np.array(groups.column(len(content)))
    left = groups.take(np.repeat(np.arange(len(net)), np.abs(net)))
    found = {**dict(zip(content, left.columns, strict=False)), WEIGHT: pc.sign(left[-1])}
    return pa.Table.from_arrays([found[n] for n in rows.column_names], schema=rows.schema)


def _is_hashed(rows: pa.Table) -> bool:
    """Whether Arrow groups the rows by exact bytes."""
    import pyarrow as pa

    return not any(pa.types.is_nested(f.type) or pa.types.is_floating(f.type) for f in rows.schema)
