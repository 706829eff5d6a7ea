"""One run of a task: claimed, its condition asked, its statement run, its end recorded.

What it writes happens once, whenever the process ends: a stream's intent and a transaction's have
the id of the run, and any other write carries the number of the run, which Delta takes once.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.execute import StatementOrigin, execute
from dt_jupyter.engine.task_bodies import TaskBody, read_body
from dt_jupyter.engine.task_sessions import TaskSessions
from dt_jupyter.engine.written_rows import count_written
from dt_jupyter.failures import catalogued
from dt_jupyter.lake import sequenced
from dt_jupyter.model import (
    CONDITION_FALSE,
    DTError,
    Reason,
    Task,
    TaskRun,
    TaskRunState,
    TaskTrigger,
    Timestamp,
    count_of,
    error,
)
from dt_jupyter.schedule import RunGo, lost_run_outcome
from dt_jupyter.spark import CancelFlag, Cancelled, cancel, in_pool, run_cancellable
from dt_jupyter.sql import parse_condition, qualified_name
from dt_jupyter.streams import Streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.engine.context import Context
    from dt_jupyter.engine.created import Created
    from dt_jupyter.sql import Statement

_log = logging.getLogger("dt_jupyter.tasks")
_CHANGED = "num_affected_rows"
_Ended = tuple[TaskRunState, Reason | None, int | None]
RUN_STOPPED = Reason(
    "ENGINE_CLOSED", "The engine was closed, or the scheduler stopped, while it ran."
)


@dataclass
class _Running:
    """How a run is stopped."""

    flag: CancelFlag = field(default_factory=CancelFlag)
    session: SparkSession | None = None
    late: bool = False

    def stop(self, group: str) -> None:
        self.flag.set()
        if self.session is not None:
            cancel(self.session, group)


@dataclass
class TaskRunner:
    """Runs of the tasks of a lake; `changed` is called when one has ended."""

    catalog: Catalog
    streams: Streams
    sessions: TaskSessions
    now: Callable[[], Timestamp]
    changed: Callable[[], None]
    _running: dict[str, _Running] = field(default_factory=dict)

    @property
    def active(self) -> frozenset[str]:
        """The active runs of this engine."""
        return frozenset(tuple(self._running))

    def run(self, go: RunGo) -> TaskRun | None:
        """The run as it ended; None where another process had it, or the task is gone."""
        run = go.run
        task = self._task_of(run)
        if task is None:
            self.catalog.skip_task_run(run, Reason("DROPPED", "The task was dropped."))
            return None
        self._running[run.id] = _Running()
        try:
            claimed = self.catalog.claim_task_run(run, task.timeout_ms)
            if claimed is None:
                return None
            return self._claimed(claimed, self._task_of(claimed) or task, resumes=go.resumes)
        finally:
            del self._running[run.id]
            self.changed()

    def _claimed(self, run: TaskRun, task: Task, *, resumes: bool) -> TaskRun | None:
        try:
            if not self._holds(run, task):
                ended: _Ended = (TaskRunState.SKIPPED, _false(run), None)
            else:
                if resumes:
                    self.catalog.alter_warehouse(run.warehouse, suspended=False)
                ended = (TaskRunState.SUCCEEDED, None, self._execute(run, task))
        except Cancelled:
            ended = self._cancelled(run, task)
        except Exception as e:
            told = catalogued(e, f"task {run.name}")
            ended = (TaskRunState.FAILED, _reason(told), None)
        except BaseException:
            self.catalog.finish_task_run(run, TaskRunState.CANCELLED, RUN_STOPPED)
            raise
        state, reason, rows = ended
        again = state is TaskRunState.FAILED and run.attempt <= self._retries(run)
        return self.catalog.finish_task_run(run, state, reason, rows, again=again)

    def _cancelled(self, run: TaskRun, task: Task) -> _Ended:
        if not self._running[run.id].late:
            return TaskRunState.CANCELLED, RUN_STOPPED, None
        limit = count_of(round(task.timeout_ms / 1000), "second")
        return TaskRunState.FAILED, _reason(error("DT-3308", name=run.name, limit=limit)), None

    def cancel_all(self) -> None:
        for run_id, running in tuple(self._running.items()):
            running.stop(_group(run_id))

    # -- what it asks -----------------------------------------------------------------------------

    def holds(self, task: Task) -> bool:
        """Whether the condition of a task holds now; also if that is unknown: its run says
        why."""
        try:
            return self._has_data(task.condition, task.schema)
        except DTError:
            return True

    def _holds(self, run: TaskRun, task: Task) -> bool:
        return self._has_data(run.condition, task.schema)

    def _has_data(self, condition: str | None, schema: str) -> bool:
        if condition is None:
            return True
        asked = parse_condition(condition)
        return asked.holds(lambda name: self.streams.has_data(qualified_name(name, schema)))

    def _task_of(self, run: TaskRun) -> Task | None:
        """By its id: its schema may have another name since the run was read."""
        return next((t for t in self.catalog.tasks() if t.id == run.task), None)

    def _retries(self, run: TaskRun) -> int:
        return next((t.retries for t in self.catalog.tasks() if t.id == run.root), 0)

    # -- what it does -----------------------------------------------------------------------------

    def _execute(self, run: TaskRun, task: Task) -> int | None:
        """How many rows it wrote, as far as that is known."""
        body, running = read_body(run.body, task.schema), self._running[run.id]
        with self.sessions.lent(task, run.id) as context:
            running.session = context.spark
            with in_pool(context.spark, run.warehouse), self._in_time(run, task):
                return run_cancellable(
                    context.spark,
                    _group(run.id),
                    f"task {run.name}",
                    lambda: _run_body(context, run, body),
                    running.flag,
                )

    @contextmanager
    def _in_time(self, run: TaskRun, task: Task) -> Iterator[None]:
        """Cancelled when it takes longer than it may."""
        if not task.timeout_ms:
            yield
            return
        running = self._running[run.id]

        def stop() -> None:
            running.late = True
            running.stop(_group(run.id))

        timer = threading.Timer(task.timeout_ms / 1000, stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    # -- after a crash ----------------------------------------------------------------------------

    def recover(self) -> None:
        """Runs whose process is gone end: done, where they had committed, and else once more."""
        lost = self.catalog.lost_task_runs(self.active)
        if not lost:
            return
        self.streams.recover()
        unsettled = self.catalog.intents()
        for run in lost:
            if run.id not in unsettled:
                self._end_lost(run)

    def _end_lost(self, run: TaskRun) -> None:
        fresh = next((r for r in self.catalog.task_graph_runs(run.graph) if r.id == run.id), run)
        state, again = lost_run_outcome(fresh)
        failure = error("DT-3307", name=run.name)
        reason = None if state is TaskRunState.SUCCEEDED else _reason(failure)
        self.catalog.finish_task_run(fresh, state, reason, again=again)
        _log.warning("%s: %s", failure.sentence, state.lower())


def _run_body(context: Context, run: TaskRun, body: TaskBody) -> int | None:
    if body.block:
        return _run_block(context, body)
    (statement,) = body.statements
    with sequenced(context.spark, f"dt-task:{run.task}", run.number):
        found = execute(context, statement, StatementOrigin(body.script))
    return _affected(context, statement, found)


def _run_block(context: Context, body: TaskBody) -> int:
    context.transactions.begin()
    for statement in body.statements:
        execute(context, statement, StatementOrigin(body.script))
    done = context.transactions.commit()
    return sum(context.sources.logs[path].rows_written(v) or 0 for path, v in done.items())


def _affected(context: Context, statement: Statement, found: DataFrame | Created) -> int | None:
    columns: list[str] = getattr(found, "columns", [])
    if _CHANGED in columns:
        return int(found.collect()[0][_CHANGED])  # type: ignore[union-attr]
    counted = count_written(context, statement)
    return None if counted is None else int(counted.rows[0][0] or 0)


def _group(run_id: str) -> str:
    return f"task:{run_id}"


def _false(run: TaskRun) -> Reason:
    return Reason(CONDITION_FALSE, f"Its condition is false: {run.condition}.")


def _reason(failure: DTError) -> Reason:
    return Reason(failure.code, f"{failure.sentence} {failure.hint}".strip())


def busy_warehouses(catalog: Catalog) -> Counter[str]:
    """How much runs in each warehouse: refreshes, and runs of tasks, also by EXECUTE TASK."""
    tables = {table.id: table.warehouse.lower() for table in catalog.list()}
    refreshes = (tables[x.dt_id] for x in catalog.running() if x.dt_id in tables)
    return Counter(refreshes) + Counter(catalog.running_tasks())


def was_manual(run: TaskRun) -> bool:
    """Whether EXECUTE TASK asked for it: who asked does it."""
    return run.trigger is TaskTrigger.MANUAL


__all__ = ["RUN_STOPPED", "TaskRunner", "busy_warehouses", "was_manual"]
