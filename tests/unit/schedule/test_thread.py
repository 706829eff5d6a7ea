"""The one thread: it obeys the decisions, survives what goes wrong, and stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any, cast

import pytest

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    Clock,
    DTError,
    Frontier,
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    TargetLag,
    Timestamp,
)
from dt_jupyter.schedule import (
    Decision,
    Node,
    Scheduler,
    Skip,
    Slots,
    Start,
    State,
    StateReader,
    Wait,
)
from dt_jupyter.schedule.thread import MANY
from tests.unit.catalog_lab import START, Lab, Wall, at, definition, name, table

PATIENCE = 20  # seconds until a test that would hang fails instead


class Port:
    """An engine of values: what is told to `run` stands in `started` until the test lets it go."""

    def __init__(self, wall: Wall, *nodes: Node, limit: int = 9) -> None:
        self.wall = wall
        self.lock = threading.Lock()
        self.nodes = {node.id: node for node in nodes}
        self.slots = Slots("w", limit)
        self.outcomes: dict[tuple[str, Timestamp], RefreshState] = {}
        self.started: Queue[Start] = Queue()
        self.skipped: Queue[Skip] = Queue()
        self.waiting: Queue[Wait] = Queue()
        self.problems: Queue[Exception] = Queue()
        self.rounds: Queue[int] = Queue()
        self.gate: dict[str, threading.Event] = {}
        self.on_state: Callable[[], None] = lambda: None
        self.on_run: Callable[[Start], None] = lambda start: None
        self.leading = True
        self.unchanged: set[str] = set()
        self.looked_at: Queue[tuple[tuple[str, Timestamp], ...]] = Queue()
        self.cancelled = threading.Event()

    def leads(self) -> bool:
        return self.leading

    def state(self) -> State:
        self.rounds.put(1)
        self.on_state()
        with self.lock:
            lookup = dict(self.outcomes)
            return State(
                tuple(self.nodes.values()), (self.slots,), lambda dt, t: lookup.get((dt, t))
            )

    def move_unchanged(self, dues: Sequence[tuple[str, Timestamp]]) -> frozenset[str]:
        self.looked_at.put(tuple(dues))
        with self.lock:
            done: dict[str, Timestamp] = {}
            for dt, t in dues:
                at = (self.nodes[u].data_timestamp for u in self.nodes[dt].upstream)
                if dt not in self.unchanged or any(reached != t for reached in at):
                    continue
                done[dt] = t
                self.outcomes[dt, t] = RefreshState.SUCCEEDED
                self.nodes[dt] = replace(self.nodes[dt], data_timestamp=t)
        return frozenset(done)

    def run(self, start: Start) -> None:
        self.change(start.dt, running=start.data_timestamp, since=Timestamp(self.wall()))
        try:
            self.refresh(start)
        finally:
            self.change(start.dt, running=None, since=None)

    def change(self, dt: str, **changes: Any) -> None:
        with self.lock:
            self.nodes[dt] = replace(self.nodes[dt], **changes)

    def refresh(self, start: Start) -> None:
        self.started.put(start)
        if start.dt in self.gate:
            assert self.gate[start.dt].wait(PATIENCE)
        self.on_run(start)
        if start.metadata_only:
            return
        with self.lock:
            t = start.data_timestamp
            self.outcomes[start.dt, t] = RefreshState.SUCCEEDED
            self.nodes[start.dt] = replace(self.nodes[start.dt], data_timestamp=t)

    def skip(self, skip: Skip) -> None:
        with self.lock:
            self.outcomes[skip.dt, skip.data_timestamp] = skip.state
        self.skipped.put(skip)

    def wait(self, wait: Wait) -> None:
        self.waiting.put(wait)

    def rest(self, decisions: Sequence[Decision]) -> None:
        pass

    def report(self, problem: Exception) -> None:
        self.problems.put(problem)

    def cancel(self) -> None:
        self.cancelled.set()
        for gate in self.gate.values():
            gate.set()


class Bench:
    """A scheduler on such a port, and ways to wait for what it does."""

    def __init__(self, *nodes: Node, **options: Any) -> None:
        self.wall = Wall()
        self.port = Port(self.wall, *nodes, **options)
        self.versions: dict[str, int] = {}
        self.scheduler = Scheduler(self.port, Clock(self.wall), poll=3600, newest=self.versions.get)

    def settle(self) -> None:
        """Until a whole round has passed that began after this call."""
        for _ in range(2):
            while not self.port.rounds.empty():
                self.port.rounds.get()
            self.scheduler.nudge()
            self.port.rounds.get(timeout=PATIENCE)

    def forward(self, seconds: float) -> None:
        self.wall.forward(seconds)
        self.scheduler.nudge()

    def started(self) -> tuple[str, float]:
        start = self.port.started.get(timeout=PATIENCE)
        return start.dt, start.data_timestamp.since(Timestamp(START))

    def ended(self) -> None:
        """Until the refreshes that run have ended, for the scheduler too."""
        with self.scheduler._changed:  # the one that just began is in the list only after this
            workers = tuple(self.scheduler._workers.values())
        for worker in workers:
            worker.join(PATIENCE)

    def nothing_started(self) -> None:
        self.settle()
        with pytest.raises(Empty):
            self.port.started.get_nowait()


def node(name: str, *upstream: str, lag: float | None = 60) -> Node:
    created = Timestamp(START).plus(-1000)
    return Node(name, name, upstream, lag, "w", created, duration=0.5)


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(*nodes: Node, **options: Any) -> Bench:
        made.append(Bench(*nodes, **options))
        return made[-1]

    yield make
    for each in made:
        assert each.scheduler.stop(PATIENCE)


FIRST = -32.0  # the tick before the test's start, which is 32 s after one of 48 s


def test_a_tick_is_done_once_and_then_the_next(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"))
    lab.scheduler.start()
    lab.scheduler.start()  # is no second thread
    assert lab.started() == ("a", FIRST)
    lab.ended()
    lab.nothing_started()
    lab.forward(48)
    assert lab.started() == ("a", FIRST + 48)
    lab.ended()
    lab.nothing_started()
    assert lab.scheduler.periods()["a"].seconds == 48


def test_downstream_begins_when_its_upstream_ends_without_a_nudge(
    bench: Callable[..., Bench],
) -> None:
    lab = bench(node("a"), node("b", "a"))
    lab.port.gate["a"] = threading.Event()
    lab.scheduler.start()
    assert lab.started() == ("a", FIRST)
    lab.nothing_started()
    assert [wait.reason.code for wait in lab.scheduler.waits()] == ["UPSTREAM_PENDING"]
    lab.port.gate["a"].set()
    assert lab.started() == ("b", FIRST)


def test_a_commit_is_noticed_without_a_nudge_and_starts_what_reads_it(
    bench: Callable[..., Bench],
) -> None:
    prompt = replace(node("a", lag=3), logs=("/t",), duration=0.1)
    lab = bench(prompt, replace(node("b", "a", lag=3), duration=0.1))
    lab.scheduler.start()
    assert [lab.started() for _ in range(2)] == [("a", -0.5), ("b", -0.5)]
    lab.ended()
    lab.nothing_started()
    lab.wall.forward(0.2)
    lab.versions["/t"] = 1
    assert [lab.started() for _ in range(2)] == [("a", 0.2), ("b", 0.2)]
    lab.ended()
    lab.nothing_started()


def test_a_busy_tick_is_skipped_down_the_graph(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"), node("b", "a"))
    lab.port.gate["a"] = threading.Event()
    lab.scheduler.start()
    assert lab.started() == ("a", FIRST)
    lab.forward(48)
    skips = [lab.port.skipped.get(timeout=PATIENCE) for _ in range(2)]
    assert [(s.dt, s.reason.code) for s in skips] == [("a", "BUSY"), ("b", "UPSTREAM_SKIPPED")]
    lab.nothing_started()
    lab.port.gate["a"].set()
    lab.ended()
    lab.nothing_started()
    lab.forward(48)
    assert lab.started() == ("a", FIRST + 96)


def test_slots_are_kept_even_before_the_catalog_shows_them_taken(
    bench: Callable[..., Bench],
) -> None:
    lab = bench(node("a"), node("b"), limit=1)
    lab.port.gate = {"a": threading.Event(), "b": threading.Event()}
    lab.scheduler.start()
    first, _ = lab.started()
    lab.nothing_started()
    lab.port.gate[first].set()
    assert {first, lab.started()[0]} == {"a", "b"}


def test_it_goes_on_after_a_round_that_failed(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"))

    def broken() -> None:
        lab.port.on_state = lambda: None
        raise OSError("the disk is gone")

    lab.port.on_state = broken
    lab.scheduler.start()
    assert str(lab.port.problems.get(timeout=PATIENCE)) == "the disk is gone"
    lab.scheduler.nudge()
    assert lab.started() == ("a", FIRST)


def test_it_goes_on_after_a_refresh_that_raised(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"))

    def broken(start: Start) -> None:
        raise RuntimeError("unforeseen")

    lab.port.on_run = broken
    lab.scheduler.start()
    assert lab.started() == ("a", FIRST)
    assert str(lab.port.problems.get(timeout=PATIENCE)) == "unforeseen"
    lab.ended()
    lab.nothing_started()  # not again at that tick
    lab.port.on_run = lambda start: None
    lab.forward(48)
    assert lab.started() == ("a", FIRST + 48)


def test_a_report_that_fails_is_still_seen(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = bench(node("a"))
    seen: Queue[Any] = Queue()
    monkeypatch.setattr(threading, "excepthook", seen.put)

    def broken(problem: Exception) -> None:
        raise ValueError("no log")

    def gone() -> None:
        lab.port.on_state = lambda: None
        raise OSError("gone")

    monkeypatch.setattr(lab.port, "report", broken)
    lab.port.on_state = gone
    lab.scheduler.start()
    assert str(seen.get(timeout=PATIENCE).exc_value) == "no log"
    lab.scheduler.nudge()
    assert lab.started() == ("a", FIRST)


def test_a_suspended_warehouse_is_probed_once_a_tick(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"))
    lab.port.slots = Slots("w", 1, suspended=True)
    lab.scheduler.start()
    assert lab.port.started.get(timeout=PATIENCE).metadata_only
    lab.ended()
    lab.nothing_started()
    assert [wait.reason.code for wait in lab.scheduler.waits()] == ["WAREHOUSE_SUSPENDED"]
    lab.port.slots = Slots("w", 1)
    lab.scheduler.nudge()
    assert not lab.port.started.get(timeout=PATIENCE).metadata_only


def test_waiting_for_somebody_is_told_once_for_each_data_timestamp(
    bench: Callable[..., Bench],
) -> None:
    suspended = replace(node("up"), suspended=True)
    lab = bench(suspended, node("a", "up"))
    lab.scheduler.start()
    for tick in range(3):
        wait = lab.port.waiting.get(timeout=PATIENCE)
        assert (wait.dt, wait.reason.code) == ("a", "UPSTREAM_SUSPENDED")
        assert wait.data_timestamp == at(FIRST + 48 * tick)
        lab.settle()
        assert lab.port.waiting.empty()
        lab.forward(48)
    lab.port.waiting.get(timeout=PATIENCE)
    lab.port.change("up", suspended=False)
    lab.scheduler.nudge()
    assert [lab.started()[0], lab.started()[0]] == ["up", "a"]
    lab.ended()
    lab.port.change("up", suspended=True)
    lab.forward(48)
    assert lab.port.waiting.get(timeout=PATIENCE).dt == "a"


def test_looking_at_sources_does_not_tell_the_waiting_for_a_warehouse_twice(
    bench: Callable[..., Bench],
) -> None:
    lab = bench(node("a"))
    lab.port.slots = Slots("w", 1, suspended=True)
    lab.scheduler.start()
    for turn in range(3):
        assert lab.port.started.get(timeout=PATIENCE).metadata_only
        lab.ended()
        wait = lab.port.waiting.get(timeout=PATIENCE)
        assert (wait.reason.code, wait.data_timestamp) == (
            "WAREHOUSE_SUSPENDED",
            at(FIRST + 48 * turn),
        )
        lab.settle()
        assert lab.port.waiting.empty()
        lab.forward(48)


def test_stop_cancels_and_waits(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"))
    lab.port.gate["a"] = threading.Event()
    lab.scheduler.start()
    lab.started()
    assert lab.scheduler.stop(PATIENCE)
    assert lab.port.cancelled.is_set()
    assert not lab.scheduler.alive
    lab.forward(48)
    with pytest.raises(Empty):
        lab.port.started.get_nowait()
    lab.scheduler.start()
    assert lab.started() == ("a", FIRST + 48)


def test_stop_says_when_a_refresh_does_not_end(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = bench(node("a"))
    lab.port.gate["a"] = threading.Event()
    lab.scheduler.start()
    lab.started()
    with monkeypatch.context() as deaf:
        deaf.setattr(lab.port, "cancel", lambda: None)
        assert not lab.scheduler.stop(timeout=0)
    lab.port.gate["a"].set()


def test_workers_come_from_spawn(bench: Callable[..., Bench]) -> None:
    lab = bench(node("a"))
    names: Queue[str] = Queue()

    def spawn(work: Callable[[], None], name: str) -> threading.Thread:
        names.put(name)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    lab.scheduler = Scheduler(lab.port, Clock(lab.wall), spawn=spawn, poll=3600)
    lab.scheduler.start()
    assert lab.started() == ("a", FIRST)
    assert names.get(timeout=PATIENCE) == "dt-refresh-a"


def test_a_scheduler_that_does_not_lead_starts_nothing_until_it_does(
    bench: Callable[..., Bench],
) -> None:
    lab = bench(node("a"))
    lab.port.leading = False
    lab.scheduler.start()
    lab.nothing_started()
    assert lab.scheduler.periods().keys() == {"a"}  # for who looks at it here
    lab.port.leading = True
    lab.scheduler.nudge()
    assert lab.started()[0] == "a"


def test_of_many_that_are_due_those_without_anything_new_take_no_slot(
    bench: Callable[..., Bench],
) -> None:
    """With what waits for nothing else, each looked at once for a tick; the others run as ever."""
    names = [f"n{i}" for i in range(2 * MANY)]
    nodes = [node(name) for name in names] + [node(f"over_{n}", n) for n in names]
    lab = bench(*nodes, limit=1)
    lab.port.unchanged = {n.id for n in nodes} - {"n3", "over_n5"}
    lab.scheduler.start()
    first = lab.port.looked_at.get(timeout=PATIENCE)
    assert [dt for dt, _ in first[: len(names)]] == names
    assert sorted(dt for dt, _ in first[len(names) :]) == sorted(f"over_{n}" for n in names)
    assert {lab.started()[0] for _ in range(3)} == {"n3", "over_n3", "over_n5"}
    lab.settle()
    looked = [dt for dt, _ in first]
    while not lab.port.looked_at.empty():
        looked += [dt for dt, _ in lab.port.looked_at.get()]
    assert len(looked) == len(set(looked))


def test_what_waits_for_more_than_its_upstream_is_not_looked_at(
    bench: Callable[..., Bench],
) -> None:
    """A chain is, from its root; who reads what is suspended, runs, or has no warehouse is not."""
    chain = [node("c0"), *(node(f"c{i}", f"c{i - 1}") for i in range(1, MANY))]
    lab = bench(
        *chain,
        replace(node("asleep"), suspended=True),
        replace(node("busy"), running=at(FIRST), since=at(FIRST)),
        node("over_asleep", "asleep", "c0"),
        node("over_busy", "busy", "c0"),
        replace(node("homeless", "c0"), warehouse="gone"),
        replace(node("runs", "c0"), running=at(FIRST - 48), since=at(FIRST - 48)),
        node("over_gone", "dropped", "c1"),
    )
    lab.scheduler.start()
    looked = [dt for dt, _ in lab.port.looked_at.get(timeout=PATIENCE)]
    assert sorted(looked) == sorted([*(n.id for n in chain), "over_gone"])
    places = {dt: i for i, dt in enumerate(looked)}
    assert [places[n.id] for n in chain] == sorted(places[n.id] for n in chain)
    assert places["over_gone"] > places["c1"]


def test_of_few_that_are_due_each_is_refreshed_in_a_slot(bench: Callable[..., Bench]) -> None:
    lab = bench(*(node(f"n{i}") for i in range(MANY - 1)))
    lab.scheduler.start()
    assert len({lab.started()[0] for _ in range(MANY - 1)}) == MANY - 1
    assert lab.port.looked_at.empty()


def test_a_look_for_what_is_new_that_fails_is_told_and_all_are_refreshed(
    bench: Callable[..., Bench],
) -> None:
    lab = bench(*(node(f"n{i}") for i in range(MANY)))
    lab.port.unchanged = cast("Any", None)
    lab.scheduler.start()
    assert len({lab.started()[0] for _ in range(MANY)}) == MANY
    assert isinstance(lab.port.problems.get(timeout=PATIENCE), TypeError)


# On a real catalog.


class CatalogPort:
    """A port that refreshes nothing but the catalog, as the engine does with data besides."""

    def __init__(self, catalog: Catalog, progress: Queue[str]) -> None:
        self.catalog, self.reader, self.progress = catalog, StateReader(catalog), progress
        self.problems: Queue[Exception] = Queue()

    def leads(self) -> bool:
        return True

    def state(self) -> State:
        return self.reader.read()

    def move_unchanged(self, dues: Sequence[tuple[str, Timestamp]]) -> frozenset[str]:
        return frozenset()

    def run(self, start: Start) -> None:
        t, query = start.data_timestamp, f"{start.dt} {start.data_timestamp}"
        attempt = self.catalog.begin(start.dt, RefreshTrigger.SCHEDULED, t, query, 60)
        record = RefreshRecord(
            attempt.name,
            query,
            RefreshState.SUCCEEDED,
            attempt.trigger,
            t,
            action=RefreshAction.INCREMENTAL,
        )
        self.catalog.finish(
            attempt,
            record,
            frontier=Frontier(t),
            sequence=attempt.sequence,
            version=attempt.sequence,
        )
        self.progress.put(start.dt)

    def skip(self, skip: Skip) -> None:
        self.catalog.record_skip(skip.dt, skip.data_timestamp, skip.state, skip.reason)

    def wait(self, wait: Wait) -> None:
        self.progress.put(wait.reason.code)

    def rest(self, decisions: Sequence[Decision]) -> None:
        pass

    def report(self, problem: Exception) -> None:
        self.problems.put(problem)

    def cancel(self) -> None:
        self.progress.put("cancelled")


def test_two_kernels_schedule_one_catalog_without_doing_anything_twice(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a", target_lag=TargetLag(None))
    lab.make("b", definition=definition("SELECT 1", "a"))
    other = lab.open(replace(lab.catalog.owner, uid="other"))
    progress: Queue[str] = Queue()
    ports = [CatalogPort(lab.catalog, progress), CatalogPort(other, progress)]
    schedulers = [Scheduler(port, port.catalog.clock, poll=0.05) for port in ports]
    for scheduler in schedulers:
        scheduler.start()
    for goal in (1, 2, 3):
        while len(lab.catalog.history(name("b"))) < goal or lab.catalog.running():
            progress.get(timeout=PATIENCE)
        lab.wall.forward(48)
    assert all(scheduler.stop(PATIENCE) for scheduler in schedulers)
    history = lab.catalog.history()
    assert {(record.state, record.reason) for record in history} == {(RefreshState.SUCCEEDED, None)}
    a, b = ([r.data_timestamp for r in history if r.name == name(n)] for n in "ab")
    assert len(set(a)) == len(a)
    assert set(b) <= set(a)
    for port in ports:
        while not port.problems.empty():  # the slower one is told so
            problem = port.problems.get()
            assert isinstance(problem, DTError)
            assert problem.code in ("DT-2104", "DT-2109")


def test_the_state_of_a_catalog(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a", scheduler_enabled=False)
    lab.make(
        "b",
        definition=definition("SELECT 1", "a", "gone"),
        warehouse="Default",
        scheduling=SchedulingState.SUSPENDED,
    )
    lab.refresh(10)
    lab.wall.forward(30)
    lab.fail(20)
    running = lab.begin(30)
    lab.catalog.alter_warehouse("default", suspended=True, max_concurrency=5)
    reader = StateReader(lab.catalog)
    state = reader.read()
    a, b = state.nodes
    assert state.warehouses == (Slots("default", 5, True),)
    assert (a.data_timestamp, a.attempted, a.running) == (at(10), at(20), at(30))
    assert (a.since, a.error_count, a.scheduler_enabled) == (running.started, 1, False)
    assert (b.upstream, b.warehouse, b.suspended) == (("id-a", "gone"), "default", True)
    assert (a.wait, a.duration) == (None, 0.0)
    assert state.outcome("id-a", at(20)) is RefreshState.FAILED
    assert state.busy() == {"default": 1}
    lab.finish(running)
    assert reader.read().nodes[0].data_timestamp == at(30)


def test_an_upstream_is_who_bears_its_name_now(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("up")
    lab.make("down", definition=definition("SELECT 1", "up"))
    lab.catalog.replace(table("up", id="made-anew"))
    down = next(n for n in StateReader(lab.catalog).read().nodes if n.name == "down")
    assert down.upstream == ("made-anew",)
    assert lab.catalog.require(Name("default", "up")).id == "made-anew"
