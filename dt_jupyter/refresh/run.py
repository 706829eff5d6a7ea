"""One refresh of one dynamic table, by the protocol of lease, commit, read-back and record."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.catalog import Attempt, Overtaken
from dt_jupyter.ivm import Bag, Refused, monotone
from dt_jupyter.lake import (
    Added,
    Change,
    CommitRequest,
    Committed,
    Lost,
    Overwrite,
    SmallTables,
    Unchanged,
    commit,
    is_delta,
    snapshot_sql,
)
from dt_jupyter.lake.contents import Contents
from dt_jupyter.lake.mend import restore_sequence
from dt_jupyter.model import (
    Clock,
    Definition,
    DTError,
    DynamicTable,
    Frontier,
    Name,
    Progress,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    SourceKind,
    Timestamp,
    error,
    quote,
)
from dt_jupyter.refresh.apply import plan_for
from dt_jupyter.refresh.attempt import TTL_SECONDS, Stopwatch, begun, blank, heartbeats
from dt_jupyter.refresh.change_size import too_wide
from dt_jupyter.refresh.choose import Choice, choose
from dt_jupyter.refresh.compiled import Compiled
from dt_jupyter.refresh.cost import STATE_REBUILT, Work, cheaper_whole, is_cold
from dt_jupyter.refresh.define import Defined, Definer, DefinitionRequest
from dt_jupyter.refresh.evolution import (
    Outputs,
    changed_meaning,
    changed_outputs,
    expected,
    outputs_of,
)
from dt_jupyter.refresh.failures import as_error
from dt_jupyter.refresh.look import Look, look
from dt_jupyter.refresh.lost_columns import explained
from dt_jupyter.refresh.mend import is_to_mend, mend, noticed
from dt_jupyter.refresh.missing import choice_anew
from dt_jupyter.refresh.original import reads_the_clock, rows_at, text_at
from dt_jupyter.refresh.reading import rows_of
from dt_jupyter.refresh.recovery import recover_contents, recover_table
from dt_jupyter.refresh.sources import Sources
from dt_jupyter.refresh.stages import FORMAT, STATE_FORMAT, Outcome, Stages, prepare
from dt_jupyter.spark import (
    CancelFlag,
    Cancelled,
    RefreshSessions,
    cancel,
    count_jobs,
    is_connect,
    run_cancellable,
)
from dt_jupyter.spark.metrics import JobMetrics, job_metrics
from dt_jupyter.spark.progress import JobProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MANY = 5
"""Fewer changed sources than this never make a change too wide to be followed."""


@dataclass
class Refresher:
    """Runs refreshes; several threads may, of different tables at once."""

    spark: SparkSession
    sources: Sources
    definer: Definer
    sessions: RefreshSessions
    clock: Clock
    small: SmallTables = field(default_factory=SmallTables)
    contents: Contents = field(default_factory=Contents)
    _compiled: dict[str, tuple[Any, Compiled]] = field(default_factory=dict)
    _flags: dict[str, CancelFlag] = field(default_factory=dict)
    _progress: dict[str, JobProgress] = field(default_factory=dict)
    _ended: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(
        self, dt_id: str, t: Timestamp, trigger: RefreshTrigger, *, metadata_only: bool = False
    ) -> RefreshRecord | None:
        """Moves the table to data timestamp `t`; everything upstream must be there already.

        The record says what was done, a failure included: only an interrupt and what concerns no
        attempt (DT-2104, DT-2109) are raised. With `metadata_only`, None if data would be needed.
        """
        table = self._registered(dt_id)
        watch = Stopwatch(self.clock)
        attempt_id = uuid.uuid4().hex
        try:
            table = self.standing(table)
            seen = look(self.sources, table, t, classic=not is_connect(self.spark))
            choice = self._choose(table, seen)
        except Exception as e:
            return self._refused(table, t, trigger, attempt_id, as_error(e, table.name))
        if choice.action is RefreshAction.NO_DATA:
            return self._no_data(table, t, trigger, attempt_id, seen, choice, watch)
        if metadata_only:
            return None
        pins = [(s, v) for f in (table.frontier, seen.frontier) if f for s, v in f.versions.items()]
        try:
            attempt = self.sources.catalog.begin(
                dt_id, trigger, t, attempt_id, TTL_SECONDS, pins, after=table.sequence
            )
        except Overtaken:
            return self.refresh(dt_id, t, trigger, metadata_only=metadata_only)
        return self._attempt(table, attempt, seen, choice, watch)

    def cancel(self, dt_id: str) -> bool:
        """Cancels the running refresh of a table; whether one runs here."""
        with self._lock:
            running = [(g, f) for g, f in self._flags.items() if g.startswith(f"{dt_id}:")]
        for group, flag in running:
            flag.set()
            cancel(self.spark, group)
        return bool(running)

    def running(self) -> dict[str, Callable[[], Progress]]:
        """The refreshes that run here, by their query ids, each with what tells how far it is."""
        with self._lock:
            groups = list(self._flags)
            for group in groups:
                if group not in self._progress:
                    self._progress[group] = JobProgress(self.spark, group)
            self._progress = {g: self._progress[g] for g in groups}
            return {g.partition(":")[2]: p.now for g, p in self._progress.items()}

    def cancel_all(self) -> None:
        with self._lock:
            ids = {g.partition(":")[0] for g in self._flags}
        for dt_id in ids:
            self.cancel(dt_id)

    def explain_choice(self, table: DynamicTable, t: Timestamp) -> tuple[Look, Choice]:
        """What a refresh to `t` would find and do, upstream as it stands; nothing is recorded."""
        seen = look(self.sources, table, t, classic=not is_connect(self.spark), forecast=True)
        try:
            return seen, self._choose(table, seen)
        except DTError as e:
            raise self.explained(e, table) from e

    def explained(self, e: DTError, table: DynamicTable) -> DTError:
        """The error, or what is behind it: a column that a source has not any more."""
        return explained(e, table, self.sources.logs.__getitem__)

    # -- looking ----------------------------------------------------------------------------------

    def _registered(self, dt_id: str) -> DynamicTable:
        table = self.sources.catalog.by_id(dt_id)
        if table is None:
            raise error("DT-1101", name=dt_id, hint="It was dropped.")
        return table

    def standing(self, table: DynamicTable) -> DynamicTable:
        """The table as its log says that it stands."""
        path = self.sources.layout.public(table.id)
        if table.sequence == 0 and not is_delta(path):
            return table
        catalog = self.sources.catalog
        table = noticed(catalog, self.sources.logs, self.sources.layout, table)
        if is_to_mend(table):
            return table
        table = recover_table(catalog, self.sources.logs[str(path)], table)
        return recover_contents(self.sources, self.contents, table)

    def _choose(self, table: DynamicTable, seen: Look) -> Choice:
        invalid = seen.invalid
        if invalid is None and seen.evolved:
            invalid = self._evolution(table, seen)
        if invalid is None and table.frontier is not None and self._is_of_another_format(table):
            invalid = Reason("STATE_FORMAT", "its tables were made by another release")
        choice = choose(table, seen.plans, seen.names, invalid)
        if choice.action is RefreshAction.NO_DATA and _clock_moved(table, seen):
            reason = Reason("CLOCK_MOVED", "the query asks for the time, which is another one now")
            return replace(choice, action=RefreshAction.FULL, reason=reason)
        if choice.action is not RefreshAction.INCREMENTAL:
            return choice
        if table.mode is RefreshMode.AUTO:
            work = self._work(table, seen)
            anew = work and cheaper_whole(work, self.sources.catalog.measured(table.id))
            if anew:
                return replace(choice, action=RefreshAction.FULL, reason=anew, keeps_state=False)
        if table.frontier is not None and table.frontier.stateless:
            reason = Reason(STATE_REBUILT, "the last refresh computed its rows without its state")
            return replace(choice, action=RefreshAction.REINITIALIZE, reason=reason)
        if wide := self._too_wide(table, seen, choice):
            return replace(choice, action=RefreshAction.REINITIALIZE, reason=wide)
        return choice

    def _too_wide(self, table: DynamicTable, seen: Look, choice: Choice) -> Reason | None:
        """Why the sources that changed are too many to be followed; None where they are not."""
        if len(choice.changed) < _MANY:
            return None
        compiled = self.known(table.id)
        if compiled is None:
            with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
                compiled = self.compiled(spark, table.id, table.definition, seen.frontier)
        return too_wide(tuple(s.stage for s in compiled.stages), choice.changed)

    def _is_of_another_format(self, table: DynamicTable) -> bool:
        log = self.sources.logs[str(self.sources.layout.public(table.id))]
        return bool(log.properties().get(FORMAT) != STATE_FORMAT)

    def _work(self, table: DynamicTable, seen: Look) -> Work | None:
        """The size of the change, from the logs alone; None where they do not tell."""
        changed = [rows_of(p) for p in seen.plans.values()]
        rows = self._source_rows(seen)
        if rows is None or any(n is None for n in changed):
            return None
        known = self._compiled.get(table.id)
        simple = known is not None and all(
            isinstance(s.stage.top, Bag) and monotone(s.stage.input) for s in known[1].stages
        )
        append = simple and all(isinstance(p, Added | Unchanged) for p in seen.plans.values())
        return Work(sum(n or 0 for n in changed), rows, append)

    def _source_rows(self, seen: Look) -> int | None:
        """Of all sources, as their logs have them; None where one does not tell."""
        if any(s.kind is SourceKind.FOREIGN for s in seen.sources):
            return None
        sizes = [self.sources.logs[s.path].size().rows for s in seen.sources if s.path]
        return None if None in sizes else sum(n or 0 for n in sizes)

    def _measured(self, table: DynamicTable, seen: Look) -> dict[str, Any]:
        """What the milliseconds of this refresh are to be judged by."""
        with self._lock:
            cold = is_cold(self._ended.total(), self._ended[table.id])
            self._ended[table.id] += 1
        rows = self._source_rows(seen) if table.mode is RefreshMode.AUTO else None
        return {"changed_rows": _changed_rows(seen), "source_rows": rows or 0, "cold": cold}

    def _evolution(self, table: DynamicTable, seen: Look) -> Reason | None:
        """Why the text means something else over the columns that its sources have now."""
        assert table.frontier is not None
        old = table.definition
        now = replace(old, sources=seen.sources, views=seen.views)
        with self.sessions.lease(table.warehouse, old.settings) as spark:
            list_anew(spark, old)
            outputs = self._outputs(spark, table.name, now, seen.frontier)
            moved = changed_outputs(expected(old), outputs)
            if moved or any(s.kind is SourceKind.FOREIGN for s in seen.sources):
                return moved
            meant = self.definer.relation(spark, old, table.frontier)
            return changed_meaning(meant, self.definer.relation(spark, now, seen.frontier))

    def _outputs(
        self, spark: SparkSession, name: Name, definition: Definition, frontier: Frontier
    ) -> Outputs:
        use_schema(spark, definition)
        try:
            return outputs_of(spark.sql(self.full_text(definition, frontier)).schema.fields)
        except PySparkException as e:
            raise as_error(e, name) from e

    # -- recording --------------------------------------------------------------------------------

    def _record(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, query_id: str,
        state: RefreshState,
    ) -> RefreshRecord:  # fmt: skip
        return RefreshRecord(
            table.name, query_id, state, trigger, t, warehouse=table.warehouse,
            target_lag_seconds=table.target_lag.seconds,
        )  # fmt: skip

    def _no_data(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, query_id: str,
        seen: Look, choice: Choice, watch: Stopwatch,
    ) -> RefreshRecord:  # fmt: skip
        record = replace(
            self._record(table, t, trigger, query_id, RefreshState.SUCCEEDED),
            action=choice.action, reason=choice.reason,
            frontier=_keeping_stages(seen.frontier, table.frontier),
            version=table.version, statistics=RefreshStatistics(compilation_ms=watch.lap()),
        )  # fmt: skip
        return self.sources.catalog.no_data(table.id, trigger, t, record)

    def _refused(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, query_id: str, e: DTError
    ) -> RefreshRecord:
        """A refresh that failed before it began: it has a row of its own all the same."""
        attempt = self.sources.catalog.begin(table.id, trigger, t, query_id, TTL_SECONDS)
        return self._failed(table, attempt, e, RefreshState.FAILED)

    def _failed(
        self, table: DynamicTable, attempt: Attempt, e: DTError, state: RefreshState,
        record: RefreshRecord | None = None,
    ) -> RefreshRecord:  # fmt: skip
        e = self.explained(e, table)
        made = replace(
            record or blank(attempt, table.name),
            state=state, error_code=e.code, error=str(e), end=self.clock.now(),
            start=attempt.started, warehouse=table.warehouse,
        )  # fmt: skip
        self.sources.catalog.fail(attempt, made)
        return made

    # -- the attempt ------------------------------------------------------------------------------

    def _attempt(
        self, table: DynamicTable, attempt: Attempt, seen: Look, choice: Choice, watch: Stopwatch
    ) -> RefreshRecord:
        group, flag = f"{table.id}:{attempt.id}", CancelFlag()
        fenced = threading.Event()

        def give_up() -> None:
            """Nothing that this refresh does counts any more."""
            fenced.set()
            flag.set()
            cancel(self.spark, group)

        record = begun(attempt, table.name, seen, choice)
        with self._lock:
            self._flags[group] = flag
        try:
            with heartbeats(self.sources.catalog, attempt, give_up):
                outcome = None
                while outcome is None:
                    try:
                        definition, outcome = self._computed(
                            table, attempt, seen, choice, group, flag, watch
                        )
                    except Exception as e:
                        choice = choice_anew(self.sources, self.contents, table, seen, choice, e)
                        record = begun(attempt, table.name, seen, choice)
                statistics = replace(outcome.statistics, **self._measured(table, seen))
                done = replace(
                    record, state=RefreshState.SUCCEEDED, frontier=outcome.frontier,
                    version=outcome.version, statistics=statistics,
                )  # fmt: skip
                return self.sources.catalog.finish(
                    attempt, done, frontier=outcome.frontier, sequence=outcome.sequence,
                    version=outcome.version, stages=outcome.stages,
                    definition=definition if definition != table.definition else None,
                )  # fmt: skip
        except (Cancelled, KeyboardInterrupt) as e:
            why = error("DT-2106", name=table.name)
            if fenced.is_set():
                why = error("DT-2108", name=table.name, sequence=attempt.sequence)
            self._failed(table, attempt, why, RefreshState.CANCELLED, record)
            if isinstance(e, KeyboardInterrupt):
                raise
            return replace(
                record, state=RefreshState.CANCELLED, error_code=why.code, error=str(why)
            )
        except Exception as e:
            return self._failed(
                table, attempt, as_error(e, table.name), RefreshState.FAILED, record
            )
        except BaseException as e:
            self._failed(table, attempt, as_error(e, table.name), RefreshState.FAILED, record)
            raise
        finally:
            with self._lock:
                self._flags.pop(group, None)

    def _computed(
        self, table: DynamicTable, attempt: Attempt, seen: Look, choice: Choice, group: str,
        flag: CancelFlag, watch: Stopwatch,
    ) -> tuple[Definition, Outcome]:  # fmt: skip
        """The refresh's commits, in a session of its own, and the definition that they are of."""
        compiling = watch.lap()
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            queued = watch.lap()
            if is_to_mend(table):
                mend(self.sources.catalog, self.sources.layout, table)
                self.small = SmallTables()
            table, definition = self._definition(spark, table, seen, choice)
            compiling += watch.lap()
            outcome = run_cancellable(
                spark, group, f"refresh {table.name} ({choice.action})",
                lambda: self._run(spark, table, definition, attempt, seen, choice, group, flag),
                flag,
            )  # fmt: skip
            statistics = replace(
                outcome.statistics, compilation_ms=compiling, queued_ms=queued,
                execution_ms=watch.lap(),
            )  # fmt: skip
            return definition, replace(outcome, statistics=statistics)

    def _definition(
        self, spark: SparkSession, table: DynamicTable, seen: Look, choice: Choice
    ) -> tuple[DynamicTable, Definition]:
        """The definition with its sources as they are; analysed anew where they are others.

        An AUTO table whose sources or views now have no incremental form is FULL from here on.
        """
        defined = self._define_anew(spark, table, seen, choice)
        if defined is not None and defined.mode is not table.effective_mode:
            table = self.sources.catalog.update(
                table.id, effective_mode=defined.mode, mode_reason=defined.reason
            )
        return table, _definition_now(defined, table, seen)

    def definition_for(
        self, spark: SparkSession, table: DynamicTable, seen: Look, choice: Choice
    ) -> Definition:
        """The definition by which a refresh computes what it chose, for EXPLAIN."""
        return _definition_now(self._define_anew(spark, table, seen, choice), table, seen)

    def _define_anew(
        self, spark: SparkSession, table: DynamicTable, seen: Look, choice: Choice
    ) -> Defined | None:
        """The definition analysed over its sources at the frontier that was seen, where all rows
        are computed and a source or view is another one or has other columns; else None."""
        if choice.action not in (RefreshAction.REINITIALIZE, RefreshAction.FULL):
            return None
        old = table.definition
        same = (seen.sources, seen.views) == (old.sources, old.views) and not seen.evolved
        if same and self._is_current(table, seen.frontier):
            return None
        full = table.effective_mode is RefreshMode.FULL
        mode = RefreshMode.FULL if full else table.mode
        request = DefinitionRequest(table.name, old.query, mode, old.listed, old.current_schema)
        use_schema(spark, old)
        return self.definer.define(spark, request, old.settings, verify=False, at=seen.frontier)

    def _is_current(self, table: DynamicTable, frontier: Frontier) -> bool:
        """Whether the columns of the sources are those that the definition was made over, where
        no frontier of the table's own tells."""
        if table.frontier is not None:
            return True
        return self.definer.is_current(table.definition, frontier)

    def _run(
        self, spark: SparkSession, table: DynamicTable, definition: Definition, attempt: Attempt,
        seen: Look, choice: Choice, group: str, flag: CancelFlag,
    ) -> Outcome:  # fmt: skip
        if table.effective_mode is RefreshMode.FULL:
            return self._full(spark, table, definition, attempt, seen, choice, group, flag)
        compiled = self.compiled(spark, table.id, definition, seen.frontier)
        return Stages(
            self, spark, table, definition, compiled, attempt, seen, choice, group, flag
        ).run()

    def compiled(
        self, spark: SparkSession, dt_id: str, definition: Definition, frontier: Frontier
    ) -> Compiled:
        """The stages of a definition over the columns that its sources have at a frontier, kept
        until it or they change."""
        logs = self.sources.logs
        signature = (
            definition,
            tuple(
                logs[s.path].metadata(frontier.versions[s.table_id]).schema_string
                for s in definition.sources if s.path
            ),
        )  # fmt: skip
        known = self._compiled.get(dt_id)
        if known is not None and known[0] == signature:
            return known[1]
        try:
            compiled = self.definer.compile(spark, definition, frontier)
        except Refused as e:
            reason = e.reason
            raise error("DT-1107", name="the definition", reason=reason.code,
                        sentence=reason.sentence + ".", hint=e.hint) from e  # fmt: skip
        self._compiled[dt_id] = (signature, compiled)
        return compiled

    def known(self, dt_id: str) -> Compiled | None:
        """The stages of a table that were compiled last; None before that."""
        found = self._compiled.get(dt_id)
        return found[1] if found is not None else None

    def full_text(self, definition: Definition, frontier: Frontier) -> str:
        """The user's text at a frontier, and its context functions at the data timestamp."""
        return text_at(self.sources.logs, definition, frontier)

    def defining_text(
        self, definition: Definition, frontier: Frontier, compiled: Compiled | None
    ) -> str:
        """The user's text at a frontier; where it leaves an order open, with that order fixed as
        the stages of an incremental table fix it."""
        if compiled is not None and compiled.settles:
            paths = {s.table_id: str(s.path) for s in definition.sources}
            return compiled.text(
                lambda s: snapshot_sql(paths[s.source], frontier.versions[s.source])
            )
        return self.full_text(definition, frontier)

    def read_text(self, path: str, version: int) -> str:
        """A snapshot's public rows."""
        return rows_at(self.sources.logs, path, version)

    def _full(
        self, spark: SparkSession, table: DynamicTable, definition: Definition, attempt: Attempt,
        seen: Look, choice: Choice, group: str, flag: CancelFlag,
    ) -> Outcome:  # fmt: skip
        plan_for(spark, heavy=True)
        list_anew(spark, definition)
        use_schema(spark, definition)
        frame = spark.sql(self.full_text(definition, seen.frontier))
        frame = frame.toDF(*(n for n, _, _ in definition.columns))
        path = self.sources.layout.public(table.id)
        new_schema = prepare(spark, path, frame.schema, table, table.cluster_by)
        flag.check(group)
        done = self.commit(spark, path, f"dt:{table.id}", attempt.sequence, attempt, seen.frontier,
                           Overwrite(frame, new_schema), choice, table.version, {},
                           definition, table.cluster_by)  # fmt: skip
        statistics = self.statistics(spark, group, [done])
        return Outcome(seen.frontier, attempt.sequence, done.version, (), statistics)

    def commit(
        self, spark: SparkSession, path: Any, app_id: str, sequence: int, attempt: Attempt,
        frontier: Frontier, change: Change, choice: Choice, expected: int | None,
        stages: Mapping[str, Any], definition: Definition, cluster_by: tuple[str, ...] = (),
    ) -> Committed:  # fmt: skip
        """One commit with its frontier; DT-2108 or DT-2113 where it lost.

        A change stands on the rows of version `expected`; an overwrite on none, so it is also
        what repairs a table that something else wrote to.
        """
        if isinstance(change, Overwrite):
            restore_sequence(path, app_id, sequence - 1, expected or 0)
            expected = None
        metadata = {
            "epoch": attempt.epoch,
            "data_ts": str(frontier.data_timestamp),
            "frontier": frontier.to_json(),
            "action": choice.action.value,
            "reason": [choice.reason.code, choice.reason.sentence],
            "trigger": attempt.trigger.value,
            "stages": dict(stages),
            "definition": self.sources.catalog.digest(definition),
            "table": self.sources.catalog.registration(attempt.dt_id, definition),
        }
        request = CommitRequest(path, app_id, sequence, attempt.id, metadata, expected, cluster_by)
        done = commit(request, change, spark=spark, log=self.sources.logs[str(path)])
        if isinstance(done, Lost):
            if done.code == "FOREIGN_WRITE":
                raise error("DT-2113", name=attempt.name, facts=done.sentence)
            raise error("DT-2108", name=attempt.name, sequence=sequence)
        return done

    def statistics(
        self, spark: SparkSession, group: str, commits: list[Committed], local_rows: int = 0,
        before_commit: JobMetrics | None = None,
    ) -> RefreshStatistics:  # fmt: skip
        """What a refresh did. `before_commit`: what was read for the change, where the commit
        itself reads too, or there is none."""
        metrics = before_commit or job_metrics(spark, group)
        last = commits[-1].statistics if commits else None
        rows_read = metrics.rows_read + local_rows
        if last is None:
            return RefreshStatistics(spark_jobs=metrics.jobs, rows_read=rows_read)
        jobs = metrics.jobs if before_commit is None else (count_jobs(spark, group) or 0)
        updated = last.updated or 0
        return RefreshStatistics(
            inserted_rows=(last.inserted or 0) + updated,
            deleted_rows=(last.deleted or 0) + updated,
            copied_rows=last.copied or 0,
            added_files=last.files_added,
            removed_files=last.files_removed,
            rows_read=rows_read,
            bytes_written=sum(c.statistics.bytes_added for c in commits),
            spark_jobs=jobs,
            writer=commits[-1].writer,
        )


