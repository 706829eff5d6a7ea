"""Tasks: statements that the engine runs in the background, and the outcome of each run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from dt_jupyter.model.definition import DEFAULT_WAREHOUSE
from dt_jupyter.model.names import Name
from dt_jupyter.model.plural import count_of
from dt_jupyter.model.states import Reason
from dt_jupyter.model.task_schedule import TaskSchedule
from dt_jupyter.model.time import Timestamp

FAILURES_BEFORE_SUSPENSION = 10
TASK_TIMEOUT_MS = 3_600_000
TRIGGER_SECONDS = 30
"""At least so long after a run a task that streams trigger runs again."""


class TaskState(StrEnum):
    """Whether its ticks, and its turns after other tasks, are taken."""

    STARTED = "STARTED"
    SUSPENDED = "SUSPENDED"


class TaskRunState(StrEnum):
    """SCHEDULED: its turn has not come, or it waits; SKIPPED: it will not be run."""

    SCHEDULED = "SCHEDULED"
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"

    @property
    def final(self) -> bool:
        return self not in (TaskRunState.SCHEDULED, TaskRunState.EXECUTING)


class TaskTrigger(StrEnum):
    SCHEDULE = "SCHEDULE"
    MANUAL = "EXECUTE TASK"


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """When a task runs and how: what CREATE TASK gives, and a task keeps.

    A root has a `schedule`, others come `after` tasks. One with neither and with a `condition` is
    triggered: it runs when that holds, `trigger_seconds` after its last run at the soonest. Without
    any of them it runs by EXECUTE TASK alone.
    `suspend_after` failed runs of its graph in a row suspend a root (0: never), `retries` are the
    attempts more of a run that fails.
    """

    schedule: TaskSchedule | None = None
    after: tuple[Name, ...] = ()
    condition: str | None = None
    warehouse: str = DEFAULT_WAREHOUSE
    overlaps: bool = False
    suspend_after: int = FAILURES_BEFORE_SUSPENSION
    retries: int = 0
    timeout_ms: int = TASK_TIMEOUT_MS
    comment: str | None = None
    trigger_seconds: int = TRIGGER_SECONDS

    @property
    def options(self) -> dict[str, Any]:
        """By their names, as another value takes them."""
        return {f.name: getattr(self, f.name) for f in fields(TaskOptions)}


@dataclass(frozen=True)
class Task(TaskOptions):
    """A task: `body` is run under `settings` with `schema` as the current one.

    `since` is when it was last started, from which durations count; `last_tick` the newest tick
    that is done with; `failures` those in a row.
    """

    id: str
    name: Name
    body: str
    schema: str
    created: Timestamp
    since: Timestamp
    settings: Mapping[str, str] = field(default_factory=dict)
    state: TaskState = TaskState.SUSPENDED
    reason: Reason | None = None
    failures: int = 0
    last_tick: Timestamp | None = None

    @property
    def started(self) -> bool:
        return self.state is TaskState.STARTED

    @property
    def triggered(self) -> bool:
        """Whether its condition alone makes it run."""
        return self.schedule is None and not self.after and self.condition is not None

    @property
    def settled(self) -> Timestamp:
        """Ticks up to here are no longer to be taken."""
        return self.since if self.last_tick is None else max(self.since, self.last_tick)

    def tick(self, now: Timestamp) -> Timestamp | None:
        """The newest tick that is to be taken at `now`; of a triggered one `now` itself, where its
        condition may be asked again."""
        if self.triggered:
            last = self.last_tick
            soon = last is not None and now < last.plus(self.trigger_seconds)
            return None if soon or now <= self.since else now
        if self.schedule is None:
            return None
        found = self.schedule.newest(self.since, now)
        return found if found is not None and found > self.settled else None


CONDITION_FALSE = "CONDITION_FALSE"
QUIET_SKIPS = (CONDITION_FALSE, "PREDECESSOR_SKIPPED")
"""The codes of runs that were skipped because there was nothing to do."""


@dataclass(frozen=True)
class TaskRun:
    """One attempt of a task within one run of its graph.

    `graph` is that run's id, `root` its first task's id; `parents` are the ids of the tasks of the
    same run that must succeed before. `number` counts the runs of the task, all attempts of one
    have the same: a write of that number happens once.
    """

    id: str
    task: str
    name: Name
    graph: str
    root: str
    number: int
    trigger: TaskTrigger
    scheduled: Timestamp
    state: TaskRunState = TaskRunState.SCHEDULED
    attempt: int = 1
    parents: tuple[str, ...] = ()
    warehouse: str = DEFAULT_WAREHOUSE
    body: str = ""
    condition: str | None = None
    start: Timestamp | None = None
    end: Timestamp | None = None
    code: str | None = None
    message: str | None = None
    rows: int | None = None
    committed: bool = False

    @property
    def seconds(self) -> float | None:
        return self.end.since(self.start) if self.start and self.end else None

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to do: its condition did not hold, or that of one before it."""
        return self.state is TaskRunState.SKIPPED and self.code in QUIET_SKIPS

    def __str__(self) -> str:
        rows = f", {count_of(self.rows, 'row')}" if self.rows is not None else ""
        why = f" ({self.message})" if self.message else ""
        return f"{self.name}: {self.state} at {self.scheduled}{rows}{why}"
