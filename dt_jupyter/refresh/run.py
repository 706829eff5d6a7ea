"""One refresh of one dynamic table, by the protocol of lease, commit, read-back and record."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.catalog import Attempt, Overtaken, definition_digest
from dt_jupyter.ivm import Bag, Refused, monotone
from dt_jupyter.lake import (
    Added,
    Change,
    CommitRequest,
    Committed,
    LakeError,
    Lost,
    Overwrite,
    SmallTables,
    Unchanged,
    commit,
    is_delta,
    snapshot_sql,
)
from dt_jupyter.model import (
    Clock,
    Definition,
    DTError,
    DynamicTable,
    Frontier,
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
)
from dt_jupyter.refresh.apply import plan_for
from dt_jupyter.refresh.attempt import TTL_SECONDS, Stopwatch, blank, heartbeats
from dt_jupyter.refresh.choose import Choice, choose
from dt_jupyter.refresh.compiled import Compiled, public_rows
from dt_jupyter.refresh.cost import Work, cheaper_whole
from dt_jupyter.refresh.define import Definer, Request
from dt_jupyter.refresh.failures import as_error
from dt_jupyter.refresh.look import Look, look
from dt_jupyter.refresh.original import at_time, pinned
from dt_jupyter.refresh.reading import rows_of
from dt_jupyter.refresh.recovery import recover_table
from dt_jupyter.refresh.sources import Sources, name_of
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


@dataclass
class Refresher:
    """Runs refreshes; several threads may, of different tables at once."""

    spark: SparkSession
    sources: Sources
    definer: Definer
    sessions: RefreshSessions
    clock: Clock
    small: SmallTables = field(default_factory=SmallTables)
    _compiled: dict[str, tuple[Any, Compiled]] = field(default_factory=dict)
    _flags: dict[str, CancelFlag] = field(default_factory=dict)
    _progress: dict[str, JobProgress] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refresh(
        self, dt_id: str, t: Timestamp, trigger: RefreshTrigger, *, metadata_only: bool = False
    ) -> RefreshRecord | None:
        """Moves the table to data timestamp `t`; everything upstream must be there already.

        The record says what was done, a failure included: only an interrupt and what concerns no
        attempt (DT-2104, DT-2109) are raised. With `metadata_only`, None if data would be needed.
        """
        table = self._standing(dt_id)
        watch = Stopwatch(self.clock)
        attempt_id = uuid.uuid4().hex
        try:
            seen = look(self.sources, table, t, classic=not is_connect(self.spark))
            choice = self._choose(table, seen)
        except DTError as e:
            return self._refused(table, t, trigger, attempt_id, e)
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
        return seen, self._choose(table, seen)

    # -- looking ----------------------------------------------------------------------------------

    def _standing(self, dt_id: str) -> DynamicTable:
        catalog = self.sources.catalog
        table = catalog.by_id(dt_id)
        if table is None:
            raise error("DT-1101", name=dt_id, hint="It was dropped.")
        path = self.sources.layout.public(dt_id)
        if table.sequence == 0 and not is_delta(path):
            return table
        return recover_table(catalog, self.sources.logs[str(path)], table)

    def _choose(self, table: DynamicTable, seen: Look) -> Choice:
        invalid = seen.invalid
        if invalid is None and seen.evolved and self._redefined(table, seen):
            invalid = Reason("SCHEMA_EVOLVED", "the query's columns are others than before")
        if invalid is None and table.frontier is not None and self._is_of_another_format(table):
            invalid = Reason("STATE_FORMAT", "its tables were made by another release")
        choice = choose(table, seen.plans, seen.names, invalid)
        if choice.action is not RefreshAction.INCREMENTAL:
            return choice
        if table.mode is RefreshMode.AUTO:
            work = self._work(table, seen)
            anew = work and cheaper_whole(work, self.sources.catalog.recent(table.id))
            if anew:
                return replace(choice, action=RefreshAction.FULL, reason=anew, keeps_state=False)
        if table.frontier is not None and table.frontier.stateless:
            reason = Reason("STATE_REBUILT", "the last refresh computed its rows without its state")
            return replace(choice, action=RefreshAction.REINITIALIZE, reason=reason)
        return choice

    def _is_of_another_format(self, table: DynamicTable) -> bool:
        log = self.sources.logs[str(self.sources.layout.public(table.id))]
        return bool(log.properties().get(FORMAT) != STATE_FORMAT)

    def _work(self, table: DynamicTable, seen: Look) -> Work | None:
        """The size of the change, from the logs alone; None where they do not tell."""
        changed = [rows_of(p) for p in seen.plans.values()]
        sizes = [self.sources.logs[s.path].size().rows for s in seen.sources if s.path]
        if any(n is None for n in (*changed, *sizes)):
            return None
        known = self._compiled.get(table.id)
        simple = known is not None and all(
            isinstance(s.stage.top, Bag) and monotone(s.stage.input) for s in known[1].stages
        )
        append = simple and all(isinstance(p, Added | Unchanged) for p in seen.plans.values())
        return Work(sum(n or 0 for n in changed), sum(n or 0 for n in sizes), append)

    def _redefined(self, table: DynamicTable, seen: Look) -> bool:
        """Whether the text means other columns now (a SELECT * over a source that evolved)."""
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            try:
                fields = spark.sql(table.definition.query).schema.fields
            except PySparkException as e:
                raise as_error(e, table.name) from e
        before = [t for _, t, _ in table.definition.columns]
        star = [f.dataType.simpleString() for f in fields]
        names = [f.name.lower() for f in fields]
        known = [n.lower() for n, _, _ in table.definition.columns]
        return star != before or (names != known and len(names) != len(known))

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
        record = replace(
            blank(attempt, table.name), action=choice.action, reason=choice.reason,
            changed_inputs=tuple(sorted(seen.names[s] for s in choice.changed)),
            reinit_reason=_reinit(choice),
        )  # fmt: skip
        with self._lock:
            self._flags[group] = flag
        compiling = watch.lap()
        try:
            with ExitStack() as stack:
                stack.enter_context(heartbeats(self.sources.catalog, attempt))
                settings = table.definition.settings
                spark = stack.enter_context(self.sessions.lease(table.warehouse, settings))
                queued = watch.lap()
                table, definition = self._definition(spark, table, seen, choice)
                compiling += watch.lap()
                outcome = run_cancellable(
                    spark, group, f"refresh {table.name} ({choice.action})",
                    lambda: self._run(spark, table, definition, attempt, seen, choice, group, flag),
                    flag,
                )  # fmt: skip
                statistics = replace(
                    outcome.statistics, compilation_ms=compiling, queued_ms=queued,
                    execution_ms=watch.lap(), changed_rows=_changed_rows(seen),
                )  # fmt: skip
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
            self._failed(
                table, attempt, error("DT-2106", name=table.name), RefreshState.CANCELLED, record
            )
            if isinstance(e, KeyboardInterrupt):
                raise
            return replace(record, state=RefreshState.CANCELLED, error_code="DT-2106",
                           error=str(error("DT-2106", name=table.name)))  # fmt: skip
        except (DTError, LakeError, PySparkException) as e:
            return self._failed(
                table, attempt, as_error(e, table.name), RefreshState.FAILED, record
            )
        except BaseException as e:
            self._failed(table, attempt, as_error(e, table.name), RefreshState.FAILED, record)
            raise
        finally:
            with self._lock:
                self._flags.pop(group, None)

    def _definition(
        self, spark: SparkSession, table: DynamicTable, seen: Look, choice: Choice
    ) -> tuple[DynamicTable, Definition]:
        """The definition with its sources as they are; analysed anew where they are others.

        An AUTO table whose sources or views now have no incremental form is FULL from here on.
        """
        old = table.definition
        moved = replace(old, sources=seen.sources, views=seen.views)
        if (
            choice.action is not RefreshAction.REINITIALIZE
            and choice.action is not RefreshAction.FULL
        ):
            return table, moved if moved != old else old
        if table.frontier is None and moved == old:
            return table, old
        if moved == old and choice.reason.code not in ("SCHEMA_EVOLVED", "COLUMN_CHANGED"):
            return table, old
        columns = tuple((n, c) for n, _, c in old.columns)
        if choice.reason.code == "SCHEMA_EVOLVED":
            columns = ()
        full = table.effective_mode is RefreshMode.FULL
        mode = RefreshMode.FULL if full else table.mode
        request = Request(table.name, old.query, mode, columns, old.current_schema)
        defined = self.definer.define(spark, request, old.settings, verify=False)
        if defined.mode is not table.effective_mode:
            table = self.sources.catalog.update(
                table.id, effective_mode=defined.mode, mode_reason=defined.reason
            )
        return table, defined.definition

    def _run(
        self, spark: SparkSession, table: DynamicTable, definition: Definition, attempt: Attempt,
        seen: Look, choice: Choice, group: str, flag: CancelFlag,
    ) -> Outcome:  # fmt: skip
        if table.effective_mode is RefreshMode.FULL:
            return self._full(spark, table, definition, attempt, seen, choice, group, flag)
        compiled = self.compiled(spark, table.id, definition)
        return Stages(
            self, spark, table, definition, compiled, attempt, seen, choice, group, flag
        ).run()

    def compiled(self, spark: SparkSession, dt_id: str, definition: Definition) -> Compiled:
        """The stages of a definition, kept until it or a source's schema changes."""
        logs = self.sources.logs
        signature = (
            definition,
            tuple(logs[s.path].schema_json() for s in definition.sources if s.path),
        )
        known = self._compiled.get(dt_id)
        if known is not None and known[0] == signature:
            return known[1]
        try:
            compiled = self.definer.compile(spark, definition)
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
        by_name = {s.name: s for s in definition.sources}
        views = {v.name: v.text for v in definition.views}
        schema = definition.current_schema

        def relation(parts: tuple[str, ...]) -> str | None:
            source = by_name.get(name_of(parts, schema))
            if source is None or source.kind is SourceKind.FOREIGN:
                return None
            assert source.path is not None
            return self.read_text(source.path, frontier.versions[source.table_id])

        zone = definition.settings.get("spark.sql.session.timeZone", "UTC")
        try:
            text = pinned(definition.query, relation, lambda p: views.get(name_of(p, schema)))
        except Refused:
            text = definition.query
        return at_time(text, frontier.data_timestamp, zone)

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
        columns = self.sources.logs[path].metadata(version).columns
        return public_rows(snapshot_sql(path, version), columns)

    def _full(
        self, spark: SparkSession, table: DynamicTable, definition: Definition, attempt: Attempt,
        seen: Look, choice: Choice, group: str, flag: CancelFlag,
    ) -> Outcome:  # fmt: skip
        plan_for(spark, heavy=True)
        list_anew(spark, definition)
        frame = spark.sql(self.full_text(definition, seen.frontier))
        frame = frame.toDF(*(n for n, _, _ in definition.columns))
        path = self.sources.layout.public(table.id)
        new_schema = prepare(spark, path, frame.schema, table)
        flag.check(group)
        done = self.commit(spark, path, f"dt:{table.id}", attempt.sequence, attempt, seen.frontier,
                           Overwrite(frame, new_schema), choice, table.version, {},
                           definition)  # fmt: skip
        statistics = self.statistics(spark, group, [done])
        return Outcome(seen.frontier, attempt.sequence, done.version, (), statistics)

    def commit(
        self, spark: SparkSession, path: Any, app_id: str, sequence: int, attempt: Attempt,
        frontier: Frontier, change: Change, choice: Choice, expected: int | None,
        stages: Mapping[str, Any], definition: Definition,
    ) -> Committed:  # fmt: skip
        """One commit with its frontier; DT-2108 or DT-2113 where it lost.

        A change stands on the rows of version `expected`; an overwrite on none, so it is also
        what repairs a table that something else wrote to.
        """
        if isinstance(change, Overwrite):
            expected = None
        metadata = {
            "epoch": attempt.epoch,
            "data_ts": str(frontier.data_timestamp),
            "frontier": frontier.to_json(),
            "action": choice.action.value,
            "reason": [choice.reason.code, choice.reason.sentence],
            "trigger": attempt.trigger.value,
            "stages": dict(stages),
            "definition": definition_digest(definition),
        }
        request = CommitRequest(path, app_id, sequence, attempt.id, metadata, expected)
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


def _reinit(choice: Choice) -> str | None:
    return str(choice.reason) if choice.action is RefreshAction.REINITIALIZE else None


def _keeping_stages(frontier: Frontier, before: Frontier | None) -> Frontier:
    """Nothing changed, so the hidden stages stand where they stood."""
    if before is None:
        return frontier
    stages = {s: v for s, v in before.versions.items() if s.startswith("stage:")}
    versions = {**frontier.versions, **stages}
    return Frontier(frontier.data_timestamp, versions, before.stateless)


def list_anew(spark: SparkSession, definition: Definition) -> None:
    """Sources that are not Delta are read as they are now: a session keeps their list of files."""
    for source in definition.sources:
        if source.kind is SourceKind.FOREIGN and spark.catalog.tableExists(source.name.sql):
            spark.catalog.refreshTable(source.name.sql)
