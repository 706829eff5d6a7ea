"""From a query text to a definition: names, columns, mode and why; nothing is created here."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from dt_jupyter.caches import CacheMemory
from dt_jupyter.definition.analysis_errors import analyser_words, analysis_error
from dt_jupyter.definition.compile import (
    Compiled,
    compile_query,
)
from dt_jupyter.definition.frozen_region import columns_of_region, require_region
from dt_jupyter.definition.kept_values import kept_functions
from dt_jupyter.definition.other_reading import refuse_other_reading
from dt_jupyter.definition.query_meaning import QueryText, is_padded, read_document_of
from dt_jupyter.definition.query_reader import QueryReader, found_by
from dt_jupyter.definition.refused_calls import of_registered
from dt_jupyter.definition.spark_answers import SparkAnswers
from dt_jupyter.definition.table_columns import checked_names
from dt_jupyter.definition.validate.creation_check import check
from dt_jupyter.definition.validate.generated_rows import NoValues
from dt_jupyter.definition.validate.sandbox import as_rows, python_rows
from dt_jupyter.definition.validate.stand_ins import stand_ins
from dt_jupyter.evaluation import Evaluator
from dt_jupyter.failures import is_syntax_error, syntax_error
from dt_jupyter.functions import called_by, on_change_names
from dt_jupyter.ivm import Refusal, Refused, Rel, refuse, simplify
from dt_jupyter.lake import LakeError, LocalViews, head, is_delta
from dt_jupyter.model import (
    DEFAULTS,
    Definition,
    DTError,
    Frontier,
    FrozenRegion,
    Name,
    Reason,
    RefreshMode,
    Source,
    SourceKind,
    Tuning,
    UserFunction,
    error,
)
from dt_jupyter.model.hidden import public_columns, public_rows
from dt_jupyter.plans import reads_elsewhere
from dt_jupyter.sources import (
    UNKNOWN,
    Found,
    Sources,
    lost_is_named,
    sample_files,
    text_at,
)
from dt_jupyter.spark import (
    check_cancelled,
    lookup,
    storage_of,
    text_of_path,
    type_text,
)
from dt_jupyter.sql import (
    reads_by_function,
    recursive_place,
    require_one_query,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField, StructType

_MADE = 8
UNKNOWN_SOURCE = Source(UNKNOWN, SourceKind.FOREIGN, str(UNKNOWN), None)


@dataclass(frozen=True)
class DefinitionRequest:
    """What was requested: the query and how it is to be kept."""

    name: Name
    query: str
    mode: RefreshMode = RefreshMode.AUTO
    columns: tuple[tuple[str, str | None], ...] = ()
    schema: str = "default"
    frozen: FrozenRegion | None = None
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Defined:
    """A definition, its stages (None in FULL mode), and the mode that it came to, with why.

    `hint` is the smallest rewrite that would make it incremental, `checked` what the check at
    creation compared.
    """

    definition: Definition
    compiled: Compiled | None
    mode: RefreshMode
    reason: Reason
    hint: str = ""
    checked: str = ""


@dataclass(frozen=True)
class _Asked:
    """A query to be compiled: what was requested and what its names came to, over the sources as
    they are, or were at the frontier `at`; with `verify` it is checked."""

    spark: SparkSession
    request: DefinitionRequest
    definition: Definition
    found: Found
    verify: bool
    at: Frontier | None
    answers: SparkAnswers = field(default_factory=lambda: SparkAnswers(lambda: None))


@dataclass(frozen=True)
class Definer:
    """Analyses queries; `sources` finds names, `builtins` are Spark's functions.

    `made` are the stages of what was defined last: its first refresh asks for them again.
    """

    sources: Sources
    builtins: frozenset[str]
    tuning: Tuning = DEFAULTS
    made: deque[tuple[tuple[Definition | str, ...], Compiled | None]] = field(
        default_factory=lambda: deque(maxlen=_MADE), compare=False, repr=False
    )

    @cached_property
    def _evaluator(self) -> Evaluator:
        """Runs the statements of checks, each once or twice: it keeps no translations."""
        return Evaluator(self.tuning.evaluated_rows, CacheMemory(0))

    @property
    def reader(self) -> QueryReader:
        """Finds what queries read."""
        return QueryReader(self.sources, self.builtins)

    def define(
        self,
        spark: SparkSession,
        request: DefinitionRequest,
        settings: Mapping[str, str],
        *,
        verify: bool = True,
        at: Frontier | None = None,
    ) -> Defined:
        """The definition of a request, analysed in the private session `spark`, over its sources
        as they are, or were at the frontier `at`.

        `verify` runs the check at creation. Raises the catalogue's errors for bad input, and
        DT-1107 where INCREMENTAL was demanded and cannot be.
        """
        require_one_query(request.query)
        found = self.reader.find(request.query, request.schema, request.name, at)
        if path := self.sources.cycle(request.name, found):
            raise error("DT-1106", name=request.name, path=path)
        text = self._text(request, settings, found, at)
        fields = self._analyse(spark, request, found, text)
        check_cancelled()
        names = checked_names(spark, request.name, [n for n, _ in request.columns], fields)
        comments = [c for _, c in request.columns] or [None] * len(names)
        columns = tuple(
            (n, type_text(f.dataType), c) for n, f, c in zip(names, fields, comments, strict=True)
        )
        definition = Definition(
            request.query,
            dict(settings),
            columns,
            tuple(found.sources.values()),
            tuple(found.views.values()),
            request.schema,
            tuple(f.name for f in fields) if request.columns else (),
            called_by(self.sources.catalog, request.query, *(v.text for v in found.views.values())),
            request.frozen,
            request.parameters,
        )
        self.require_region(spark, request.name, definition)
        schemas = self._written(definition, at)
        asked = _Asked(spark, request, definition, found, verify, at)
        if request.mode is RefreshMode.FULL:
            return self._full(asked, refuse(Refusal.REQUESTED), schemas)
        try:
            compiled, checked = self._compile(asked)
        except Refused as e:
            e = of_registered(e, self.sources.catalog)
            if request.mode is RefreshMode.INCREMENTAL:
                raise _not_incremental(request, e) from None
            return self._full(asked, e, schemas)
        used = tuple(_with_columns(s, compiled) for s in definition.sources)
        definition = replace(definition, sources=used)
        self.made.append(((definition, *schemas), compiled))
        told = _RULED + _SETTLED * compiled.settles + _VALUES * bool(compiled.values_of_rows)
        reason = Reason("INCREMENTAL", told)
        return Defined(definition, compiled, RefreshMode.INCREMENTAL, reason, "", checked)

    def require_region(self, spark: SparkSession, name: Name, definition: Definition) -> None:
        """DT-1139, DT-1140 for a frozen region that cannot be kept."""
        if definition.frozen is not None:
            require_region(spark, name, definition.frozen, definition.columns, self.builtins)

    def compile(
        self,
        spark: SparkSession,
        definition: Definition,
        at: Frontier | None = None,
        answers: SparkAnswers | None = None,
    ) -> Compiled:
        """The stages of a definition that was found incremental before, over its sources as they
        are, or were at the frontier `at`; Refused if it is not. `answers` are used where it was not
        made here."""
        signature = (definition, *self._written(definition, at))
        for known, compiled in tuple(self.made):
            if known == signature and compiled is not None:
                return compiled
        found = found_by(definition)
        schemas = self.reader.schemas(spark, found, at)
        return self.compile_over(spark, definition, found, schemas, answers)

    def is_current(self, definition: Definition, at: Frontier) -> bool:
        """Whether the definition was made here over the very columns of the sources at `at`."""
        signature = (definition, *self._written(definition, at))
        return any(known == signature for known, _ in tuple(self.made))

    def relation(self, spark: SparkSession, definition: Definition, at: Frontier) -> Rel | None:
        """What the text means over the columns that its sources had at a frontier; None where the
        algebra has no form of it, or the log does not have them any more."""
        try:
            return simplify(self.reader.read(spark, definition, at).relation)
        except (Refused, LakeError):
            return None

    def _text(
        self,
        request: DefinitionRequest,
        settings: Mapping[str, str],
        found: Found,
        at: Frontier | None,
    ) -> str:
        if at is None:
            return request.query
        sources, views = tuple(found.sources.values()), tuple(found.views.values())
        plain = Definition(request.query, settings, (), sources, views, request.schema)
        return text_at(self.sources.logs, plain, at)

    def _written(self, definition: Definition, at: Frontier | None = None) -> tuple[str, ...]:
        """The schemas of the sources as their logs have them."""
        return tuple(
            self._schema_text(s, at)
            for s in definition.sources
            if s.path and s.kind is not SourceKind.FOREIGN and is_delta(s.path)
        )

    def _schema_text(self, source: Source, at: Frontier | None) -> str:
        assert source.path is not None
        log = self.sources.logs[source.path]
        if at is None:
            return str(log.schema_json())
        return str(log.metadata(at.versions[source.table_id]).schema_string)

    def _compile(self, asked: _Asked) -> tuple[Compiled, str]:
        spark, definition, found = asked.spark, asked.definition, asked.found
        refuse_other_reading(definition, self.reader.expand)
        for source in found.sources.values():
            if source.kind is SourceKind.FOREIGN:
                if storage := _storage(spark, source):
                    raise refuse(Refusal.OTHER_STORAGE, what=str(source.name), storage=storage)
                raise refuse(Refusal.FOREIGN_SOURCE, what=str(source.name))
        schemas = self.reader.schemas(spark, found, asked.at)
        compiled = self.compile_over(spark, definition, found, schemas, asked.answers)
        check_cancelled()
        if not asked.verify:
            return compiled, "no rows: the check is turned off"
        query, rng = asked.request.query, random.Random(asked.request.query)
        try:
            others = stand_ins(spark, self._called(compiled), query, rng)
        except NoValues as e:
            return compiled, f"no rows: no values of {e} are made for the check"
        real = {
            s.table_id: self._sample(spark, s, asked.request.name) for s in found.sources.values()
        }
        verdict = check(
            LocalViews(spark, self._evaluator),
            tuple(others.stage(s.stage, s.sql) for s in compiled.stages),
            schemas,
            real,
            query,
            lambda relations: others.text(
                self._wanted(definition, found, compiled, relations, schemas)
            ),
            rng,
            most_seconds=self.tuning.check_seconds,
        )
        if verdict.mismatch:
            raise refuse(Refusal.GUARD_MISMATCH, what=verdict.mismatch)
        return compiled, verdict.checked

    def _called(self, compiled: Compiled) -> tuple[UserFunction, ...]:
        """The functions whose values its stages keep."""
        names = {n for s in compiled.stages for n in kept_functions(s.sql)}
        return tuple(f for f in self.sources.catalog.functions() if f.name in names)

    def compile_over(
        self,
        spark: SparkSession,
        definition: Definition,
        found: Found,
        schemas: Mapping[str, StructType],
        answers: SparkAnswers | None = None,
    ) -> Compiled:
        """The stages of a definition over what it reads, with the schemas of its sources by their
        ids; Refused where there are none."""
        names = tuple(n for n, _, _ in definition.columns)
        try:
            return compile_query(
                spark,
                self.reader.text_of(definition, found),
                self.reader.functions,
                schemas,
                definition,
                columns_of_region(definition.frozen, names),
                on_change_names(self.sources.catalog),
                answers,
            )
        except AnalysisException as e:
            what = f"Spark does not accept its statements ({analyser_words(e)})"
            raise refuse(Refusal.EXPRESSION, what=what) from e

    def _sample(self, spark: SparkSession, source: Source, of: Name) -> list[dict[str, Any]]:
        """A few real rows; none where one has a value that Python does not hold. DT-2114."""
        try:
            return self._real_rows(spark, source, of)
        except NoValues:
            return []

    def _real_rows(self, spark: SparkSession, source: Source, of: Name) -> list[dict[str, Any]]:
        """Of a dynamic table that has no contents yet there are none."""
        files = self.sources.file_source(source)
        if files is not None:
            return as_rows(sample_files(spark, files, self.tuning.check_rows))
        if source.path is None or not self.sources.logs[source.path].size().files:
            return []
        rows = head(self.sources.logs[source.path], self.tuning.check_rows)
        if rows is not None:
            return python_rows(rows)
        with lost_is_named(self.sources, source, of):
            return as_rows(
                spark.read.format("delta")
                .load(text_of_path(source.path))
                .limit(self.tuning.check_rows)
            )

    def _wanted(
        self,
        definition: Definition,
        found: Found,
        compiled: Compiled,
        relations: Mapping[str, str],
        schemas: Mapping[str, StructType],
    ) -> str:
        padded = any(is_padded(f) for s in schemas.values() for f in s)
        if compiled.settles or padded:
            return compiled.text(lambda scan: relations[scan.source])
        public = {s: public_rows(text, schemas[s].names) for s, text in relations.items()}
        views = {n: v.text for n, v in found.views.items()}
        text = QueryText(definition.query, definition.current_schema, found.sources, views)
        return text.over(public)

    def _full(self, asked: _Asked, refused: Refused, schemas: tuple[str, ...]) -> Defined:
        definition = asked.definition
        if UNKNOWN not in asked.found.sources and self._reads_more(asked):
            definition = replace(definition, sources=(*definition.sources, UNKNOWN_SOURCE))
        self.made.append(((definition, *schemas), None))
        return Defined(definition, None, RefreshMode.FULL, refused.reason, refused.hint)

    def _reads_more(self, asked: _Asked) -> bool:
        """Whether Spark reads what no name in the text shows, as functions that may read any
        table do; also where Spark has no plan. Without an analyser its names decide, as far as they
        do."""
        query = self.reader.text_of(asked.definition, asked.found)
        texts = (query.text, *query.views.values())
        if query.reads_the_past():
            return any(map(reads_by_function, texts))
        schemas = self.reader.schemas(asked.spark, asked.found, asked.at)
        try:
            document = read_document_of(asked.spark, query, schemas, asked.answers)
            return reads_elsewhere(document)
        except Refused as e:
            return e.refusal is not Refusal.NO_ANALYSER or any(map(reads_by_function, texts))

    def _analyse(
        self, spark: SparkSession, request: DefinitionRequest, found: Found, text: str
    ) -> list[StructField]:
        """The fields of `text`, which is the query, perhaps with its tables pinned."""
        try:
            return list(spark.sql(text).schema.fields)
        except AnalysisException as e:
            if is_syntax_error(e):
                raise syntax_error(e, request.query) from e
            made = analysis_error(e, request.query, self.sources, lambda: self._columns(found))
            if text != request.query:  # the places that Spark names are not those of the query
                made = DTError(made.code, made.facts, details=made.details)
            raise made from e

    def _columns(self, found: Found) -> list[str]:
        """The columns that a query may name."""
        schemas = self.reader.schemas(self.sources.spark, found, None).values()
        return [c for s in schemas for c in public_columns(s.names)]


def _not_incremental(request: DefinitionRequest, refused: Refused) -> DTError:
    """DT-1107, with the place if the text shows it."""
    reason, query = refused.reason, request.query
    sentence = reason.sentence + "."
    facts = {"name": request.name, "reason": reason.code, "sentence": sentence}
    made = error("DT-1107", **facts, hint=refused.hint)
    if refused.refusal is not Refusal.RECURSIVE:
        return made.at(query, refused.place) if refused.place else made
    return made.at(query, recursive_place(query, dict(refused.facts)["what"]))


def _with_columns(source: Source, compiled: Compiled) -> Source:
    used = frozenset[str]().union(
        *(s.reads.get(source.table_id, frozenset()) for s in compiled.stages)
    )
    return Source(source.name, source.kind, source.table_id, source.path, tuple(sorted(used)))


_RULED = "every operator has an incremental rule"
_VALUES = "; a row has the values of functions that were computed when it was inserted or updated"
_SETTLED = "; ties and samples are decided by row contents"


def _storage(spark: SparkSession, source: Source) -> str | None:
    """The scheme of a source that is on no disk of this machine."""
    if source.name.schema == "delta":
        return storage_of(source.name.table)
    relation = lookup(spark, source.name, temporary=False)
    return storage_of((relation.location if relation is not None else None) or "")
