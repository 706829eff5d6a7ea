"""The thread that takes the ticks of tasks, and hands their runs to workers."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.task_runner import TaskRunner, busy_warehouses, was_manual
from dt_jupyter.failures import catalogued
from dt_jupyter.model import (
    CONDITION_FALSE,
    DTError,
    Reason,
    TaskRun,
    TaskRunState,
    TaskTrigger,
    Timestamp,
)
from dt_jupyter.schedule import (
    RunDecision,
    RunGo,
    RunSkipped,
    Supervisor,
    TickBegun,
    Worker,
    begun_ticks,
    graph_of,
    join_all,
    next_tick_of,
    run_decisions,
    slots_of,
)

_log = logging.getLogger("dt_jupyter.tasks")
_LOOK_SECONDS = 2.0
"""How often the catalog is checked for what other processes did."""


@dataclass
class TaskWorkers:
    """Between `start` and `stop` tasks run at their ticks."""

    catalog: Catalog
    runner: TaskRunner
    now: Callable[[], Timestamp]
    spawn: Callable[[Callable[[], None], str], Worker]
    _workers: dict[str, Worker] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def _supervisor(self) -> Supervisor:
        return Supervisor(self._look, "dt-tasks", self.spawn)

    def start(self) -> None:
        """Once is enough."""
        self._supervisor.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Runs are cancelled and waited for, at most `timeout` seconds."""
        left = self._supervisor.stop(timeout)
        if left is not None:
            self.runner.cancel_all()
            join_all([*self._workers.values()], left)

    def nudge(self) -> None:
        """Something changed: look again now."""
        self._supervisor.nudge()

    # -- the thread -------------------------------------------------------------------------------

    def _look(self) -> float:
        try:
            return self.look()
        except Exception as e:  # a catalog that cannot be read now may be in a moment
            _log.warning("tasks cannot be read: %s", catalogued(e, "The scheduler"))
            return _LOOK_SECONDS

    def look(self) -> float:
        """Takes the ticks that have come and hands out what may run; seconds until the next look
        is worth it."""
        self.runner.recover()
        now, tasks = self.now(), self.catalog.tasks()
        for begun in begun_ticks(tasks, self.catalog.open_task_runs(), now):
            self._take(begun)
        for decision in self._decisions():
            self._act(decision)
        following = next_tick_of(tasks, now)
        if following is None:
            return _LOOK_SECONDS
        return min(max(following.since(self.now()), 0.0), _LOOK_SECONDS)

    def _take(self, begun: TickBegun) -> None:
        root, reason = begun.root, begun.reason
        if reason is None and not self.runner.holds(root):
            if root.triggered:
                return
            reason = Reason(CONDITION_FALSE, f"Its condition is false: {root.condition}.")
        if reason is not None:
            self.catalog.skip_tick(root, begun.tick, reason)
            return
        members = [(m.task, m.parents) for m in graph_of(root, self.catalog.tasks())]
        self.catalog.begin_task_graph(root, members, TaskTrigger.SCHEDULE, begun.tick)

    def _decisions(self) -> tuple[RunDecision, ...]:
        runs = [run for run in self.catalog.open_task_runs() if not was_manual(run)]
        if not runs:
            return ()
        slots = {w.name: slots_of(w) for w in self.catalog.warehouses()}
        return run_decisions(runs, slots, self._busy(runs))

    def _busy(self, runs: list[TaskRun]) -> Counter[str]:
        """How much runs in each warehouse, and what was handed out and has not begun."""
        waiting = (r for r in runs if r.state is TaskRunState.SCHEDULED)
        handed = Counter(r.warehouse for r in waiting if r.id in self._workers)
        return busy_warehouses(self.catalog) + handed

    def _act(self, decision: RunDecision) -> None:
        if isinstance(decision, RunGo):
            self._launch(decision)
        elif isinstance(decision, RunSkipped):
            self.catalog.skip_task_run(decision.run, decision.reason)
        else:
            self.catalog.note_task_wait(decision.run, decision.reason)

    def _launch(self, go: RunGo) -> None:
        with self._lock:  # a worker that ends at once ends after it is known
            if go.run.id in self._workers or self._supervisor.stopped:
                return
            worker = self.spawn(lambda: self._work(go), f"dt-task-{go.run.name}")
            self._workers[go.run.id] = worker

    def _work(self, go: RunGo) -> None:
        try:
            self.runner.run(go)
        except DTError as e:  # its end could not be recorded: the next look finds it lost
            _log.warning("the run of task %s: %s", go.run.name, e)
        finally:
            with self._lock:
                self._workers.pop(go.run.id, None)
            self.nudge()
