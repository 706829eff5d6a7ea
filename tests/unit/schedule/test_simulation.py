"""Days of scheduling on a simulated clock, and what must hold in every one of them."""

from __future__ import annotations

import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.model import Reason, RefreshRecord, RefreshState, Timestamp
from dt_jupyter.schedule import Node, Slots, Start, decide, lag_teeth
from dt_jupyter.schedule.simulate import Simulation

T0 = Timestamp(1_700_000_000_000_000)
DAY = 86400.0
DONE, FAILED, SKIPPED = RefreshState.SUCCEEDED, RefreshState.FAILED, RefreshState.SKIPPED
Pick = Callable[[str, Timestamp], Any]


def at(seconds: float) -> Timestamp:
    return T0.plus(seconds)


def node(name: str, lag: float | None, *upstream: str, **changes: Any) -> Node:
    return Node(name, name, upstream, lag, changes.pop("warehouse", "w"), T0, **changes)


def simulation(*nodes: Node, limit: int = 99, takes: float | Pick = 1.0, **more: Any) -> Simulation:
    length = takes if callable(takes) else lambda dt, t: takes
    return Simulation(nodes, (Slots("w", limit),), T0, length, **more)


def of(sim: Simulation, dt: str, *states: RefreshState) -> list[RefreshRecord]:
    wanted = states or (DONE,)
    return [r for r in sim.log if r.name.table == dt and r.state in wanted]


def span(record: RefreshRecord) -> tuple[Timestamp, Timestamp]:
    assert record.start is not None
    assert record.end is not None
    return record.start, record.end


def violations(sim: Simulation, limit: int) -> list[str]:
    """What no schedule may do, however long refreshes take and whatever fails."""
    found = []
    ended = {(r.name.table, r.data_timestamp): span(r)[1] for r in sim.log if r.state is DONE}
    ran = [r for r in sim.log if r.state in (DONE, FAILED)]
    spans: dict[str, list[tuple[Timestamp, Timestamp]]] = defaultdict(list)
    for record in ran:
        dt, t = record.name.table, record.data_timestamp
        start, end = span(record)
        if start < t:
            found.append(f"{dt} began {t} before it")
        spans[dt].append((start, end))
        for upstream in sim.node(dt).upstream:
            if (upstream, t) not in ended:
                found.append(f"{dt} at {t} without {upstream}")
            elif ended[upstream, t] > start:
                found.append(f"{dt} at {t} before {upstream}")
    for dt, mine in spans.items():
        mine.sort()
        if any(later < end for (_, end), (later, _) in itertools.pairwise(mine)):
            found.append(f"{dt} ran twice at once")
        ticks = [r.data_timestamp for r in sim.log if r.name.table == dt]
        if len(set(ticks)) != len(ticks):
            found.append(f"{dt} did a tick twice")
        forward = [r.data_timestamp for r in ran if r.name.table == dt]
        if forward != sorted(forward):
            found.append(f"{dt} went back")
    moments = sorted(
        [(end, -1) for mine in spans.values() for _, end in mine]
        + [(start, 1) for mine in spans.values() for start, _ in mine]
    )
    running = 0
    for _, change in moments:
        running += change
        if running > limit:
            found.append(f"{running} at once")
            break
    return found


@dataclass(frozen=True)
class Case:
    """A random graph: nodes upstream first, seconds that each refresh takes, a limit."""

    nodes: tuple[Node, ...]
    takes: dict[str, float]
    limit: int

    def simulation(self, **more: Any) -> Simulation:
        return simulation(*self.nodes, limit=self.limit, takes=lambda dt, t: self.takes[dt], **more)


@st.composite
def cases(draw: st.DrawFn, slow: bool = True) -> Case:
    names = [f"d{n}" for n in range(draw(st.integers(1, 6)))]
    nodes, takes = [], {}
    for n, name in enumerate(names):
        upstream = draw(st.lists(st.sampled_from(names[:n]), max_size=2, unique=True)) if n else []
        lag = draw(st.one_of(st.none(), st.sampled_from([20.0, 60.0, 100.0, 300.0])))
        nodes.append(node(name, lag, *upstream))
        takes[name] = draw(st.floats(0.01, 40.0 if slow else 3.0))
    return Case(tuple(nodes), takes, draw(st.integers(1, 3)) if slow else 99)