def _changed_rows(seen: Look) -> int:
    return sum(rows_of(p) or 0 for p in seen.plans.values())


def _keeping_stages(frontier: Frontier, before: Frontier | None) -> Frontier:
    """Nothing changed, so the hidden stages stand where they stood."""
    if before is None:
        return frontier
    stages = {s: v for s, v in before.versions.items() if s.startswith("stage:")}
    versions = {**frontier.versions, **stages}
    return Frontier(frontier.data_timestamp, versions, before.stateless)


def _definition_now(defined: Defined | None, table: DynamicTable, seen: Look) -> Definition:
    """The definition as it was analysed anew, else the table's, with its sources as they are."""
    if defined is not None:
        return defined.definition
    return replace(table.definition, sources=seen.sources, views=seen.views)


def _clock_moved(table: DynamicTable, seen: Look) -> bool:
    """Whether a FULL table has other rows at the new data timestamp, though no source changed;
    incremental ones do not ask for the time."""
    if table.frontier is None or table.effective_mode is not RefreshMode.FULL:
        return False
    return reads_the_clock(
        table.definition, table.frontier.data_timestamp, seen.frontier.data_timestamp
    )


def list_anew(spark: SparkSession, definition: Definition) -> None:
    """Sources that are not Delta are read as they are now: a session keeps their list of files."""
    for source in definition.sources:
        if source.kind is SourceKind.FOREIGN and spark.catalog.tableExists(source.name.sql):
            spark.catalog.refreshTable(source.name.sql)


def use_schema(spark: SparkSession, definition: Definition) -> None:
    """Bare names that no frontier pins mean what they meant where the table was created; a
    session of ours may stand in the schema of another table."""
    if spark.catalog.databaseExists(definition.current_schema):
        spark.sql(f"USE {quote(definition.current_schema)}")
