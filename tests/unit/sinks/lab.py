"""Stores in memory, one for each pattern, sources that are lists, and an oracle in plain Python."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.model import DTError, error
from dt_jupyter.sinks.binding import Binding, HashRange, SinkColumn, Task
from dt_jupyter.sinks.changes import KIND, ChangeInterval, ChangeKind
from dt_jupyter.sinks.channel import Channel, DirectChannel, Driver
from dt_jupyter.sinks.fence import FenceRow, new_nonce, plan_fence
from dt_jupyter.sinks.messages import Checkpoint, Open
from dt_jupyter.sinks.patterns import (
    IdempotentApply,
    LogNonTransactional,
    PushOnly,
    RemoteAuthoritative,
)
from dt_jupyter.sinks.recovery import RecoveryLog, TaskState, join_rows
from dt_jupyter.sinks.reductions import ReduceRule, Strategy, finish_value, reduce_values
from dt_jupyter.sinks.runtime import Delivered, Delivery

Row = dict[str, Any]
Change = tuple[ChangeKind, Row]
I, D, R = ChangeKind.INSERT, ChangeKind.DELETE, ChangeKind.REPLACE  # noqa: E741


def binding(
    *columns: tuple[str, pa.DataType],
    rules: Mapping[str, ReduceRule] | None = None,
    key: Sequence[str] = ("k",),
    delta: bool = False,
    target: str = "t",
) -> Binding:
    found = tuple(SinkColumn(n, t) for n, t in columns)
    return Binding(target, found, tuple(key), rules or {}, delta)


def summed(*, delta: bool = False) -> Binding:
    """k bigint, v bigint SUM, name string."""
    columns = (("k", pa.int64()), ("v", pa.int64()), ("name", pa.string()))
    return binding(*columns, rules={"v": ReduceRule(Strategy.SUM)}, delta=delta)


def table_of(made: Binding, changes: Iterable[Change]) -> pa.Table:
    changes = list(changes)
    columns = {c.name: pa.array([r.get(c.name) for _, r in changes], c.type) for c in made.columns}
    return pa.table({**columns, KIND: pa.array([int(k) for k, _ in changes], pa.int8())})


def changes_of(table: pa.Table) -> list[Change]:
    rows = table.to_pylist()
    return [(ChangeKind(row.pop(KIND)), row) for row in rows]


@dataclass
class ListSource:
    """Changes in order, `size` to an interval and `batch` to a batch; a checkpoint is how many
    were taken. More can be appended."""

    binding: Binding
    changes: list[Change]
    size: int = 3
    batch: int = 2
    asked: list[Checkpoint | None] = field(default_factory=list)

    def next(self, after: Checkpoint | None) -> ChangeInterval | None:
        self.asked.append(after)
        start = 0 if after is None else after["at"]
        mine = self.changes[start : start + self.size]
        if not mine:
            return None
        cuts = range(0, len(mine), self.batch)
        batches = [table_of(self.binding, mine[c : c + self.batch]) for c in cuts]
        return ChangeInterval({"at": start + len(mine)}, batches)


def events(seed: int, count: int = 14, keys: int = 4) -> list[Change]:
    rng = random.Random(seed)
    found: list[Change] = []
    for number in range(count):
        kind = rng.choices([I, D], [5, 1])[0]
        row = {"k": rng.randrange(keys), "v": rng.randint(-9, 9), "name": f"n{number}"}
        found.append((kind, row if kind is I else {"k": row["k"]}))
    return found


class MemoryLog:
    """A recovery log that lasts as long as the test."""

    def __init__(self, *, joins: bool = True) -> None:
        self.rows: dict[str, list[FenceRow]] = {}
        self.joins = joins

    def open(self, task: Task) -> TaskState:
        rows = self.rows.get(task.sink, [])
        if self.joins:
            self.rows[task.sink] = rows = join_rows(rows, task.range)
        plan = plan_fence(rows, task.range, new_nonce())
        touched = {plan.own.range, *plan.removed}
        kept = [r for r in self.rows.get(task.sink, []) if r.range not in touched]
        self.rows[task.sink] = [*kept, *plan.rest, plan.own]
        both = plan.own.checkpoint or {}
        return TaskState(plan.own.nonce, both.get("runtime"), both.get("driver") or {})

    def commit(self, task: Task, state: TaskState) -> None:
        rows = self.rows.get(task.sink, [])
        mine = [r for r in rows if (r.range, r.nonce) == (task.range, state.epoch)]
        if not mine:
            raise error("DT-6122", task=task)
        rows.remove(mine[0])
        both = {"runtime": state.runtime, "driver": state.driver}
        rows.append(FenceRow(task.range, state.epoch, both))


def oracle(made: Binding, changes: Iterable[Change]) -> dict[Any, Row]:
    """What a store holds after all changes, one after another."""
    rows: dict[Any, Row] = {}
    for kind, row in changes:
        key = tuple(row[k] for k in made.key)
        before = rows.pop(key, None) if kind is I else rows.pop(key, None) and None
        if kind is D:
            continue
        reduced = dict(row)
        if before is not None:
            for name in made.values:
                reduced[name] = reduce_values(made.rule(name), before[name], row[name])
        rows[key] = reduced
    return {
        key: {n: finish_value(made.rule(n), v) for n, v in row.items()} for key, row in rows.items()
    }


class World:
    """What is outside of the process: rows, checkpoints, staged files, what was pushed."""

    def __init__(self) -> None:
        self.rows: dict[Any, Row] = {}
        self.fences: list[FenceRow] = []
        self.files: dict[str, list[tuple[pa.Table, bool]]] = {}
        self.pushed: list[tuple[str, bool, Row]] = []
        self.applied: set[str] = set()
        self.commits = 0
        self.names = itertools.count()
        self.crashed = True


class _Memory:
    store = "memory"

    def __init__(self, world: World) -> None:
        self.world = world
        self.keys: list[Any] = []
        self.staged: list[tuple[pa.Table, bool]] = []
        self.closed = False

    def stage_keys(self, keys: pa.Table) -> None:
        self.keys += [tuple(row.values()) for row in keys.to_pylist()]

    def load_rows(self) -> Iterator[pa.Table]:
        keys, self.keys = self.keys, []
        found = [self.world.rows[k] for k in keys if k in self.world.rows]
        if found:
            yield pa.Table.from_pylist(found, self.binding.schema)

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        self.staged.append((rows, delete))

    def close(self) -> None:
        self.closed = True

    binding: Binding


def put(made: Binding, rows: dict[Any, Row], staged: Iterable[tuple[pa.Table, bool]]) -> None:
    for part, delete in staged:
        for row in part.to_pylist():
            key = tuple(row[k] for k in made.key)
            if delete:
                rows.pop(key, None)
            else:
                rows[key] = row


class RemoteMemory(_Memory, RemoteAuthoritative):
    def fence(self, message: Open) -> Checkpoint | None:
        self.binding, self.task = message.binding, message.task
        plan = plan_fence(self.world.fences, self.task.range, new_nonce())
        touched = {plan.own.range, *plan.removed}
        kept = [r for r in self.world.fences if r.range not in touched]
        self.world.fences = [*kept, *plan.rest, plan.own]
        self.own = plan.own
        return plan.own.checkpoint

    def prepare(self, runtime_checkpoint: Checkpoint) -> None:
        self.after = FenceRow(self.own.range, self.own.nonce, runtime_checkpoint)

    def commit(self) -> None:
        mine = [
            r for r in self.world.fences if (r.range, r.nonce) == (self.own.range, self.own.nonce)
        ]
        if not mine:
            raise error("DT-6122", task=self.task)
        staged, self.staged = self.staged, []
        put(self.binding, self.world.rows, staged)
        self.world.fences = [r for r in self.world.fences if r is not mine[0]] + [self.after]
        self.world.commits += 1


class LogMemory(_Memory, LogNonTransactional):
    def connect(self, message: Open) -> None:
        self.binding = message.binding

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        put(self.binding, self.world.rows, [(rows, delete)])

    def finish(self) -> None:
        self.world.commits += 1


class _Staged(_Memory):
    def connect(self, message: Open) -> None:
        self.binding = message.binding
        self.sealed = message.driver_checkpoint.get("staged")

    def seal(self, runtime_checkpoint: Checkpoint) -> Checkpoint:
        self.sealed = f"file-{next(self.world.names)}"
        self.world.files[self.sealed], self.staged = self.staged, []
        return {"staged": self.sealed}


class StagedMemory(_Staged, IdempotentApply):
    def apply(self) -> None:
        if self.sealed is not None and self.sealed not in self.world.applied:
            self.world.applied.add(self.sealed)
            put(self.binding, self.world.rows, self.world.files[self.sealed])


class PushMemory(_Staged, PushOnly):
    def apply(self) -> None:
        for part, delete in self.world.files.get(self.sealed or "", ()):
            for number, row in enumerate(part.to_pylist()):
                name = f"{self.sealed}:{delete}:{number}"
                if name not in {n for n, _, _ in self.world.pushed}:
                    self.world.pushed.append((name, delete, row))


class Crash(BaseException):
    """The process is gone: no handler of the product may catch it."""


@dataclass
class Countdown:
    """Crashes at the event of number `at`, once."""

    at: int
    seen: int = 0

    def tick(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            raise Crash


class CrashingChannel:
    """The runtime dies before or after each message that it sends or receives."""

    def __init__(self, inner: Channel, countdown: Countdown) -> None:
        self.inner, self._countdown = inner, countdown

    def send(self, message: Any) -> None:
        self._countdown.tick()
        self.inner.send(message)
        self._countdown.tick()

    def receive(self) -> Any:
        self._countdown.tick()
        answer = self.inner.receive()
        self._countdown.tick()
        return answer

    def close(self) -> None:
        self.inner.close()


class CrashingLog:
    """The runtime dies before or after it commits."""

    def __init__(self, inner: RecoveryLog, countdown: Countdown) -> None:
        self._inner, self._countdown = inner, countdown

    def open(self, task: Task) -> TaskState:
        return self._inner.open(task)

    def commit(self, task: Task, state: TaskState) -> None:
        self._countdown.tick()
        self._inner.commit(task, state)
        self._countdown.tick()


class CrashingDriver:
    """The driver dies before it handles a message, or before or after an answer has left."""

    def __init__(self, inner: Driver, countdown: Countdown) -> None:
        self._inner, self._countdown = inner, countdown

    def handle(self, message: Any) -> Iterator[Any]:
        self._countdown.tick()
        for answer in self._inner.handle(message):
            self._countdown.tick()
            yield answer
            self._countdown.tick()
        self._countdown.tick()

    def close(self) -> None:
        self._inner.close()


def delivery(
    made: Binding,
    source: Any,
    log: RecoveryLog,
    driver: Callable[[], Driver],
    *,
    task: Task | None = None,
    channel: Callable[[Driver], Channel] = DirectChannel,
) -> Delivery:
    return Delivery(made, task or Task("s"), source, log, lambda: channel(driver()))


def deliver(
    made: Binding, source: Any, log: RecoveryLog, driver: Callable[[], Driver], **options: Any
) -> list[Delivered]:
    """All that the source has, by a delivery of its own."""
    with delivery(made, source, log, driver, **options) as each:
        return list(each.deliver())


@contextmanager
def refused(code: str) -> Iterator[list[DTError]]:
    caught: list[DTError] = []
    with pytest.raises(DTError) as raised:
        yield caught
    assert raised.value.code == code, raised.value
    caught.append(raised.value)


LEFT, RIGHT = HashRange(0, 0x7FFF_FFFF), HashRange(0x8000_0000, 0xFFFF_FFFF)
