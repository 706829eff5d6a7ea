"""A change without the rows that came and went inside its interval.

They are in neither end, so they are no change; and one that makes an expression fail (a zero that
was corrected before anyone looked) must not fail a refresh that has moved past it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.ivm import WEIGHT, Refused
from dt_jupyter.lake import ChangePlan, Feed, Relation, TableLog
from dt_jupyter.lake.types import fields_named, spark_schema
from dt_jupyter.model import quote
from dt_jupyter.sql.hashing import HASH, content_hash

if TYPE_CHECKING:
    import pyarrow as pa


def settled(change: Relation, log: TableLog, plan: ChangePlan, columns: Sequence[str]) -> Relation:
    """`change` with equal rows of opposite weights removed in pairs; every weight stays ±1.

    Equal is by exact bytes. Free where nothing can cancel: one commit, inserts only, a change of
    files; a small change is looked at first.
    """
    if not isinstance(plan, Feed) or plan.first == plan.last:
        return change
    if change.arrow is not None and not _cancels(change.arrow):
        return change
    fields = spark_schema(fields_named(log.metadata(plan.last), columns))
    try:
        hashes = content_hash((f.name, f.dataType.simpleString()) for f in fields)
    except Refused:
        return change  # a type without an exact hash: the pairs cancel further up
    return replace(change, sql=_paired_off(change.sql, columns, hashes))


def _cancels(rows: pa.Table) -> bool:
    """Whether a row is in it with both weights."""
    seen: Counter[tuple[str, int]] = Counter()
    for row in rows.to_pylist():
        weight = row.pop(WEIGHT)
        content = repr(row)
        if seen[(content, -weight)]:
            return True
        seen[(content, weight)] += 1
    return False


def _paired_off(relation: str, columns: Sequence[str], hashes: tuple[str, str]) -> str:
    """Of n inserted and m deleted copies of a row, the first min(n, m) of each are left out."""
    names = ", ".join(map(quote, columns))
    hashed = ", ".join(f"{h} AS {c}" for h, c in zip(hashes, HASH, strict=True))
    same = f"PARTITION BY {', '.join(HASH)}"
    return (
        f"(SELECT {names}, {WEIGHT} FROM (SELECT *,"
        f" ROW_NUMBER() OVER ({same}, {WEIGHT} ORDER BY {WEIGHT}) AS __dt_rank,"
        f" LEAST(COUNT_IF({WEIGHT} > 0) OVER ({same}), COUNT_IF({WEIGHT} < 0) OVER ({same}))"
        f" AS __dt_pairs FROM (SELECT *, {hashed} FROM {relation})) WHERE __dt_rank > __dt_pairs)"
    )
