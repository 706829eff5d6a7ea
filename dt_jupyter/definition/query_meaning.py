"""What a query means, by Spark's plan of it over empty tables in the place of its sources."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.definition.spark_answers import AnswerKeys, SparkAnswers, digest_text
from dt_jupyter.ivm import ColumnType, Refusal, Refused, Rel, RelationTypes, Untyped, refuse
from dt_jupyter.lake import CHAR_TYPE
from dt_jupyter.model import FunctionKind, Name, Source, Span, UserFunction, quote
from dt_jupyter.model.hidden import VISIBLE, is_hidden, public_columns
from dt_jupyter.plans import (
    DOCUMENT_VERSION,
    PlanSource,
    SparkNode,
    find_lost,
    read_document,
    read_query_document,
    refuse_special_literals,
    relation_of_plan,
)
from dt_jupyter.sources import name_of, pinned
from dt_jupyter.spark import Catalyst, describe_session, type_text
from dt_jupyter.sql import Renderer, called_functions, table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

_CHAR = re.compile(r"(?<!var)char\(")


@dataclass(frozen=True)
class CallableFunctions:
    """The names of functions that a definition may call: Spark's own, and those of the user's
    that give the same value for the same arguments, or whose values are kept."""

    builtins: frozenset[str]
    own: frozenset[str]


@dataclass(frozen=True)
class QueryText:
    """A query with its functions of SQL replaced, and what its names are: `sources` and the texts
    of `views`; a name without a schema is one of `schema`. `declared` are the lake's functions,
    and `written` is what the user wrote."""

    text: str
    schema: str
    sources: Mapping[Name, Source]
    views: Mapping[Name, str]
    declared: tuple[UserFunction, ...] = ()
    written: str = ""

    def place(self, span: Span, text: str) -> Span | None:
        """Where the user wrote what is at this place of `text`, which was made of the query;
        None where that is not sure."""
        piece = text[span.start : span.end]
        if not piece or max(text) > "\uffff":  # Spark counts such characters twice
            return None
        made, own = ([m.start() for m in re.finditer(re.escape(piece), t)]
                     for t in (text, self.written))  # fmt: skip
        if len(made) != len(own) or span.start not in made:
            return None
        start = own[made.index(span.start)]
        return Span(start, start + len(piece))

    def over(self, relations: Mapping[str, str]) -> str:
        """The text with relations in the place of its sources, by their ids; views are looked
        through."""

        def relation(parts: tuple[str, ...]) -> str:
            return relations[self._source(parts).table_id]

        return pinned(self.text, relation, lambda parts: self.views.get(self._name(parts)))

    def _name(self, parts: tuple[str, ...]) -> Name:
        return name_of(parts, self.schema)

    def _source(self, parts: tuple[str, ...]) -> Source:
        source = self.sources.get(self._name(parts))
        if source is None:
            what = f"what {self._name(parts)} is, is computed"
            raise refuse(Refusal.EXPRESSION, what=what)
        return source

    def reads_the_past(self) -> bool:
        """Whether it, or a view, reads a table as of another time."""
        texts = (self.text, *self.views.values())
        return any(len(table_places(t)) > len(table_places(t, fixed=False)) for t in texts)


@dataclass(frozen=True)
class QueryMeaning:
    """A query as a relation; `types` gives the Spark types of any relation over its sources,
    whose schemas are `known`, by id."""

    relation: Rel
    known: dict[str, StructType]
    types: Callable[[Rel], dict[str, str]]


def read_meaning(
    spark: SparkSession,
    query: QueryText,
    functions: CallableFunctions,
    schemas: Mapping[str, StructType],
    answers: SparkAnswers | None = None,
) -> QueryMeaning:
    """What a query means over sources with these schemas, by id; Refused where it has no form in
    the algebra. Spark is asked what is not in `answers`, without a job."""
    known: dict[str, StructType] = dict(schemas)
    asked = _Analysis(spark, query, answers or SparkAnswers())

    if query.reads_the_past():
        raise refuse(Refusal.TIME_TRAVEL)
    plan = read_document(asked.document(schemas))
    tables = {s.table_id: _table(s, schemas[s.table_id]) for s in query.sources.values()}
    try:
        relation = relation_of_plan(plan, tables, functions.builtins, functions.own)
    except Refused as e:
        e.place = query.place(e.place, asked.text) if e.place else None
        raise
    asked.require_nothing_lost(plan, relation, schemas)
    return QueryMeaning(relation, known, asked.types_over(known))


def _columns(schema: StructType) -> dict[str, ColumnType]:
    """The columns of a source: there may be NULLs in any, since what is NOT NULL need not be so in
    later versions."""
    return {f.name: ColumnType(type_text(f.dataType)) for f in schema.fields}


def read_document_of(
    spark: SparkSession,
    query: QueryText,
    schemas: Mapping[str, StructType],
    answers: SparkAnswers | None = None,
) -> str:
    """The document of a query's plan over sources with these schemas, by id. Refused where Spark
    has no plan of it, or a client of Spark Connect has no analyser."""
    return _Analysis(spark, query, answers or SparkAnswers()).document(schemas)


@dataclass
class _Analysis:
    """Plans of one query; the analyser is started when it is first needed. `text` is what it read,
    empty where the plan was stored: places in a plan are places in it."""

    spark: SparkSession
    query: QueryText
    answers: SparkAnswers
    text: str = field(default="", init=False)

    @cached_property
    def _catalyst(self) -> Catalyst:
        return Catalyst.of(self.spark).declare_functions(self.query.declared)

    def document(self, schemas: Mapping[str, StructType]) -> str:
        """The document of the query over empty views of these schemas, by id."""
        read = {s.table_id for s in self.query.sources.values()}
        public = {i: public_schema(s) for i, s in schemas.items() if i in read}
        text = self.query.over(_names(public))
        refuse_special_literals(text)
        self.answers.use_keys(lambda: self._keys(text, public))
        return self.answers.document(lambda: self._read(public))

    def _keys(self, text: str, public: Mapping[str, StructType]) -> AnswerKeys:
        """Digests of all that Spark's answers about a text over these columns depend on."""
        called = called_functions(text)
        asked = {
            "version": DOCUMENT_VERSION,
            "text": text,
            "columns": {i: schema.jsonValue() for i, schema in public.items()},
            "functions": [
                [f.name, f.kind, f.returns, f.immutable]
                for f in sorted(self.query.declared, key=lambda f: f.name)
                if f.kind is not FunctionKind.SQL and f.name in called
            ],
        }
        made = (json.dumps(a, sort_keys=True) for a in (asked, describe_session(self.spark)))
        return AnswerKeys(*map(digest_text, made))

    def _read(self, public: Mapping[str, StructType]) -> str:
        catalyst = self._catalyst
        with catalyst.empty_views(public) as views:
            self.text = self.query.over({i: quote(view) for i, view in views.items()})
            try:
                return read_query_document(catalyst, self.text)
            except (PySparkException, Py4JJavaError) as e:
                first = next(iter(str(e).strip().splitlines()), type(e).__name__)
                raise refuse(Refusal.EXPRESSION, what=f"Spark has no plan of it ({first})") from e

    def require_nothing_lost(
        self, plan: SparkNode, relation: Rel, schemas: Mapping[str, StructType]
    ) -> None:
        """Refused where the text says what the relation does not. Why Spark has no plan of a
        relation is found where its stages are made."""
        text = Renderer(lambda s: empty_relation(schemas[s.source]))(relation)
        try:
            rendered = self.answers.document_of(
                text, lambda: read_query_document(self._catalyst, text)
            )
        except PySparkException:
            return
        lost = find_lost(plan, read_document(rendered))
        if lost is not None:
            raise refuse(Refusal.GUARD_MISMATCH, what=f"Spark reads {lost} in it, which was lost")

    def types_over(self, known: Mapping[str, StructType]) -> Callable[[Rel], dict[str, str]]:
        """The types of relations over sources with these schemas, which may become more: by the
        rules of expressions, and where those do not say, as of values of several types together,
        by Spark."""
        ruled = RelationTypes(lambda source: _columns(known[source]))

        @cache
        def analysed(rel: Rel) -> dict[str, str]:
            text = Renderer(lambda s: empty_relation(known[s.source]))(rel)
            fields = self.answers.schema(self.spark, text)
            return {f.name: type_text(f.dataType) for f in fields}

        def types(rel: Rel) -> dict[str, str]:
            try:
                found = ruled.of(rel)
            except Untyped:
                return analysed(rel)
            return {c: found[c].type for c in rel.columns}

        return types


