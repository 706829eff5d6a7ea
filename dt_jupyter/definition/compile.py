"""A definition compiled: its stages with their statements, and the schemas of their tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dt_jupyter.definition.change_size import refuse_large_change
from dt_jupyter.definition.compute_once import compute_once
from dt_jupyter.ivm import (
    Group,
    Refusal,
    Rel,
    Scan,
    Stage,
    compile_stages,
    refuse,
    scans,
    settle_types,
    settles,
)
from dt_jupyter.lake import CHAR_TYPE
from dt_jupyter.model import Name, Source, quote
from dt_jupyter.model.hidden import VISIBLE, is_hidden, public_columns
from dt_jupyter.sources import name_of
from dt_jupyter.spark import is_storable, text_of_path, type_text
from dt_jupyter.sql import BagSql, GroupSql, Place, Renderer, Table, View, bind, stage_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField, StructType


@dataclass(frozen=True)
class CompiledStage:
    """A stage, its statements, and the schema of its backing table."""

    stage: Stage
    sql: GroupSql | BagSql
    schema: StructType

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the backing table by which its rows are found; none where by content."""
        return self.sql.keys if isinstance(self.sql, GroupSql) and not self.sql.scalar else ()

    def stateless(self, sequence: int) -> tuple[str, ...] | None:
        """The columns of the backing table over the query's own rows, with no state; None where
        those do not show what tells them apart."""
        shown = self.sql.shown(sequence)
        if shown is None:
            return None
        none = {
            f.name: f"CAST(NULL AS {type_text(f.dataType)})"
            for f in self.schema
            if f.name not in shown
        }
        return tuple(f"{(shown | none)[f.name]} AS {quote(f.name)}" for f in self.schema)

    @property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """For each source by id, the columns that the stage reads of it."""
        found: dict[str, set[str]] = {}
        for scan in scans(self.stage.input):
            found.setdefault(scan.source, set()).update(name for _, name in scan.reads)
        return {s: frozenset(c) for s, c in found.items()}


@dataclass(frozen=True)
class Compiled:
    """The stages of a definition, bottom-up; the last one is the dynamic table itself.

    `relation` is the whole definition; `settles` says that its rows depend on an order which the
    query leaves open and which is fixed here, so that the text itself may give other rows.
    """

    stages: tuple[CompiledStage, ...]
    relation: Rel
    settles: bool

    def text(self, place: Place) -> str:
        """The definition as one query, its order fixed."""
        return Renderer(place)(self.relation)

    @property
    def values_of_rows(self) -> tuple[CompiledStage, ...]:
        """The stages with values that no query gives again."""
        return tuple(
            s for s in self.stages if isinstance(s.stage.top, Group) and s.stage.top.on_change
        )

    @property
    def public(self) -> CompiledStage:
        return self.stages[-1]


def source_schema(spark: SparkSession, source: Source) -> StructType:
    """The schema of a source as it is now; a dynamic table's with its hidden columns."""
    if source.path is not None and source.kind != "FOREIGN":
        return spark.read.format("delta").load(text_of_path(source.path)).schema
    return spark.table(source.name.sql).schema


def is_padded(field: StructField) -> bool:
    """Whether it is a CHAR(n), or has one in it: a string that Spark's analyser pads where it is
    compared. What is bound compares strings as they are."""
    return _CHAR.search(str(field.metadata.get(CHAR_TYPE, ""))) is not None


_CHAR = re.compile(r"(?<!var)char\(")


@dataclass(frozen=True)
class BoundQuery:
    """A query as a relation; `types` gives the Spark types of any relation over its sources,
    whose schemas are `known`, by id."""

    relation: Rel
    known: dict[str, StructType]
    types: Callable[[Rel], dict[str, str]]


