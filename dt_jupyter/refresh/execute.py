"""The stages of one refresh moved bottom-up; the public one last is the commit point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Attempt, StageRow
from dt_jupyter.definition import DEFAULT_DAYS, Compiled, defining_text
from dt_jupyter.evaluation import Evaluator
from dt_jupyter.lake import (
    Append,
    Change,
    Committed,
    Overwrite,
    SmallTables,
    add_columns,
    admit_schema,
    backing_properties,
    create,
    is_delta,
    open_log,
    remove_folder,
    sql_table,
    stored_schema,
)
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    RefreshAction,
    RefreshStatistics,
    Tuning,
    quote,
)
from dt_jupyter.refresh.compaction import compacted
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.frozen_rows import KeptRegion, kept_region
from dt_jupyter.refresh.held_frames import HeldFrames
from dt_jupyter.refresh.observation import Look
from dt_jupyter.refresh.query_session import list_anew, use_schema
from dt_jupyter.refresh.shown_changes import count_shown
from dt_jupyter.refresh.stage_commit import (
    CommitOrigin,
    Target,
    commit_stage,
    refresh_statistics,
)
from dt_jupyter.refresh.stage_facts import logs_of, stage_app_id
from dt_jupyter.refresh.stage_plan import (
    StageFacts,
    StagePlan,
    StageStatement,
    StageStep,
    resolve_step,
)
from dt_jupyter.refresh.stage_run import StageRun
from dt_jupyter.refresh.statement_confs import INTERPRETED, plan_for
from dt_jupyter.sources import Sources
from dt_jupyter.spark import CancelFlag, empty_frame, job_metrics, read_confs
from dt_jupyter.sql import TextQuery

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Outcome:
    """What the commits of one refresh came to."""

    frontier: Frontier
    sequence: int
    version: int
    stages: tuple[StageRow, ...]
    statistics: RefreshStatistics


FORMAT = "dt_jupyter.stateFormat"
STATE_FORMAT = "7"
"""What the columns of backing tables mean, and which stages a query is cut into: a release that
changes either takes the next number, and tables of another one are recomputed."""


def prepare(
    spark: SparkSession,
    path: Path,
    schema: StructType,
    table: DynamicTable,
    cluster_by: tuple[str, ...] = (),
) -> bool:
    """Makes the backing table if it is not there; whether its schema is to be replaced."""
    if not is_delta(path):
        properties = backing_properties(
            schema,
            retention_days=table.retention_days or DEFAULT_DAYS,
            extra={FORMAT: STATE_FORMAT},
            cluster_by=cluster_by,
        )
        create(spark, path, schema, properties, cluster_by)
        return False
    log = open_log(path)
    if log.properties().get(FORMAT) != STATE_FORMAT:
        pair = f"'{FORMAT}' = '{STATE_FORMAT}'"
        spark.sql(f"ALTER TABLE {sql_table(path)} SET TBLPROPERTIES ({pair})")
    stored = stored_schema(log.metadata())
    if [(f.name, f.dataType) for f in stored] == [(f.name, f.dataType) for f in schema]:
        return False
    admit_schema(spark, log, stored, schema)
    return True


@dataclass(frozen=True)
class RefreshContext:
    """A refresh under way: what its steps share."""

    spark: SparkSession
    sources: Sources
    builtins: frozenset[str]
    tuning: Tuning
    small: SmallTables
    evaluator: Evaluator
    table: DynamicTable
    definition: Definition
    attempt: Attempt
    seen: Look
    choice: Choice
    group: str
    flag: CancelFlag

    def commit(
        self,
        target: Target,
        frontier: Frontier,
        change: Change,
        stages: Mapping[str, int | None] | None = None,
    ) -> Committed:
        """One commit of this refresh, unless it was cancelled."""
        self.flag.check(self.group)
        origin = CommitOrigin(self.attempt, self.choice, self.definition, frontier, stages or {})
        return commit_stage(self.spark, self.sources, target, origin, change, self.small)

    def public_target(self) -> Target:
        """The commit point."""
        table = self.table
        return Target(
            self.sources.layout.public(table.id),
            f"dt:{table.id}",
            self.attempt.sequence,
            table.version,
            table.cluster_by,
        )


@dataclass
class Stages:
    """A plan executed, step by step; the public table's is the commit point."""

    context: RefreshContext
    plan: StagePlan
    compiled: Compiled | None
    facts: StageFacts
    commits: list[Committed] = field(default_factory=list)
    rows: list[StageRow] = field(default_factory=list)
    local_rows: int = 0
    written_views: dict[str, str] = field(default_factory=dict)
    _held: HeldFrames = field(default_factory=HeldFrames)

    def __post_init__(self) -> None:
        self._versions = dict(self.context.seen.frontier.versions)

    @cached_property
    def _compiled_as(self) -> Mapping[str, str]:
        return read_confs(self.context.spark, INTERPRETED)

    def run(self) -> Outcome:
        *hidden, public = self.plan.steps
        try:
            for step in hidden:
                row = self._run_hidden(self._resolve(step))
                self._versions[row.id] = row.version or 0
                self.rows.append(row)
            return self._run_public(self._resolve(public))
        finally:
            self._held.release()
            remove_folder(self._staging)

    @property
    def _staging(self) -> Path:
        return self.context.sources.layout.staging(self.context.attempt.id)

    def _resolve(self, step: StageStep) -> StageStep:
        if self.compiled is None:
            return step
        return resolve_step(step, self.compiled.stages[step.ordinal], self._versions, self.facts)

    def _frontier(self, *, stateless: bool = False) -> Frontier:
        return Frontier(self.context.seen.frontier.data_timestamp, self._versions, stateless)

    def _run_public(self, step: StageStep) -> Outcome:
        of, target, rows = self.context, self.context.public_target(), tuple(self.rows)
        whole = step.statement is StageStatement.QUERY
        frontier = self._frontier(stateless=whole and self.compiled is not None)
        region = self._region(step)
        change = self._query(region) if whole else self._change(step, target, region)
        moved = of.choice.action is RefreshAction.INCREMENTAL
        if moved and of.choice.extended is not None:
            target, change = self._with_new_columns(target, change)
        read = job_metrics(of.spark, of.group) if moved else None
        if change is None:
            statistics = refresh_statistics(of.spark, of.group, [], self.local_rows, read)
            return Outcome(frontier, of.table.sequence, of.table.version or 0, rows, statistics)
        done = of.commit(target, frontier, change, {r.id: r.version for r in rows})
        self.commits.append(done)
        statistics = refresh_statistics(of.spark, of.group, self.commits, self.local_rows, read)
        version, log = done.version, of.sources.logs[str(target.path)]
        statistics = count_shown(
            of.spark, log, of.small, change, target.version, version, statistics
        )
        if self.compiled is not None:
            keys = () if of.table.cluster_by else self.compiled.public.keys
            version = self._compacted(target, version, keys)
        return Outcome(frontier, target.sequence, version, rows, statistics)

    def _with_new_columns(self, target: Target, change: Change | None) -> tuple[Target, Change]:
        """The target with the columns of the definition that it lacks, NULL in its rows, and the
        change that goes to it, which may be of no rows.

        They are separate commits, and change no rows. Where this refresh ends before its
        commit, the next one finds them, and computes all rows again.
        """
        assert self.compiled is not None
        of, schema = self.context, self.compiled.public.schema
        log = of.sources.logs[str(target.path)]
        add_columns(of.spark, log, schema)
        if change is None:
            change = Append(empty_frame(of.spark, schema))
        return replace(target, version=log.version()), change

    def _run_hidden(self, step: StageStep) -> StageRow:
        """The version of a hidden stage after its step."""
        assert self.compiled is not None
        table, frontier = self.context.table, self._frontier()
        target = Target(
            self.context.sources.layout.stage(table.id, step.ordinal),
            stage_app_id(table.id, step.ordinal),
            step.sequence,
            step.version,
        )
        change = self._change(step, target)
        row = StageRow(
            table.id,
            step.ordinal,
            step.stage,
            step.sequence - 1,
            step.version,
            frontier,
            str(target.path),
        )
        if change is None:
            return row
        done = self.context.commit(target, frontier, change)
        self.commits.append(done)
        keys = self.compiled.stages[step.ordinal].keys
        version = self._compacted(target, done.version, keys)
        return replace(row, sequence=step.sequence, version=version)

    def _compacted(self, target: Target, version: int, keys: tuple[str, ...]) -> int:
        log = self.context.sources.logs[str(target.path)]
        return compacted(self.context.spark, target.path, log, version, keys, self.context.tuning)

    def _change(
        self, step: StageStep, target: Target, region: KeptRegion | None = None
    ) -> Change | None:
        """The change to commit for a stage; None: its rows are the same."""
        if step.statement is StageStatement.NOTHING:
            return None
        run = self._stage_run(step, target, region)
        if step.statement is StageStatement.INITIALISE:
            schema, table = run.compiled.schema, self.context.table
            new_schema = prepare(self.context.spark, target.path, schema, table, target.cluster_by)
            rows = run.initialise(new_schema)
            if run.written is not None:
                self.written_views[step.stage] = run.written
            self.local_rows += run.reading.local_rows
            return rows
        change = run.advance()
        self.local_rows += run.reading.local_rows
        return change

    def _region(self, step: StageStep) -> KeptRegion | None:
        """The frozen region, for the step of the public table."""
        of = self.context
        return kept_region(
            of.sources,
            of.builtins,
            of.table,
            of.definition,
            of.seen.frontier.data_timestamp,
            whole=step.statement is not StageStatement.CHANGE,
        )

    def _stage_run(self, step: StageStep, target: Target, region: KeptRegion | None) -> StageRun:
        of, compiled = self.context, self.compiled
        assert compiled is not None
        return StageRun(
            of.spark,
            of.table.name,
            compiled.stages[step.ordinal],
            step,
            of.sources.logs[str(target.path)],
            logs_of(of.sources, of.table.id, of.definition, compiled),
            self._staging,
            of.tuning,
            of.small,
            of.evaluator,
            compiled_as=lambda: self._compiled_as,
            written_views=self.written_views,
            region=region,
            held=self._held,
        )

    def _query(self, region: KeptRegion | None) -> Overwrite:
        """All rows by the user's text: for a FULL table, and with no state where that is cheaper
        than to compute it too."""
        of, spark, definition = self.context, self.context.spark, self.context.definition
        plan_for(spark, heavy=True)
        if self.compiled is None:
            list_anew(spark, definition)
            use_schema(spark, definition)
        kept = region.rows if region is not None else None
        has_ids = region is not None and region.has_ids and self.compiled is not None
        text = defining_text(
            of.sources.logs, definition, of.seen.frontier, self.compiled, whole=kept is None
        )
        names = [n for n, _, _ in definition.columns]
        frame = spark.sql(text).toDF(*names)
        if kept is not None and not has_ids:
            frame = frame.unionAll(spark.sql(kept).select(*map(quote, names)))
        schema = frame.schema
        if self.compiled is not None:
            public = self.compiled.public
            own_columns = public.stateless(of.attempt.sequence)
            assert own_columns is not None
            frame, schema = frame.selectExpr(*own_columns), public.schema
            if kept is not None and has_ids:
                frame = frame.unionAll(spark.sql(public.sql.derived(TextQuery(kept)).sql))
        target = of.public_target()
        return Overwrite(frame, prepare(spark, target.path, schema, of.table, target.cluster_by))
