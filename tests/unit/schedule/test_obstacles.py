"""Why tables are not fresh: what holds them back, through any number of tables between."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from dt_jupyter.model import Reason, SchedulingState, TargetLag
from dt_jupyter.schedule import (
    NO_READER,
    Node,
    Slots,
    Wait,
    decide,
    held_back,
    obstacles,
    obstacles_in,
)
from tests.unit.catalog_lab import Lab, definition
from tests.unit.schedule.test_decide import State, at, node

WHY = "5 scheduled refreshes failed in a row. Fix the cause, then RESUME."


def stopped(name: str, *upstream: str) -> Node:
    return node(name, *upstream, suspended=True, period=None, suspension=WHY)


def test_all_downstream_of_a_suspended_table_say_which_one_and_why() -> None:
    found = held_back((node("free"), stopped("a"), node("b", "free", "a"), node("c", "b")))
    assert found == {
        "b": Reason("UPSTREAM_SUSPENDED", f"a, which it reads, is suspended: {WHY}"),
        "c": Reason("UPSTREAM_SUSPENDED", f"a, upstream of it, is suspended: {WHY}"),
    }


def test_the_nearest_one_is_named_and_one_refreshed_by_hand_holds_back_too() -> None:
    by_hand = node("b", "a", scheduler_enabled=False, period=None)
    found = held_back((stopped("a"), by_hand, node("c", "b")))
    assert found["c"].code == "UPSTREAM_NOT_SCHEDULED"
    assert found["c"].sentence == "b, which it reads, is refreshed manually only."


def test_a_long_chain_and_a_wide_one() -> None:
    chain = [stopped("t0"), *(node(f"t{i}", f"t{i - 1}") for i in range(1, 500))]
    assert {r.code for r in held_back(chain).values()} == {"UPSTREAM_SUSPENDED"}
    assert len(held_back(chain)) == 499
    wide = [stopped("t0"), *(node(f"t{i}", "t0") for i in range(1, 500))]
    assert len(held_back(wide)) == 499
    assert held_back([node("a"), *(node(b, a) for a, b in pairwise("abcdef"))]) == {}


def test_the_scheduler_says_so_at_each_of_them() -> None:
    nodes = (stopped("a"), node("b", "a"), node("c", "b"))
    found = decide(State(nodes, (Slots("default", 9),), lambda dt, t: None), at(1))
    assert [(d.dt, d.reason.code) for d in found] == [
        ("b", "UPSTREAM_SUSPENDED"),
        ("c", "UPSTREAM_SUSPENDED"),
    ]
    assert all(isinstance(d, Wait) and d.is_held and d.data_timestamp == at(0) for d in found)


def test_waiting_for_a_refresh_is_not_being_held() -> None:
    nodes = (node("a", running=at(0), since=at(0.5)), node("b", "a"))
    (wait,) = decide(State(nodes, (Slots("default", 9),), lambda dt, t: None), at(1))
    assert isinstance(wait, Wait)
    assert (wait.reason.code, wait.is_held) == ("UPSTREAM_PENDING", False)


def test_a_suspended_warehouse_holds_its_tables_and_those_below() -> None:
    nodes = (node("a", warehouse="w"), node("b", "a"), node("c", "b"), node("d"))
    found = obstacles(nodes, (Slots("w", 1, suspended=True), Slots("default", 1)))
    assert {i: r.code for i, r in found.items()} == {
        "a": "WAREHOUSE_SUSPENDED",
        "b": "UPSTREAM_WAREHOUSE_SUSPENDED",
        "c": "UPSTREAM_WAREHOUSE_SUSPENDED",
    }
    assert found["c"].sentence.startswith("Warehouse w is suspended, in which a is refreshed")


def test_a_suspended_table_counts_more_than_a_warehouse() -> None:
    nodes = (stopped("a"), replace(node("b", "a"), warehouse="w"))
    found = obstacles(nodes, (Slots("w", 1, suspended=True),))
    assert found["b"].code == "UPSTREAM_SUSPENDED"


def test_as_the_catalog_stands(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a", "free")
    lab.make("b", definition=definition("SELECT 1", "a"))
    lab.make("c", definition=definition("SELECT 1", "b"), scheduling=SchedulingState.SUSPENDED)
    assert obstacles_in(lab.catalog) == {}
    for turn in range(5):
        lab.fail(10 + turn)
    assert {i: r.code for i, r in obstacles_in(lab.catalog).items()} == {
        "id-b": "UPSTREAM_SUSPENDED"
    }, "one that is suspended itself says that"
    assert "5 scheduled refreshes failed in a row" in obstacles_in(lab.catalog)["id-b"].sentence
    lab.catalog.update("id-a", scheduling=SchedulingState.ACTIVE, scheduling_reason=None)
    assert obstacles_in(lab.catalog) == {}
    lab.catalog.alter_warehouse("default", suspended=True)
    assert {r.code for r in obstacles_in(lab.catalog).values()} == {"WAREHOUSE_SUSPENDED"}


def asks(name: str, *upstream: str, **changes: object) -> Node:
    return replace(node(name, *upstream), target_lag=None, **changes)  # type: ignore[arg-type]


IDLE = Reason(NO_READER, "Not refreshed: no target lag, and nothing reads it.")
UNASKED = Reason(NO_READER, "Not refreshed: no target lag, and nothing that is refreshed reads it.")


@pytest.mark.parametrize(
    ("nodes", "others", "told"),
    [
        pytest.param((asks("a"),), (), {"a": IDLE}, id="nothing reads it"),
        pytest.param((asks("a"), node("b", "a")), (), {}, id="one with a lag reads it"),
        pytest.param(
            (asks("a"), asks("b", "a")), (), {"a": UNASKED, "b": IDLE}, id="a chain without an end"
        ),
        pytest.param(
            (asks("a"), stopped("b", "a")), (), {"a": UNASKED}, id="its reader is suspended"
        ),
        pytest.param(
            (asks("a"), node("b", "a", scheduler_enabled=False)),
            (),
            {"a": UNASKED},
            id="its reader is refreshed by hand",
        ),
        pytest.param((asks("a"),), ("a",), {"a": UNASKED}, id="a sink reads it"),
        pytest.param(
            (asks("a"), asks("b", "a"), node("c", "b")), (), {}, id="asked through another"
        ),
    ],
)
def test_a_table_without_a_lag_that_nothing_asks_for(
    nodes: tuple[Node, ...], others: tuple[str, ...], told: dict[str, Reason]
) -> None:
    assert obstacles(nodes, (), others) == told


def test_what_has_a_cause_upstream_says_that_one() -> None:
    assert obstacles((stopped("a"), asks("b", "a")), ())["b"].code == "UPSTREAM_SUSPENDED"


def test_a_table_that_nothing_asks_for_as_the_catalog_stands(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a", target_lag=TargetLag(None))
    assert obstacles_in(lab.catalog) == {"id-a": IDLE}
    lab.make("b", definition=definition("SELECT 1", "a"))
    assert obstacles_in(lab.catalog) == {}
    lab.catalog.update("id-b", scheduling=SchedulingState.SUSPENDED)
    assert obstacles_in(lab.catalog) == {"id-a": UNASKED}
    lab.catalog.update("id-a", scheduling=SchedulingState.SUSPENDED)
    assert obstacles_in(lab.catalog) == {}, "one that is suspended says that"
