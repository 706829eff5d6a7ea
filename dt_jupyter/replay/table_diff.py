"""Two snapshots of one name compared: definition, schema and rows."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dt_jupyter.model import Definition, Name
from dt_jupyter.model.hidden import STOP, WEIGHT
from dt_jupyter.replay.definition_history import Past
from dt_jupyter.replay.digest import NOTHING, moved_of, told
from dt_jupyter.replay.past_refresh import RowChanges, first_rows, row_lines
from dt_jupyter.replay.replay import Bench, Replay, Step, open_replay
from dt_jupyter.sources import Moment
from dt_jupyter.sql import SchemaMode

if TYPE_CHECKING:
    from dt_jupyter.model import DynamicTable


@dataclass(frozen=True)
class Diff:
    """The difference between two snapshots of a name, `old` and `new`.

    `text` is the change of a dynamic table's defining query as a unified diff, "" for none;
    `schema` what changed of the columns, in words. `inserted` and `deleted` count rows by
    content, those of `old` in the schema of `new` (None where a type has no hash); `rows` are the
    first of them.
    """

    name: Name
    old: Step
    new: Step
    text: str
    schema: str
    inserted: int | None
    deleted: int | None
    rows: RowChanges = field(repr=False)

    @property
    def same(self) -> bool:
        return not (self.text or self.schema or self.inserted or self.deleted)

    def __bool__(self) -> bool:
        """Whether there is a difference."""
        return not self.same

    def __str__(self) -> str:
        lines = [f"{self.name} from {self.old.time.words} to {self.new.time.words}"]
        lines += ["definition:", *("  " + t for t in self.text.splitlines())] if self.text else []
        lines += [f"schema: {self.schema}"] if self.schema else []
        counts = f"rows: {self.old.row_count:,} → {self.new.row_count:,}"
        if self.inserted is None or self.deleted is None:
            return "\n".join([*lines, counts])
        lines.append(f"{counts}, +{self.inserted} −{self.deleted}")
        lines += [f"  {line}" for line in row_lines(self.rows, self.inserted + self.deleted)]
        return "\n".join(lines)


def diff(
    bench: Bench, name: Name, query: str, a: Moment, b: Moment, table: DynamicTable | None
) -> Diff:
    """The difference of a name between two points; `table` is its dynamic table, if it is one.

    Raises as a replay of it does, and DT-4105 where a column of then has no form at `b`.
    """
    with open_replay(bench, name, query, a) as first, open_replay(bench, name, query, b) as second:
        old, new = first[0], second[0]
        text = _text(bench, table, old, new) if table is not None else ""
        inserted, deleted, rows = _moved(bench, first, second)
        same = second.snapshot(0).same_columns(first.snapshot(0))
    schema = told(new.columns, old.columns, same)
    return Diff(name, old, new, text, schema, inserted, deleted, rows)


def _text(bench: Bench, table: DynamicTable, old: Step, new: Step) -> str:
    past = Past(bench.snapshots.sources, table)
    before, after = (
        definition_lines(past.definition_of(past.commit_of(s.version or 0))) for s in (old, new)
    )
    found = difflib.unified_diff(before, after, str(old.time), str(new.time), lineterm="")
    return "\n".join(found)


def definition_lines(definition: Definition) -> list[str]:
    """Its text, its views and its settings."""
    views = [f"-- view {v.name}: {v.text}" for v in definition.views]
    settings = [f"-- {k} = {v}" for k, v in sorted(definition.settings.items())]
    return [*definition.query.strip().splitlines(), *views, *settings]


def _moved(
    bench: Bench, first: Replay, second: Replay
) -> tuple[int | None, int | None, RowChanges]:
    """Rows of the first in the schema of the second, against those of the second."""
    if first[0].digest is not None and first[0].digest == second[0].digest:
        return 0, 0, ()
    columns = second[0].columns
    names = [f"c{i}" for i in range(len(columns))]
    mine, theirs = first.snapshot(0), second.snapshot(0)
    tables = {
        i: replace(t, now=theirs.tables[i].then) if i in theirs.tables else t
        for i, t in mine.tables.items()
    }
    texts = (
        (theirs.sql(SchemaMode.SNAPSHOT_TIME), 1),
        (replace(mine, tables=tables).sql(SchemaMode.CURRENT), -1),
    )
    with bench.session() as spark:
        sides = [
            spark.sql(t).toDF(*names).selectExpr(*names, f"{w}L AS {WEIGHT}", f"0L AS {STOP}")
            for t, w in texts
        ]
        both = sides[0].unionAll(sides[1])
        moved = moved_of(spark, both, columns).get(0, NOTHING)
        return moved.inserted, moved.deleted, first_rows(both, columns)