@settings(max_examples=40)
@given(cases(), st.integers(0, 2**32))
def test_no_schedule_breaks_a_rule(case: Case, seed: int) -> None:
    """Slow refreshes, few slots, and one in four failing."""
    sim = case.simulation(fails=lambda dt, t: crc32(f"{seed} {dt} {t}".encode()) % 4 == 0)
    sim.run(at(3000))
    assert violations(sim, case.limit) == []


@settings(max_examples=40)
@given(cases(slow=False))
def test_the_lag_stays_below_the_target_wherever_it_can(case: Case) -> None:
    sim = case.simulation()
    sim.run(at(2000))  # until every estimate is from history and every period has settled
    settled = dict(sim.periods)
    sim.run(at(5000))
    assert {dt: p.seconds for dt, p in sim.periods.items()} == {
        dt: p.seconds for dt, p in settled.items()
    }
    for each in case.nodes:
        if each.target_lag is None or not settled[each.id].attainable:
            continue
        teeth = [t for t in lag_teeth(of(sim, each.id), sim.now) if t.start > at(2000)]
        assert teeth
        assert max(tooth.peak for tooth in teeth) < each.target_lag
        assert of(sim, each.id, SKIPPED) == [
            r for r in of(sim, each.id, SKIPPED) if r.data_timestamp < at(2000)
        ]


@settings(max_examples=40)
@given(cases(slow=False))
def test_data_timestamps_of_a_consumer_are_among_those_of_its_upstream(case: Case) -> None:
    sim = case.simulation()
    sim.run(at(2000))
    stamps = {n.id: {r.data_timestamp for r in of(sim, n.id)} for n in case.nodes}
    needed: dict[str, bool] = {}
    for each in reversed(case.nodes):
        wanted = each.target_lag is not None or needed.get(each.id, False)
        assert bool(stamps[each.id]) == wanted  # DOWNSTREAM without a consumer never runs
        for upstream in each.upstream:
            assert stamps[each.id] <= stamps[upstream]
            needed[upstream] = needed.get(upstream, False) or wanted


