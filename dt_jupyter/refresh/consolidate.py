"""A change without the rows that came and went inside its interval.

They are in neither end, so they are no change; and one that makes an expression fail (a zero that
was corrected before anyone looked) must not fail a refresh that has moved past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.ivm import Refused
from dt_jupyter.lake import (
    ChangePlan,
    Feed,
    Relation,
    TableLog,
    fields_named,
    spark_schema,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import HASH, RANK, WEIGHT, hidden
from dt_jupyter.sql import content_hash

if TYPE_CHECKING:
    import pyarrow as pa

_ROW, _PAIRS = hidden("row"), hidden("pairs")


def cancel_pairs(
    change: Relation, log: TableLog, plan: ChangePlan, columns: Sequence[str]
) -> Relation:
    """`change` with equal rows of opposite weights removed in pairs; every weight stays ±1.

    Equal is by exact bytes. One commit has such rows too: an update of columns that nobody reads.
    Free where nothing can cancel: inserts only, a change of files; a small change is paired off
    here, and whoever reads it makes its view. A large one of a single commit is left as it is.
    """
    if not isinstance(plan, Feed):
        return change
    if change.arrow is not None:
        rows = paired_off(change.arrow)
        if rows.num_rows == change.arrow.num_rows:
            return change
        return replace(change, arrow=rows, rows=rows.num_rows)
    if plan.first == plan.last:
        return change
    fields = spark_schema(fields_named(log.metadata(plan.last), columns))
    try:
        hashes = content_hash((f.name, f.dataType.simpleString()) for f in fields)
    except Refused:
        return change  # a type without an exact hash: the pairs cancel further up
    return replace(change, sql=_paired_off(change.sql, columns, hashes))


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


def _paired_off(relation: str, columns: Sequence[str], hashes: tuple[str, str]) -> str:
    """Of n inserted and m deleted copies of a row, the first min(n, m) of each are left out."""
    names = ", ".join(map(quote, columns))
    hashed = ", ".join(f"{h} AS {c}" for h, c in zip(hashes, HASH, strict=True))
    same = f"PARTITION BY {', '.join(HASH)}"
    return (
        f"(SELECT {names}, {WEIGHT} FROM (SELECT *,"
        f" ROW_NUMBER() OVER ({same}, {WEIGHT} ORDER BY {WEIGHT}) AS {RANK},"
        f" LEAST(COUNT_IF({WEIGHT} > 0) OVER ({same}), COUNT_IF({WEIGHT} < 0) OVER ({same}))"
        f" AS {_PAIRS} FROM (SELECT *, {hashed} FROM {relation})) WHERE {RANK} > {_PAIRS})"
    )
