"""Two queries compared by what they give now: two definitions of a table, or two tables."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.model import Definition, count_of, quote
from dt_jupyter.model.hidden import STOP, WEIGHT
from dt_jupyter.replay.digest import NOTHING, Columns, moved_of, told
from dt_jupyter.replay.past_refresh import RowChanges, first_rows, row_lines
from dt_jupyter.replay.replay import Bench
from dt_jupyter.replay.table_diff import definition_lines
from dt_jupyter.sources import Moment
from dt_jupyter.sql import SchemaMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Compared:
    """One side: a query with its bare names in `schema`; `definition` is that of a dynamic table,
    whose text is compared too."""

    label: str
    query: str
    schema: str
    definition: Definition | None = None


@dataclass(frozen=True)
class QueryDiff:
    """The difference between two queries that read the tables as they are now.

    `text` is the change of a definition as a unified diff, `schema` that of the columns in words.
    `columns` are those that both have; by them `inserted` and `deleted` count the rows, by content
    (None where there are none, or a type has no hash), and `rows` are the first of them.
    """

    old: str
    new: str
    text: str
    schema: str
    columns: Columns
    inserted: int | None
    deleted: int | None
    rows: RowChanges = field(repr=False)

    @property
    def title(self) -> str:
        return f"{self.new} compared with {self.old}"

    def __bool__(self) -> bool:
        """Whether there is a difference."""
        return bool(self.text or self.schema or self.inserted or self.deleted)

    def __str__(self) -> str:
        lines = [self.title]
        lines += ["definition:", *("  " + t for t in self.text.splitlines())] if self.text else []
        lines += [f"schema: {self.schema}"] if self.schema else []
        if self.inserted is None or self.deleted is None:
            return "\n".join([*lines, "rows: not compared"])
        by = f", by {count_of(len(self.columns), 'column')} of both" if self.schema else ""
        lines.append(f"rows: +{self.inserted} −{self.deleted}{by}")
        lines += [f"  {line}" for line in row_lines(self.rows, self.inserted + self.deleted)]
        return "\n".join(lines)


def compare_queries(bench: Bench, old: Compared, new: Compared) -> QueryDiff:
    """With the settings of the new one's definition. Raises as a replay of the two does."""
    settings = new.definition.settings if new.definition is not None else None
    with bench.session(settings) as spark:
        before, after = (_frame(bench, spark, side) for side in (old, new))
        was, now = (_columns(frame) for frame in (before, after))
        shared = tuple(column for column in now if _key(column) in set(map(_key, was)))
        moved, rows = _moved(spark, before, after, shared)
    return QueryDiff(
        old.label, new.label, _text(old, new), told(now, was, None), shared, *moved, rows
    )


def _frame(bench: Bench, spark: SparkSession, side: Compared) -> DataFrame:
    snapshots = bench.snapshots
    now = Moment(snapshots.now(), present=True)
    found = snapshots.of(side.query, side.schema, side.label, now)
    return spark.sql(found.sql(SchemaMode.SNAPSHOT_TIME))


def _columns(frame: DataFrame) -> Columns:
    return tuple((f.name, f.dataType.simpleString()) for f in frame.schema.fields)


def _key(column: tuple[str, str]) -> tuple[str, str]:
    return column[0].casefold(), column[1]


def _moved(
    spark: SparkSession, before: DataFrame, after: DataFrame, shared: Columns
) -> tuple[tuple[int | None, int | None], RowChanges]:
    if not shared:
        return (None, None), ()
    names = [f"{quote(name)} AS c{i}" for i, (name, _) in enumerate(shared)]
    sides = [
        frame.selectExpr(*names, f"{weight}L AS {WEIGHT}", f"0L AS {STOP}")
        for frame, weight in ((after, 1), (before, -1))
    ]
    both = sides[0].unionAll(sides[1])
    moved = moved_of(spark, both, shared).get(0, NOTHING)
    return (moved.inserted, moved.deleted), first_rows(both, shared)


def _text(old: Compared, new: Compared) -> str:
    if old.definition is None or new.definition is None:
        return ""
    before, now = definition_lines(old.definition), definition_lines(new.definition)
    return "\n".join(difflib.unified_diff(before, now, old.label, new.label, lineterm=""))
