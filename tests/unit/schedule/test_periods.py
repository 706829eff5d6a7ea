"""Canonical periods, and how they follow from target lags."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from dt_jupyter.model import Timestamp
from dt_jupyter.schedule.decisions import next_wake
from dt_jupyter.schedule.periods import (
    MARGIN,
    SHORTEST,
    Period,
    at_least,
    at_most,
    choose_period,
    next_tick,
    tick,
)
from dt_jupyter.schedule.plan import planned
from dt_jupyter.schedule.state import Node, Slots, State

LADDER = [48 * 2.0**n for n in range(-6, 26)]
START = Timestamp(1_700_000_000_123_456)
seconds = st.floats(0.001, 1e6)


@given(st.one_of(seconds, st.sampled_from(LADDER)))
def test_at_most_and_at_least_are_the_neighbours_on_the_ladder(limit: float) -> None:
    assert at_most(limit) == max((p for p in LADDER if p < limit), default=None)
    assert at_least(limit) == min(p for p in LADDER if p >= limit)


@given(st.sampled_from(LADDER[:20]), st.sampled_from(LADDER[:20]), st.integers(0, 4 * 10**15))
def test_the_ticks_of_a_long_period_are_ticks_of_every_shorter_one(
    one: float, other: float, micros: int
) -> None:
    short, long = sorted((one, other))
    shared = tick(long, Timestamp(micros))
    assert tick(short, shared) == shared
    assert tick(long, Timestamp(micros)) <= Timestamp(micros) < next_tick(long, Timestamp(micros))


@pytest.mark.parametrize(
    ("lag", "wait", "duration", "upstream", "expected"),
    [
        (60, 0, 0, [], 48),  # the paper's ladder
        (60, 2, 9, [], 48),
        (60, 3, 9, [], 24),  # 48 + 3 + 9 is not below 60
        (48, 0, 0, [], 24),
        (60, 0, 0, [48], 48),
        (3600, 10, 20, [], 3072),
        (5, 0.2, 1, [], 3),
        (1, 0.05, 0.1, [], 0.75),
    ],
)
def test_the_largest_period_that_keeps_the_lag(
    lag: float, wait: float, duration: float, upstream: list[float], expected: float
) -> None:
    period = choose_period(lag, wait, duration, upstream)
    assert (period.seconds, period.attainable) == (expected, True)
    assert period.reason.code == "LAG_ATTAINABLE"


@pytest.mark.parametrize(
    ("lag", "wait", "duration", "upstream", "expected"),
    [
        (60, 0, 70, [], 96),  # a refresh takes longer than the lag
        (60, 50, 20, [], 24),  # it waits too long for what is upstream
        (60, 0, 31, [], 48),  # 24 would fit, and each second tick would find it busy
        (60, 0, 0, [96], 96),
        (0.5, 0, 0.01, [], SHORTEST),
    ],
)
def test_a_lag_that_cannot_be_kept_gets_the_smallest_period_and_says_so(
    lag: float, wait: float, duration: float, upstream: list[float], expected: float
) -> None:
    period = choose_period(lag, wait, duration, upstream)
    assert (period.seconds, period.attainable) == (expected, False)
    assert period.reason.code == "LAG_NOT_ATTAINABLE"
    assert f"{lag:g} s cannot be kept" in period.reason.sentence


@given(seconds, seconds, seconds, st.lists(st.sampled_from(LADDER[:12]), max_size=2))
def test_an_attainable_period_keeps_every_promise(
    lag: float, wait: float, duration: float, upstream: list[float]
) -> None:
    period = choose_period(lag, wait, duration, upstream)
    assert period.seconds in LADDER
    assert period.seconds >= max([duration, *upstream])
    fitting = [p for p in LADDER if p >= max([duration, *upstream]) and p + wait + duration < lag]
    assert period.attainable == bool(fitting)
    assert period.seconds == (max(fitting) if fitting else at_least(max([duration, *upstream])))


@given(seconds, seconds, seconds, st.lists(st.floats(1 / MARGIN**0.49, MARGIN**0.49), min_size=30))
def test_noise_within_the_margin_turns_a_period_round_at_most_once(
    lag: float, wait: float, duration: float, noise: list[float]
) -> None:
    """Down while the first estimates prove too low, up where there is room, and then no more."""
    current: Period | None = None
    seen: list[float] = []
    for factor in noise:
        current = choose_period(lag, wait * factor, duration * factor, (), current)
        seen.append(current.seconds)
    directions = [b > a for a, b in itertools.pairwise(seen) if a != b]
    turns = sum(a != b for a, b in itertools.pairwise(directions))
    assert turns <= 1, seen


def test_a_period_is_lowered_at_once_and_raised_with_a_margin() -> None:
    at_48 = choose_period(60, 0, 10)
    assert at_48.seconds == 48
    at_24 = choose_period(60, 0, 13, (), at_48)
    assert at_24.seconds == 24
    assert choose_period(60, 0, 11, (), at_24).seconds == 24  # 48 + 11 fits, 48 + 13.75 does not
    assert choose_period(60, 0, 9, (), at_24).seconds == 48


# The graph.


def node(name: str, lag: float | None, *upstream: str, **changes: object) -> Node:
    return Node(name, name, upstream, lag, "default", START, **changes)  # type: ignore[arg-type]


def periods(*nodes: Node) -> dict[str, float | None]:
    state = planned(State(nodes, (Slots("default", 9),), lambda dt, t: None), {})
    return {n.id: n.period.seconds if n.period else None for n in state.nodes}


def test_downstream_takes_the_smallest_lag_of_its_consumers() -> None:
    assert periods(
        node("a", None),
        node("b", None, "a"),
        node("slow", 600, "b"),
        node("fast", 60, "a"),
    ) == {"a": 48, "b": 384, "slow": 384, "fast": 48}


def test_downstream_without_an_active_consumer_is_not_scheduled() -> None:
    assert periods(
        node("alone", None),
        node("a", None),
        node("suspended", 60, "a", suspended=True),
        node("b", None),
        node("by_hand", 60, "b", scheduler_enabled=False),
        node("c", None),
        node("d", None, "c"),
    ) == dict.fromkeys(("alone", "a", "suspended", "b", "by_hand", "c", "d"))


def test_an_upstream_with_a_longer_lag_follows_its_consumer() -> None:
    assert periods(node("up", 3600), node("down", 60, "up")) == {"up": 48, "down": 48}
    assert periods(node("up", 60), node("down", 3600, "up")) == {"up": 48, "down": 3072}


def test_waiting_for_what_is_upstream_counts() -> None:
    chain = [node("a", 3600, duration=10.0), node("b", 3600, "a", duration=10.0)]
    assert periods(*chain, node("c", 60, "b", duration=10.0))["c"] == 24  # 48 + 20 + 10 > 60
    assert periods(*chain, node("c", 80, "b", duration=10.0))["c"] == 48


def test_a_slow_upstream_holds_the_period_up() -> None:
    result = periods(node("slow", None, duration=100.0), node("fast", 130, "slow", duration=1.0))
    assert result == {"slow": 192, "fast": 192}


def test_order_does_not_matter_and_a_cycle_is_survived() -> None:
    assert periods(node("c", 60, "b"), node("b", None, "a"), node("a", None)) == {
        "a": 48,
        "b": 48,
        "c": 48,
    }
    assert periods(node("x", 60, "y"), node("y", 60, "x"), node("z", 60)).keys() == {"x", "y", "z"}


def test_the_next_wake_is_the_next_tick_of_the_shortest_period() -> None:
    state = State((node("a", 60), node("b", 3600)), (), lambda dt, t: None)
    assert next_wake(state, START) is None
    wake = next_wake(planned(state, {}), START)
    assert wake == next_tick(48, START)
