"""The rights on what a statement names where Spark's plan will not show it: changes, other times,
streams, and tables of an open transaction are put in place by the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.rights.needs import SPARK_NEEDS, require_statement
from dt_jupyter.engine.rights.spark_rights import PlacedByEngine
from dt_jupyter.engine.task_bodies import TaskBody
from dt_jupyter.model import DTError, Right, Span
from dt_jupyter.sources import name_of
from dt_jupyter.sql import SparkKind, SparkStatement, TimedRelation, relations_in

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context
    from dt_jupyter.streams import FoundStream

_WRITES = frozenset({
    SparkKind.INSERT, SparkKind.UPDATE, SparkKind.DELETE, SparkKind.TRUNCATE, SparkKind.MERGE,
})  # fmt: skip


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
        require_named(context, statement, schema, script)


def require_body(context: Context, body: TaskBody, schema: str) -> None:
    """What the statements of a task need, by their plans where Spark reads them as they are, and
    by what they name; their plans are asked again when it runs."""
    access, origin = context.access, StatementOrigin(body.script, {})
    for statement in body.statements if access.guarded else ():
        if isinstance(statement, SparkStatement):
            streams = context.streams.found_in(statement, schema)
            require_names_read(context, statement, streams, origin)
            require_named(context, statement, schema, body.script)
            if not (streams or statement.timed or statement.has_data or statement.functions):
                placed = PlacedByEngine(targets=statement.targets)
                context.spark_rights.judge(context.spark, statement.text, placed=placed)
        else:
            require_statement(access, statement)


def require_named(context: Context, statement: SparkStatement, schema: str, script: str) -> None:
    """SELECT on all that a statement names, and the rights to write its targets."""
    access, start = context.access, statement.offset
    for parts, span in relations_in(statement.text):
        name = name_of(parts, schema)
        if access.catalog.find_stream(name) is None and name not in statement.targets:
            place = Span(start + span.start, start + span.end)
            _at(script, place, partial(access.require_named, parts, schema))
    if statement.kind in _WRITES and not statement.targets:
        raise access.refusal(statement.kind.value, "what it writes has no name")
    for target in statement.targets:
        for right in SPARK_NEEDS[statement.kind]:
            access.require(right, target)


def _require_timed(context: Context, timed: TimedRelation, script: str, schema: str) -> None:
    if timed.query_span is not None:
        query = script[timed.query_span.start : timed.query_span.end]
        context.spark_rights.judge(context.spark, query)
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
