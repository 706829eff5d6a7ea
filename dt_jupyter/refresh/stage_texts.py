"""The statements of a stage's step: a refresh runs them over what it has read, EXPLAIN shows them
over what it would read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.definition import CompiledStage
from dt_jupyter.ivm import LARGE, Bracketed, Prefix, Rel, Scan, Sizes, monotone
from dt_jupyter.lake import Added, TableLog, Unchanged
from dt_jupyter.refresh.frozen_rows import KeptRegion
from dt_jupyter.refresh.observation import rows_of
from dt_jupyter.refresh.stage_facts import column_type
from dt_jupyter.refresh.stage_plan import UNKNOWN_ROWS, SourceRead, StageStep, changed_rows
from dt_jupyter.refresh.stage_way import ChangeSize
from dt_jupyter.sql import (
    AllColumns,
    BagSql,
    GroupSql,
    Nested,
    Query,
    Renderer,
    Select,
    TextQuery,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FindGroups = Callable[[Query, GroupSql], tuple[Query, str]]
"""The touched groups, from the query that computes them, and the relation of the state that they
are merged into."""


@dataclass(frozen=True)
class StageTexts:
    """`region` is the frozen region of the dynamic table, where the stage is its own."""

    spark: SparkSession
    compiled: CompiledStage
    step: StageStep
    region: KeptRegion | None = None

    @property
    def size(self) -> ChangeSize:
        return ChangeSize(tuple(rows_of(p) for p in self.step.changes.values()))

    @property
    def insert_only(self) -> bool:
        """Nothing can cancel and nothing is deleted: rows are appended as they come."""
        return monotone(self.compiled.stage.input) and all(
            isinstance(p, Added) for p in self.step.changes.values() if not isinstance(p, Unchanged)
        )

    def initial(self, render: Renderer) -> Query:
        """All rows of the stage's table."""
        sql, sequence = self.compiled.sql, self.step.sequence
        rows = sql.initial(render)
        if not isinstance(sql, BagSql):
            return rows
        if self.region is None or self.region.rows is None:
            return sql.numbered(rows, sequence)
        kept, has_ids = TextQuery(self.region.rows), self.region.has_ids
        return sql.beside(self.live(rows), kept, sequence, has_ids=has_ids)

    def change(
        self, render: Renderer, delta: Rel, find_groups: FindGroups, *, local: bool = False
    ) -> Query:
        """ΔQ: the statement whose rows decide everything else; `local` as of `make_renderer`."""
        sql = self.compiled.sql
        if isinstance(sql, BagSql):
            return self.live(sql.change(render, delta, consolidate=not self.insert_only))
        groups, state = find_groups(sql.touched(render, delta), sql)
        hint = "SHUFFLE_HASH" if local else "BROADCAST" if self.size.is_small else ""
        return sql.merged(groups, state, hint=hint)

    def live(self, rows: Query) -> Query:
        """Rows with the public columns, without those that belong to a frozen region: what comes to
        it and what leaves it changes nothing."""
        if self.region is None:
            return rows
        kept = Prefix("NOT", Bracketed(self.region.read(self.spark)))
        return Select((AllColumns(),), Nested(rows), kept, tall=True)


def make_renderer(
    place: Callable[[Scan], str],
    reads: Mapping[str, SourceRead],
    sizes: Sizes,
    key_view: str | None = None,
    *,
    local: bool = False,
) -> Renderer:
    """Texts over the relations that `place` gives; `key_view` is the one that all restrictions are
    by. `local`: rows in memory alone, which are one partition and need not be sent to any task."""
    hint = "SHUFFLE_HASH" if local else "BROADCAST"
    changed = sum(n or 0 for n in changed_rows(reads.values()).values())
    return Renderer(
        place,
        keys=lambda name: key_view or name,
        small=sizes.is_small,
        hint=hint,
        key_hint=hint if local or changed <= LARGE else None,
    )


def log_sizes(reads: Mapping[str, SourceRead], logs: Mapping[str, TableLog]) -> Sizes:
    """What the logs tell of the sources and their changes."""
    return Sizes(
        lambda source: table_rows(logs[source]),
        changed_rows(reads.values()),
        lambda source, column: column_type(logs[source], column),
    )


def table_rows(log: TableLog) -> int:
    known = log.size().rows
    return UNKNOWN_ROWS if known is None else known