def _names(ids: Iterable[str]) -> dict[str, str]:
    """Names for sources in a text, by id, that are the same in each process."""
    return {i: quote(f"source {n}") for n, i in enumerate(sorted(ids))}


def _table(source: Source, schema: StructType) -> PlanSource:
    columns = tuple(f.name for f in schema.fields)
    casts = tuple((f.name, type_text(f.dataType)) for f in schema.fields if is_padded(f))
    visible = VISIBLE if VISIBLE in columns else None
    return PlanSource(source.table_id, public_columns(columns), visible, casts)


def is_padded(field: StructField) -> bool:
    """Whether it is a CHAR(n), or has one in it: a string that Spark's analyser pads where it is
    compared. What is rendered compares strings as they are."""
    return _CHAR.search(str(field.metadata.get(CHAR_TYPE, ""))) is not None


def public_schema(schema: StructType) -> StructType:
    """The columns that a query may name, with what decides how Spark reads it: the same whether
    the schema was asked of Spark or of the table's log."""
    from pyspark.sql.types import StructField, StructType

    public = [f for f in schema.fields if not is_hidden(f.name)]
    kinds = ((f, f.metadata.get(CHAR_TYPE)) for f in public)
    return StructType(
        [
            StructField(f.name, _plain_type(f.dataType), metadata={CHAR_TYPE: k} if k else None)
            for f, k in kinds
        ]
    )


def _plain_type(kind: DataType) -> DataType:
    """The type without comments and other metadata of its fields."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, ArrayType):
        return ArrayType(_plain_type(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        key, value = _plain_type(kind.keyType), _plain_type(kind.valueType)
        return MapType(key, value, kind.valueContainsNull)
    if isinstance(kind, StructType):
        fields = ((f.name, _plain_type(f.dataType), f.nullable) for f in kind.fields)
        return StructType([StructField(*f) for f in fields])
    return kind


def empty_relation(schema: StructType) -> str:
    """A relation without rows, for the analyser alone."""
    items = ", ".join(
        f"CAST(NULL AS {type_text(f.dataType)}) AS {quote(f.name)}" for f in schema.fields
    )
    return f"(SELECT {items} WHERE FALSE)"
