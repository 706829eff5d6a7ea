"""The one loop over the statements of a script, for Python, magics and the command line alike."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.definition import with_offending_row
from dt_jupyter.engine.context import Context
from dt_jupyter.engine.create import Created
from dt_jupyter.engine.execute import StatementOrigin, execute
from dt_jupyter.engine.interrupts import StatementFlag
from dt_jupyter.engine.rows import ResultRows, read_rows, read_sample
from dt_jupyter.engine.written_rows import count_written
from dt_jupyter.failures import catalogued, coded_call
from dt_jupyter.model import Isolation, error
from dt_jupyter.spark import run_cancellable
from dt_jupyter.sql import (
    CreateDynamicTable,
    Cycle,
    InSchema,
    Piece,
    SparkKind,
    SparkStatement,
    Statement,
    later,
    order_by_dependencies,
    parse_piece,
    pieces,
    statement_values,
)
from dt_jupyter.streams import all_common

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.reports import SinkReport


@dataclass(frozen=True)
class Done:
    """A statement that has run, and its result: rows, or what was created."""

    statement: Statement
    result: DataFrame | Created


@dataclass(frozen=True)
class StatementOutcome:
    """What there is to show of a statement: its first rows, of a new table those it holds (None:
    there are none), the state of the lake that a query saw, and the sink that it is about."""

    rows: ResultRows | None
    isolation: Isolation | None = None
    sink: SinkReport | None = None


@coded_call("dt.run")
def run_script(
    context: Context,
    script: str,
    args: Mapping[str, Any] | None = None,
    *,
    consistent: bool = False,
) -> Iterator[Done]:
    """Runs statement after statement, the next one when it is asked for.

    All are parsed, each once, before the first one runs; definitions that follow each other are
    created after what they read, in whatever order they stand. `args` are the values of
    `:parameters`; `consistent` as in `Engine.sql`. Errors are placed in `script`.
    """
    context.require_open()
    group = f"statement:{uuid.uuid4().hex}"
    for number, statement in enumerate(_statements(context, script)):
        asked, what = statement, _title(statement)
        if consistent:
            asked = all_common(statement, context.catalog.find_stream, context.schema())
        yield Done(asked, _run(context, asked, script, args, f"{group}:{number}", what))


def run_last(
    context: Context,
    script: str,
    args: Mapping[str, Any] | None = None,
    *,
    consistent: bool = False,
) -> DataFrame:
    """The last statement's result as a DataFrame."""
    last = None
    for done in run_script(context, script, args, consistent=consistent):
        last = done if last is None or done.statement.offset > last.statement.offset else last
    return frame_of(context, last) if last else context.tables.status("Nothing to do.")


def frame_of(context: Context, done: Done) -> DataFrame:
    """The result as a DataFrame; of a created table, a row that says so."""
    found = done.result
    return context.tables.status(found.status) if isinstance(found, Created) else found


def read_outcome(context: Context, script: str, done: Done) -> StatementOutcome:
    """Runs the Spark jobs of a result, as far as it is shown; what fails in it is placed in the
    script."""
    found = done.result
    if isinstance(found, Created):
        return StatementOutcome(read_sample(context, found))
    if not found.columns:
        return StatementOutcome(count_written(context, done.statement))
    try:
        rows = read_rows(context, found, done.statement.text[:80])
    except Exception as e:
        made = catalogued(e, "The statement", script, done.statement.offset)
        raise with_offending_row(made, context.spark, done.statement.text) from e
    return StatementOutcome(
        rows, context.travel.isolation_of(found), _sink_of(context, done.statement)
    )


def _sink_of(context: Context, statement: Statement) -> SinkReport | None:
    """Of CREATE and DESCRIBE SINK."""
    if not isinstance(statement, statement_values.CreateSink | statement_values.DescribeSink):
        return None
    return context.nodes.sinks.one(context.catalog.sink(statement.name), context.clock.now())


def create_by_cell(
    context: Context, statement: CreateDynamicTable, args: Mapping[str, Any] | None
) -> Created:
    """Creates what a statement value describes; errors are placed in its query."""
    group, what = f"statement:{uuid.uuid4().hex}", f"create {statement.name}"
    result = _run(context, statement, statement.query, args, group, what)
    assert isinstance(result, Created)
    return result


def _run(
    context: Context,
    statement: Statement,
    script: str,
    args: Mapping[str, Any] | None,
    group: str,
    what: str,
) -> DataFrame | Created:
    origin = StatementOrigin(script, args or {})
    context.catalog.leftovers.finish()
    context.log.recover()
    part_of = context.log.current

    def run() -> DataFrame | Created:
        with context.log.within(part_of):
            return execute(context, statement, origin)

    return run_cancellable(
        context.spark,
        group,
        what,
        run,
        StatementFlag(context.refresher, getattr(statement, "name", None)),
    )


def _title(statement: Statement) -> str:
    """What Spark's pages call it: for a sink not its text, where a secret may be by mistake."""
    if isinstance(statement, statement_values.CreateSink):
        return f"CREATE SINK {statement.name}"
    return statement.text[:80]


def _statements(context: Context, script: str) -> Iterator[Statement]:
    """Those of a script, each when it is to run. A USE decides what a bare name after it means:
    a statement for which another schema is current than the USE before it said is parsed again."""
    parsed, by_offset = _parsed(context, script)
    for statement, expected in _ordered(script, parsed):
        current, piece = context.schema(), by_offset[statement.offset]
        again = parse_piece(script, piece, current) if current != expected else None
        yield again or statement


def definitions_of(context: Context, script: str) -> Sequence[InSchema]:
    """The statements of a script in the order in which it runs them, each with the schema that is
    current then; none is run."""
    return _ordered(script, _parsed(context, script)[0])


def _parsed(context: Context, script: str) -> tuple[list[InSchema], dict[int, Piece]]:
    schema = context.schema()
    parsed: list[InSchema] = []
    by_offset: dict[int, Piece] = {}
    for piece in pieces(script):
        statement = parse_piece(script, piece, schema)
        if statement is not None:
            parsed.append((statement, schema))
            by_offset[statement.offset] = piece
            schema = _schema_after(statement, schema)
    for statement, _ in parsed:
        if refused := later(statement):
            raise refused.error(script)
    return parsed, by_offset


def _ordered(script: str, parsed: Sequence[InSchema]) -> Sequence[InSchema]:
    """Definitions after what they read; DT-1106 for those that read each other."""
    found = order_by_dependencies(parsed)
    if isinstance(found, Cycle):
        asked = found.statement
        made = error("DT-1106", name=asked.name, path=str(found))
        raise made.at(script, asked.place("name"))
    return found


def _schema_after(statement: Statement, schema: str) -> str:
    if isinstance(statement, SparkStatement) and statement.kind is SparkKind.USE:
        return statement.target_parts[-1].lower() if statement.target_parts else schema
    return schema
