"""The thread of tasks: ticks become runs once, whoever looks, and what waits says so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.engine.task_workers import TaskWorkers
from dt_jupyter.model import (
    Name,
    Task,
    TaskRunState,
    TaskSchedule,
    TaskState,
    Warehouse,
)
from dt_jupyter.schedule import RunGo
from tests.unit.catalog_lab import Lab, at, name

BESIDE = Owner("host-a", 101, "uid-beside", "2")
PATIENCE = 20


class Runner:
    """Runs that do nothing but end; those of `bad` fail, and `gate` holds them back."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog, self.bad, self.full = catalog, set[Name](), True
        self.gate, self.begun = threading.Event(), threading.Event()
        self.gate.set()
        self.started: list[str] = []
        self.cancelled = 0

    def run(self, go: RunGo) -> None:
        if not self.catalog.claim_task_run(go.run, 0):
            return
        self.started.append(go.run.name.table)
        self.begun.set()
        assert self.gate.wait(PATIENCE)
        end = TaskRunState.FAILED if go.run.name in self.bad else TaskRunState.SUCCEEDED
        self.catalog.finish_task_run(go.run, end)

    def holds(self, task: Task) -> bool:
        return task.condition is None or self.full

    def recover(self) -> None:
        return

    def cancel_all(self) -> None:
        self.cancelled += 1
        self.gate.set()


class Site:
    def __init__(self, lab: Lab, catalog: Catalog) -> None:
        self.lab, self.runner = lab, Runner(catalog)
        self.workers = TaskWorkers(
            catalog, cast("Any", self.runner), lambda: at(self.seconds), _spawn
        )
        self.seconds = 0.0

    def look(self, seconds: float) -> float:
        """At that time, until nothing is left that may begin; what runs while it is looked may
        have held something back."""
        self.seconds = seconds
        while True:
            before = self.workers._workers.copy()
            wait = self.workers.look()
            going = before | self.workers._workers
            if not going or not self.runner.gate.is_set():
                return wait
            for worker in going.values():
                worker.join(PATIENCE)

    def told(self) -> list[tuple[str, str, str | None]]:
        runs = reversed(self.lab.catalog.task_runs())
        return [(r.name.table, r.state.value, r.code) for r in runs]


def _spawn(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def site(lab: Lab) -> Site:
    return Site(lab, lab.catalog)


def made(lab: Lab, text: str, *after: str, **changes: Any) -> Task:
    task = Task(
        f"id-{text}", name(text), "…", "default", at(0), at(0),
        schedule=None if after else TaskSchedule(60), after=tuple(map(name, after)),
        state=TaskState.STARTED,
    )  # fmt: skip
    return lab.catalog.create_task(replace(task, **changes))


def test_a_tick_becomes_a_run_of_the_graph_in_its_order(lab: Lab, site: Site) -> None:
    made(lab, "c", "b")
    made(lab, "b", "a")
    made(lab, "a")
    assert site.look(59.5) == pytest.approx(0.5)
    assert site.told() == []
    assert site.look(60) == 2.0
    assert site.runner.started == ["a", "b", "c"]
    site.look(119)
    assert len(site.told()) == 3
    site.runner.bad.add(name("b"))
    site.look(1000)
    assert site.told()[3:] == [
        ("a", "SUCCEEDED", None), ("b", "FAILED", None), ("c", "SKIPPED", "PREDECESSOR_FAILED"),
    ]  # fmt: skip


def test_a_false_condition_skips_the_tick_and_nothing_begins(lab: Lab, site: Site) -> None:
    made(lab, "a", condition="SYSTEM$STREAM_HAS_DATA('s')")
    made(lab, "b", "a")
    site.runner.full = False
    site.look(60)
    assert site.told() == [("a", "SKIPPED", "CONDITION_FALSE")]
    site.runner.full = True
    site.look(119)
    assert site.runner.started == [], "the next tick asks again"
    site.look(120)
    assert site.runner.started == ["a", "b"]


def test_several_processes_run_each_tick_once(lab: Lab, site: Site) -> None:
    made(lab, "a")
    made(lab, "b", "a")
    other = Site(lab, lab.open(BESIDE))
    both = (site, other)
    for tick in range(1, 6):
        threads = [threading.Thread(target=s.look, args=(60.0 * tick,)) for s in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        for each in both:
            each.look(60.0 * tick)
    assert len(site.told()) == 10
    assert {state for _, state, _ in site.told()} == {"SUCCEEDED"}
    assert len(site.runner.started) + len(other.runner.started) == 10


def test_a_suspended_warehouse_holds_a_run_back_and_a_full_one_too(lab: Lab, site: Site) -> None:
    lab.catalog.create_warehouse(Warehouse("w", 1, suspended=True))
    made(lab, "a", warehouse="w")
    site.look(60)
    assert site.told() == [("a", "SCHEDULED", "WAREHOUSE_SUSPENDED")]
    site.look(120)
    assert site.told()[-1] == ("a", "SKIPPED", "BUSY")
    lab.catalog.alter_warehouse("w", suspended=False)
    site.look(121)
    assert site.told()[0] == ("a", "SUCCEEDED", None)
    made(lab, "b", warehouse="w")
    site.runner.gate.clear()
    site.look(180)
    states = sorted(state for _, state, _ in site.told()[2:])
    assert states in (["EXECUTING", "SCHEDULED"], ["SCHEDULED", "SCHEDULED"])
    assert {code for _, _, code in site.told()[2:]} == {None, "CONCURRENCY_LIMIT"}
    site.runner.gate.set()
    site.look(181)
    assert [state for _, state, _ in site.told()[2:]] == ["SUCCEEDED", "SUCCEEDED"]


def test_the_thread_starts_once_and_stopping_cancels_what_runs(lab: Lab, site: Site) -> None:
    made(lab, "a")
    site.seconds = 60
    site.runner.gate.clear()
    site.workers.start()
    site.workers.start()
    assert site.runner.begun.wait(PATIENCE)
    site.workers.stop(PATIENCE)
    assert (site.runner.started, site.runner.cancelled) == (["a"], 1)
    assert site.told() == [("a", "SUCCEEDED", None)]
    site.workers.stop()