def bind_query(
    spark: SparkSession,
    query: str,
    schema: str,
    sources: Mapping[Name, Source],
    views: Mapping[Name, str],
    builtins: frozenset[str],
    schemas: Mapping[str, StructType],
) -> BoundQuery:
    """`query` over sources with `schemas`, views looked through; Refused where it has no form in
    the algebra. Types come from Spark's analyser, over empty relations."""

    def resolve(parts: tuple[str, ...]) -> Table | View:
        name = name_of(parts, schema)
        if name in views:
            return View(views[name])
        source = sources.get(name)
        if source is None:  # the parser took a name for one that is computed
            raise refuse(Refusal.EXPRESSION, what=f"what {name} is, is computed")
        fields = schemas[source.table_id].fields
        columns = tuple(f.name for f in fields)
        casts = tuple((f.name, type_text(f.dataType)) for f in fields if is_padded(f))
        visible = VISIBLE if VISIBLE in columns else None
        return Table(source.table_id, public_columns(columns), visible, casts)

    known: dict[str, StructType] = dict(schemas)

    @cache
    def types(rel: Rel) -> dict[str, str]:
        fields = spark.sql(Renderer(lambda s: empty_relation(known[s.source]))(rel)).schema
        return {f.name: type_text(f.dataType) for f in fields}

    return BoundQuery(bind(query, resolve, builtins), known, types)


def compile_query(
    spark: SparkSession,
    query: str,
    schema: str,
    names: tuple[str, ...],
    types: tuple[str, ...],
    sources: Mapping[Name, Source],
    views: Mapping[Name, str],
    builtins: frozenset[str],
    schemas: Mapping[str, StructType],
    functions: frozenset[str] = frozenset(),
    frozen: frozenset[str] | None = None,
    on_change: frozenset[str] = frozenset(),
    added: tuple[str, ...] = (),
) -> Compiled:
    """The stages that keep `query` up to date; Refused where there are none.

    `functions` are the user's among `builtins`: each call is computed once, of those that are
    `on_change` for each row. `names` and `types` are the public columns as Spark analysed the
    text; `schemas` those of the sources by id; `frozen` the columns that the condition of a frozen
    region reads, None where there is none; `added` the public columns that came later than rows
    that the table has.
    """
    bound = bind_query(spark, query, schema, sources, views, builtins, schemas)
    relation, known, analysed = bound.relation, bound.known, bound.types
    if len(relation.columns) != len(names):  # what a generator makes of a map is not in the text
        raise refuse(Refusal.LATERAL, what="a generator whose columns are not named")
    once = compute_once(relation, functions, analysed, on_change)

    def place(scan: Scan) -> str:
        return empty_relation(known[scan.source])

    stages: list[CompiledStage] = []
    made = compile_stages(once, names, analysed, frozen)
    refuse_large_change(made)
    for stage in made:
        public = stage is made[-1]
        own = types if public else _output_types(stage, analysed)
        sql = stage_sql(stage, own, added if public else ())
        text = sql.initial(Renderer(place))
        table = spark.sql(sql.numbered(text, 1) if isinstance(sql, BagSql) else text).schema
        _require_storable(spark, table, hidden=not public)
        known[stage.id] = table
        stages.append(CompiledStage(stage, sql, table))
    fixed = settles(relation)
    return Compiled(tuple(stages), settle_types(relation, analysed) if fixed else relation, fixed)


def _require_storable(spark: SparkSession, table: StructType, *, hidden: bool) -> None:
    """Refused where a stage would keep, beside the columns that people see, what a table does not
    take."""
    for field in table.fields:
        kind, text = field.dataType, field.dataType.simpleString()
        shown = not hidden and not is_hidden(field.name)
        if not (shown or text == "void" or is_storable(spark, kind)):
            raise refuse(Refusal.UNSTORABLE, type=text)


def _output_types(stage: Stage, types: Callable[[Rel], dict[str, str]]) -> tuple[str, ...]:
    if isinstance(stage.top, Group):
        return ()
    known = types(stage.input)
    return tuple(known[c] for c in stage.input.columns)


def empty_relation(schema: StructType) -> str:
    """A relation without rows, for the analyser alone."""
    items = ", ".join(
        f"CAST(NULL AS {type_text(f.dataType)}) AS {quote(f.name)}" for f in schema.fields
    )
    return f"(SELECT {items} WHERE FALSE)"
