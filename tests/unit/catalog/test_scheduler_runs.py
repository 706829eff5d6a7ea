"""When a scheduler ran, and the times in which none did."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dt_jupyter.catalog import Catalog, Owner, SchedulerRun
from dt_jupyter.engine.scheduling import EnginePort, Scheduling
from dt_jupyter.schedule import BEAT_SECONDS, idle_times
from tests.unit.catalog_lab import HERE, Lab, at
from tests.unit.living_spark import living_spark

HOUR = 3600


def run(began: float, seen: float, *, ended: bool = False) -> SchedulerRun:
    return SchedulerRun(at(began), at(seen), ended)


def test_a_run_is_a_row_that_is_seen_again_and_ends(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.catalog.record_scheduler("one")
    lab.wall.forward(20)
    lab.catalog.record_scheduler("one")
    lab.wall.forward(5)
    lab.catalog.record_scheduler("one", ended=True)
    (found,) = lab.open().scheduler_runs()
    assert (found.began.since(at(0)), found.seen.since(at(0)), found.ended) == (0, 25, True)


def test_old_runs_are_pruned_with_the_history(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.catalog.record_scheduler("old", ended=True)
    lab.wall.forward(100)
    lab.catalog.record_scheduler("new")
    lab.catalog.prune(at(50))
    assert [found.began.since(at(0)) for found in lab.catalog.scheduler_runs()] == [100]


@pytest.mark.parametrize(
    ("runs", "idle"),
    [
        pytest.param([], [], id="none is known"),
        pytest.param([run(0, 100, ended=True)], [(100, HOUR)], id="stopped"),
        pytest.param([run(0, HOUR - BEAT_SECONDS)], [], id="goes on"),
        pytest.param([run(0, HOUR - 100)], [(HOUR - 100, HOUR)], id="its process died"),
        pytest.param(
            [run(500, HOUR), run(0, 100)], [(100, 500)], id="between two, in any order"
        ),
        pytest.param(
            [run(0, 1000, ended=True), run(100, 200, ended=True), run(900, HOUR)],
            [],
            id="two processes at once",
        ),
    ],
)  # fmt: skip
def test_idle_is_what_no_run_covers(
    runs: list[SchedulerRun], idle: list[tuple[float, float]]
) -> None:
    found = idle_times(runs, at(HOUR))
    assert [(start.since(at(0)), end.since(at(0))) for start, end in found] == idle


def test_a_scheduler_records_its_run_every_few_seconds_and_says_when_it_stops(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path)
    sources = SimpleNamespace(catalog=lab.catalog)
    graph = SimpleNamespace(clock=lab.catalog.clock, refresher=SimpleNamespace(sources=sources))
    scheduling = Scheduling(living_spark(), lab.catalog.clock)
    scheduling.connect(cast("Any", graph), cast("Any", None), cast("Any", None), lambda: None)
    for _ in range(8):
        scheduling.port.leads()
        lab.wall.forward(5)
    (found,) = lab.catalog.scheduler_runs()
    assert (found.seen.since(found.began), found.ended) == (30, False)
    scheduling.port.end_run()
    lab.wall.forward(1000)
    scheduling.port.leads()
    first, second = lab.catalog.scheduler_runs()
    assert (first.ended, second.ended) == (True, False)
    (idle,) = idle_times([first, second], lab.catalog.clock.now())
    assert idle[1].since(idle[0]) == 1000


@pytest.mark.of_a_file
def test_a_scheduler_stops_though_its_catalog_is_gone(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    sources = SimpleNamespace(catalog=lab.catalog)
    graph = SimpleNamespace(clock=lab.catalog.clock, refresher=SimpleNamespace(sources=sources))
    scheduling = Scheduling(living_spark(), lab.catalog.clock)
    scheduling.connect(cast("Any", graph), cast("Any", None), cast("Any", None), lambda: None)
    scheduling.port.leads()
    shutil.rmtree(lab.path.parent)
    scheduling.port.end_run()
    assert "DT-5113" in scheduling.port.problems[-1]


# -- which one leads ------------------------------------------------------------------------------

NEAR = Owner(HERE.host, 200, "uid-near", "2")
FAR = Owner("host-b", 300, "uid-far", "3")


def leader(lab: Lab) -> str | None:
    found = lab.catalog.leading_scheduler()
    return None if found is None else found[0]


def test_the_first_one_leads_and_the_next_one_when_it_ends(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    near, far = lab.open(NEAR), lab.open(FAR)
    assert leader(lab) is None
    assert far.record_scheduler("far")
    assert not lab.catalog.record_scheduler("here")
    assert not near.record_scheduler("near")
    assert far.record_scheduler("far")
    assert leader(lab) == "far"
    assert not far.record_scheduler("far", ended=True)
    assert leader(lab) is None
    assert near.record_scheduler("near")
    assert leader(lab) == "near"


def test_one_whose_process_is_gone_is_followed_at_once_on_its_machine(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.open(NEAR).record_scheduler("near")
    lab.dead.add(NEAR.uid)
    assert leader(lab) is None
    assert lab.catalog.record_scheduler("here")


@pytest.mark.parametrize("owner", [NEAR, FAR])
def test_one_that_says_nothing_is_followed_within_two_heartbeats(
    tmp_path: Path, owner: Owner
) -> None:
    """It sleeps, or cannot reach the catalog; and leads no more when it comes back."""
    lab = Lab(tmp_path)
    slow = lab.open(owner)
    slow.record_scheduler("slow")
    lab.wall.forward(2 * BEAT_SECONDS - 1)
    assert not lab.catalog.record_scheduler("here")
    lab.wall.forward(2)
    assert lab.catalog.record_scheduler("here")
    assert not slow.record_scheduler("slow")
    assert leader(lab) == "here"


def test_an_engine_that_starts_its_scheduler_again_leads_again(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    assert lab.catalog.record_scheduler("one")
    assert lab.catalog.record_scheduler("two")
    assert leader(lab) == "two"


def test_the_leader_is_asked_for_at_each_look_and_told_of_at_each_heartbeat(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path)
    ports = [port(lab.catalog), port(lab.open(FAR))]
    assert [p.leads() for p in ports] == [True, False]
    for _ in range(20):
        lab.wall.forward(5)
        assert [p.leads() for p in ports] == [True, False]
    ports[0].end_run()
    assert ports[1].leads()  # without waiting for a heartbeat
    lab.wall.forward(5)
    assert [p.leads() for p in ports] == [False, True]


def port(catalog: Catalog) -> EnginePort:
    sources = SimpleNamespace(catalog=catalog)
    graph = SimpleNamespace(clock=catalog.clock, refresher=SimpleNamespace(sources=sources))
    return EnginePort(cast("Any", graph))
