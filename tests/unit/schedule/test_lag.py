"""The sawtooth of lag and its figures (DT paper, figure 4)."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dt_jupyter.model import (
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.schedule import estimate_times, lag_statistics, lag_teeth

T0 = Timestamp(1_700_000_000_000_000)
REAL = RefreshAction.INCREMENTAL


def at(seconds: float) -> Timestamp:
    return T0.plus(seconds)


def record(
    v: float,
    s: float,
    e: float,
    state: RefreshState = RefreshState.SUCCEEDED,
    action: RefreshAction | None = REAL,
    trigger: RefreshTrigger = RefreshTrigger.SCHEDULED,
    target: float | None = None,
) -> RefreshRecord:
    """A refresh to data timestamp v, from s to e."""
    return RefreshRecord(
        Name("default", "a"),
        f"{v}",
        state,
        trigger,
        at(v),
        action=action,
        start=at(s),
        end=at(e),
        target_lag_seconds=target,
    )


def test_the_papers_figure() -> None:
    """Two refreshes: the lag peaks at e₁ − v₀, and is least at e₁ − v₁."""
    teeth = lag_teeth([record(10, 11, 14), record(0, 1, 3)], at(20))
    assert [(t.start, t.low, t.peak) for t in teeth] == [(at(3), 3, 14), (at(14), 4, 10)]
    statistics = lag_statistics([record(10, 11, 14), record(0, 1, 3)], at(20), 10)
    assert statistics is not None
    assert statistics.maximum == 14
    assert statistics.mean == pytest.approx((11 * 8.5 + 6 * 7) / 17)
    assert statistics.time_within_target_lag_ratio == pytest.approx((7 + 6) / 17)
    assert statistics.p95 == pytest.approx(14 - 0.05 * 17, abs=1e-5)


def test_what_did_not_succeed_draws_no_tooth() -> None:
    records = [
        record(0, 1, 3),
        record(10, 11, 14, RefreshState.FAILED),
        record(20, 20, 20, RefreshState.SKIPPED),
    ]
    assert len(lag_teeth(records, at(30))) == 1
    assert lag_statistics(records[1:], at(30), 10) is None
    assert lag_teeth(records, at(2)) == ()


def test_an_older_data_timestamp_that_ends_later_changes_nothing() -> None:
    assert len(lag_teeth([record(10, 10, 11), record(5, 5, 12)], at(20))) == 1


def test_at_the_moment_of_the_commit() -> None:
    statistics = lag_statistics([record(0, 1, 3)], at(3), 3)
    assert statistics is not None
    assert (statistics.mean, statistics.maximum, statistics.p95) == (3, 3, 3)
    assert statistics.time_within_target_lag_ratio == 1
    late = lag_statistics([record(0, 1, 3)], at(3), 2)
    assert late is not None
    assert late.time_within_target_lag_ratio == 0
    no_target = lag_statistics([record(0, 1, 3)], at(5), None)
    assert no_target is not None
    assert no_target.time_within_target_lag_ratio is None


@given(
    st.lists(st.tuples(st.floats(0.1, 50), st.floats(0, 20), st.floats(0.1, 20)), min_size=1),
    st.floats(0.1, 50),
    st.floats(0.1, 100),
)
def test_the_figures_agree_with_the_lag_sampled_each_hundredth(
    steps: list[tuple[float, float, float]], rest: float, target: float
) -> None:
    records, v, end = [], 0.0, 0.0
    for period, wait, duration in steps[:6]:
        v += period
        end = max(end, v + wait + duration)
        records.append(record(v, v + wait, end))
    now = end + rest
    statistics = lag_statistics(records, at(now), target)
    assert statistics is not None
    assert statistics.mean <= statistics.maximum
    assert statistics.p95 <= statistics.maximum + 1e-6
    first = min(r.end for r in records if r.end is not None)
    total = at(now).since(first)
    samples = []
    for n in range(400):
        moment = first.plus(total * (n + 0.5) / 400)
        seen = [r.data_timestamp for r in records if r.end is not None and r.end <= moment]
        samples.append(moment.since(max(seen)))
    within = sum(lag <= target for lag in samples) / 400
    assert statistics.mean == pytest.approx(sum(samples) / 400, abs=0.02 * statistics.maximum)
    assert statistics.time_within_target_lag_ratio == pytest.approx(within, abs=0.03)
    assert sum(lag <= statistics.p95 + 1e-6 for lag in samples) / 400 >= 0.92


def test_an_estimate_is_a_high_quantile_of_what_moved_data() -> None:
    moved = [record(v, v + 1, v + 1 + d / 10) for v, d in enumerate(range(1, 11))]
    idle = [record(v, v, v + 0.005, action=RefreshAction.NO_DATA) for v in range(100, 105)]
    wait, duration = estimate_times([*idle, *moved])
    assert wait == pytest.approx(1.0)
    assert duration == pytest.approx(0.9)
    assert estimate_times(idle)[1] == pytest.approx(0.005)
    assert estimate_times([record(0, 1, 2, RefreshState.FAILED)]) == (None, None)
    assert estimate_times([]) == (None, None)


def test_the_first_build_stands_in_until_there_is_a_refresh() -> None:
    build = record(0, 0, 100, action=RefreshAction.REINITIALIZE, trigger=RefreshTrigger.CREATION)
    assert estimate_times([build]) == (None, 100)
    assert estimate_times([record(10, 11, 12), build]) == (None, 1)


def test_a_wait_through_a_sleep_foretells_nothing() -> None:
    slept, started = record(0, 5000, 5001, target=60), record(5980, 6030, 6031, target=60)
    usual = [record(t, t + 1, t + 2, target=60) for t in (6040, 6088, 6136)]
    assert estimate_times([slept, slept, slept]) == (None, 1)
    assert estimate_times([*usual[:1], started]) == (None, 1)
    assert estimate_times([*usual, started, slept]) == (1, 1)


def test_one_slow_refresh_foretells_nothing_where_there_are_others() -> None:
    slow = record(0, 1, 60)
    assert estimate_times([slow])[1] == 59
    assert estimate_times([record(60, 61, 62), slow])[1] == 1
