"""Versions at data timestamps."""

from pathlib import Path

import pytest

from dt_jupyter.catalog.versions import RESOLUTIONS_KEPT
from dt_jupyter.model import Reason, RefreshState
from tests.unit.catalog_lab import SCHEDULED, Lab, at


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.make("a")
    return lab


def never() -> int:
    raise AssertionError("it was resolved before")


def test_the_first_to_resolve_decides_for_all(lab: Lab) -> None:
    other = lab.open()
    assert lab.catalog.resolve(at(1), "t", lambda: 5) == 5
    assert other.resolve(at(1), "t", never) == 5
    assert other.resolve(at(1), "u", lambda: 6) == 6
    assert other.resolve(at(2), "t", lambda: 7) == 7


def test_what_was_resolved_before_and_after_a_time(lab: Lab) -> None:
    assert lab.catalog.resolved_around("t", at(1)) == (None, None)
    for second, version in ((1, 3), (3, 5), (5, 9)):
        lab.catalog.resolve(at(second), "t", lambda v=version: v)
    lab.catalog.resolve(at(4), "u", lambda: 7)
    assert lab.catalog.resolved_around("t", at(0)) == (None, 3)
    assert lab.catalog.resolved_around("t", at(3)) == (5, 5)
    assert lab.catalog.resolved_around("t", at(4)) == (5, 9)
    assert lab.catalog.resolved_around("t", at(6)) == (9, None)


def test_whoever_computes_slower_gets_what_the_faster_wrote(lab: Lab) -> None:
    other = lab.open()

    def slow() -> int:
        assert other.resolve(at(1), "t", lambda: 5) == 5  # meanwhile, in another process
        return 6

    assert lab.catalog.resolve(at(1), "t", slow) == 5


def test_all_sources_of_a_refresh_are_resolved_at_once(lab: Lab) -> None:
    """What was known stays, what another one wrote meanwhile counts, the rest is written."""
    other = lab.open()
    lab.catalog.resolve(at(1), "t", lambda: 5)

    def slow() -> int:
        assert other.resolve_all(at(1), {"u": lambda: 6, "v": lambda: 7}) == {"u": 6, "v": 7}
        return 8

    computes = {"t": never, "u": slow, "w": lambda: 9}
    assert lab.catalog.resolve_all(at(1), computes) == {"t": 5, "u": 6, "w": 9}
    assert other.resolve_all(at(1), dict.fromkeys("tuvw", never)) == {
        "t": 5,
        "u": 6,
        "v": 7,
        "w": 9,
    }
    assert other.resolve_all(at(1), {}) == {}
    with pytest.raises(AssertionError):
        lab.catalog.resolve_all(at(2), {"t": lambda: 1, "u": never})
    assert len(lab.dump()["resolved"]) == 4


def test_a_resolution_that_fails_leaves_nothing(lab: Lab) -> None:
    with pytest.raises(AssertionError):
        lab.catalog.resolve(at(1), "t", never)
    assert lab.dump()["resolved"] == []


def test_old_resolutions_go_by_themselves(lab: Lab) -> None:
    lab.catalog.resolve(at(1), "t", lambda: 1)
    lab.wall.forward(RESOLUTIONS_KEPT + 2)
    lab.catalog.resolve(at(2), "t", lambda: 2)  # a backfill keeps what is as old as itself
    assert len(lab.dump()["resolved"]) == 1
    lab.wall.forward(1)
    lab.catalog.resolve(at(RESOLUTIONS_KEPT + 3), "t", lambda: 3)
    assert len(lab.dump()["resolved"]) == 1


def test_versions_of_a_dynamic_table(lab: Lab) -> None:
    for t in (10, 20, 30):
        lab.refresh(t)
    assert [lab.catalog.version_of("id-a", at(t)) for t in (10, 15, 30)] == [11, None, 13]
    assert lab.catalog.newest_at("id-a", at(9.999999)) is None
    assert lab.catalog.newest_at("id-a", at(10)) == (at(10), 11)
    assert lab.catalog.newest_at("id-a", at(29)) == (at(20), 12)
    assert lab.catalog.newest_at("id-a", at(1e6)) == (at(30), 13)
    assert lab.catalog.timestamps("id-a") == (at(30), at(20), at(10))
    assert lab.catalog.timestamps("id-a", limit=2) == (at(30), at(20))
    assert lab.catalog.timestamps("nobody") == ()


def test_logical_counters_order_timestamps_of_one_microsecond(lab: Lab) -> None:
    stamps = [lab.catalog.clock.now() for _ in range(12)]
    for stamp in stamps:
        lab.finish(lab.catalog.begin("id-a", SCHEDULED, stamp, f"q{stamp}", 30))
    assert lab.catalog.timestamps("id-a") == tuple(reversed(stamps))
    assert lab.catalog.newest_at("id-a", stamps[10]) == (stamps[10], 21)


def test_the_outcome_at_a_tick(lab: Lab) -> None:
    why = Reason("BUSY", "An earlier refresh ran.")
    lab.refresh(10)
    lab.fail(20)
    lab.catalog.record_skip("id-a", at(30), RefreshState.SKIPPED, why)
    lab.fail(40)
    lab.refresh(40)
    lab.begin(50)
    outcomes = [lab.catalog.outcome_of("id-a", at(t)) for t in (10, 20, 30, 40, 50, 60)]
    assert outcomes == ["SUCCEEDED", "FAILED", "SKIPPED", "SUCCEEDED", "EXECUTING", None]
