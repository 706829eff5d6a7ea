"""The one loop over the statements of a script, for Python, magics and the command line."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dt_jupyter.definition import with_offending_row
from dt_jupyter.engine.context import Context
from dt_jupyter.engine.created import Announce, Created, say_nothing
from dt_jupyter.engine.execute import StatementOrigin, execute
from dt_jupyter.engine.interrupts import StatementFlag
from dt_jupyter.engine.rows import ResultRows, interruptible, read_query_rows, read_sample
from dt_jupyter.engine.written_rows import count_written
from dt_jupyter.failures import catalogued, coded_call
from dt_jupyter.model import Isolation, error, shorten
from dt_jupyter.spark import Variables, activity, failure_in, parameter_literals
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
    resolve_identifiers,
    set_by,
    statement_values,
    tokens,
)
from dt_jupyter.streams import all_common

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.reports import SinkReport


@dataclass(frozen=True)
class Done:
    """A statement that has run, and its result: rows, or what was created. Its places count in
    `script`, where the variables of its text are replaced."""

    statement: Statement
    result: DataFrame | Created
    script: str


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
    """Runs statement after statement, the next one when it is requested.

    All are parsed, each once, before the first one runs; definitions that follow each other are
    created after what they read, in any order. `args` are the values of
    `:parameters`; `consistent` as in `Engine.sql`. Errors are placed in `script`.
    """
    context.require_open()
    group = f"statement:{uuid.uuid4().hex}"
    for number, read in enumerate(_statements(context, script, args or {})):
        asked = read.statement
        what = _title(asked)
        if consistent:
            asked = all_common(asked, context.catalog.find_stream, context.schema())
        origin = StatementOrigin(read.script, args or {})
        found = _run(context, replace(read, statement=asked), origin, f"{group}:{number}", what)
        yield Done(asked, found, read.script)


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


def read_outcome(context: Context, done: Done) -> StatementOutcome:
    """Runs the Spark jobs of a result, as far as it is shown; what fails in it is placed in the
    script."""
    found = done.result
    if isinstance(found, Created):
        return StatementOutcome(read_sample(context, found.table))
    if not found.columns:
        return StatementOutcome(count_written(context, done.statement))
    try:
        rows = read_query_rows(context, done.statement, found, _title(done.statement))
    except Exception as e:
        if (failure := failure_in(found, e)) is not None:
            raise failure from failure.__cause__
        made = catalogued(e, "The statement", done.script, done.statement.offset)
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
    context: Context,
    statement: CreateDynamicTable,
    args: Mapping[str, Any] | None,
    announce: Announce = say_nothing,
) -> Created:
    """Creates what a statement value describes, and announces before what that changes of a table
    that is there; errors are placed in its query."""
    group, what = f"statement:{uuid.uuid4().hex}", f"Creating {statement.name}"
    bound, variables = replace_variables(context, statement)
    asked = _with_parameters(bound, bound.query, args or {})
    read = _Read(asked, bound.query, tuple(variables))
    result = _run(context, read, StatementOrigin(read.script, args or {}, announce), group, what)
    assert isinstance(result, Created)
    return result


def replace_variables(
    context: Context, statement: CreateDynamicTable
) -> tuple[CreateDynamicTable, list[str]]:
    """A statement value with the values of its query's variables, and these."""
    variables = _variables(context)
    query = variables.replace_in(statement.query)
    frozen = variables.replace_in(statement.frozen) if statement.frozen else statement.frozen
    return replace(statement, query=query, frozen=frozen), variables.used


def _run(
    context: Context, read: _Read, origin: StatementOrigin, group: str, what: str
) -> DataFrame | Created:
    with activity(what):
        context.catalog.leftovers.finish()
        context.log.recover()
        run = partial(execute, context, read.statement, origin)
        flag = StatementFlag(context.refresher, getattr(read.statement, "name", None))
        result = interruptible(context, what, run, group, flag)
    if not isinstance(result, Created) or not read.variables:
        return result
    listed = ", ".join(read.variables)
    note = f"Its definition has the values that these variables had: {listed}."
    return replace(result, notes=(*result.notes, note))


