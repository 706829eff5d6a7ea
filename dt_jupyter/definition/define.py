"""From a query text to a definition: names, columns, mode and why; nothing is created here."""

from __future__ import annotations

import random
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.definition.compile import (
    Compiled,
    bind_query,
    compile_query,
    source_schema,
)
from dt_jupyter.definition.validate.creation_check import check
from dt_jupyter.definition.validate.sandbox import as_rows
from dt_jupyter.failures import is_syntax_error, out_of_reach, syntax_error
from dt_jupyter.functions import called_by, expanded, is_registered, scalar_names
from dt_jupyter.ivm import Group, Refusal, Refused, Rel, refuse, simplify
from dt_jupyter.lake import LakeError, head, is_delta, spark_schema
from dt_jupyter.model import (
    DEFAULTS,
    Definition,
    DTError,
    Frontier,
    Name,
    Reason,
    RefreshMode,
    Source,
    SourceKind,
    Span,
    Tuning,
    count_of,
    did_you_mean,
    error,
)
from dt_jupyter.model.hidden import is_hidden, public_columns, public_rows
from dt_jupyter.sources import UNKNOWN, Found, Sources, lost_is_named, name_of, pinned, text_at
from dt_jupyter.spark import builtin_functions, check_cancelled
from dt_jupyter.sql import (
    reads_by_function,
    recursive_place,
    relations_in,
    require_bounded,
    require_one_query,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField, StructType

_MADE = 8
_UNKNOWN = Source(UNKNOWN, SourceKind.FOREIGN, str(UNKNOWN), None)
_UNSTORABLE = re.compile(r"(void|interval\b.*|.*\bvoid\b.*|time\(\d\))\Z")


@dataclass(frozen=True)
class DefinitionRequest:
    """What was asked for: the query and how it is to be kept."""

    name: Name
    query: str
    mode: RefreshMode = RefreshMode.AUTO
    columns: tuple[tuple[str, str | None], ...] = ()
    schema: str = "default"


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

    @property
    def scalars(self) -> frozenset[str]:
        """The names of functions that give the same value for the same arguments."""
        return scalar_names(self.builtins, self.sources.catalog)

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
        refused: Refused | None = None
        try:
            require_bounded(request.query)
            sources = self.sources if at is None else self.sources.lasting
            found = sources.of_query(request.query, request.schema, request.name, placed=True)
        except Refused as e:
            found, refused = self._without_parser(spark, request), e
        if path := self.sources.cycle(request.name, found):
            raise error("DT-1106", name=request.name, path=path)
        fields = self._analyse(spark, request, found, self._text(request, settings, found, at))
        check_cancelled()
        names = self._names(request, fields)
        comments = [c for _, c in request.columns] or [None] * len(names)
        columns = tuple(
            (n, f.dataType.simpleString(), c)
            for n, f, c in zip(names, fields, comments, strict=True)
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
        )
        schemas = self._written(definition, at)
        if request.mode is RefreshMode.FULL:
            return self._full(request, definition, found, refuse(Refusal.REQUESTED), schemas)
        try:
            if refused is not None:
                raise refused
            compiled, checked = self._compile(spark, request, definition, found, verify, at)
        except Refused as e:
            e = self._told(e)
            if request.mode is RefreshMode.INCREMENTAL:
                raise _not_incremental(request, e) from None
            return self._full(request, definition, found, e, schemas)
        used = tuple(_with_columns(s, compiled) for s in definition.sources)
        definition = replace(definition, sources=used)
        self.made.append(((definition, *schemas), compiled))
        reason = Reason("INCREMENTAL", _RULED + _SETTLED * compiled.settles)
        return Defined(definition, compiled, RefreshMode.INCREMENTAL, reason, "", checked)

    def compile(
        self, spark: SparkSession, definition: Definition, at: Frontier | None = None
    ) -> Compiled:
        """The stages of a definition that was found incremental before, over its sources as they
        are, or were at the frontier `at`; Refused if it is not."""
        signature = (definition, *self._written(definition, at))
        for known, compiled in tuple(self.made):
            if known == signature and compiled is not None:
                return compiled
        found = found_by(definition)
        return self._stages(spark, definition, found, self._schemas(spark, found, at))

    def is_current(self, definition: Definition, at: Frontier) -> bool:
        """Whether the definition was made here over the very columns of the sources at `at`."""
        signature = (definition, *self._written(definition, at))
        return any(known == signature for known, _ in tuple(self.made))

    def relation(self, spark: SparkSession, definition: Definition, at: Frontier) -> Rel | None:
        """What the text means over the columns that its sources had at a frontier; None where the
        algebra has no form of it, or the log does not tell them any more."""
        found = found_by(definition)
        try:
            views = {n: self._expanded(v.text) for n, v in found.views.items()}
            bound = bind_query(
                spark,
                self._expanded(definition.query),
                definition.current_schema,
                found.sources,
                views,
                self.scalars,
                self._schemas(spark, found, at),
            )
        except (Refused, LakeError):
            return None
        return simplify(bound.relation)

    def _told(self, refused: Refused) -> Refused:
        """The refusal of a function that is no built-in one, where it is the user's."""
        called = dict(refused.facts).get("what", "").removesuffix("()")
        unknown = refused.refusal is Refusal.UNKNOWN_FUNCTION
        if unknown and is_registered(called, self.sources.catalog):
            return refuse(Refusal.NOT_IMMUTABLE, what=f"{called}()")
        return refused

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

    def _compile(
        self,
        spark: SparkSession,
        request: DefinitionRequest,
        definition: Definition,
        found: Found,
        verify: bool,
        at: Frontier | None,
    ) -> tuple[Compiled, str]:
        if definition.settings.get("spark.sql.caseSensitive", "false").lower() == "true":
            raise refuse(Refusal.EXPRESSION, what="the session is case sensitive")
        for source in found.sources.values():
            if source.kind is SourceKind.FOREIGN:
                raise refuse(Refusal.FOREIGN_SOURCE, what=str(source.name))
        schemas = self._schemas(spark, found, at)
        compiled = self._stages(spark, definition, found, schemas)
        check_cancelled()
        if not verify:
            return compiled, "no rows: the check is turned off"
        if any(isinstance(s.stage.top, Group) and s.stage.top.once for s in compiled.stages):
            return compiled, "no rows: the check calls no functions of yours"
        real = {s.table_id: self._sample(spark, s, request.name) for s in found.sources.values()}
        verdict = check(
            spark,
            tuple((s.stage, s.sql) for s in compiled.stages),
            schemas,
            real,
            request.query,
            lambda relations: self._wanted(definition, found, compiled, relations, schemas),
            random.Random(request.query),
            most_seconds=self.tuning.check_seconds,
        )
        if verdict.mismatch:
            raise refuse(Refusal.GUARD_MISMATCH, what=verdict.mismatch)
        return compiled, verdict.checked

    def _stages(
        self,
        spark: SparkSession,
        definition: Definition,
        found: Found,
        schemas: Mapping[str, StructType],
    ) -> Compiled:
        names = tuple(n for n, _, _ in definition.columns)
        types = tuple(t for _, t, _ in definition.columns)
        views = {n: self._expanded(v.text) for n, v in found.views.items()}
        try:
            return compile_query(
                spark,
                self._expanded(definition.query),
                definition.current_schema,
                names,
                types,
                found.sources,
                views,
                self.scalars,
                schemas,
                frozenset(f.name for f in definition.functions),
            )
        except AnalysisException as e:
            what = f"Spark does not accept what was bound ({_first_line(e)})"
            raise refuse(Refusal.EXPRESSION, what=what) from e

    def _expanded(self, text: str) -> str:
        """The text with what functions of SQL return in the place of their calls."""
        return expanded(self.sources.catalog, text)

    def _schemas(
        self, spark: SparkSession, found: Found, at: Frontier | None
    ) -> dict[str, StructType]:
        known = (s for s in found.sources.values() if s.name != UNKNOWN)
        return {s.table_id: self._schema(spark, s, at) for s in known}

    def _schema(self, spark: SparkSession, source: Source, at: Frontier | None) -> StructType:
        if at is None or source.path is None or source.table_id not in at.versions:
            return source_schema(spark, source)
        metadata = self.sources.logs[source.path].metadata(at.versions[source.table_id])
        return spark_schema(metadata.fields)

    def _sample(self, spark: SparkSession, source: Source, of: Name) -> list[dict[str, Any]]:
        """A few real rows; a dynamic table that has no contents yet has none. DT-2114."""
        if source.path is None or not self.sources.logs[source.path].size().files:
            return []
        rows = head(self.sources.logs[source.path], self.tuning.check_rows)
        if rows is not None:
            return list(rows.to_pylist())
        with lost_is_named(self.sources, source, of):
            return as_rows(
                spark.read.format("delta").load(source.path).limit(self.tuning.check_rows)
            )

    def _wanted(
        self,
        definition: Definition,
        found: Found,
        compiled: Compiled,
        relations: Mapping[str, str],
        schemas: Mapping[str, StructType],
    ) -> str:
        if compiled.settles:
            return compiled.text(lambda scan: relations[scan.source])
        public = {s: public_rows(text, schemas[s].names) for s, text in relations.items()}
        return self._original(definition, found, public)

    def _original(self, definition: Definition, found: Found, relations: Mapping[str, str]) -> str:
        def relation(parts: tuple[str, ...]) -> str:
            return relations[found.sources[name_of(parts, definition.current_schema)].table_id]

        return pinned(definition.query, relation, self.view_text(found, definition))

    @staticmethod
    def view_text(found: Found, definition: Definition) -> Callable[[tuple[str, ...]], str | None]:
        def text(parts: tuple[str, ...]) -> str | None:
            view = found.views.get(name_of(parts, definition.current_schema))
            return view.text if view else None

        return text

    def _full(
        self,
        request: DefinitionRequest,
        definition: Definition,
        found: Found,
        refused: Refused,
        schemas: tuple[str, ...],
    ) -> Defined:
        if UNKNOWN not in found.sources and self._reads_more(request, found):
            definition = replace(definition, sources=(*definition.sources, _UNKNOWN))
        self.made.append(((definition, *schemas), None))
        return Defined(definition, None, RefreshMode.FULL, refused.reason, refused.hint)

    def _reads_more(self, request: DefinitionRequest, found: Found) -> bool:
        """Whether the text reads what the parser did not tell: tables that only our own pass over
        its words sees, and functions that may read any."""
        known = found.sources.keys() | found.views.keys()
        texts = (request.query, *(v.text for v in found.views.values()))
        named = (name_of(p, request.schema) for t in texts for p, _ in relations_in(t))
        return any(n not in known for n in named) or any(map(reads_by_function, texts))

    def _without_parser(self, spark: SparkSession, request: DefinitionRequest) -> Found:
        """The sources of a text that only Spark can parse: unknown, so it is always FULL, and
        its tables are read as they are at the time."""
        self._analyse(spark, request, Found(), request.query)
        return Found({UNKNOWN: _UNKNOWN})

    def _analyse(
        self, spark: SparkSession, request: DefinitionRequest, found: Found, text: str
    ) -> list[StructField]:
        """The fields of `text`, which is the query, perhaps with its tables pinned."""
        try:
            return list(spark.sql(text).schema.fields)
        except AnalysisException as e:
            if is_syntax_error(e):
                raise syntax_error(e, request.query) from e
            made = self._named(e, request, found)
            if text != request.query:  # the places that Spark names are not those of the query
                made = DTError(made.code, made.facts, details=made.details)
            raise made from e

    def _near_columns(self, name: str, found: Found) -> str:
        """The nearest of the sources' own: of Spark's proposals a short name is always near."""
        schemas = self._schemas(self.sources.spark, found, None).values()
        known = list(dict.fromkeys(c for s in schemas for c in public_columns(s.names)))
        more = ", …" if len(known) > _LISTED else ""
        listed = f"Known columns: {', '.join(known[:_LISTED])}{more}."
        return did_you_mean(name, known, listed if known else "")

    def _named(self, e: AnalysisException, request: DefinitionRequest, found: Found) -> DTError:
        """Spark's analysis errors as the catalogue's."""
        condition, facts = e.getCondition() or "", e.getMessageParameters() or {}
        if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
            name = facts.get("relationName", "?").replace("`", "")
            hint = did_you_mean(name, self.sources.known())
            return placed(e, request.query, "DT-1101", name=name, hint=hint)
        if condition.startswith("UNRESOLVED_COLUMN"):
            name = facts.get("objectName", "?").replace("`", "")
            hint = self._near_columns(name.rpartition(".")[2], found)
            return placed(e, request.query, "DT-1102", name=name, hint=hint)
        if condition.startswith("AMBIGUOUS_REFERENCE"):
            name = facts.get("name", "?").replace("`", "")
            candidates = facts.get("referenceNames", "").strip("[]").replace("`", "")
            return placed(e, request.query, "DT-1103", name=name, candidates=candidates)
        if condition.startswith("UNRESOLVED_ROUTINE"):
            name = facts.get("routineName", "?").replace("`", "")
            hint = did_you_mean(name, sorted(builtin_functions(self.sources.spark)), _BUILT_IN)
            return placed(e, request.query, "DT-1117", name=name, hint=hint)
        past = out_of_reach(e, request.query)
        if past is not None:
            return placed(e, request.query, past.code, **past.facts)
        return placed(e, request.query, "DT-1112", problem=_first_line(e), hint="")

    def _names(self, request: DefinitionRequest, fields: Sequence[StructField]) -> tuple[str, ...]:
        names = tuple(n for n, _ in request.columns) or tuple(f.name for f in fields)
        if len(names) != len(fields):
            raise error(
                "DT-1111",
                given=count_of(len(names), "name"),
                actual=count_of(len(fields), "column"),
            )
        repeated = [n for n, k in Counter(n.lower() for n in names).items() if k > 1]
        if repeated:
            raise error("DT-1104", name=repeated[0])
        for name in names:
            if is_hidden(name):
                raise error("DT-1114", name=name)
        for column in fields:
            kind = column.dataType.simpleString()
            if _UNSTORABLE.match(kind):
                problem = f"{column.name} has type {kind}"
                raise error("DT-1116", name=request.name, problem=problem)
        return names


def _not_incremental(request: DefinitionRequest, refused: Refused) -> DTError:
    """DT-1107, with the place where the text tells it."""
    reason, query = refused.reason, request.query
    sentence = reason.sentence + "."
    facts = {"name": request.name, "reason": reason.code, "sentence": sentence}
    made = error("DT-1107", **facts, hint=refused.hint)
    if refused.refusal is not Refusal.RECURSIVE:
        return made
    return made.at(query, recursive_place(query, dict(refused.facts)["what"]))


def found_by(definition: Definition) -> Found:
    """What the names of a definition came to when it was made."""
    return Found({s.name: s for s in definition.sources}, {v.name: v for v in definition.views})


def _with_columns(source: Source, compiled: Compiled) -> Source:
    used = frozenset[str]().union(
        *(s.reads.get(source.table_id, frozenset()) for s in compiled.stages)
    )
    return Source(source.name, source.kind, source.table_id, source.path, tuple(sorted(used)))


def _first_line(e: Exception) -> str:
    text = str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", re.sub(r"^\[[\w.]+\]\s*", "", text))


_RULED = "every operator has an incremental rule"
_SETTLED = "; what the query leaves open (an order, a sample) is decided by the rows' contents"
_LISTED = 8
_BUILT_IN = (
    "Use Spark's built-in functions, or register it by dt.register_udf: a refresh runs in its own "
    "session, which does not know functions that only this one has registered."
)


def placed(e: PySparkException, query: str, code: str, **facts: Any) -> DTError:
    """The catalogue's error with the place that Spark names, and its trace one click away."""
    made = error(code, **facts)
    contexts = e.getQueryContext() or []
    span = None
    if contexts and contexts[0].startIndex() >= 0:
        start, stop = contexts[0].startIndex(), contexts[0].stopIndex() + 1
        span = Span(start, stop) if 0 <= start <= stop <= len(query) else None
    return DTError(code, made.facts, query, span, str(e))
