"""The recovery log: the runtime's checkpoint and the driver's, committed together under a fence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dt_jupyter.catalog import Catalog, SinkTaskPlan, SinkTaskRow
from dt_jupyter.sinks.binding import HashRange, Task
from dt_jupyter.sinks.fence import FenceRow, new_nonce, plan_fence
from dt_jupyter.sinks.messages import Checkpoint


@dataclass(frozen=True)
class TaskState:
    """What a log holds of a task that was opened at `epoch`; `runtime` is None before the first
    commit."""

    epoch: int
    runtime: Checkpoint | None
    driver: Checkpoint


class RecoveryLog(Protocol):
    """Durable when a call returns; of several processes the last that opened a task commits."""

    def open(self, task: Task) -> TaskState:
        """Fences whoever has the task, or one that overlaps it. DT-6123 as `plan_fence`."""
        ...

    def commit(self, task: Task, state: TaskState) -> None:
        """Both checkpoints in one transaction; DT-6122 where `state.epoch` is fenced."""
        ...


class CatalogLog:
    """The recovery log in the lake's catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def open(self, task: Task) -> TaskState:
        row = self._catalog.open_sink_task(task.sink, lambda rows: _plan(rows, task))
        both = row.checkpoints or {}
        return TaskState(row.epoch, both.get("runtime"), both.get("driver") or {})

    def commit(self, task: Task, state: TaskState) -> None:
        both = {"runtime": state.runtime, "driver": state.driver}
        self._catalog.commit_sink_task(_to_row(task.sink, FenceRow(task.range, state.epoch, both)))


def _plan(rows: Sequence[SinkTaskRow], task: Task) -> SinkTaskPlan:
    known = [FenceRow(HashRange(r.begin, r.end), r.epoch, r.checkpoints) for r in rows]
    plan = plan_fence(known, task.range, new_nonce())
    gone = (FenceRow(removed, 0) for removed in plan.removed)
    return SinkTaskPlan(
        _to_row(task.sink, plan.own),
        tuple(_to_row(task.sink, row) for row in plan.rest),
        tuple(_to_row(task.sink, row) for row in gone),
    )


def _to_row(sink: str, row: FenceRow) -> SinkTaskRow:
    return SinkTaskRow(sink, row.range.begin, row.range.end, row.nonce, row.checkpoint)
