"""What statements do with tasks: created, altered, executed, dropped."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.task_bodies import moved, read_body, require_syntax
from dt_jupyter.engine.task_runner import RUN_STOPPED, TaskRunner, busy_warehouses
from dt_jupyter.model import (
    DEFAULT_WAREHOUSE,
    FAILURES_BEFORE_SUSPENSION,
    TASK_TIMEOUT_MS,
    TRIGGER_SECONDS,
    DTError,
    Name,
    Task,
    TaskRun,
    TaskRunState,
    TaskState,
    TaskTrigger,
    Timestamp,
    count_of,
    error,
)
from dt_jupyter.schedule import (
    FULL_WAREHOUSE,
    RunGo,
    RunSkipped,
    RunWaits,
    find_task_cycle,
    graph_of,
    run_decisions,
    slots_of,
)
from dt_jupyter.spark import check_cancelled, meaning
from dt_jupyter.sql import CreateAction, parse_condition, qualified_name, statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEFAULTS: Mapping[str, tuple[str, Any]] = {
    "SCHEDULE": ("schedule", None),
    "WAREHOUSE": ("warehouse", DEFAULT_WAREHOUSE),
    "ALLOW_OVERLAPPING_EXECUTION": ("overlaps", False),
    "SUSPEND_TASK_AFTER_NUM_FAILURES": ("suspend_after", FAILURES_BEFORE_SUSPENSION),
    "TASK_AUTO_RETRY_ATTEMPTS": ("retries", 0),
    "USER_TASK_TIMEOUT_MS": ("timeout_ms", TASK_TIMEOUT_MS),
    "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS": ("trigger_seconds", TRIGGER_SECONDS),
    "COMMENT": ("comment", None),
}


_LOOK_AGAIN = 0.2
"""Seconds between two looks whether a full warehouse has a place."""


@dataclass(frozen=True)
class Tasks:
    """The tasks of a lake, made in the session `spark`."""

    catalog: Catalog
    spark: SparkSession
    runner: TaskRunner
    now: Callable[[], Timestamp]
    changed: Callable[[], None]
    pause: Callable[[float], None] = time.sleep

    def create(self, asked: S.CreateTask, schema: str, script: str) -> list[str]:
        """Makes a task, which is suspended until RESUME; what is to be known of it. DT-1105,
        DT-1108, DT-3301, DT-3302, DT-3304."""
        if asked.action is CreateAction.IF_NOT_EXISTS and self.catalog.find_task(asked.name):
            return [f"Task {asked.name} already exists, nothing done."]
        self._require_body(asked.body, asked.body_offset, schema, script)
        self.catalog.warehouse(asked.warehouse)
        self._require_after(asked.name, asked.after)
        now = self.now()
        settings = meaning(self.spark)
        id_, options = uuid.uuid4().hex, asked.options
        made = Task(id_, asked.name, asked.body, schema, now, now, settings, **options)
        replacing = asked.action is CreateAction.REPLACE
        self.catalog.create_task(made, replace_existing=replacing)
        told = f"Task {asked.name} created, suspended: ALTER TASK {asked.name} RESUME starts it."
        return [told, *self._remarks(made)]

    def _remarks(self, task: Task) -> list[str]:
        told = []
        if _by_hand(task):
            told.append("It has no SCHEDULE, AFTER or WHEN: it runs by EXECUTE TASK alone.")
        for name in parse_condition(task.condition).streams if task.condition else ():
            if not self.catalog.has_stream(qualified_name(name, task.schema)):
                told.append(f"There is no stream {name} yet.")
        return told

    def _require_body(self, body: str, offset: int, schema: str, script: str) -> None:
        try:
            require_syntax(self.spark, read_body(body, schema))
        except DTError as e:
            raise moved(e, script, offset) from e.__cause__

    def _require_after(self, name: Name, after: tuple[Name, ...]) -> None:
        tasks = self.catalog.tasks()
        if way := find_task_cycle(name, after, tasks):
            path = " after ".join(map(str, way))
            raise error("DT-3302", name=name, path=path)
        for other in after:
            self.catalog.task(other)

    def alter(self, name: Name, change: S.TaskChange, schema: str, script: str) -> list[str]:
        """Makes one change. DT-1108, DT-3301, DT-3302, DT-3304, DT-3309."""
        task = self.catalog.task(name)
        match change:
            case S.Suspend():
                made = replace(task, state=TaskState.SUSPENDED, reason=None)
            case S.Resume():
                made = self._resumed(task)
            case S.ModifyBody(body=body, body_offset=offset):
                self._require_body(body, offset, schema, script)
                made = replace(task, body=body, schema=schema, settings=meaning(self.spark))
            case S.ModifyCondition(condition=condition):
                made = replace(task, condition=condition)
            case S.AfterTasks(names=names, remove=remove):
                made = self._placed(task, names, remove=remove)
            case S.SetTask():
                given = {k: getattr(change, k) for k in change.__slots__}
                made = self._set(task, {k: v for k, v in given.items() if v is not None})
            case S.UnsetOptions(names=options):
                made = self._set(task, dict(_DEFAULTS[option] for option in options))
        self.catalog.alter_task(made)
        self.changed()
        return self._told(task, made)

    def _resumed(self, task: Task) -> Task:
        if _by_hand(task):
            hint = f"ALTER TASK {task.name} SET SCHEDULE = '5 minutes', or ADD AFTER another task."
            problem = "it has no SCHEDULE, AFTER or WHEN"
            raise error("DT-3309", name=task.name, problem=problem, hint=hint)
        fresh = replace(task, state=TaskState.STARTED, reason=None, failures=0)
        return task if task.started else replace(fresh, since=self.now())

    def _set(self, task: Task, given: Mapping[str, Any]) -> Task:
        if "warehouse" in given:
            self.catalog.warehouse(given["warehouse"])
        made = replace(task, **given)
        if made.schedule is not None and made.after:
            hint = f"ALTER TASK {task.name} REMOVE AFTER … first."
            problem = "it comes after other tasks, and runs when they have"
            raise error("DT-3309", name=task.name, problem=problem, hint=hint)
        return made if made.schedule == task.schedule else replace(made, since=self.now())

    def _placed(self, task: Task, names: tuple[Name, ...], *, remove: bool) -> Task:
        if remove:
            return replace(task, after=tuple(n for n in task.after if n not in names))
        if task.schedule is not None:
            hint = f"ALTER TASK {task.name} UNSET SCHEDULE first."
            problem = "it has its own schedule"
            raise error("DT-3309", name=task.name, problem=problem, hint=hint)
        after = tuple(dict.fromkeys((*task.after, *names)))
        self._require_after(task.name, after)
        return replace(task, after=after)

    def _told(self, before: Task, after: Task) -> list[str]:
        if after.state is before.state:
            return [f"Task {after.name} altered."]
        if not after.started:
            return [f"Task {after.name} suspended."]
        asleep = [t.name for t in self.catalog.tasks() if after.name in t.after and not t.started]
        told = [f"Task {after.name} resumed."]
        return [*told, *(f"Task {n}, which comes after it, is suspended." for n in asleep)]

    def drop(self, name: Name) -> list[str]:
        """DT-3301."""
        freed = self.catalog.drop_task(name)
        self.changed()
        return [f"Task {name} dropped.", *(f"Task {f} comes after it no more." for f in freed)]

    # -- executed by a statement ------------------------------------------------------------------

    def execute(self, name: Name) -> list[str]:
        """Runs a task and what comes after it, now; returns the outcome of each. DT-2112, DT-3301,
        DT-3305, and DT-3306 where one fails."""
        task = self.catalog.task(name)
        self.runner.recover()
        self._require_idle(task)
        members = [(m.task, m.parents) for m in graph_of(task, self.catalog.tasks())]
        runs = self.catalog.begin_task_graph(task, members, TaskTrigger.MANUAL, self.now())
        graph = runs[0].graph
        try:
            while self._step(graph):
                pass
        except BaseException:
            self.catalog.cancel_task_graph(graph, RUN_STOPPED)
            raise
        done = self.catalog.task_graph_runs(graph)
        _require_success(done)
        return [_outcome(run) for run in done]

    def _require_idle(self, task: Task) -> None:
        going = [r for r in self.catalog.open_task_runs() if r.root == task.id]
        if going and not task.overlaps:
            raise error("DT-3305", name=task.name, since=going[0].start or going[0].scheduled)

    def _step(self, graph: str) -> bool:
        """Does what is next; False where nothing is."""
        slots = {w.name: slots_of(w) for w in self.catalog.warehouses()}
        busy = busy_warehouses(self.catalog)
        decisions = run_decisions(self.catalog.task_graph_runs(graph), slots, busy)
        for decision in decisions:
            if isinstance(decision, RunGo):
                self.runner.run(decision)
                return True
            if isinstance(decision, RunSkipped):
                self.catalog.skip_task_run(decision.run, decision.reason)
        waits = [d for d in decisions if isinstance(d, RunWaits)]
        for wait in waits:
            self._wait(wait)
        return bool(waits) or any(isinstance(d, RunSkipped) for d in decisions)

    def _wait(self, wait: RunWaits) -> None:
        """For a place in the warehouse, as a refresh waits for one; DT-2112 where it rests."""
        if wait.reason.code != FULL_WAREHOUSE:
            raise error("DT-2112", name=self.catalog.warehouse(wait.run.warehouse).name)
        check_cancelled()
        self.catalog.note_task_wait(wait.run, wait.reason)
        self.pause(_LOOK_AGAIN)

    def close(self) -> None:
        self.runner.cancel_all()
        self.runner.sessions.close()


def _by_hand(task: Task) -> bool:
    return task.schedule is None and not task.after and not task.triggered


def _require_success(runs: tuple[TaskRun, ...]) -> None:
    newest = {run.task: run for run in runs}
    failed = next((r for r in newest.values() if r.state is TaskRunState.FAILED), None)
    if failed is not None:
        raise error(
            "DT-3306", name=failed.name, problem=f"[{failed.code}] {failed.message}", hint=""
        )


def _outcome(run: TaskRun) -> str:
    rows = f", {count_of(run.rows, 'row')}" if run.rows is not None else ""
    why = f": {run.message}" if run.message else "."
    return f"Task {run.name} {run.state.lower()}{rows}{why}"
