"""One refresh of one dynamic table, by the protocol of lease, commit, read-back and record."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import Attempt, Overtaken, UnchangedTable
from dt_jupyter.definition import Compiled, Definer, defining_text, explained, with_offending_row
from dt_jupyter.evaluation import Evaluator
from dt_jupyter.failures import as_error
from dt_jupyter.lake import Contents, DiskCache, SmallTables, ask_once, column_cache, is_delta
from dt_jupyter.model import (
    DEFAULTS,
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
    Source,
    SourceKind,
    Timestamp,
    Tuning,
    error,
)
from dt_jupyter.refresh.chooser import Chooser
from dt_jupyter.refresh.compilations import Compilations
from dt_jupyter.refresh.cost import is_cold
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.execute import Outcome, RefreshContext, Stages
from dt_jupyter.refresh.frozen_rows import require_frozen_rows
from dt_jupyter.refresh.heartbeat import (
    Stopwatch,
    begun,
    blank,
    heartbeats,
    no_data,
)
from dt_jupyter.refresh.lost_files_choice import choice_anew
from dt_jupyter.refresh.observation import Look, look, rows_of
from dt_jupyter.refresh.query_session import use_schema
from dt_jupyter.refresh.recovery import recover_contents, recover_table
from dt_jupyter.refresh.redefinition import (
    define_anew,
    define_as_asked,
    definition_now,
    may_be_incremental,
)
from dt_jupyter.refresh.source_keys import has_new_keys, require_source_keys
from dt_jupyter.refresh.stage_facts import observe_stages
from dt_jupyter.refresh.stage_plan import Observation, StagePlan, plan_stages
from dt_jupyter.sources import (
    Session,
    Sources,
    is_to_mend,
    mend,
    noticed,
    require_owner_reads,
    resolve_together,
    rows_at,
    text_at,
)
from dt_jupyter.spark import (
    CancelFlag,
    Cancelled,
    JobProgress,
    RefreshSessions,
    cancel,
    is_connect,
    run_cancellable,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("dt_jupyter.refresh")


@dataclass
class Refresher:
    """Runs refreshes; several threads may, of different tables at once."""

    spark: SparkSession
    sources: Sources
    definer: Definer
    sessions: RefreshSessions
    clock: Clock
    tuning: Tuning = DEFAULTS
    disk: DiskCache = field(init=False)
    small: SmallTables = field(init=False)
    evaluator: Evaluator = field(init=False)
    contents: Contents = field(init=False)
    judge: Callable[[SparkSession, DynamicTable], None] = field(default=lambda *_: None)
    _flags: dict[str, CancelFlag] = field(default_factory=dict)
    _last_ended: float = float("-inf")
    _progress: dict[str, JobProgress] = field(default_factory=dict)
    _ended: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.disk = column_cache(self.tuning.disk_cache_bytes)
        self.small = self._no_snapshots()
        self.contents = Contents(memory=self.small.columns.memory)
        self.evaluator = Evaluator(self.tuning.evaluated_rows, self.small.columns.memory)
        self._compilations = Compilations(self.definer, self.sources.logs)
        self._chooser = Chooser(
            self.sources, self.definer, self.sessions, self._compilations, self.tuning
        )

    def _no_snapshots(self) -> SmallTables:
        return SmallTables(
            self.tuning.snapshot_bytes,
            kept_bytes=self.tuning.cache_bytes,
            selected_by=self.tuning.read_rows,
            selected=max(self.tuning.read_rows, self.tuning.evaluated_rows),
            disk=self.disk,
        )

    def refresh(
        self,
        dt_id: str,
        t: Timestamp,
        trigger: RefreshTrigger,
        *,
        metadata_only: bool = False,
        full: bool = False,
    ) -> RefreshRecord | None:
        """Moves the table to data timestamp `t`; everything upstream must be there already.

        The record says what was done, a failure included: only an interrupt and what concerns no
        attempt (DT-2104, DT-2109) are raised. With `metadata_only`, None if data would be needed;
        with `full` all rows are recomputed.
        """
        catalog, table = self.sources.catalog, self._registered(dt_id)
        watch = Stopwatch(self.clock)
        attempt_id = uuid.uuid4().hex
        try:
            with ask_once(), catalog.one_state(whole=False):
                table, seen, choice = self._decide(table, t, full=full, metadata_only=metadata_only)
                if choice.action is RefreshAction.NO_DATA and has_new_keys(
                    self.sources, table, seen
                ):
                    if metadata_only:
                        return None
                    self._require_keys(table, seen)
        except Exception as e:
            return self._refused(table, t, trigger, attempt_id, as_error(e, table.name))
        if metadata_only and choice.action is not RefreshAction.NO_DATA:
            return None
        after, new = table.sequence, seen.resolved
        try:
            if choice.action is RefreshAction.NO_DATA:
                record = self._no_data_record(table, t, trigger, attempt_id, seen, choice, watch)
                return catalog.no_data(dt_id, trigger, t, record, after, new)
            seconds, pins = self.tuning.lease_seconds, _pins(table, seen)
            attempt = catalog.begin(dt_id, trigger, t, attempt_id, seconds, pins, after, new)
        except Overtaken:
            return self.refresh(dt_id, t, trigger, metadata_only=metadata_only, full=full)
        with ask_once(), catalog.each_state():
            return self._attempt(table, attempt, seen, choice, watch)

    def _decide(
        self,
        table: DynamicTable,
        t: Timestamp,
        *,
        full: bool,
        metadata_only: bool,
        sources: Sources | None = None,
    ) -> tuple[DynamicTable, Look, Choice]:
        """The table as it is, what a refresh to `t` finds, and what it is to do; `sources`: who
        finds what its names mean."""
        require_owner_reads(self.sources.catalog, table)
        table = self.standing(table)
        if not metadata_only and table.effective_mode is RefreshMode.FULL:
            self._require_plan(table)
        session = None if metadata_only else self._session(table)
        finder = sources or self.sources
        seen = look(finder, table, t, classic=not is_connect(self.spark), session=session)
        if not metadata_only and may_be_incremental(table, seen):
            again, seen = self._incremental_again(table, seen)
            table = table if again is table else self._recorded_again(again)
        return table, seen, self._choose(table, seen, full=full)

    def move_unchanged(
        self, dues: Sequence[tuple[str, Timestamp]], trigger: RefreshTrigger
    ) -> frozenset[str]:
        """Moves the data timestamps of those tables whose sources have nothing new, all in one
        transaction: their ids. What is upstream of another comes before it. What is wrong with one
        its refresh meets again, and reports."""
        catalog, found = self.sources.catalog, dict[str, UnchangedTable]()
        self.sources.publications.await_end()
        with ask_once(), catalog.one_state():
            sources = self.sources.asking_once
            resolve_together(sources, self._base_tables(dues))
            for dt_id, t in dues:
                try:
                    made = self._unchanged(sources, dt_id, t, trigger)
                except Exception:
                    told = "whether %s has anything new is left to its refresh"
                    _log.debug(told, dt_id, exc_info=True)
                    continue
                if made is not None:
                    found[dt_id] = made
                    catalog.expect_version(dt_id, t, made.record.version)
        return catalog.no_data_of_many(found.values(), trigger) if found else frozenset()

    def _base_tables(
        self, dues: Iterable[tuple[str, Timestamp]]
    ) -> Iterator[tuple[Source, Timestamp]]:
        """What these read, according to their definitions."""
        for dt_id, t in dues:
            table = self.sources.catalog.by_id(dt_id)
            yield from ((source, t) for source in table.definition.sources) if table else ()

    def _unchanged(
        self, sources: Sources, dt_id: str, t: Timestamp, trigger: RefreshTrigger
    ) -> UnchangedTable | None:
        """A refresh that finds nothing new; None where it would, or upstream is not there yet."""
        table, watch = self._registered(dt_id), Stopwatch(self.clock)
        upstream = _dynamic(table.definition.sources)
        if any(sources.catalog.version_of(i, t) is None for i in upstream):
            return None
        table, seen, choice = self._decide(
            table, t, full=False, metadata_only=True, sources=sources
        )
        if choice.action is not RefreshAction.NO_DATA or has_new_keys(sources, table, seen):
            return None
        sources.catalog.resolve_all(t, {i: partial(int, v) for i, v in seen.resolved.items()})
        record = self._no_data_record(table, t, trigger, uuid.uuid4().hex, seen, choice, watch)
        return UnchangedTable(dt_id, record, table.sequence, _dynamic(seen.sources))

    def cancel(self, dt_id: str) -> bool:
        """Cancels the running refresh of a table; whether one runs here."""
        with self._lock:
            running = [(g, f) for g, f in self._flags.items() if g.startswith(f"{dt_id}:")]
        for group, flag in running:
            flag.set()
            cancel(self.spark, group)
        return bool(running)

    def is_busy(self, within: float) -> bool:
        """Whether a refresh runs here, or did so `within` the last seconds."""
        with self._lock:
            return bool(self._flags) or time.monotonic() < self._last_ended + within

    def running(self) -> dict[str, Callable[[], Progress]]:
        """The refreshes that run here, by their query ids, each with its progress."""
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

    def explain_choice(
        self, table: DynamicTable, t: Timestamp
    ) -> tuple[DynamicTable, Look, Choice]:
        """What a refresh to `t` would find and do, with upstream as it is, and the table as it
        would take it; nothing is recorded."""
        seen = look(
            self.sources,
            table,
            t,
            classic=not is_connect(self.spark),
            session=self._session(table),
            forecast=True,
        )
        try:
            if may_be_incremental(table, seen):
                table, seen = self._incremental_again(table, seen)
            return table, seen, self._choose(table, seen)
        except DTError as e:
            raise self.explained(e, table) from e

    def explained(self, e: DTError, table: DynamicTable) -> DTError:
        """The error, or what is behind it: a column that a source has not any more, a row."""
        made = explained(e, table, self.sources)
        return with_offending_row(made, self.sources.spark, table.definition.query)

    # -- looking ----------------------------------------------------------------------------------

    def _session(self, table: DynamicTable) -> Session:
        """In which files are read: their rows depend on no setting of the definition's."""
        return partial(self.sessions.lease, table.warehouse)

    def _registered(self, dt_id: str) -> DynamicTable:
        table = self.sources.catalog.by_id(dt_id)
        if table is None:
            raise error("DT-1101", name=dt_id, hint="It was dropped.")
        return table

    def standing(self, table: DynamicTable) -> DynamicTable:
        """The table in the state that its log has."""
        path = self.sources.layout.public(table.id)
        if table.sequence == 0 and not is_delta(path):
            return table
        catalog = self.sources.catalog
        table = noticed(catalog, self.sources.logs, self.sources.layout, table)
        if is_to_mend(table):
            return table
        table = recover_table(catalog, self.sources.logs[str(path)], table)
        return recover_contents(self.sources, self.contents, table)

    def _incremental_again(self, table: DynamicTable, seen: Look) -> tuple[DynamicTable, Look]:
        """A table that is FULL since its sources had no incremental form as it is where they have
        one now: checked as at creation. Nothing is recorded."""
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            defined = define_as_asked(spark, self.definer, table, seen)
        if defined.mode is RefreshMode.FULL:
            return table, seen
        why = Reason("INCREMENTAL_AGAIN", "its sources have an incremental form again")
        table = replace(
            table, effective_mode=defined.mode, mode_reason=defined.reason, needs_reinit=why
        )
        return table, replace(seen, invalid=why)

    def _require_plan(self, table: DynamicTable) -> None:
        """DT-52xx where its owner may not run what Spark makes of its text now: of one that is not
        understood the text does not show what it reads."""
        if self.sources.catalog.rights().grants:
            with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
                use_schema(spark, table.definition)
                self.judge(spark, table)

    def _recorded_again(self, again: DynamicTable) -> DynamicTable:
        return self.sources.catalog.update(
            again.id,
            effective_mode=again.effective_mode,
            mode_reason=again.mode_reason,
            needs_reinit=again.needs_reinit,
        )

    def _choose(self, table: DynamicTable, seen: Look, *, full: bool = False) -> Choice:
        return self._chooser.choose(table, seen, full=full)

    def _require_keys(self, table: DynamicTable, seen: Look) -> None:
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            require_source_keys(spark, self.sources, self.small, table, seen)

    def _measured(self, table: DynamicTable, seen: Look) -> dict[str, Any]:
        """What the milliseconds of this refresh are to be judged by."""
        with self._lock:
            cold = is_cold(self._ended.total(), self._ended[table.id])
            self._ended[table.id] += 1
        rows = self._chooser.size(seen).rows if table.mode is RefreshMode.AUTO else None
        changed = sum(rows_of(p) or 0 for p in seen.plans.values())
        return {"changed_rows": changed, "source_rows": int(rows or 0), "cold": cold}

    # -- recording --------------------------------------------------------------------------------

    def _no_data_record(
        self,
        table: DynamicTable,
        t: Timestamp,
        trigger: RefreshTrigger,
        query_id: str,
        seen: Look,
        choice: Choice,
        watch: Stopwatch,
    ) -> RefreshRecord:
        return replace(
            no_data(table, t, trigger, query_id, seen, choice),
            statistics=RefreshStatistics(compilation_ms=watch.lap()),
        )

    def _refused(
        self, table: DynamicTable, t: Timestamp, trigger: RefreshTrigger, query_id: str, e: DTError
    ) -> RefreshRecord:
        """A refresh that failed before it began: it has a row in the history all the same."""
        attempt = self.sources.catalog.begin(
            table.id, trigger, t, query_id, self.tuning.lease_seconds
        )
        return self._failed(table, attempt, e, RefreshState.FAILED)

    def _failed(
        self,
        table: DynamicTable,
        attempt: Attempt,
        e: DTError,
        state: RefreshState,
        record: RefreshRecord | None = None,
    ) -> RefreshRecord:
        e = self.explained(e, table)
        made = replace(
            record or blank(attempt, table.name),
            state=state,
            error_code=e.code,
            error=str(e),
            end=self.clock.now(),
            start=attempt.started,
            warehouse=table.warehouse,
        )
        try:
            self.sources.catalog.fail(attempt, made)
        except BaseException:
            self.sources.catalog.let_go(attempt)
            raise
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
                    record,
                    state=RefreshState.SUCCEEDED,
                    frontier=outcome.frontier,
                    version=outcome.version,
                    statistics=statistics,
                )
                return self.sources.catalog.finish(
                    attempt,
                    done,
                    frontier=outcome.frontier,
                    sequence=outcome.sequence,
                    version=outcome.version,
                    stages=outcome.stages,
                    definition=definition if definition != table.definition else None,
                )
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
                self._last_ended = time.monotonic()

    def _computed(
        self,
        table: DynamicTable,
        attempt: Attempt,
        seen: Look,
        choice: Choice,
        group: str,
        flag: CancelFlag,
        watch: Stopwatch,
    ) -> tuple[Definition, Outcome]:
        """The refresh's commits, in a separate session, and the definition that they are of."""
        compiling = watch.lap()
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            queued = watch.lap()
            if choice.action is not RefreshAction.INCREMENTAL:
                require_frozen_rows(self.sources, self.contents, table)
            if is_to_mend(table):
                mend(self.sources.catalog, self.sources.layout, table)
                self.small = self._no_snapshots()
            table, definition = self._definition(spark, table, seen, choice)
            compiling += watch.lap()
            outcome = run_cancellable(
                spark,
                group,
                f"Refreshing {table.name} ({choice.action})",
                lambda: self._run(spark, table, definition, attempt, seen, choice, group, flag),
                flag,
            )
            statistics = replace(
                outcome.statistics,
                compilation_ms=compiling,
                queued_ms=queued,
                execution_ms=watch.lap(),
            )
            return definition, replace(outcome, statistics=statistics)

    def _definition(
        self, spark: SparkSession, table: DynamicTable, seen: Look, choice: Choice
    ) -> tuple[DynamicTable, Definition]:
        """The definition with its sources as they are; analysed again where they have changed.

        An AUTO table whose sources or views now have no incremental form is FULL from here on.
        """
        defined = define_anew(spark, self.definer, table, seen, choice)
        if defined is not None and defined.mode is not table.effective_mode:
            table = self.sources.catalog.update(
                table.id, effective_mode=defined.mode, mode_reason=defined.reason
            )
        return table, definition_now(defined, table, seen, choice)

    def definition_for(
        self, spark: SparkSession, table: DynamicTable, seen: Look, choice: Choice
    ) -> tuple[DynamicTable, Definition]:
        """The table and its definition as a refresh would have them, for EXPLAIN; nothing is
        recorded."""
        defined = define_anew(spark, self.definer, table, seen, choice)
        if defined is not None:
            table = replace(table, effective_mode=defined.mode, mode_reason=defined.reason)
        return table, definition_now(defined, table, seen, choice)

    def _run(
        self,
        spark: SparkSession,
        table: DynamicTable,
        definition: Definition,
        attempt: Attempt,
        seen: Look,
        choice: Choice,
        group: str,
        flag: CancelFlag,
    ) -> Outcome:
        of = RefreshContext(
            spark,
            self.sources,
            self.definer.builtins,
            self.tuning,
            self.small,
            self.evaluator,
            table,
            definition,
            attempt,
            seen,
            choice,
            group,
            flag,
        )
        require_source_keys(spark, self.sources, self.small, table, seen)
        compiled, observation, plan = self.plan(spark, table, definition, seen, choice)
        return Stages(of, plan, compiled, observation.facts).run()

    def plan(
        self,
        spark: SparkSession,
        table: DynamicTable,
        definition: Definition,
        seen: Look,
        choice: Choice,
    ) -> tuple[Compiled | None, Observation, StagePlan]:
        """The plan by which a refresh does what it chose, and what it was made of; the stages are
        None in FULL mode."""
        compiled = None
        if table.effective_mode is not RefreshMode.FULL:
            compiled = self.compiled(spark, table.id, definition, seen.frontier)
        observation = observe_stages(
            self.sources, table, definition, compiled, seen.frontier, classic=not is_connect(spark)
        )
        return compiled, observation, plan_stages(compiled, observation, choice)

    def compiled(
        self, spark: SparkSession, dt_id: str, definition: Definition, frontier: Frontier
    ) -> Compiled:
        """The stages of a definition over the columns that its sources have at a frontier, kept
        until it or they change."""
        return self._compilations.compile(spark, dt_id, definition, frontier)

    def known(self, dt_id: str) -> Compiled | None:
        """The stages of a table that were compiled last; None before that."""
        return self._compilations.last(dt_id)

    def full_text(self, definition: Definition, frontier: Frontier) -> str:
        """The user's text at a frontier, and its context functions at the data timestamp."""
        return text_at(self.sources.logs, definition, frontier)

    def defining_text(
        self, definition: Definition, frontier: Frontier, compiled: Compiled | None
    ) -> str:
        """The user's text at a frontier; where it leaves an order open, with that order fixed as
        the stages of an incremental table fix it."""
        return defining_text(self.sources.logs, definition, frontier, compiled)

    def read_text(self, path: str, version: int) -> str:
        """A snapshot's public rows."""
        return rows_at(self.sources.logs, path, version)


def _pins(table: DynamicTable, seen: Look) -> list[tuple[str, int]]:
    """The versions that a refresh reads."""
    both = (table.frontier, seen.frontier)
    return [pin for frontier in both if frontier for pin in frontier.versions.items()]


def _dynamic(sources: Iterable[Source]) -> frozenset[str]:
    """The ids of those that are dynamic tables."""
    return frozenset(s.table_id for s in sources if s.kind is SourceKind.DYNAMIC_TABLE)
