"""Events: what is told of refreshes and of the graph, to whom, and at what cost."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import News, Owner
from dt_jupyter.model import (
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    Happened,
    Progress,
    RefreshState,
    SchedulingState,
    Sink,
    SinkState,
    Tuning,
)
from dt_jupyter.reports.events import Event, Events
from tests.unit.catalog_lab import Lab, at, name, table

STARTED, PROGRESS, ENDED, CHANGED = Happened
THERE = Owner("host-a", 200, "uid-there", "2")
SOON = 20.0


class Ear:
    """Listens; `next` waits for an event, and fails where none comes."""

    def __init__(self, of: Events) -> None:
        self.heard: queue.Queue[Event] = queue.Queue()
        self.stop = of.listen(self.heard.put)

    def next(self) -> Event:
        return self.heard.get(timeout=SOON)

    def told(self, count: int) -> list[tuple[Happened, str | None]]:
        found = [self.next() for _ in range(count)]
        return [(e.happened, str(e.name) if e.name else None) for e in found]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.make("a")
    return lab


@pytest.fixture
def running() -> dict[str, Callable[[], Progress]]:
    return {}


@pytest.fixture
def told(lab: Lab, running: dict[str, Callable[[], Progress]]) -> Iterator[Events]:
    made = Events(lab.catalog, lab.catalog.clock, lambda: dict(running))
    yield made
    made.close()


@pytest.fixture
def often(lab: Lab, running: dict[str, Callable[[], Progress]]) -> Iterator[Events]:
    """Events that look for what is new many times a second."""
    tuning = Tuning(poll_seconds=0.02, sample_seconds=0.005)
    made = Events(lab.catalog, lab.catalog.clock, lambda: dict(running), tuning)
    yield made
    made.close()


def threads() -> set[str]:
    return {t.name for t in threading.enumerate()}


def test_a_refresh_is_told_when_it_starts_and_when_it_ends(lab: Lab, told: Events) -> None:
    ear = Ear(told)
    attempt = lab.begin(10)
    started = ear.next()
    assert (started.happened, str(started.name), started.progress) == (STARTED, "a", Progress())
    lab.finish(attempt)
    ended = ear.next()
    assert (ended.happened, ended.dt_id) == (ENDED, "id-a")
    assert ended.record is not None
    assert ended.record.state is RefreshState.SUCCEEDED
    assert ended.record.end is not None


def test_failures_and_skips_are_ends(lab: Lab, told: Events) -> None:
    ear = Ear(told)
    attempt = lab.begin(10)
    assert ear.next().happened is STARTED
    lab.catalog.drop(name("a"))
    assert sorted(ear.told(2)) == [(CHANGED, None), (ENDED, "a")]
    assert lab.catalog.history(name("a"))[0].query_id == attempt.id


def test_a_table_whose_creation_failed_ends_too(lab: Lab, told: Events) -> None:
    ear = Ear(told)
    lab.make("b")
    assert ear.next().happened is CHANGED
    lab.begin(10, dt="b")
    assert ear.told(1) == [(STARTED, "b")]
    lab.catalog.purge("id-b")
    found = [ear.next(), ear.next()]
    assert {e.happened for e in found} == {CHANGED, ENDED}
    assert [e.record for e in found if e.happened is ENDED] == [None]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.create(table("b")),
        lambda c: c.rename(name("a"), name("c")),
        lambda c: c.drop(name("a")),
        lambda c: c.update("id-a", scheduling=SchedulingState.SUSPENDED),
        lambda c: c.alter_warehouse("default", suspended=True),
        lambda c: c.record_view(name("v"), "SELECT 1"),
    ],
)
def test_a_change_of_the_graph_is_told_once(
    lab: Lab, told: Events, change: Callable[[object], None]
) -> None:
    ear = Ear(told)
    change(lab.catalog)
    assert ear.told(1) == [(CHANGED, None)]
    lab.catalog.resolve(at(1), "t", lambda: 1)  # a write that changes nothing to see
    lab.make("last")
    assert ear.told(1) == [(CHANGED, None)]


def test_what_another_process_does_is_told(lab: Lab, often: Events) -> None:
    ear = Ear(often)
    other = lab.open(THERE)
    attempt = other.begin("id-a", lab.begin.__defaults__[0], at(5), "theirs", ttl=30)  # type: ignore[index]
    assert ear.told(1) == [(STARTED, "a")]
    other.close()
    ended = ear.next()
    assert ended.record is not None
    assert (ended.record.query_id, ended.record.state) == (attempt.id, RefreshState.CANCELLED)


def test_a_delivery_and_a_state_of_a_sink_are_told_and_a_new_sink_changes_the_graph(
    lab: Lab, told: Events
) -> None:
    ear = Ear(told)
    kind, trigger = DeliveryState.RETRYING, DeliveryTrigger.SCHEDULED
    lab.catalog.create_sink(Sink("id-s", name("s"), name("a"), "TABLE", "file:///x", at(0)))
    assert ear.told(1) == [(CHANGED, None)]
    record = DeliveryRecord("r1", "id-s", name("s"), kind, trigger, at(1))
    for change in (
        lambda: lab.catalog.record_delivery(record),
        lambda: lab.catalog.record_delivery(replace(record, retries=2)),
        lambda: lab.catalog.set_sink_state("id-s", SinkState.PAUSED, "DT-6130", "no"),
    ):
        change()
        event = ear.next()
        assert (event.happened, event.sink_id, event.name) == (ENDED, "id-s", None)
    lab.catalog.claim_sink(lab.catalog.sink(name("s")))
    lab.catalog.drop_sink(name("s"))
    assert ear.told(1) == [(CHANGED, None)]


def test_progress_is_told_where_it_moved(
    lab: Lab,
    often: Events,
    running: dict[str, Callable[[], Progress]],
) -> None:
    ear = Ear(often)
    attempt = lab.begin(10)
    steps = iter([Progress(1, 0, 4, 2), Progress(1, 0, 4, 2), Progress(1, 1, 4, 4, 7)])
    last = [Progress()]

    def ask() -> Progress:
        last[0] = next(steps, last[0])
        return last[0]

    running[attempt.id] = ask
    assert ear.told(1) == [(STARTED, "a")]
    found = [ear.next(), ear.next()]
    assert [e.happened for e in found] == [PROGRESS, PROGRESS]
    assert [e.progress for e in found] == [Progress(1, 0, 4, 2), Progress(1, 1, 4, 4, 7)]
    running.clear()
    lab.finish(attempt)
    assert ear.told(1) == [(ENDED, "a")]


def test_a_listener_that_fails_disturbs_nobody(
    lab: Lab, told: Events, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("mine")

    told.listen(fail)
    ear = Ear(told)
    with caplog.at_level(logging.ERROR, "dt_jupyter.events"):
        for i in range(3):
            lab.make(f"t{i}")
            assert ear.told(1) == [(CHANGED, None)]
    assert len([r for r in caplog.records if "a listener failed" in r.message]) == 1


def test_without_a_listener_there_is_no_thread_and_no_work(lab: Lab, told: Events) -> None:
    assert "dt-events" not in threads()
    assert lab.catalog.written is None
    ears = [Ear(told), Ear(told)]
    assert told.heard
    ears[0].stop()
    lab.make("b")
    assert ears[1].told(1) == [(CHANGED, None)]
    assert ears[0].heard.empty()
    watching = [t for t in threading.enumerate() if t.name == "dt-events"]
    ears[1].stop()
    ears[1].stop()
    for thread in watching:
        thread.join(SOON)
    assert "dt-events" not in threads()
    assert lab.catalog.written is None


def test_a_listener_may_stop_and_come_back(lab: Lab, told: Events) -> None:
    Ear(told).stop()
    lab.refresh(10)
    ear = Ear(told)
    lab.make("b")
    assert ear.told(1) == [(CHANGED, None)]
    told.close()
    assert "dt-events" not in threads()


def test_a_read_that_outlasts_its_listener_reaches_no_later_one(
    lab: Lab, told: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, may_go_on = threading.Event(), threading.Event()
    news = lab.catalog.news

    def read_slowly(*args: Any) -> News:
        if not reads.is_set():
            reads.set()
            assert may_go_on.wait(SOON)
        return news(*args)

    monkeypatch.setattr(lab.catalog, "news", read_slowly)
    first = Ear(told)
    assert reads.wait(SOON)
    [old] = [t for t in threading.enumerate() if t.name == "dt-events"]
    lab.refresh(10)
    first.stop()
    later = Ear(told)
    may_go_on.set()
    old.join(SOON)
    lab.make("b")
    assert later.told(1) == [(CHANGED, None)]
    assert first.heard.empty()
