"""How many rows a statement of Spark's has written, which Spark itself does not report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.rows import ResultRows
from dt_jupyter.lake import LakeError, mark_of
from dt_jupyter.spark import lookup
from dt_jupyter.sql import SparkKind, SparkStatement, Statement

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

_LOOKED_AT = 100
"""Commits that others may have made since."""
_COUNTED = frozenset({SparkKind.INSERT, SparkKind.CREATE_TABLE})


def count_written(context: Context, statement: Statement) -> ResultRows | None:
    """As UPDATE and DELETE return it, from the commit that carries the id of the statement, which
    was the last one that ran; None where there is no such commit, as within a transaction."""
    if not isinstance(statement, SparkStatement) or statement.kind not in _COUNTED:
        return None
    if statement.target is None or context.state.last_query_id is None:
        return None
    relation = lookup(context.spark, statement.target)
    if relation is None or relation.provider != "delta" or not relation.location:
        return None
    try:
        count = _count(context, statement, relation.location)
    except LakeError:  # another one has replaced it: the count is lost, not the rows
        return None
    return None if count is None else ResultRows((("rows", "bigint"),), ((str(count),),))


def _count(context: Context, statement: SparkStatement, location: str) -> int | None:
    log = context.sources.logs[context.catalog.root.canonical(location)]
    newest = log.version()
    for version in range(newest, max(log.oldest(), newest - _LOOKED_AT) - 1, -1):
        mark = mark_of(log.user_metadata(version))
        if mark.get("statement") == context.state.last_query_id:
            return log.rows_written(version)
    inserted = statement.kind is SparkKind.INSERT and context.transactions.current is None
    return 0 if inserted else None  # Delta writes no commit for an INSERT of no rows
