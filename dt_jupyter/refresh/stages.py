"""The stages of one refresh moved bottom-up; the public one last is the commit point."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import Attempt, StageRow
from dt_jupyter.lake import (
    Change,
    ChangePlan,
    Committed,
    Overwrite,
    TableLog,
    Unchanged,
    backing_properties,
    create,
    is_delta,
    recluster,
)
from dt_jupyter.lake.fence import next_sequence
from dt_jupyter.lake.paths import sql_string, sql_table
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    RefreshAction,
    RefreshStatistics,
    Source,
    SourceKind,
)
from dt_jupyter.refresh.apply import CODEGEN, StageRun, plan_for
from dt_jupyter.refresh.choose import Choice
from dt_jupyter.refresh.compiled import Compiled
from dt_jupyter.refresh.look import Look, plan_source
from dt_jupyter.refresh.recovery import stage_standing
from dt_jupyter.refresh.table_options import DEFAULT_DAYS
from dt_jupyter.refresh.upkeep import compacted
from dt_jupyter.spark import CancelFlag, is_connect
from dt_jupyter.spark.metrics import job_metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dt_jupyter.refresh.run import Refresher


@dataclass(frozen=True)
class Outcome:
    """What the commits of one refresh came to."""

    frontier: Frontier
    sequence: int
    version: int
    stages: tuple[StageRow, ...]
    statistics: RefreshStatistics


FORMAT = "dt_jupyter.stateFormat"
STATE_FORMAT = "3"
"""What the columns of backing tables mean, and which stages a query is cut into: a release that
changes either takes the next number, and tables of another one are computed anew."""


def prepare(
    spark: SparkSession, path: Any, schema: Any, table: DynamicTable,
    cluster_by: tuple[str, ...] = (),
) -> bool:  # fmt: skip
    """Makes the backing table if it is not there; whether its schema is to be replaced."""
    if not is_delta(path):
        properties = backing_properties(
            schema, retention_days=table.retention_days or DEFAULT_DAYS,
            extra={FORMAT: STATE_FORMAT}, cluster_by=cluster_by,
        )  # fmt: skip
        create(spark, path, schema, properties, cluster_by)
        return False
    if TableLog(path).properties().get(FORMAT) != STATE_FORMAT:
        pair = f"'{FORMAT}' = '{STATE_FORMAT}'"
        spark.sql(f"ALTER TABLE {sql_table(path)} SET TBLPROPERTIES ({pair})")
    stored = spark.read.format("delta").load(str(path)).schema
    if [(f.name, f.dataType) for f in stored] == [(f.name, f.dataType) for f in schema]:
        return False
    _keep_statistics_of_what_stays(spark, path, stored, schema)
    return True


def _keep_statistics_of_what_stays(spark: SparkSession, path: Any, stored: Any, new: Any) -> None:
    """Delta refuses a schema without a column that statistics are asked of, and no overwrite
    changes that property; nor may it be one that rows are clustered by. The change of a property
    is no change of rows to anyone."""
    recluster(spark, TableLog(path), ())
    kept = {(f.name, f.dataType) for f in stored}
    both = type(new)([f for f in new.fields if (f.name, f.dataType) in kept])
    name = "delta.dataSkippingStatsColumns"
    listed = sql_string(backing_properties(both)[name])
    spark.sql(f"ALTER TABLE {sql_table(path)} SET TBLPROPERTIES ('{name}' = {listed})")


@dataclass
class Stages:
    """The stages of one refresh, bottom-up; the public one last is the commit point."""

    refresher: Refresher
    spark: SparkSession
    table: DynamicTable
    definition: Definition
    compiled: Compiled
    attempt: Attempt
    seen: Look
    choice: Choice
    group: str
    flag: CancelFlag
    commits: list[Committed] = field(default_factory=list)
    rows: list[StageRow] = field(default_factory=list)
    local_rows: int = 0

    def __post_init__(self) -> None:
        self._codegen = self.spark.conf.get(CODEGEN, None) or "true"

    @property
    def anew(self) -> bool:
        """Whether all rows and all state are computed from the sources."""
        return self.choice.action in (RefreshAction.REINITIALIZE, RefreshAction.FULL)

    def run(self) -> Outcome:
        sources = self.refresher.sources
        versions = dict(self.seen.frontier.versions)
        staging = sources.layout.staging(self.attempt.id)
        try:
            hidden = () if self.own_columns is not None else self.compiled.stages[:-1]
            for ordinal, compiled in enumerate(hidden):
                row = self._hidden(ordinal, versions)
                versions[compiled.stage.id] = row.version or 0
                self.rows.append(row)
            stateless = self.own_columns is not None
            return self._public(Frontier(self.seen.frontier.data_timestamp, versions, stateless))
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _public(self, frontier: Frontier) -> Outcome:
        sources = self.refresher.sources
        path = sources.layout.public(self.table.id)
        names = {r.id: r.version for r in self.rows}
        last = len(self.compiled.stages) - 1
        change = self._rows_alone(path) or self._change(
            last, path, self.table.version, self.table.frontier, frontier, self.attempt.sequence
        )
        read = None if self.anew else job_metrics(self.spark, self.group)
        if change is None:
            statistics = self.refresher.statistics(
                self.spark, self.group, [], self.local_rows, read
            )
            return Outcome(frontier, self.table.sequence, self.table.version or 0,
                            tuple(self.rows), statistics)  # fmt: skip
        self.flag.check(self.group)
        done = self.refresher.commit(
            self.spark, path, f"dt:{self.table.id}", self.attempt.sequence, self.attempt, frontier,
            change, self.choice, self.table.version, names, self.definition, self.table.cluster_by,
        )  # fmt: skip
        self.commits.append(done)
        statistics = self.refresher.statistics(
            self.spark, self.group, self.commits, self.local_rows, read
        )
        keys = () if self.table.cluster_by else self.compiled.public.keys
        version = compacted(self.spark, path, sources.logs[str(path)], done.version, keys)
        return Outcome(frontier, self.attempt.sequence, version, tuple(self.rows), statistics)

    def _hidden(self, ordinal: int, versions: Mapping[str, int]) -> StageRow:
        """A hidden stage moved; it may be ahead of the public table after a crash, and goes on
        from where its own log says it is."""
        sources = self.refresher.sources
        compiled = self.compiled.stages[ordinal]
        path = sources.layout.stage(self.table.id, ordinal)
        app_id = f"dt:{self.table.id}:{ordinal}"
        row = stage_standing(sources.catalog, sources.logs, self.table.id, ordinal, path, app_id)
        frontier = Frontier(self.seen.frontier.data_timestamp, versions)
        fresh = self.anew or row is None
        sequence = next_sequence(sources.logs[str(path)], app_id) if is_delta(path) else 1
        change = self._change(ordinal, path, row.version if row else None,
                                 None if fresh or row is None else row.frontier,
                                 frontier, sequence)  # fmt: skip
        if change is None and row is not None:
            return replace(row, frontier=frontier)
        assert change is not None
        self.flag.check(self.group)
        done = self.refresher.commit(
            self.spark, path, app_id, sequence, self.attempt, frontier, change, self.choice,
            row.version if row else None, {}, self.definition,
        )  # fmt: skip
        self.commits.append(done)
        version = compacted(self.spark, path, sources.logs[str(path)], done.version, compiled.keys)
        return StageRow(
            self.table.id, ordinal, compiled.stage.id, sequence, version, frontier, str(path)
        )

    def _change(
        self, ordinal: int, path: Path, version: int | None, old: Frontier | None,
        new: Frontier, sequence: int,
    ) -> Change | None:  # fmt: skip
        """The change to commit for a stage; None: its rows are the same."""
        again = self.anew or old is None
        run = self._stage_run(ordinal, path, version, None if again else old, new, sequence)
        if again:
            schema, mine = run.compiled.schema, self._cluster_by(ordinal)
            new_schema = prepare(self.spark, path, schema, self.table, mine)
            return run.initialise(new_schema)
        change = run.advance()
        self.local_rows += run.reading.local_rows
        return change

    def _cluster_by(self, ordinal: int) -> tuple[str, ...]:
        """A hidden stage has columns of its own, and is found by its keys."""
        return self.table.cluster_by if ordinal == len(self.compiled.stages) - 1 else ()

    @cached_property
    def own_columns(self) -> tuple[str, ...] | None:
        """The backing table's columns over the rows of the query itself; None where state is kept,
        and has to be."""
        if self.choice.keeps_state:
            return None
        return self.compiled.public.stateless(self.attempt.sequence)

    def _rows_alone(self, path: Path) -> Overwrite | None:
        """All rows by the query itself, with no state: what is computed for its cost must not
        cost more than that."""
        if self.own_columns is None:
            return None
        plan_for(self.spark, heavy=True)
        text = self.refresher.defining_text(self.definition, self.seen.frontier, self.compiled)
        frame = self.spark.sql(text).toDF(*(n for n, _, _ in self.definition.columns))
        frame = frame.selectExpr(*self.own_columns)
        schema, cluster_by = self.compiled.public.schema, self.table.cluster_by
        return Overwrite(frame, prepare(self.spark, path, schema, self.table, cluster_by))

    def _stage_run(
        self, ordinal: int, path: Path, version: int | None, old: Frontier | None,
        new: Frontier, sequence: int,
    ) -> StageRun:  # fmt: skip
        compiled = self.compiled.stages[ordinal]
        sources = self.refresher.sources
        logs = {s.table_id: sources.logs[s.path] for s in self.definition.sources if s.path}
        for i, earlier in enumerate(self.compiled.stages[:ordinal]):
            logs[earlier.stage.id] = sources.logs[str(sources.layout.stage(self.table.id, i))]
        return StageRun(
            self.spark, self.table.name, compiled, path, sources.logs[str(path)], version, old, new,
            logs, self._plans(compiled.reads, logs, old, new) if old is not None else {}, sequence,
            sources.layout.staging(self.attempt.id), tables=self.refresher.small,
            codegen=self._codegen,
        )  # fmt: skip

    def _plans(
        self, reads: Mapping[str, frozenset[str]], logs: Mapping[str, Any], old: Frontier,
        new: Frontier,
    ) -> dict[str, ChangePlan]:  # fmt: skip
        plans: dict[str, ChangePlan] = {}
        for source, columns in reads.items():
            before, after = old.versions[source], new.versions[source]
            if before == after:
                plans[source] = Unchanged()
                continue
            known = next((s for s in self.definition.sources if s.table_id == source), None)
            looked = known or Source(self.table.name, SourceKind.DELTA, source, None)
            plans[source] = plan_source(
                logs[source], before, after, replace(looked, columns=tuple(sorted(columns))),
                classic=not is_connect(self.spark),
            )  # fmt: skip
        return plans
