"""The decision, rule by rule: a state before, a time, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.model import Reason, RefreshState, Timestamp
from dt_jupyter.schedule import Decision, Node, Period, Skip, Slots, Start, State, Wait, decide

T0 = Timestamp(48_000_000 * 35_000_000)  # a tick of every period used here


def at(seconds: float) -> Timestamp:
    return T0.plus(seconds)


def node(name: str, *upstream: str, every: float = 48, **changes: Any) -> Node:
    """Active, at the data timestamp T0 − 48 unless told otherwise."""
    period = Period(every, True, Reason("LAG_ATTAINABLE", ""))
    plain = Node(
        name, name, upstream, 60.0, "default", at(-1000), data_timestamp=at(-48), period=period
    )
    return replace(plain, **changes)


def decided(
    *nodes: Node,
    now: float = 1.0,
    limit: int = 9,
    suspended: bool = False,
    auto_resume: bool = False,
    outcomes: dict[tuple[str, float], RefreshState] | None = None,
    errors: Mapping[str, str] | None = None,
) -> tuple[Decision, ...]:
    known = {(dt, at(t)): state for (dt, t), state in (outcomes or {}).items()}
    slots = (Slots("default", limit, suspended, auto_resume),)
    state = State(
        nodes, slots, lambda dt, t: known.get((dt, t)), error=lambda dt, t: (errors or {}).get(dt)
    )
    return decide(state, at(now))


def short(*arguments: Node, **options: Any) -> list[tuple[str, str, float, str]]:
    """(what, whom, tick in seconds after T0, reason code)."""
    found = []
    for decision in decided(*arguments, **options):
        t = decision.until if isinstance(decision, Wait) else decision.data_timestamp
        what = type(decision).__name__
        found.append((what, decision.dt, t.since(T0), decision.reason.code))
    return found


def test_a_tick_starts_a_refresh_once() -> None:
    assert short(node("a")) == [("Start", "a", 0, "TICK")]
    assert short(node("a", data_timestamp=at(0))) == []
    assert short(node("a", attempted=at(0))) == []
    assert short(node("a"), now=-0.1) == []


def test_every_reason_has_a_sentence() -> None:
    for decision in decided(node("a"), node("b", "a"), node("c", running=at(-48))):
        assert decision.reason.sentence.endswith(".")


def test_missed_ticks_collapse_to_the_newest() -> None:
    assert short(node("a", data_timestamp=at(-100 * 48)), now=10 * 48 + 5) == [
        ("Start", "a", 480, "TICK")
    ]


def test_the_first_tick_after_creation_initialises() -> None:
    new = node("a", data_timestamp=None, created=at(-10))
    assert short(new, now=-1) == []
    assert short(new) == [("Start", "a", 0, "FIRST_TICK")]
    assert short(replace(new, created=at(0.5))) == []


def test_a_tick_that_finds_it_busy_is_skipped() -> None:
    assert short(node("a", running=at(-48), since=at(-47))) == [("Skip", "a", 0, "BUSY")]
    assert short(node("a", running=at(-48))) == [("Skip", "a", 0, "BUSY")]  # began elsewhere
    assert short(node("a", running=at(0), since=at(0.1))) == []
    assert short(node("a", running=at(0.5))) == []  # a manual one, of later data than the tick


def test_a_tick_that_was_there_before_the_refresh_began_has_its_turn() -> None:
    assert short(node("a", running=at(-48), since=at(0.5))) == [("Wait", "a", 48, "BUSY")]


def test_a_refresh_waits_for_its_upstream_to_have_exactly_its_tick() -> None:
    up = node("up", running=at(0), since=at(0.1))
    assert short(up, node("a", "up")) == [("Wait", "a", 48, "UPSTREAM_PENDING")]
    up = node("up", data_timestamp=at(0))
    assert short(up, node("a", "up")) == [("Start", "a", 0, "TICK")]


def test_an_upstream_that_went_on_still_has_its_version() -> None:
    up = node("up", every=12, data_timestamp=at(12), attempted=at(12))
    done = {("up", 0.0): RefreshState.SUCCEEDED}
    assert short(up, node("a", "up"), now=13, outcomes=done) == [("Start", "a", 0, "TICK")]
    assert short(up, node("a", "up"), now=13) == [("Skip", "a", 0, "UPSTREAM_PASSED")]


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (RefreshState.FAILED, RefreshState.UPSTREAM_FAILED),
        (RefreshState.UPSTREAM_FAILED, RefreshState.UPSTREAM_FAILED),
        (RefreshState.CANCELLED, RefreshState.UPSTREAM_FAILED),
        (RefreshState.SKIPPED, RefreshState.SKIPPED),
    ],
)
def test_downstream_of_what_did_not_happen(outcome: RefreshState, state: RefreshState) -> None:
    up = node("up", attempted=at(0))
    found = decided(up, node("a", "up"), outcomes={("up", 0.0): outcome})
    assert [(type(d), d.dt) for d in found] == [(Skip, "a")]
    assert isinstance(found[0], Skip)
    assert found[0].state is state
    assert found[0].reason.code == f"UPSTREAM_{outcome}"
    assert "up" in found[0].reason.sentence


def test_what_is_below_a_failure_is_told_its_root() -> None:
    failed, lost = RefreshState.FAILED, RefreshState.UPSTREAM_FAILED
    root, mid = node("root", attempted=at(0)), node("mid", "idle", "root", attempted=at(0))
    idle = node("idle", data_timestamp=at(0))
    outcomes = {("root", 0.0): failed, ("mid", 0.0): lost, ("idle", 0.0): RefreshState.SUCCEEDED}
    errors = {"root": "[DT-2102] Source item of root no longer exists."}
    top = decided(root, idle, mid, node("top", "mid"), outcomes=outcomes, errors=errors)
    assert [(d.dt, d.reason.code) for d in top] == [("top", "UPSTREAM_UPSTREAM_FAILED")]
    assert top[0].reason.sentence == (
        f"The refresh of mid to {at(0).words} is UPSTREAM_FAILED, since that of root is FAILED: "
        "[DT-2102] Source item of root no longer exists."
    )


def test_the_root_of_tables_that_read_each_other_is_found_all_the_same() -> None:
    a, b = node("a", "b", attempted=at(0)), node("b", "a", attempted=at(0))
    outcomes = {("a", 0.0): RefreshState.UPSTREAM_FAILED, ("b", 0.0): RefreshState.UPSTREAM_FAILED}
    assert [d.dt for d in decided(a, b, node("top", "a"), outcomes=outcomes)] == ["top"]


def test_a_cancelled_upstream_that_will_be_tried_again_is_waited_for() -> None:
    again = {("up", 0.0): RefreshState.CANCELLED}
    assert short(node("up"), node("a", "up"), outcomes=again) == [
        ("Wait", "a", 48, "UPSTREAM_PENDING"),
        ("Start", "up", 0, "TICK"),
    ]


def test_a_failure_outweighs_a_skip_and_a_skip_a_wait() -> None:
    failed, skipped = node("failed", attempted=at(0)), node("skipped", attempted=at(0))
    pending = node("pending", running=at(0), since=at(0.1))
    outcomes = {
        ("failed", 0.0): RefreshState.FAILED,
        ("skipped", 0.0): RefreshState.SKIPPED,
    }
    a = node("a", "pending", "skipped", "failed")
    b = node("b", "pending", "skipped")
    found = decided(failed, skipped, pending, a, b, outcomes=outcomes)
    assert [(d.dt, d.reason.code) for d in found] == [
        ("a", "UPSTREAM_FAILED"),
        ("b", "UPSTREAM_SKIPPED"),
    ]


def test_a_suspended_one_does_nothing_and_holds_its_downstream() -> None:
    up = node("up", suspended=True, period=None)
    assert short(up, node("a", "up")) == [("Wait", "a", 48, "UPSTREAM_SUSPENDED")]
    up = node("up", scheduler_enabled=False, period=None)
    assert short(up, node("a", "up")) == [("Wait", "a", 48, "UPSTREAM_NOT_SCHEDULED")]
    assert short(node("a", suspended=True), node("b", scheduler_enabled=False)) == []


def test_a_suspended_upstream_that_is_there_by_hand_is_enough() -> None:
    up = node("up", suspended=True, period=None, data_timestamp=at(0))
    assert short(up, node("a", "up")) == [("Start", "a", 0, "TICK")]


def test_an_upstream_that_is_gone_lets_the_refresh_fail_by_name() -> None:
    assert short(node("a", "dropped")) == [("Start", "a", 0, "TICK")]


def test_an_upstream_does_its_consumers_tick_first_after_a_sleep() -> None:
    """a's tick at 0 was missed; up's newest is 36. Were up to do only that, a would never be."""
    up = node("up", every=12)
    a = node("a", "up")
    assert short(up, a, now=37) == [
        ("Wait", "a", 48, "UPSTREAM_PENDING"),
        ("Start", "up", 0, "TICK"),
    ]
    up = replace(up, data_timestamp=at(0), attempted=at(0))
    assert sorted(short(up, a, now=37)) == [("Start", "a", 0, "TICK"), ("Start", "up", 36, "TICK")]


def test_consumers_ticks_reach_through_the_whole_chain() -> None:
    bottom, middle = node("bottom", every=12), node("middle", "bottom", every=12)
    assert short(bottom, middle, node("top", "middle"), now=37)[-1] == (
        "Start",
        "bottom",
        0,
        "TICK",
    )


def test_a_chain_that_takes_longer_than_a_period_still_flows() -> None:
    """At 60 up has reached 0 and is on its way to 48: the turn of a is at 0, not at 48."""
    up = node("up", data_timestamp=at(0), attempted=at(0), running=at(48), since=at(59))
    assert short(up, node("a", "up"), now=60) == [("Start", "a", 0, "TICK")]
    at_0 = node("a", "up", data_timestamp=at(0), attempted=at(0))
    assert short(up, at_0, now=60) == [("Wait", "a", 96, "UPSTREAM_PENDING")]
    lost = {("up", 0.0): RefreshState.FAILED}
    up = replace(up, data_timestamp=at(-48))
    skip = ("Skip", "a", 0, "UPSTREAM_FAILED")
    assert short(up, node("a", "up"), now=60, outcomes=lost) == [skip]


def test_waiting_for_upstream_is_not_being_busy() -> None:
    up = node("up", data_timestamp=at(-48), running=at(0), since=at(0))
    busy = node("a", "up", data_timestamp=at(-96), running=at(-48), since=at(-5))
    assert short(up, busy) == [("Wait", "a", 48, "UPSTREAM_PENDING")]
    up = node("up", data_timestamp=at(0))
    assert short(up, busy) == [("Skip", "a", 0, "BUSY")]


def test_the_largest_lag_gets_the_slot() -> None:
    a = node("a", data_timestamp=at(-48))
    b = node("b", data_timestamp=at(-96))
    new = node("new", data_timestamp=None)
    assert short(a, b, new, limit=2) == [
        ("Start", "new", 0, "FIRST_TICK"),
        ("Start", "b", 0, "TICK"),
        ("Wait", "a", 48, "CONCURRENCY_LIMIT"),
    ]
    running = node("running", running=at(0), since=at(0))
    assert [d[0] for d in short(a, b, running, limit=2)] == ["Start", "Wait"]


def test_tasks_take_slots_too() -> None:
    slots = (Slots("default", 2),)
    state = State((node("a"), node("b")), slots, lambda dt, t: None, {"default": 1, "other": 5})
    assert [type(d) for d in decide(state, at(1))] == [Start, Wait]


def test_warehouses_do_not_share_slots() -> None:
    other = node("b", warehouse="other")
    state = State((node("a"), other), (Slots("default", 1), Slots("other", 1)), lambda dt, t: None)
    assert [type(d) for d in decide(state, at(1))] == [Start, Start]


def test_a_suspended_warehouse_only_lets_metadata_pass() -> None:
    (start,) = decided(node("a"), suspended=True, limit=1)
    assert isinstance(start, Start)
    assert start.metadata_only
    assert start.reason.code == "METADATA_ONLY"
    probed = node("a", probed=at(0))
    assert short(probed, suspended=True) == [("Wait", "a", 48, "WAREHOUSE_SUSPENDED")]
    assert short(probed, suspended=True, now=49) == [("Start", "a", 48, "METADATA_ONLY")]
    assert short(probed) == [("Start", "a", 0, "TICK")]


def test_changed_sources_resume_a_warehouse_that_may_be_and_unchanged_ones_do_not() -> None:
    asleep: dict[str, Any] = {"suspended": True, "auto_resume": True}
    assert short(node("a"), **asleep) == [("Start", "a", 0, "METADATA_ONLY")]
    probed = node("a", probed=at(0))
    (start,) = decided(probed, **asleep)
    assert isinstance(start, Start)
    assert (start.reason.code, start.resumes, start.metadata_only) == ("AUTO_RESUME", True, False)
    running = node("b", running=at(0), since=at(0))
    assert short(probed, running, limit=1, **asleep)[-1][3] == "CONCURRENCY_LIMIT"


def test_a_missing_warehouse_is_waited_for() -> None:
    assert short(node("a", warehouse="gone")) == [("Wait", "a", 48, "WAREHOUSE_MISSING")]


def test_a_clock_that_goes_back_does_no_harm() -> None:
    assert short(node("a", data_timestamp=at(0), attempted=at(0)), now=-86400) == []


def test_a_clock_that_jumps_a_year_costs_one_refresh() -> None:
    year = 365 * 86400
    assert short(node("a"), now=year + 1) == [("Start", "a", year, "TICK")]
    busy = node("a", running=at(0), since=at(0.1))
    assert short(busy, now=year + 1) == [("Skip", "a", year, "BUSY")]
