"""The present state of tasks: when one runs next, the outcomes of its runs, what it reads and
writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dt_jupyter.caches import text_cache
from dt_jupyter.catalog import Catalog
from dt_jupyter.model import DTError, Name, Task, TaskRun, TaskRunState, Timestamp
from dt_jupyter.sources import name_of
from dt_jupyter.sql import (
    SparkStatement,
    Statement,
    block_script,
    parse_condition,
    parse_script,
    qualified_name,
    relations_in,
)

RUNS = 20
"""Runs of a task that are shown, and as many that were no skip."""


@dataclass(frozen=True)
class TaskFlow:
    """The names that a task reads, streams of its condition among them, and those that it
    changes; each once."""

    reads: tuple[Name, ...] = ()
    writes: tuple[Name, ...] = ()


@dataclass(frozen=True)
class TaskReport:
    """`next` is the next tick of a root that is started, `runs` are newest first."""

    task: Task
    flow: TaskFlow
    next: Timestamp | None = None
    runs: tuple[TaskRun, ...] = ()

    @property
    def last(self) -> TaskRun | None:
        return self.runs[0] if self.runs else None

    @property
    def runs_when(self) -> str:
        """Its schedule, or what it comes after, in words."""
        if self.task.after:
            return f"after {', '.join(map(str, self.task.after))}"
        if self.task.triggered:
            return "when its condition holds"
        return str(self.task.schedule) if self.task.schedule is not None else "manual"

    @property
    def problem(self) -> str | None:
        """Why it was suspended, why its last run failed, or what a run waits for."""
        if self.task.reason is not None:
            return str(self.task.reason)
        told = (TaskRunState.FAILED, TaskRunState.SCHEDULED)
        if self.last is None or self.last.state not in told:
            return None
        return ": ".join(filter(None, (self.last.code, self.last.message))) or None

    def __str__(self) -> str:
        last = f", last run {self.last.state}" if self.last is not None else ""
        why = f": {self.problem}" if self.problem else ""
        return f"{self.task.state}, {self.runs_when}{last}{why}"


@dataclass(frozen=True)
class TaskReports:
    """From the catalog alone: no Spark job, no log is read."""

    catalog: Catalog

    def all(self, now: Timestamp) -> list[TaskReport]:
        """By name, each with its last run."""
        last = self.catalog.last_task_runs()
        return [_report(t, filter(None, [last.get(t.id)]), now) for t in self.catalog.tasks()]

    def one(self, task: Task, now: Timestamp) -> TaskReport:
        """With its newest runs, and the newest of those that had something to do."""
        newest = self.catalog.task_runs(task.name, RUNS)
        known = {run.id for run in newest}
        loud = self.catalog.task_runs(task.name, RUNS, quiet=False)
        runs = newest + [run for run in loud if run.id not in known]
        return _report(task, [run for run in runs if run.task == task.id], now)

    def by_id(self, id_: str, now: Timestamp) -> TaskReport | None:
        """None where it is gone."""
        found = next((t for t in self.catalog.tasks() if t.id == id_), None)
        return self.one(found, now) if found is not None else None


def _report(task: Task, runs: Iterable[TaskRun], now: Timestamp) -> TaskReport:
    ticks = task.schedule is not None and task.started
    following = task.schedule.following(task.since, now) if ticks and task.schedule else None
    flow = task_flow(task.body, task.condition, task.schema)
    return TaskReport(task, flow, following, tuple(runs))


@text_cache("flows of tasks", 4)
def task_flow(body: str, condition: str | None, schema: str) -> TaskFlow:
    """What a task reads and writes, as far as the texts show; nothing of a body that is no longer
    read."""
    asked = parse_condition(condition).streams if condition else ()
    names = [qualified_name(name, schema) for name in asked]
    try:
        statements = parse_script(block_script(body) or body, schema)
    except DTError:  # its next run says what is wrong with it
        statements = ()
    spark = [s for s in statements if isinstance(s, SparkStatement)]
    names += [name_of(parts, schema) for s in spark for parts, _ in relations_in(s.text)]
    writes = [name for s in statements for name in _changed_by(s)]
    return TaskFlow(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(writes)))


def _changed_by(statement: Statement) -> tuple[Name, ...]:
    if isinstance(statement, SparkStatement):
        return statement.targets
    name = getattr(statement, "name", None)
    return (name,) if isinstance(name, Name) else ()