RULES: dict[str, Callable[..., Any]] = {
    "_upstream": lambda *_: None,
    "_busy": lambda *_: None,
    "_admit": lambda node, t, *_: Start(node.id, t, Reason("ANY", "No rule.")),
}


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_the_checks_find_it_broken(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is not vacuous: each mutated rule is caught."""
    nodes = (node("a", 60), node("b", 60, "a"), node("c", 60))
    limit = 1 if rule == "_admit" else 99

    def takes(dt: str, t: Timestamp) -> float:
        return 200.0 if t.since(T0) > 500 else 10.0

    good = simulation(*nodes, limit=limit, takes=takes)
    good.run(at(1000))
    assert violations(good, limit) == []
    monkeypatch.setattr(sys.modules[decide.__module__], rule, RULES[rule])
    bad = simulation(*nodes, limit=limit, takes=takes)
    bad.run(at(1000))
    assert violations(bad, limit) != []


@pytest.mark.nightly
def test_a_day_of_twenty() -> None:
    lags = [300.0, 600.0, None, 3600.0]
    nodes = [
        node(f"d{n}", lags[n % 4], *(f"d{m}" for m in (n - 1, n - 3) if m >= 0)) for n in range(20)
    ]
    sim = simulation(*nodes, limit=3, takes=lambda dt, t: 0.5 + int(dt[1:]) % 5)
    sim.run(at(DAY))
    assert violations(sim, 3) == []
    assert len(sim.log) > 2000
    assert {r.state for r in sim.log} == {DONE}
    for each in nodes:
        if each.target_lag is not None:
            teeth = lag_teeth(of(sim, each.id), sim.now)[10:]
            assert max(tooth.peak for tooth in teeth) < each.target_lag


def test_a_chain_that_takes_two_periods_keeps_its_lag_without_a_skip() -> None:
    chain = [node("d0", 300)]
    chain += [node(f"d{n}", 300 if n < 5 else 26, f"d{n - 1}") for n in range(1, 6)]
    sim = simulation(*chain, takes=2.5)
    sim.run(at(3000))
    assert sim.periods["d5"].seconds == 6  # it begins 12.5 s after its tick
    assert sim.periods["d5"].attainable
    late = [tooth for tooth in lag_teeth(of(sim, "d5"), sim.now) if tooth.start > at(1000)]
    assert max(tooth.peak for tooth in late) < 26
    assert {r.state for r in sim.log if r.data_timestamp > at(1000)} == {DONE}


def test_a_skip_leaves_its_interval_to_the_next() -> None:
    slow = at(16 + 2 * 48)

    def takes(dt: str, t: Timestamp) -> float:
        return 70.0 if (dt, t) == ("a", slow) else 1.0

    sim = simulation(node("a", 60), node("b", 60, "a"), takes=takes)
    sim.run(at(600))
    skipped = of(sim, "a", SKIPPED)
    assert len(skipped) >= 1
    missing = {r.data_timestamp for r in skipped}
    assert missing <= {r.data_timestamp for r in of(sim, "b", SKIPPED)}
    stamps = [r.data_timestamp for r in of(sim, "a")]
    assert not missing & set(stamps)
    assert stamps[-1] > max(missing)


def test_five_failures_suspend_and_its_downstream_waits() -> None:
    sim = simulation(node("a", 60), node("b", 60, "a"), fails=lambda dt, t: dt == "a")
    sim.run(at(1000))
    assert Counter((r.name.table, str(r.state)) for r in sim.log) == {
        ("a", "FAILED"): 5,
        ("b", "UPSTREAM_FAILED"): 5,
    }
    assert sim.node("a").suspended
    assert not sim.node("b").suspended
    assert sim.node("b").error_count == 0
    sim.fails = lambda dt, t: False
    sim.set("a", suspended=False, error_count=0)
    sim.run(at(1200))
    assert of(sim, "a")
    assert of(sim, "b")


def test_a_success_in_between_starts_the_count_again() -> None:
    sim = simulation(node("a", 60), fails=lambda dt, t: t.since(T0) // 48 % 5 != 0)
    sim.run(at(5000))
    assert not sim.node("a").suspended
    assert len(of(sim, "a", FAILED)) > 5


def test_a_suspended_warehouse_lets_unchanged_ones_go_on() -> None:
    sim = simulation(node("idle", 60), node("changed", 60), unchanged=lambda dt, t: dt == "idle")
    sim.warehouses = (Slots("w", 1, suspended=True),)
    sim.run(at(500))
    assert len(of(sim, "idle")) >= 9
    assert of(sim, "changed") == []
    sim.warehouses = (Slots("w", 1),)
    sim.run(at(600))
    assert of(sim, "changed")


def test_a_suspended_consumer_no_longer_drives_its_upstream() -> None:
    sim = simulation(node("a", None), node("b", 60, "a"))
    sim.run(at(300))
    before = len(of(sim, "a"))
    assert before >= 5
    sim.set("b", suspended=True)
    sim.run(at(900))
    assert len(of(sim, "a")) == before
    sim.set("b", suspended=False)
    sim.run(at(1200))
    assert len(of(sim, "b")) > 5


@pytest.mark.parametrize("asleep", [100.0, 8 * 3600.0, 365 * DAY])
def test_after_a_sleep_each_does_its_newest_tick_and_what_its_consumers_need(asleep: float) -> None:
    nodes = (node("a", 30), node("b", 300, "a"), node("c", 3600, "b"))
    sim = simulation(*nodes)
    sim.run(at(20_000))
    before = Counter(r.name.table for r in sim.log)
    sim.jump(sim.now.plus(asleep))
    woke = sim.now
    sim.run(woke.plus(10))
    after = Counter(r.name.table for r in sim.log)
    assert all(after[n.id] - before[n.id] <= 4 for n in nodes)
    sim.run(woke.plus(8000))
    assert violations(sim, 99) == []
    for each in nodes:
        teeth = [t for t in lag_teeth(of(sim, each.id), sim.now) if t.start > woke.plus(10)]
        assert each.target_lag is not None
        assert max(tooth.peak for tooth in teeth) < each.target_lag


def test_a_clock_that_goes_back_does_no_harm() -> None:
    sim = simulation(node("a", 60), node("b", 60, "a"))
    sim.run(at(1000))
    count = len(sim.log)
    sim.jump(at(400))
    sim.run(at(900))
    assert len(sim.log) == count  # what was done is not done again
    sim.run(at(2000))
    assert len(sim.log) > count
    assert violations(sim, 99) == []


def test_periods_do_not_flap_with_noisy_durations() -> None:
    sim = simulation(node("a", 60), takes=lambda dt, t: 10 + hash(t.micros) % 100 / 40)
    seen = []
    for n in range(1, 200):
        sim.run(at(48 * n))
        seen.append(sim.periods["a"].seconds)
    assert sum(a != b for a, b in itertools.pairwise(seen)) <= 2
