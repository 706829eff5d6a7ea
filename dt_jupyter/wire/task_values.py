"""Parts of wire messages about tasks: the state of one, and the outcome of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dt_jupyter.model import TaskRunState, TaskState, TaskTrigger
from dt_jupyter.wire.schema import check_instants, redact_fields


@dataclass(frozen=True, slots=True)
class TaskRunRow:
    """One run, as TASK_HISTORY has it; one that waits or was skipped has no `start`. `message`
    says why it failed, was skipped or waits; `quiet`: it was skipped as there was nothing to do."""

    state: TaskRunState
    trigger: TaskTrigger
    scheduled: datetime
    start: datetime | None = None
    end: datetime | None = None
    attempt: int = 1
    rows: int | None = None
    message: str | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "message")


@dataclass(frozen=True, slots=True)
class TaskStanding:
    """The state of a task. `runs_when` is its schedule, or what it comes after, in words; `next`
    is its next tick while it is started; `failures` are those in a row."""

    state: TaskState
    runs_when: str
    condition: str | None = None
    next: datetime | None = None
    last: TaskRunRow | None = None
    failures: int = 0

    def __post_init__(self) -> None:
        check_instants(self)
