"""The rights on what a statement names where Spark's plan will not show it: changes, other times,
streams, and tables of an open transaction are put in place by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.model import DTError, Right, Span
from dt_jupyter.sources import name_of
from dt_jupyter.sql import SparkKind, SparkStatement, TimedRelation, relations_in

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context
    from dt_jupyter.streams import FoundStream

_WRITES = {
    SparkKind.INSERT: (Right.INSERT,),
    SparkKind.UPDATE: (Right.UPDATE, Right.SELECT),
    SparkKind.DELETE: (Right.DELETE, Right.SELECT),
    SparkKind.TRUNCATE: (Right.DELETE,),
    SparkKind.MERGE: (Right.INSERT, Right.UPDATE, Right.DELETE, Right.SELECT),
}


def require_names_read(
    context: Context,
    statement: SparkStatement,
    streams: Sequence[FoundStream],
    origin: StatementOrigin,
) -> None:
    """DT-5201 and DT-5208, at the relation's place in the script."""
    if not context.access.bound:
        return
    schema, script = context.schema(), origin.script
    for timed in statement.timed:
        _at(script, timed.span, partial(_require_timed, context, timed, script, schema))
    for found in streams:
        _at(script, found.span, partial(context.access.require_stream, found.stream.name))
    if context.transactions.current is not None:
        require_named(context, statement, schema)


def require_named(context: Context, statement: SparkStatement, schema: str) -> None:
    """SELECT on all that a statement names, and the rights to write its targets."""
    access = context.access
    for parts, _ in relations_in(statement.text):
        name = name_of(parts, schema)
        if access.catalog.find_stream(name) is None and name not in statement.targets:
            access.require_named(parts, schema)
    if statement.kind in _WRITES and not statement.targets:
        raise access.refusal(statement.kind.value, "what it writes has no name")
    for target in statement.targets:
        for right in _WRITES.get(statement.kind, ()):
            access.require(right, target)


def _require_timed(context: Context, timed: TimedRelation, script: str, schema: str) -> None:
    if timed.query_span is not None:
        query = script[timed.query_span.start : timed.query_span.end]
        context.access.require_query(query, schema)
        return
    name = name_of(timed.parts, schema)
    if timed.at is not None and timed.at.archive:
        context.access.require_whatever(Right.SELECT, name)  # the table may be gone
    context.access.require_read(name)


def _at(script: str, span: Span, ask: Callable[[], None]) -> None:
    try:
        ask()
    except DTError as e:
        raise e.at(script, span) from None
