"""The recovery log: the runtime's checkpoint and the driver's, committed together under a fence."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dt_jupyter.catalog import Catalog, SinkTaskPlan, SinkTaskRow
from dt_jupyter.sinks.binding import HashRange, Task
from dt_jupyter.sinks.fence import FenceRow, new_nonce, plan_fence
from dt_jupyter.sinks.messages import JOINED, Checkpoint, joined_checkpoints


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
        """Fences the process that has the task, or one that overlaps it. DT-6123 as
        `plan_fence`."""
        ...

    def commit(self, task: Task, state: TaskState) -> None:
        """Both checkpoints in one transaction; DT-6122 where `state.epoch` is fenced."""
        ...


class CatalogLog:
    """The recovery log in the lake's catalog. Without `joins`, for a driver without joined
    checkpoints, tasks are joined where their drivers' are the same."""

    def __init__(self, catalog: Catalog, *, joins: bool = True) -> None:
        self._catalog, self._joins = catalog, joins

    def open(self, task: Task) -> TaskState:
        plan = functools.partial(_plan, task=task, joins=self._joins)
        row = self._catalog.open_sink_task(task.sink, plan)
        both = row.checkpoints or {}
        return TaskState(row.epoch, both.get("runtime"), both.get("driver") or {})

    def commit(self, task: Task, state: TaskState) -> None:
        both = {"runtime": state.runtime, "driver": state.driver}
        self._catalog.commit_sink_task(_to_row(task.sink, FenceRow(task.range, state.epoch, both)))


def join_rows(rows: Sequence[FenceRow], opened: HashRange) -> list[FenceRow]:
    """The rows of a recovery log; those in the range have one driver checkpoint where
    their runtimes are at one point: that of all of them."""
    touched = [row for row in rows if row.range.overlaps(opened) and row.checkpoint is not None]
    runtimes = [(row.checkpoint or {}).get("runtime") for row in touched]
    drivers: list[Checkpoint] = []
    for row in touched:
        for each in joined_checkpoints((row.checkpoint or {}).get("driver") or {}):
            if each not in drivers:
                drivers.append(each)
    if len(drivers) < 2 or any(runtime != runtimes[0] for runtime in runtimes):
        return list(rows)
    both = {"runtime": runtimes[0], "driver": {JOINED: drivers}}
    return [replace(row, checkpoint=both) if row in touched else row for row in rows]


def _plan(rows: Sequence[SinkTaskRow], task: Task, *, joins: bool) -> SinkTaskPlan:
    known = [FenceRow(HashRange(r.begin, r.end), r.epoch, r.checkpoints) for r in rows]
    if joins:
        known = join_rows(known, task.range)
    plan = plan_fence(known, task.range, new_nonce())
    gone = (FenceRow(removed, 0) for removed in plan.removed)
    return SinkTaskPlan(
        _to_row(task.sink, plan.own),
        tuple(_to_row(task.sink, row) for row in plan.rest),
        tuple(_to_row(task.sink, row) for row in gone),
    )


def _to_row(sink: str, row: FenceRow) -> SinkTaskRow:
    return SinkTaskRow(sink, row.range.begin, row.range.end, row.nonce, row.checkpoint)
