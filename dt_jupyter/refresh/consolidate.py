"""A change without the rows that were inserted and deleted inside its interval.

They are in neither end, so they are not a change; and one that makes an expression fail (a zero
that was corrected before anyone looked) must not fail a refresh that has moved past it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dt_jupyter.ivm import Refused
from dt_jupyter.lake import (
    ChangePlan,
    Feed,
    Relation,
    TableLog,
    fields_named,
    paired_off,
    spark_schema,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import HASH, RANK, WEIGHT, hidden
from dt_jupyter.sql import content_hash

_PAIRS = hidden("pairs")


def cancel_pairs(
    change: Relation, log: TableLog, plan: ChangePlan, columns: Sequence[str]
) -> Relation:
    """`change` with equal rows of opposite weights removed in pairs; every weight stays ±1.

    Equal is by exact bytes. One commit has such rows too: an update of columns that are not read.
    Free where nothing can cancel: inserts only, a change of files; a small change is paired off
    here, and its reader makes its view. A large one of a single commit is left as it is.
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
