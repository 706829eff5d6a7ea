"""The engine as the scheduler sees it, and the scheduler while it runs."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.delivery import SinkWorkers
from dt_jupyter.engine.task_workers import TaskWorkers
from dt_jupyter.engine.upstream_refresh import Graph
from dt_jupyter.failures import UNFORESEEN, catalogued
from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    Clock,
    DTError,
    DynamicTable,
    Reason,
    RefreshState,
    RefreshTrigger,
    Timestamp,
    error,
)
from dt_jupyter.schedule import (
    BEAT_SECONDS,
    Decision,
    Scheduler,
    Skip,
    Start,
    State,
    StateReader,
    Wait,
    WarehouseUse,
    Worker,
    idle_warehouses,
    obstacles_in,
)
from dt_jupyter.spark import in_background, is_connect, session_end, storage_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("dt_jupyter.scheduler")
_engine_log = logging.getLogger("dt_jupyter.engine")
HISTORY_DAYS = 14
_HOUR = 3600.0
_RACED = ("DT-2104", "DT-2109", "DT-1101")


@dataclass
class EnginePort:
    """Runs what the scheduler starts, after it had `settle` end what processes that are gone left
    half done; `problems` keeps the last ones for `%dt status`. `is_alive`: whether there is a Spark
    session to run it in."""

    graph: Graph
    settle: Callable[[], None] = lambda: None
    is_alive: Callable[[], bool] = lambda: True
    problems: list[str] = field(default_factory=list)
    _pruned: Timestamp | None = None
    _run: str | None = None
    _seen: Timestamp | None = None

    def __post_init__(self) -> None:
        self._reader = StateReader(self.graph.refresher.sources.catalog)

    def leads(self) -> bool:
        """A process that ends, or sends no heartbeat for two intervals, stops being the leader, and
        the first process that checks takes over. Without a Spark session none leads: its refreshes
        would all fail."""
        if not self.is_alive():
            return False
        catalog = self.graph.refresher.sources.catalog
        now, leader = self.graph.clock.now(), catalog.leading_scheduler()
        due = self._seen is None or now.since(self._seen) >= BEAT_SECONDS
        if not due and leader is not None:
            return leader[0] == self._run
        self._seen, self._run = now, self._run or uuid.uuid4().hex
        return catalog.record_scheduler(self._run)

    def state(self) -> State:
        catalog = self.graph.refresher.sources.catalog
        catalog.reap()
        self._prune()
        return self._reader.read()

    def _prune(self) -> None:
        """Every hour: a table with a lag of seconds has a row of history every few seconds."""
        now = self.graph.clock.now()
        if self._pruned is None or now.since(self._pruned) > _HOUR:
            self._pruned = now
            self.graph.refresher.sources.catalog.prune(now.plus(-HISTORY_DAYS * 24 * _HOUR))

    def end_run(self) -> None:
        """The scheduler has stopped; another one begins its own run. A catalog that is gone
        does not prevent the stop."""
        run, self._run, self._seen = self._run, None, None
        if run is not None:
            try:
                self.graph.refresher.sources.catalog.record_scheduler(run, ended=True)
            except DTError as problem:
                self.report(problem)

    def newest(self, log: str) -> int | None:
        """The newest version of a base table on a disk; None elsewhere, and where it is gone."""
        if storage_of(log) is not None:
            return None
        try:
            return self.graph.refresher.sources.logs[log].version()
        except (LakeError, OSError):
            return None

    def move_unchanged(self, dues: Sequence[tuple[str, Timestamp]]) -> frozenset[str]:
        self.graph.retried()
        done = self.graph.refresher.move_unchanged(dues, RefreshTrigger.SCHEDULED)
        if done:
            self.graph.changed()
        return done

    def run(self, start: Start) -> None:
        """One scheduled refresh; nothing where another process was faster."""
        self.settle()
        if start.resumes:
            self._resume(start.dt)
        try:
            if not start.metadata_only:
                self.graph.bring_new(start.dt, start.data_timestamp, RefreshTrigger.SCHEDULED)
            self.graph.run(
                start.dt,
                start.data_timestamp,
                RefreshTrigger.SCHEDULED,
                metadata_only=start.metadata_only,
            )
        except DTError as e:
            if e.code not in _RACED:
                raise

    def _resume(self, dt_id: str) -> None:
        catalog = self.graph.refresher.sources.catalog
        if (table := catalog.by_id(dt_id)) is not None:
            catalog.alter_warehouse(table.warehouse, suspended=False)

    def rest(self, decisions: Sequence[Decision]) -> None:
        """Suspends the warehouses with AUTO_SUSPEND in which nothing has run for so long."""
        catalog = self.graph.refresher.sources.catalog
        able = [w for w in catalog.warehouses() if w.auto_suspend and not w.suspended]
        if not able:
            return
        tables = {table.id: table.warehouse.lower() for table in catalog.list()}
        busy = {tables.get(d.dt) for d in decisions if _occupies(d)}
        busy |= {tables.get(lease.dt_id) for lease in catalog.running()}
        busy |= {run.warehouse for run in catalog.open_task_runs()}
        uses = (WarehouseUse(w, last=catalog.last_use(w.name)) for w in able if w.name not in busy)
        for name, reason in idle_warehouses(uses, self.graph.clock.now()).items():
            catalog.alter_warehouse(name, suspended=True)
            _log.info("warehouse %s is suspended: %s", name, reason.sentence)

    def skip(self, skip: Skip) -> None:
        catalog = self.graph.refresher.sources.catalog
        catalog.record_skip(skip.dt, skip.data_timestamp, RefreshState(skip.state), skip.reason)

    def wait(self, wait: Wait) -> None:
        catalog = self.graph.refresher.sources.catalog
        skipped = RefreshState.SKIPPED
        catalog.record_skip(wait.dt, wait.data_timestamp, skipped, wait.reason, over=False)

    def report(self, problem: Exception) -> None:
        told = catalogued(problem, "The scheduler")
        _log.warning("%s", told, exc_info=problem if told.code == UNFORESEEN else None)
        self.problems = [*self.problems[-9:], str(told)]

    def cancel(self) -> None:
        self.graph.refresher.cancel_all()


def _occupies(decision: Decision) -> bool:
    """Whether it runs, or waits for a slot."""
    if isinstance(decision, Wait):
        return decision.reason.code in ("CONCURRENCY_LIMIT", "BUSY")
    return isinstance(decision, Start) and not decision.metadata_only


def spawner(spark: SparkSession) -> Callable[[Callable[[], None], str], Worker]:
    """Starts workers that inherit the session's local properties."""

    def spawn(work: Callable[[], None], name: str) -> Worker:
        from pyspark import InheritableThread

        extra = {"session": spark} if is_connect(spark) else {}
        quiet = in_background()(work)
        thread = InheritableThread(target=quiet, name=name, daemon=True, **extra)
        thread.start()
        return thread

    return spawn


