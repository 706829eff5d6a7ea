"""The runtime: what it sends, where it goes on after a crash, and that nothing is twice or lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.binding import Binding, Task
from dt_jupyter.sinks.channel import DirectChannel, Driver, ThreadChannel
from dt_jupyter.sinks.runtime import Delivery
from tests.unit.sinks.lab import (
    LEFT,
    RIGHT,
    Change,
    Countdown,
    Crash,
    CrashingChannel,
    CrashingDriver,
    CrashingLog,
    D,
    I,
    ListSource,
    LogMemory,
    MemoryLog,
    PushMemory,
    RemoteMemory,
    Row,
    StagedMemory,
    World,
    binding,
    deliver,
    delivery,
    events,
    oracle,
    refused,
    summed,
)

Make = Callable[[World], Any]
MIRROR = binding(("k", pa.int64()), ("v", pa.float64()))
ONCE: list[Make] = [RemoteMemory, StagedMemory]


class Recorder:
    """A driver that notes what it was told, and what it said."""

    def __init__(self, inner: Driver, seen: list[str]) -> None:
        self._inner, self._seen = inner, seen

    def handle(self, message: Any) -> Iterator[Any]:
        self._seen.append(type(message).__name__)
        for answer in self._inner.handle(message):
            self._seen.append(type(answer).__name__)
            yield answer

    def close(self) -> None:
        self._inner.close()


def test_two_transactions_by_the_book() -> None:
    seen: list[str] = []
    changes = [(I, {"k": 1, "v": 1, "name": "a"})] * 4
    deliver(
        summed(),
        ListSource(summed(), changes, 2),
        MemoryLog(),
        lambda: Recorder(RemoteMemory(World()), seen),
    )
    assert " ".join(seen) == (
        "Open Opened Acknowledged Acknowledge Load Flush Flushed Store StartCommit StartedCommit "
        "Acknowledged Acknowledge Load Flush Loaded Flushed Store StartCommit StartedCommit "
        "Acknowledged"
    )


def test_a_mirror_needs_no_load_and_delta_updates_get_none_but_a_flush() -> None:
    for made in (binding(("k", pa.int64()), ("v", pa.int64())), summed(delta=True)):
        seen: list[str] = []
        changes = [(I, {"k": 1, "v": 1, "name": "a"})]
        pattern = PushMemory if made.delta_updates else RemoteMemory
        deliver(
            made,
            ListSource(made, changes),
            MemoryLog(),
            lambda p=pattern, s=seen: Recorder(p(World()), s),
        )
        assert "Load" not in seen
        assert seen[seen.index("Flush") + 1] == "Flushed"


@pytest.mark.parametrize("make", ONCE)
@pytest.mark.parametrize("seed", range(5))
def test_the_store_holds_what_all_changes_come_to(make: Make, seed: int) -> None:
    world, changes = World(), events(seed, 40)
    done = deliver(summed(), ListSource(summed(), changes), MemoryLog(), lambda: make(world))
    assert world.rows == oracle(summed(), changes)
    assert sum(each.read for each in done) == len(changes)


def crash_and_go_on(
    made: Binding,
    changes: list[Change],
    make: Make,
    at: int,
    where: str,
) -> World:
    """One run that crashes at an event, and one that goes on; the crashed one's driver is dropped
    as a dead process drops it."""
    world, log, countdown = World(), MemoryLog(), Countdown(at)
    source = ListSource(made, changes)
    first = {
        "channel": lambda: delivery(
            made,
            source,
            CrashingLog(log, countdown),
            lambda: make(world),
            channel=lambda d: CrashingChannel(DirectChannel(d), countdown),
        ),
        "driver": lambda: delivery(
            made, source, log, lambda: CrashingDriver(make(world), countdown)
        ),
    }[where]()
    try:
        list(first.deliver())
    except Crash:
        pass
    else:
        world.crashed = False
        return world
    deliver(made, source, log, lambda: make(world))
    return world


def sweep(made: Binding, changes: list[Change], make: Make, where: str) -> Iterator[World]:
    """One world for each event of a run at which a side can die."""
    for at in range(1, 1000):
        world = crash_and_go_on(made, changes, make, at, where)
        yield world
        if not world.crashed:
            return
    raise AssertionError("the run never ended")


@pytest.mark.parametrize("make", ONCE)
@pytest.mark.parametrize("where", ["channel", "driver"])
@pytest.mark.parametrize("seed", [0])
def test_a_crash_at_any_message_leaves_every_sum_exact(make: Make, where: str, seed: int) -> None:
    changes = events(seed)
    worlds = list(sweep(summed(), changes, make, where))
    assert len(worlds) > 60
    for world in worlds:
        assert world.rows == oracle(summed(), changes)


@pytest.mark.parametrize("where", ["channel", "driver"])
def test_a_push_is_named_the_same_when_it_is_sent_again(where: str) -> None:
    made, changes = summed(delta=True), events(4)
    expected = deliver_all(made, changes)
    for world in sweep(made, changes, PushMemory, where):
        names = [name for name, _, _ in world.pushed]
        assert len(names) == len(set(names))
        total = sum(row["v"] for _, delete, row in world.pushed if not delete)
        assert total == expected


def deliver_all(made: Binding, changes: list[Change]) -> int:
    world = World()
    deliver(made, ListSource(made, changes), MemoryLog(), lambda: PushMemory(world))
    return sum(row["v"] for _, delete, row in world.pushed if not delete)


@pytest.mark.parametrize("where", ["channel", "driver"])
def test_without_transactions_the_last_write_wins_all_the_same(where: str) -> None:
    made = binding(("k", pa.int64()), ("v", pa.int64()))
    changes = [(I, {"k": k, "v": v}) for v, k in enumerate([1, 2, 3, 1, 2, 3, 1, 2, 3])]
    for world in sweep(made, changes, LogMemory, where):
        assert world.rows == oracle(binding(("k", pa.int64()), ("v", pa.int64())), changes)


def test_without_transactions_a_sum_is_refused_unless_it_is_accepted() -> None:
    source = ListSource(summed(), events(1))
    with refused("DT-6144"):
        deliver(summed(), source, MemoryLog(), lambda: LogMemory(World()))

    class Accepting(LogMemory):
        at_least_once = True

    assert deliver(summed(), source, MemoryLog(), lambda: Accepting(World()))


def test_a_push_only_store_takes_delta_updates_alone() -> None:
    with refused("DT-6144"):
        deliver(summed(), ListSource(summed(), events(1)), MemoryLog(), lambda: PushMemory(World()))


def test_what_was_staged_is_applied_before_anything_is_loaded() -> None:
    """The runtime died after its commit and before the apply: the next Load must see it."""
    changes = [(I, {"k": 1, "v": v, "name": "a"}) for v in (1, 2)]
    world, log = World(), MemoryLog()
    first = delivery(summed(), ListSource(summed(), changes[:1]), log, lambda: StagedMemory(world))
    first._acknowledged = lambda: iter(())  # type: ignore[method-assign]
    with pytest.raises(Exception, match="DT-6120"):
        list(first.deliver())
    assert not world.rows
    deliver(summed(), ListSource(summed(), changes), log, lambda: StagedMemory(world))
    assert world.rows == oracle(summed(), changes)


def test_a_driver_may_ask_for_an_older_checkpoint() -> None:
    class Rewinding(StagedMemory):
        def seal(self, runtime_checkpoint: m.Checkpoint) -> m.Checkpoint:
            return {**super().seal(runtime_checkpoint), "runtime": {"at": 0}}

    made = binding(("k", pa.int64()), ("v", pa.int64()))
    changes = [(I, {"k": 1, "v": 1}), (I, {"k": 2, "v": 2})]
    source, log, world = ListSource(made, changes, 1), MemoryLog(), World()
    deliver(made, source, log, lambda: Rewinding(world))
    again = ListSource(made, changes, 1)
    deliver(made, again, log, lambda: Rewinding(world))
    assert again.asked[0] == {"at": 0}


@pytest.mark.parametrize("make", ONCE)
def test_a_zombie_commits_nothing_after_a_newcomer(make: Make) -> None:
    world, log = World(), MemoryLog()
    source = ListSource(summed(), events(2, 6), 3)
    zombie = delivery(summed(), source, log, lambda: make(world))
    going = zombie.deliver()
    next(going)  # the first transaction is in the store, and the second has not begun to load
    newcomer = deliver(summed(), source, log, lambda: make(world))
    assert len(newcomer) == 1
    before = dict(world.rows)
    with refused("DT-6122"):
        list(going)
    assert world.rows == before == oracle(summed(), source.changes)


@pytest.mark.parametrize("make", ONCE)
def test_a_newcomer_opens_while_the_old_one_is_between_any_two_messages(make: Make) -> None:
    changes = events(5, 9)

    class Pausing:
        """At a message of the old one, a newcomer delivers everything."""

        def __init__(self, inner: Any, at: int, world: World, log: MemoryLog) -> None:
            self.inner, self.at, self.world, self.log = inner, at, world, log

        def tick(self) -> None:
            self.at -= 1
            if self.at == 0:
                deliver(summed(), ListSource(summed(), changes), self.log, lambda: make(self.world))

        def send(self, message: Any) -> None:
            self.tick()
            self.inner.send(message)

        def receive(self) -> Any:
            self.tick()
            return self.inner.receive()

        def close(self) -> None:
            self.inner.close()

    fenced = 0
    for at in range(1, 45):
        world, log = World(), MemoryLog()
        old = delivery(
            summed(),
            ListSource(summed(), changes),
            log,
            lambda w=world: make(w),
            channel=lambda d, at=at, w=world, g=log: Pausing(DirectChannel(d), at, w, g),
        )
        try:
            list(old.deliver())
        except DTError as e:
            if e.code != "DT-6122":
                raise
            fenced += 1
        old.close()
        assert world.rows == oracle(summed(), changes), at
    assert fenced > 10


def test_two_tasks_deliver_each_key_once_and_can_be_joined() -> None:
    changes = events(6, 60, keys=20)
    world, log = World(), MemoryLog()
    for range_ in (LEFT, RIGHT):
        source = ListSource(summed(), changes[:30])
        done = deliver(summed(), source, log, lambda: RemoteMemory(world), task=Task("s", range_))
        assert 0 < sum(each.read for each in done) < 30
    assert world.rows == oracle(summed(), changes[:30])
    deliver(summed(), ListSource(summed(), changes), log, lambda: RemoteMemory(world))
    assert world.rows == oracle(summed(), changes)


def test_a_bad_row_stores_nothing_of_its_transaction_and_all_before_it() -> None:
    changes = [*events(7, 6), (I, {"k": None, "v": 1, "name": "x"})]
    world = World()
    going = delivery(
        summed(), ListSource(summed(), changes), MemoryLog(), lambda: RemoteMemory(world)
    ).deliver()
    done = []
    with refused("DT-6131"):
        done.extend(going)
    assert world.rows == oracle(summed(), changes[:6])


def test_the_next_transaction_is_prepared_while_one_commits() -> None:
    """The driver cannot commit until the source is asked for the next interval."""
    asked = threading.Event()

    class Waiting(RemoteMemory):
        def commit(self) -> None:
            assert asked.wait(20), "the runtime waited for the commit"
            super().commit()

    class Source(ListSource):
        def next(self, after: Any) -> Any:
            if after is not None:
                asked.set()
            return super().next(after)

    world, changes = World(), events(8)
    source = Source(summed(), changes)
    deliver(summed(), source, MemoryLog(), lambda: Waiting(world), channel=ThreadChannel)
    assert world.rows == oracle(summed(), changes)


def test_what_a_driver_raises_in_its_thread_reaches_the_runtime() -> None:
    class Failing(RemoteMemory):
        def prepare(self, runtime_checkpoint: m.Checkpoint) -> None:
            raise ZeroDivisionError

    world = World()
    with pytest.raises(ZeroDivisionError):
        deliver(
            summed(),
            ListSource(summed(), events(1)),
            MemoryLog(),
            lambda: Failing(world),
            channel=ThreadChannel,
        )
    assert world.rows == {}


def test_a_driver_that_says_nothing_is_given_up() -> None:
    free = threading.Event()

    class Silent(RemoteMemory):
        def fence(self, message: m.Open) -> None:
            free.wait(20)

    made = Delivery(
        summed(),
        Task("s"),
        ListSource(summed(), []),
        MemoryLog(),
        lambda: ThreadChannel(Silent(World()), seconds=0.05),
    )
    with refused("DT-6113"):
        list(made.deliver())
    free.set()
    made.close()


@pytest.mark.parametrize("twice", [False, True])
def test_a_driver_that_loads_what_nobody_asked_for_is_refused(twice: bool) -> None:
    class Lying(RemoteMemory):
        def load_rows(self) -> Iterator[pa.Table]:
            rows = [{"k": 1 if twice else 99, "v": 1, "name": "x"}]
            yield pa.Table.from_pylist(rows * (2 if twice else 1), self.binding.schema)

    changes = [(I, {"k": 1, "v": 1, "name": "a"})]
    with refused("DT-6120"):
        deliver(summed(), ListSource(summed(), changes), MemoryLog(), lambda: Lying(World()))


def test_a_delivery_goes_on_where_the_source_has_more_and_after_an_error() -> None:
    world, source = World(), ListSource(summed(), events(1, 4))
    with delivery(summed(), source, MemoryLog(), lambda: RemoteMemory(world)) as each:
        assert len(list(each.deliver())) == 2
        assert list(each.deliver()) == []
        source.changes += events(2, 5)
        assert len(list(each.deliver())) == 2
        source.changes.append((I, {"k": None}))
        with refused("DT-6131"):
            list(each.deliver())
        del source.changes[-1]
        source.changes += events(3, 2)
        list(each.deliver())
    assert world.rows == oracle(summed(), source.changes)


def test_rows_that_someone_else_changed_are_told_and_put_right() -> None:
    made = replace(MIRROR, check_drift=True)
    old: list[Row] = [{"k": k, "v": float("nan") if k == 5 else k} for k in range(6)]
    world, log = World(), MemoryLog()
    source = ListSource(made, [(I, row) for row in old], 10)
    (first,) = deliver(made, source, log, lambda: RemoteMemory(world))
    assert first.drifted == ()
    del world.rows[1,]
    world.rows[2,] = {"k": 2, "v": 99.0}
    world.rows[7,] = {"k": 7, "v": 7.0}
    updates = [change for row in old for change in ((D, row), (I, {**row, "v": 100.0}))]
    source.changes += [*updates, (I, {"k": 7, "v": 1.0})]
    source.size = 20
    (second,) = deliver(made, source, log, lambda: RemoteMemory(world))
    assert second.drifted == ((1,), (2,), (7,))
    assert {k: row["v"] for (k,), row in world.rows.items()} == dict.fromkeys(range(6), 100.0) | {
        7: 1.0
    }


def test_drift_is_not_looked_for_unasked() -> None:
    world = World()
    source = ListSource(MIRROR, [(D, {"k": 1, "v": 1.0}), (I, {"k": 1, "v": 2.0})])
    (done,) = deliver(MIRROR, source, MemoryLog(), lambda: RemoteMemory(world))
    assert (done.loaded, done.drifted) == (0, ())
