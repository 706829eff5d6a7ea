"""A definition compiled: its stages with their statements, and the schemas of their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.definition.change_size import refuse_large_change
from dt_jupyter.definition.compute_once import compute_once
from dt_jupyter.definition.query_meaning import (
    CallableFunctions,
    QueryText,
    empty_relation,
    read_meaning,
)
from dt_jupyter.definition.spark_answers import SparkAnswers
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
from dt_jupyter.model import Definition, quote
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.spark import is_storable, type_text
from dt_jupyter.sql import BagSql, GroupSql, Place, Renderer, stage_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


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
        those have no columns that identify them."""
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
    `answers` are those of Spark that it was made by.
    """

    stages: tuple[CompiledStage, ...]
    relation: Rel
    settles: bool
    answers: SparkAnswers = field(default_factory=SparkAnswers, compare=False, repr=False)

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


def compile_query(
    spark: SparkSession,
    query: QueryText,
    functions: CallableFunctions,
    schemas: Mapping[str, StructType],
    definition: Definition,
    frozen: frozenset[str] | None = None,
    on_change: frozenset[str] = frozenset(),
    answers: SparkAnswers | None = None,
) -> Compiled:
    """The stages that keep the query of a definition up to date, over sources with these schemas,
    by id; Refused where there are none.

    Each call of the user's functions is computed once, of those that are `on_change` for each row.
    `frozen` are the columns that the condition of a frozen region reads, None where there is none.
    """
    answers = answers or SparkAnswers()
    meaning = read_meaning(spark, query, functions, schemas, answers)
    relation, known, analysed = meaning.relation, meaning.known, meaning.types
    names = tuple(n for n, _, _ in definition.columns)
    types = tuple(t for _, t, _ in definition.columns)
    if len(relation.columns) != len(names):  # of a text over columns that have changed
        raise refuse(Refusal.EXPRESSION, what="it has another number of columns now")
    called = frozenset(f.name for f in definition.functions)
    once = compute_once(relation, called, analysed, on_change)

    def place(scan: Scan) -> str:
        return empty_relation(known[scan.source])

    stages: list[CompiledStage] = []
    made = compile_stages(once, names, analysed, frozen)
    refuse_large_change(made)
    for stage in made:
        public = stage is made[-1]
        own = types if public else _output_types(stage, analysed)
        sql = stage_sql(stage, own, definition.added if public else ())
        rows = sql.initial(Renderer(place))
        whole = sql.numbered(rows, 1) if isinstance(sql, BagSql) else rows
        table = answers.schema(spark, whole.sql)
        _require_storable(spark, table, hidden=not public)
        known[stage.id] = table
        stages.append(CompiledStage(stage, sql, table))
    fixed = settles(relation)
    whole_relation = settle_types(relation, analysed) if fixed else relation
    return Compiled(tuple(stages), whole_relation, fixed, answers)


def _require_storable(spark: SparkSession, table: StructType, *, hidden: bool) -> None:
    """Refused if a stage would store, in addition to public columns, what a table does not
    take."""
    for column in table.fields:
        kind, text = column.dataType, column.dataType.simpleString()
        shown = not hidden and not is_hidden(column.name)
        if not (shown or text == "void" or is_storable(spark, kind)):
            raise refuse(Refusal.UNSTORABLE, type=text)


def _output_types(stage: Stage, types: Callable[[Rel], dict[str, str]]) -> tuple[str, ...]:
    if isinstance(stage.top, Group):
        return ()
    known = types(stage.input)
    return tuple(known[c] for c in stage.input.columns)
