"""Lag over days, compared with the sawtooth that is asked second by second."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.model import Name, TargetLag, Timestamp, sawtooth_of
from dt_jupyter.schedule import lag_lines, lag_over_days, lag_quantiles
from tests.unit.catalog_lab import MANUAL, Lab, at

DAY = 86_400.0
NOW = at(10 * DAY)
NAME, MINUTE = Name("default", "a"), TargetLag(60.0)


def commits(*pairs: tuple[float, float]) -> list[tuple[Timestamp, Timestamp]]:
    """(end, data timestamp) in seconds before now."""
    return [(NOW.plus(-e), NOW.plus(-d)) for e, d in pairs]


def test_the_papers_figure() -> None:
    """From 3 to 14 the lag rises from 3 to 14, from 14 to 20 from 4 to 10."""
    lines = lag_lines([(3, 0), (14, 10)], 0, 20)
    assert [(x.start, x.end, x.low, x.peak) for x in lines] == [(3, 14, 3, 14), (14, 20, 4, 10)]
    assert lag_quantiles(lines, [0.0, 0.5, 1.0]) == [3, pytest.approx(7.75), 14]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 200)), min_size=1, max_size=30),
    st.sampled_from([0.05, 0.5, 0.95, 0.99]),
)
def test_quantiles_are_the_sawtooths(found: list[tuple[int, int]], goal: float) -> None:
    ends = sorted({e for e, _ in found})
    done = [(float(e), float(e - lag)) for e, (_, lag) in zip(ends, found, strict=False)]
    saw = sawtooth_of([(at(e), at(d), None) for e, d in done], at(600), 60.0)
    lines = lag_lines(done, 0, 600)
    (ours,) = lag_quantiles(lines, [goal])
    assert ours == pytest.approx(saw.quantile(goal), abs=1e-4)
    assert sum(x.seconds for x in lines) == pytest.approx(saw.seconds)


def test_days_one_by_one() -> None:
    """A refresh of no duration each 40 s, but for one day in which there was none for an hour."""
    done = commits(*((40.0 * i, 40.0 * i) for i in range(int(3 * DAY / 40), -1, -1)))
    bad = NOW.plus(-1.5 * DAY)
    done = [c for c in done if not 0 <= c[0].since(bad) < 3600]
    found = lag_over_days(NAME, MINUTE, done, NOW, 2)
    first, second = found.days
    assert (second.within, second.maximum) == (1.0, pytest.approx(40))
    assert second.p50 == pytest.approx(20)
    assert first.maximum == pytest.approx(3640, abs=41)
    assert first.within == pytest.approx(1 - 3600 / DAY, abs=0.002)
    assert found.total.within == pytest.approx((1 + (first.within or 0)) / 2)
    assert (first.refreshes, second.refreshes) == (2070, 2160)
    assert "within target 100.00% of the time" in str(found).splitlines()[2]


def test_times_without_a_scheduler_are_left_out() -> None:
    done = commits((DAY, DAY), (0.0, 0.0))
    idle = [(NOW.plus(-DAY + 30), NOW.plus(-10.0))]
    found = lag_over_days(NAME, MINUTE, done, NOW, 1, idle).total
    assert found.seconds == pytest.approx(40)
    assert found.within == pytest.approx(30 / 40)


def test_a_table_that_is_younger_or_has_nothing() -> None:
    young = lag_over_days(NAME, MINUTE, commits((100, 100)), NOW, 2.5)
    assert [d.mean is None for d in young.days] == [True, True, False]
    assert young.total.seconds == pytest.approx(100)
    none = lag_over_days(NAME, MINUTE, [], NOW, 1)
    assert none.total.mean is None
    assert "no data" in str(none)
    assert lag_over_days(NAME, TargetLag(None), commits((9, 9)), NOW, 1).total.within is None


def test_what_the_history_has_of_them(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a", "b")
    for t in (1, 2, 3, 4):
        lab.wall.forward(1)
        lab.refresh(t)
        lab.refresh(t, dt="b")
    lab.fail(5, MANUAL)
    found = lab.catalog.commits("id-a", at(3))
    assert [d for _, d in found] == [at(2), at(3), at(4)]
    with lab.catalog._read() as connection:
        plan = connection.exec_driver_sql(
            "EXPLAIN QUERY PLAN SELECT end_time, data_timestamp FROM history WHERE dt_id = 'x' AND "
            "end_time IS NOT NULL AND state = 'SUCCEEDED' AND data_timestamp >= '2026' "
            "ORDER BY data_timestamp DESC LIMIT 200000"
        ).fetchall()
    assert "history_at" in str(plan), plan
    assert "TEMP B-TREE" not in str(plan)