@dataclass
class Scheduling:
    """Scheduled refreshes of an engine, in background threads, between `start` and `stop`, of
    which `watched` receives."""

    spark: SparkSession
    clock: Clock
    watched: Callable[[bool], None] | None = None
    _port: EnginePort | None = None
    _scheduler: Scheduler | None = None
    _sinks: SinkWorkers | None = None
    _tasks: TaskWorkers | None = None

    def connect(
        self, graph: Graph, sinks: SinkWorkers, tasks: TaskWorkers, settle: Callable[[], None]
    ) -> None:
        """What is refreshed, delivered and run; `graph` in its turn calls `nudge`, so it is made
        later."""
        self._port = EnginePort(graph, settle, self._is_alive)
        self._sinks, self._tasks = sinks, tasks

    def _is_alive(self) -> bool:
        """Whether the Spark session is there; once it has ended, nothing is scheduled here any
        more."""
        end = self.session_end()
        if end is not None and self._scheduler is not None:
            self.port.report(error("DT-5124", problem=end))
            threading.Thread(target=self.stop, name="dt-scheduler-end", daemon=True).start()
        return end is None

    def session_end(self) -> str | None:
        """How the Spark session ended; None while it is there."""
        return session_end(self.spark)

    @property
    def tasks(self) -> TaskWorkers:
        assert self._tasks is not None
        return self._tasks

    @property
    def sinks(self) -> SinkWorkers:
        assert self._sinks is not None
        return self._sinks

    @property
    def port(self) -> EnginePort:
        assert self._port is not None
        return self._port

    def start(self) -> None:
        """Once is enough."""
        if self._scheduler is None:
            self._scheduler = Scheduler(
                self.port, self.clock, spawn=spawner(self.spark), newest=self.port.newest
            )
            self._scheduler.start()
            self.sinks.start()
            self.tasks.start()
            if self.watched is not None:
                self.watched(True)

    def stop(self, timeout: float = 30.0) -> None:
        """Refreshes that run are cancelled and waited for, at most `timeout` seconds."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            if self.watched is not None:
                self.watched(False)
            scheduler.stop(timeout)
            self.sinks.stop(timeout)
            self.tasks.stop(timeout)
            self.port.end_run()

    def nudge(self) -> None:
        """Something changed that the scheduler may act on."""
        if self._scheduler is not None:
            self._scheduler.nudge()
            self.sinks.nudge()
            self.tasks.nudge()

    @property
    def running(self) -> bool:
        return self._scheduler is not None and self._scheduler.alive

    def periods(self) -> dict[str, float]:
        """By id, in seconds: how often each dynamic table is refreshed by the scheduler that runs
        here; without one nothing."""
        found = self._scheduler.periods() if self._scheduler is not None else {}
        return {dt: period.seconds for dt, period in found.items()}

    def queued(self) -> Mapping[str, int]:
        """How many refreshes wait for a slot of each warehouse, as the scheduler here sees it, and
        how many runs of tasks."""
        waits = self._scheduler.waits() if self._scheduler is not None else ()
        full = {w.dt for w in waits if w.reason.code == "CONCURRENCY_LIMIT"}
        tables = self.port.graph.refresher.sources.catalog.list()
        runs = self.port.graph.refresher.sources.catalog.open_task_runs()
        queued = Counter(table.warehouse.lower() for table in tables if table.id in full)
        return queued + Counter(r.warehouse for r in runs if r.code == "CONCURRENCY_LIMIT")

    def waiting(self) -> Mapping[str, Reason]:
        """By id: what the next refresh of a table waits for, as the scheduler here sees it."""
        waits = self._scheduler.waits() if self._scheduler is not None else ()
        return {wait.dt: wait.reason for wait in waits}

    def waits(self) -> list[str]:
        """What waits, and for what: for a user, whether or not a scheduler runs here, or for
        another refresh."""
        catalog = self.port.graph.refresher.sources.catalog
        tables = {table.id: table.name for table in catalog.list()}
        found = {**self.waiting(), **obstacles_in(catalog)}
        return [f"{tables[i]}: {reason}" for i, reason in found.items() if i in tables]


def start_refresh(
    graph: Graph, spark: SparkSession, table: DynamicTable, *, full: bool = False
) -> None:
    """A manual refresh in a separate thread, after one that runs."""

    def run() -> None:
        try:
            graph.refresh(table, RefreshTrigger.MANUAL, full=full)
        except Exception as e:  # the engine was closed, or the waiting took too long
            told = catalogued(e, f"the refresh of {table.name}")
            _engine_log.warning("the refresh of %s did not begin: %s", table.name, told)

    spawner(spark)(run, f"dt-refresh-{table.id}")
