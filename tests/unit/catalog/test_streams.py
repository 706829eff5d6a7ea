"""Streams in the catalog: an intent takes all of its streams or none, and moves them once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.catalog.streams import INTENT_SECONDS
from dt_jupyter.model import Intent, Stream
from tests.unit.catalog_lab import HERE, Lab, at, name, refused

ELSEWHERE = Owner("host-b", 7, "uid-elsewhere", "1")
BESIDE = Owner("host-a", 101, "uid-beside", "2")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def stream(of: str, **changes: object) -> Stream:
    made = Stream(f"id-{of}", name(of), name("people"), "TABLE", {"t1": 3}, at(0), at(0))
    return replace(made, **changes)  # type: ignore[arg-type]


def intent(which: str, *streams: Stream) -> Intent:
    ends = {s.id: {"t1": 5} for s in streams}
    return Intent(which, "INSERT …", "/lake/t", 4, at(1), at(2), ends)


def test_a_stream_is_found_by_name_and_made_once(lab: Lab) -> None:
    made = lab.catalog.create_stream(stream("s", comment="why 🚆", initial=True, append_only=True))
    assert lab.catalog.stream(name("S")) == made
    assert lab.open().streams() == (made,)
    assert lab.catalog.streams("s%") == (made,)
    assert lab.catalog.streams("x%") == ()
    with refused("DT-1105"):
        lab.catalog.create_stream(stream("s"))
    other = lab.catalog.create_stream(stream("s", id="new"), replace_existing=True)
    assert lab.catalog.streams() == (other,)
    with refused("DT-3201") as errors:
        lab.catalog.stream(name("z"))
    assert errors
    lab.catalog.drop_stream(name("s"))
    assert lab.catalog.find_stream(name("s")) is None


def test_a_consumption_moves_its_streams_once(lab: Lab) -> None:
    a, b = (lab.catalog.create_stream(stream(n, initial=True)) for n in "ab")
    begun = intent("i", a, b)
    lab.catalog.begin_intent(begun, [a, b])
    assert {s.intent for s in lab.catalog.streams()} == {"i"}
    for _ in range(2):
        lab.catalog.finish_intent(begun)
    for after in lab.catalog.streams():
        assert (after.number, after.frontier, after.advanced) == (1, {"t1": 5}, at(2))
        assert (after.intent, after.initial) == (None, False)


def test_an_aborted_consumption_leaves_its_streams(lab: Lab) -> None:
    made = lab.catalog.create_stream(stream("s"))
    lab.catalog.begin_intent(intent("i", made), [made])
    lab.catalog.abort_intent(intent("i", made))
    assert lab.catalog.stream(name("s")) == made
    lab.catalog.finish_intent(intent("i", made))
    assert lab.catalog.stream(name("s")) == made, "an aborted intent moves nothing any more"


def test_one_consumer_at_a_time_takes_all_or_none(lab: Lab) -> None:
    a, b = (lab.catalog.create_stream(stream(n)) for n in "ab")
    lab.catalog.begin_intent(intent("i", b), [b])
    with refused("DT-3203"):
        lab.catalog.begin_intent(intent("j", a, b), [a, b])
    assert lab.catalog.stream(name("a")).intent is None
    for forbidden in (
        lambda: lab.catalog.drop_stream(name("b")),
        lambda: lab.catalog.create_stream(stream("b"), replace_existing=True),
    ):
        with refused("DT-3203"):
            forbidden()


@pytest.mark.parametrize(
    ("owner", "path", "dead", "waits"),
    [
        (HERE, "/t", False, False),
        (BESIDE, "/t", False, True),
        (BESIDE, "", False, False),
        (BESIDE, "/t", True, False),
        (ELSEWHERE, "/t", True, True),
    ],
)
def test_a_single_statement_of_another_engine_is_worth_waiting_for(
    lab: Lab, owner: Owner, path: str, dead: bool, waits: bool
) -> None:
    """Not a transaction, which its user ends, nor what a process that is gone has left."""
    made = lab.catalog.create_stream(stream("s"))
    other = lab.catalog if owner is HERE else lab.open(owner)
    assert lab.catalog.consumer(name("s")) is None
    other.begin_intent(replace(intent("i", made), path=path), [made])
    lab.dead |= {owner.uid} if dead else set()
    assert lab.catalog.consumer(name("s")) == (("i", owner) if waits else None)
    other.finish_intent(intent("i", made))
    assert lab.catalog.consumer(name("s")) is None


def test_who_read_before_another_consumed_is_told(lab: Lab) -> None:
    seen = lab.catalog.create_stream(stream("s"))
    lab.catalog.begin_intent(intent("i", seen), [seen])
    lab.catalog.finish_intent(intent("i", seen))
    with refused("DT-3203"):
        lab.catalog.begin_intent(intent("j", seen), [seen])
    now = lab.catalog.stream(name("s"))
    lab.catalog.begin_intent(intent("k", now), [now])


@pytest.mark.parametrize(
    ("owner", "dead", "orphan"),
    [(HERE, False, False), (BESIDE, False, False), (BESIDE, True, True), (ELSEWHERE, True, False)],
)
def test_an_intent_is_an_orphan_where_its_process_is_gone(
    lab: Lab, owner: Owner, dead: bool, orphan: bool
) -> None:
    made = lab.catalog.create_stream(stream("s"))
    other: Catalog = lab.open(owner)
    other.begin_intent(intent("i", made), [made])
    if dead:
        lab.dead.add(owner.uid)
    assert lab.catalog.orphans() == ((intent("i", made),) if orphan else ())


def test_what_its_own_engine_let_go_is_an_orphan(lab: Lab) -> None:
    made = lab.catalog.create_stream(stream("s"))
    lab.catalog.begin_intent(intent("i", made), [made])
    lab.catalog.let_go(intent("i", made))
    assert lab.catalog.orphans() == (intent("i", made),)
    assert lab.open(BESIDE).orphans() == (), "whose process lives"


def transaction(which: str) -> Intent:
    return Intent(which, "BEGIN", "", None, at(1), at(1))


def test_a_transaction_takes_its_streams_one_by_one_and_moves_what_it_consumed(lab: Lab) -> None:
    a, b, c = (lab.catalog.create_stream(stream(n)) for n in "abc")
    lab.catalog.begin_intent(transaction("i"), [])
    for each in (a, b):
        lab.catalog.take_stream(transaction("i"), each)
    with refused("DT-3203"):
        lab.catalog.take_stream(transaction("i"), a)
    assert not lab.catalog.decided("i")
    decided = replace(transaction("i"), targets=("/x.json",), frontiers={a.id: {"t1": 9}}, at=at(2))
    lab.catalog.prepare_intent(decided)
    assert lab.catalog.decided("i")
    assert lab.catalog.orphans() == (decided,), "interrupted: its own engine goes on with it"
    with refused("DT-3210"):
        lab.catalog.take_stream(transaction("i"), c)
    with refused("DT-3210"):
        lab.catalog.prepare_intent(decided)
    assert lab.catalog.finish_intent(decided)
    assert not lab.catalog.finish_intent(decided)
    moved, free = lab.catalog.stream(name("a")), lab.catalog.stream(name("b"))
    assert (moved.frontier, moved.number, moved.intent) == ({"t1": 9}, 1, None)
    assert free == b, "it was read, not consumed"
    assert lab.catalog.intents() == frozenset()


def test_a_transaction_that_another_host_gave_up_cannot_commit(lab: Lab) -> None:
    made = lab.catalog.create_stream(stream("s"))
    there = lab.open(ELSEWHERE)
    there.begin_intent(transaction("i"), [])
    there.take_stream(transaction("i"), made)
    lab.wall.forward(INTENT_SECONDS - 1)
    assert lab.catalog.orphans() == ()
    assert there.renew_intent("i")
    lab.wall.forward(INTENT_SECONDS - 1)
    assert lab.catalog.orphans() == ()
    lab.wall.forward(2)
    assert [i.id for i in lab.catalog.orphans()] == ["i"]
    lab.catalog.abort_intent(transaction("i"))
    assert not there.renew_intent("i")
    with refused("DT-3210"):
        there.prepare_intent(replace(transaction("i"), targets=()))
    assert lab.catalog.stream(name("s")) == made


def test_a_dropped_stream_comes_back_where_it_stood(lab: Lab) -> None:
    catalog = lab.catalog
    made = catalog.create_stream(replace(stream("s"), extension_days=3, comment="ö", number=4))
    assert catalog.dropped_stream(name("s")) is None
    catalog.drop_stream(name("s"))
    later = catalog.create_stream(replace(stream("s"), id="later"))
    known = catalog.dropped_stream(name("S"))
    assert known == made
    with refused("DT-1105"):
        catalog.undrop_stream(known)
    catalog.drop_stream(name("s"))
    assert catalog.dropped_stream(name("s")) == later, "the one that was dropped last"
    catalog.undrop_stream(later)
    assert lab.open().stream(name("s")) == later
    assert catalog.dropped_stream(name("s")) == made
    catalog.drop_stream(name("s"))
    catalog.create_stream(later)
    catalog.drop_stream(name("s"))
    assert catalog.dropped_stream(name("s")) == later, "made with the same id, as with a schema"
    catalog.prune(catalog.clock.now())
    assert catalog.dropped_stream(name("s")) is None


def test_a_stream_is_altered_and_says_how_long_its_sources_are_kept(lab: Lab) -> None:
    made = lab.catalog.create_stream(stream("s"))
    assert made.kept_until == made.advanced.plus(14 * 86_400)
    lab.catalog.alter_stream(name("s"), comment="why", extension_days=1)
    found = lab.open().stream(name("s"))
    assert (found.comment, found.kept_until) == ("why", made.advanced.plus(86_400))
    with refused("DT-3201"):
        lab.catalog.alter_stream(name("other"), comment=None, extension_days=1)
