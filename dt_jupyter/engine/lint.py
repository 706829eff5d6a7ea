"""What is wrong with a text before it runs: every problem that creation would raise, and what is
allowed but may not be meant. Nothing is written, and nothing of the text is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.definition import Defined
from dt_jupyter.engine.execute.spark_errors import place_failure
from dt_jupyter.engine.naming import require_names
from dt_jupyter.engine.rights.needs import require_statement
from dt_jupyter.engine.script import schema_after
from dt_jupyter.lake import is_delta
from dt_jupyter.model import (
    DTError,
    Name,
    RefreshMode,
    SourceKind,
    Span,
    did_you_mean,
    error,
    name_taken,
)
from dt_jupyter.reports import LintProblem, LintReport, LintSeverity
from dt_jupyter.schedule import NO_READER
from dt_jupyter.sources import find_declared_key, holder, name_of
from dt_jupyter.spark import bind_definition
from dt_jupyter.sql import (
    CellKind,
    CellPart,
    CreateAction,
    SparkKind,
    cell_parts,
    find_parameters,
    later,
    parse_changes,
    parse_dt,
    parse_dynamic_table,
    parse_piece,
    pieces,
    relations_in,
    require_one_query,
    statement_values as S,
    tokens,
)

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

_KEYLESS = "KEYLESS"
_WITHOUT_KEY = "{name} has no declared key: an update of it is read as a deletion and an insertion."
_DECLARE = "ALTER TABLE {name} SET TBLPROPERTIES ('dt.primaryKey' = 'column')"
_READ_BY_NOBODY = "{name} has no target lag, and nothing reads it: it would not be refreshed."


def lint_text(
    context: Context, text: str, args: Mapping[str, Any] | None = None, *, verify: bool = True
) -> LintReport:
    """The problems of a script, or of a cell with our magics. With `verify` definitions are checked
    on rows too, as at their creation; without it only the analyser checks them, as while a cell
    is typed that may have been run before."""
    linter = _Linter(context, text, args or {}, verify)
    for part in cell_parts(text):
        linter.part(part)
    found = sorted(linter.problems, key=lambda p: (p.span.start, p.severity))
    return LintReport(text, tuple(found), tuple(linter.unchecked))


@dataclass
class _Linter:
    context: Context
    text: str
    args: Mapping[str, Any]
    verify: bool
    problems: list[LintProblem] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    made: dict[Name, str] = field(default_factory=dict)
    """What the text makes, with its query."""

    def part(self, part: CellPart) -> None:
        schema, line = self.context.schema(), part.line
        try:
            match part.kind:
                case CellKind.SCRIPT:
                    parse_dt(line, part.text)
                    self._script(part.text, part.offset, schema)
                case CellKind.COMMAND:
                    asked = parse_dt(line)
                    start = line.find(asked.sql or "")
                    self._script(asked.sql or "", part.line_offset + max(start, 0), schema)
                case CellKind.DEFINITION:
                    statement = parse_dynamic_table(line, part.text, schema).statement
                    if statement is not None:
                        self._statements([(statement, part.text, schema)], part.offset)
                case CellKind.CHANGES:
                    parse_changes(line, part.text, schema)
        except DTError as e:
            in_line = e.query == line
            whole = Span(0, len(line if in_line else part.text))
            self._add(e, part.line_offset if in_line else part.offset, whole)

    def _script(self, script: str, offset: int, schema: str) -> None:
        found = []
        for piece in pieces(script):
            try:
                statement = parse_piece(script, piece, schema)
            except DTError as e:
                self._add(e, offset, Span(piece.start, piece.end))
                continue
            if statement is not None:
                found.append((statement, script, schema))
                schema = schema_after(statement, schema)
        self._statements(found, offset)

    def _statements(self, found: list[tuple[S.Statement, str, str]], offset: int) -> None:
        for statement, _, _ in found:
            for name, query in _makes(statement):
                self.made[name] = query
        for statement, script, schema in found:
            whole = Span(statement.offset, statement.offset + len(statement.text))
            try:
                self._statement(statement, script, schema, offset)
            except DTError as e:
                start = offset + _query_offset(statement, e)
                self._add(e, start, whole if start == offset else Span(0, len(e.query or "")))

    def _statement(self, statement: S.Statement, script: str, schema: str, offset: int) -> None:
        if refused := later(statement):
            raise refused.error(script)
        require_statement(self.context.access, statement)
        require_names(statement, script)
        if isinstance(statement, S.CreateDynamicTable):
            self._definition(statement, schema, offset)
        elif isinstance(statement, S.CreateStream | S.CreateSink):
            self._source(statement, script)
        elif isinstance(statement, S.SparkStatement):
            self._query(statement, script)

    def _definition(self, statement: S.CreateDynamicTable, schema: str, offset: int) -> None:
        context, name = self.context, statement.name
        if self.verify and statement.action is CreateAction.CREATE and not statement.partial:
            kind = holder(context.catalog, context.spark, name)
            if kind is not None:
                raise name_taken(kind, name, same=False)
        if (why := self._unready(statement.query, schema)) is not None:
            self.unchecked.append(f"{name}: {why}")
            return
        bound = replace(statement, query=bind_definition(statement.query, self.args))
        defined = context.creator.define(bound, schema, verify=self.verify)
        start = offset + statement.query_offset
        self._warnings(statement, defined, Span(start, start + len(statement.query)), schema)

    def _unready(self, query: str, schema: str) -> str | None:
        """Why a query cannot be analysed yet."""
        open_ = [p.name for p in find_parameters(query) if p.name not in self.args]
        if open_:
            return f"the value of :{open_[0]} is not known here"
        reads = _reads(query, schema)
        return next(
            (f"it reads {n}, which this text makes" for n in reads if self._is_new(n)), None
        )

    def _is_new(self, name: Name) -> bool:
        return name in self.made and holder(self.context.catalog, self.context.spark, name) is None

    def _warnings(
        self, statement: S.CreateDynamicTable, defined: Defined, span: Span, schema: str
    ) -> None:
        name = statement.name
        if defined.mode is RefreshMode.FULL and statement.refresh_mode is not RefreshMode.FULL:
            sentence = f"{name} would be recomputed in full: {defined.reason.sentence}"
            self._warn(defined.reason.code, sentence, defined.hint, span)
        for source in defined.definition.sources:
            if source.kind is SourceKind.DELTA and source.path and is_delta(source.path):
                log = self.context.sources.logs[source.path]
                if not find_declared_key(log, log.version()):
                    hint = _DECLARE.format(name=source.name)
                    self._warn(_KEYLESS, _WITHOUT_KEY.format(name=source.name), hint, span)
        if statement.target_lag.downstream and not self._has_reader(name, schema):
            hint = "Give it a TARGET_LAG, or make what reads it."
            self._warn(NO_READER, _READ_BY_NOBODY.format(name=name), hint, span)

    def _has_reader(self, name: Name, schema: str) -> bool:
        """Among what the lake has, and what the text makes."""
        catalog = self.context.catalog
        read = {s.name for t in catalog.list() for s in t.definition.sources}
        read |= {s.source for s in catalog.sinks()} | {s.source for s in catalog.streams()}
        read |= {n for query in self.made.values() for n in _reads(query, schema)}
        return name in read

    def _source(self, statement: S.CreateStream | S.CreateSink, script: str) -> None:
        """DT-1101 where what a stream or a sink is of is not there, and is not made here."""
        context, name = self.context, statement.source
        catalog = context.catalog
        if name in self.made or catalog.find_stream(name) is not None:
            return
        if holder(catalog, context.spark, name) is None:
            hint = did_you_mean(str(name), context.sources.known())
            made = error("DT-1101", name=name, hint=hint)
            raise made.at(script, statement.place("source"))

    def _query(self, statement: S.SparkStatement, script: str) -> None:
        """A query, or that of a view, is analysed by Spark, and not run; of one with what is ours
        only the syntax is checked."""
        query, context = _analysable(statement), self.context
        ours = statement.timed or statement.functions or statement.has_data
        reads = _reads(query, context.schema()) if query and not ours else []
        if not query or ours or find_parameters(query) or any(map(self._is_new, reads)):
            return
        if context.access.guarded:
            context.spark_rights.judge(context.spark, query)
            context.access.require_query(query, context.schema())
        try:
            context.spark.sql(query)
        except PySparkException as e:
            raise place_failure(e, context.sources, statement, script) from e

    def _add(self, e: DTError, offset: int, whole: Span) -> None:
        e, span = self.context.access.discreet(e), e.span or whole
        end = min(offset + max(span.end, span.start + 1), len(self.text))
        start = min(offset + span.start, max(end - 1, 0))
        problem = LintProblem(LintSeverity.ERROR, e.code, e.sentence, e.hint, Span(start, end))
        if problem not in self.problems:
            self.problems.append(problem)

    def _warn(self, code: str, sentence: str, hint: str, span: Span) -> None:
        self.problems.append(LintProblem(LintSeverity.WARNING, code, sentence, hint, span))


def _query_offset(statement: S.Statement, e: DTError) -> int:
    """Where the text begins that an error's place counts from."""
    if isinstance(statement, S.CreateDynamicTable) and e.query == statement.query:
        return statement.query_offset
    return 0


def _analysable(statement: S.SparkStatement) -> str:
    """A query, at the place that it has in the statement; "" for a statement that would do
    something. DT-1001 for a view of what is none."""
    if statement.kind is SparkKind.QUERY:
        return statement.text
    if statement.kind is not SparkKind.CREATE_VIEW:
        return ""
    start = next((w.end for w in tokens(statement.text) if w.upper == "AS"), None)
    if start is None:
        return ""
    query = statement.text[start:]
    require_one_query(query)
    return " " * start + query


def _makes(statement: S.Statement) -> Iterator[tuple[Name, str]]:
    if isinstance(statement, S.CreateDynamicTable):
        yield statement.name, statement.query
    elif isinstance(statement, S.SparkStatement) and statement.kind in (
        SparkKind.CREATE_TABLE,
        SparkKind.CREATE_VIEW,
    ):
        yield from ((name, statement.text) for name in statement.targets)


def _reads(query: str, schema: str) -> list[Name]:
    try:
        return [name_of(parts, schema) for parts, _ in relations_in(query)]
    except DTError:
        return []


__all__ = ["lint_text"]