def _title(statement: Statement) -> str:
    """What Spark's pages call it: for a sink not its text, where a secret may be by mistake."""
    if isinstance(statement, statement_values.CreateSink):
        return f"CREATE SINK {statement.name}"
    return shorten(statement.text)


@dataclass(frozen=True)
class _Read:
    """A statement, the script in which its places count, and the variables that were replaced."""

    statement: Statement
    script: str
    variables: tuple[str, ...] = ()


def _statements(context: Context, script: str, args: Mapping[str, Any]) -> Iterator[_Read]:
    """Those of a script, each when it is to run. A USE decides what a bare name after it means,
    a SET what a variable is: a statement for which something else holds than was expected is
    parsed again."""
    parsed = _parse(context, script, args)
    for statement, expected in _ordered(script, parsed.statements):
        current, piece = context.schema(), parsed.pieces[statement.offset]
        variables = _variables(context)
        text = _replaced(variables, piece.text, args)
        read = parsed.read[statement.offset]
        whole = read.script
        if current != expected or text != whole[piece.start : piece.start + len(text)]:
            whole, piece = _with_text(script, piece, text)
            read = replace(read, statement=parse_piece(whole, piece, current) or statement)
        asked = _with_parameters(read.statement, parsed.pieces[statement.offset].text, args)
        yield _Read(asked, whole, tuple(variables.used))


def _with_parameters(statement: Statement, text: str, args: Mapping[str, Any]) -> Statement:
    """A definition knows the literals that its parameters became."""
    if not isinstance(statement, CreateDynamicTable):
        return statement
    return replace(statement, parameters=parameter_literals(text, args))


def definitions_of(context: Context, script: str) -> Sequence[InSchema]:
    """The statements of a script in the order in which it runs them, each with the schema that is
    current then; none is run."""
    return _ordered(script, _parse(context, script, {}).statements)


@dataclass(frozen=True)
class _Parsed:
    """The statements of a script with the schemas that are expected, and by the offset of each its
    piece of the script and how it was read."""

    statements: list[InSchema] = field(default_factory=list)
    pieces: dict[int, Piece] = field(default_factory=dict)
    read: dict[int, _Read] = field(default_factory=dict)


def _parse(context: Context, script: str, args: Mapping[str, Any]) -> _Parsed:
    schema, found = context.schema(), _Parsed()
    variables = _variables(context)
    for piece in pieces(script):
        whole, own = _with_text(script, piece, _replaced(variables, piece.text, args))
        statement = parse_piece(whole, own, schema)
        if statement is not None:
            found.statements.append((statement, schema))
            found.pieces[statement.offset] = piece
            found.read[statement.offset] = _Read(statement, whole)
            schema = schema_after(statement, schema)
            variables.known |= set_by(statement.text)
    for read in found.read.values():
        if refused := later(read.statement):
            raise refused.error(read.script)
    return found


def _replaced(variables: Variables, text: str, args: Mapping[str, Any]) -> str:
    """The text of a statement with the values of its variables, and with the names that its
    IDENTIFIERs are: what it names is then seen by all that reads names."""
    return resolve_identifiers(variables.replace_in(text), args, strict=False)


def _variables(context: Context) -> Variables:
    return Variables(context.spark, guarded=context.access.guarded)


def _with_text(script: str, piece: Piece, text: str) -> tuple[str, Piece]:
    """The script with another text of one of its pieces, and that piece in it."""
    if text == piece.text:
        return script, piece
    whole, end = script[: piece.start] + text + script[piece.end :], piece.start + len(text)
    return whole, Piece(text, piece.start, end, tuple(tokens(whole, piece.start, end)))


def _ordered(script: str, parsed: Sequence[InSchema]) -> Sequence[InSchema]:
    """Definitions after what they read; DT-1106 for those that read each other."""
    found = order_by_dependencies(parsed)
    if isinstance(found, Cycle):
        asked = found.statement
        made = error("DT-1106", name=asked.name, path=str(found))
        raise made.at(script, asked.place("name"))
    return found


def schema_after(statement: Statement, schema: str) -> str:
    if isinstance(statement, SparkStatement) and statement.kind is SparkKind.USE:
        return statement.target_parts[-1].lower() if statement.target_parts else schema
    return schema
