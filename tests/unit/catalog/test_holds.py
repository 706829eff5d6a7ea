"""Holds with their leases, definitions with their times, and data timestamps in common."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.catalog import HeldTable, Hold, HoldKind, Owner
from tests.unit.catalog_lab import HERE, Lab, at, definition, refused

HELD = HeldTable("t", "default.t", "/lake/t", 3, 5, "/lake/_dt/pins/x/0")
ELSEWHERE = Owner("host-b", 7, "uid-far", "1")
BESIDE = Owner("host-a", 101, "uid-beside", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def replay(lab: Lab, owner: Owner = HERE, id_: str = "r") -> Hold:
    return lab.open(owner).hold(id_, HoldKind.REPLAY, "t", "version 3", [HELD])


def test_a_pin_is_there_until_it_is_taken_off(lab: Lab) -> None:
    made = lab.catalog.hold("1", HoldKind.PIN, "t", "version 3", [HELD], name="audit")
    lab.wall.forward(1e8)
    assert lab.open(BESIDE).holds() == (made,)
    assert lab.catalog.named_hold("audit") == made
    assert made.holder == "pin audit"
    assert made.tables[0].covers("t", 4)
    assert not made.tables[0].covers("t", 6)
    with refused("DT-4107"):
        lab.catalog.hold("2", HoldKind.PIN, "t", "", [], name="audit")
    with refused("DT-4107") as found:
        lab.catalog.named_hold("audi")
    assert "Did you mean audit?" in str(found[0])
    assert lab.catalog.drop_hold("1")
    assert not lab.catalog.drop_hold("1")
    assert lab.catalog.holds() == ()


def test_a_pin_may_run_out(lab: Lab) -> None:
    lab.catalog.hold("1", HoldKind.PIN, "t", "", [HELD], name="audit", expires=at(60))
    lab.wall.forward(59)
    assert len(lab.catalog.holds()) == 1
    lab.wall.forward(2)
    assert lab.catalog.holds() == ()
    assert [h.id for h in lab.catalog.reap_holds()] == ["1"]
    assert lab.catalog.reap_holds() == ()


def test_a_replay_is_held_while_its_process_lives(lab: Lab) -> None:
    replay(lab, BESIDE)
    lab.wall.forward(1e8)
    assert len(lab.catalog.holds()) == 1
    lab.dead.add("uid-beside")
    assert lab.catalog.holds() == ()
    assert [h.id for h in lab.catalog.reap_holds()] == ["r"]


def test_a_replay_of_another_host_is_held_while_it_is_renewed(lab: Lab) -> None:
    replay(lab, ELSEWHERE)
    lab.wall.forward(3000)
    assert lab.open(ELSEWHERE).renew_hold("r")
    lab.wall.forward(3000)
    assert len(lab.catalog.holds()) == 1
    lab.wall.forward(700)
    assert [h.id for h in lab.catalog.reap_holds()] == ["r"]
    assert not lab.open(ELSEWHERE).renew_hold("r")


def test_the_replays_of_an_engine(lab: Lab) -> None:
    mine = replay(lab)
    replay(lab, BESIDE, "other")
    lab.catalog.hold("1", HoldKind.PIN, "t", "", [HELD], name="audit")
    assert [h.id for h in lab.catalog.own_replays()] == ["r"]
    other = HeldTable("u", "default.u", "/lake/u", 1, 1)
    lab.catalog.hold_tables(mine.id, [HELD, other])
    assert lab.catalog.own_replays()[0].tables == (HELD, other)


def test_definitions_are_kept_with_their_times(lab: Lab) -> None:
    lab.make("a")
    lab.wall.forward(10)
    lab.catalog.update("id-a", comment="the same definition")
    assert len(lab.catalog.definitions("id-a")) == 1
    second = definition("SELECT b FROM t")
    lab.catalog.update("id-a", definition=second)
    first, then = lab.catalog.definitions("id-a")
    assert first.definition == definition()
    assert then.definition == second
    assert then.valid_from >= at(10)
    assert then.digest == lab.catalog.digest(second) != first.digest
    lab.catalog.purge("id-a")
    assert lab.catalog.definitions("id-a") == ()


def test_data_timestamps_in_common(lab: Lab) -> None:
    lab.make("a", "b")
    for t in (1, 2, 4, 5):
        lab.refresh(t, dt="a")
    for t in (2, 3, 4):
        lab.refresh(t, dt="b")
    assert lab.catalog.common(["id-a", "id-b"]) == (at(4), at(2))
    assert lab.catalog.common(["id-a", "id-b"], limit=1) == (at(4),)
    assert lab.catalog.common(["id-a", "id-c"]) == ()
    assert [t for t, _ in lab.catalog.versions("id-a", at(2), at(4))] == [at(2), at(4)]
    assert lab.catalog.oldest("id-b") == (at(2), 11)
    assert lab.catalog.time_of("id-b", 12) == at(3)
    assert lab.catalog.time_of("id-b", 99) is None
