"""Lag over days: percentiles and the time within the target, of thousands of refreshes at once.

Seconds throughout. The lag is a set of straight lines, so that the time for which it was at most
some x is found by one walk over their ends, sorted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from dt_jupyter.model import Name, TargetLag, Timestamp

DAY_SECONDS = 86_400.0
_GOALS = (0.5, 0.9, 0.95, 0.99)


class LagLine(NamedTuple):
    """From `start` to `end` the lag rises from `low`, a second each second."""

    start: float
    end: float
    low: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def peak(self) -> float:
        return self.low + self.seconds


@dataclass(frozen=True, slots=True)
class LagFigures:
    """Of the `seconds` since `begin` in which the table had contents and a scheduler ran, each
    counting the same; None where there are none. `within` is the share of them in which the lag
    was at most the target, None without a target; `refreshes` those that succeeded."""

    begin: Timestamp
    seconds: float
    refreshes: int
    mean: float | None = None
    p50: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    maximum: float | None = None
    within: float | None = None

    def __str__(self) -> str:
        if self.mean is None:
            return f"{self.begin.words}: no data"
        within = "" if self.within is None else f", within target {self.within:.2%} of the time"
        return (
            f"{self.begin.words}: mean {self.mean:,.1f} s, p50 {self.p50:,.1f} s, "
            f"p95 {self.p95:,.1f} s, p99 {self.p99:,.1f} s, max {self.maximum:,.1f} s{within}"
        )


@dataclass(frozen=True)
class LagDays:
    """`total` over all of them, `days` each for itself, oldest first: 24 hours each, the last one
    up to now."""

    name: Name
    target: TargetLag
    total: LagFigures
    days: tuple[LagFigures, ...]

    def __str__(self) -> str:
        lines = [f"{self.name}, target {self.target}, since {self.total}"]
        return "\n".join([*lines, *(f"  {day}" for day in self.days)])


def lag_lines(
    commits: Iterable[tuple[float, float]],
    begin: float,
    now: float,
    idle: Sequence[tuple[float, float]] = (),
) -> list[LagLine]:
    """The lag from `begin` to `now` of (end, data timestamp) in the order of their ends, without
    the times of `idle`, which are disjoint and in order. Of two data timestamps the newer
    counts."""
    ends, newest = [], float("-inf")
    for end, data_timestamp in commits:
        newest = max(newest, data_timestamp)
        ends.append((end, newest))
    ends.append((now, newest))
    lines, first = [], 0
    for (committed, data_timestamp), (until, _) in pairwise(ends):
        start, end = max(committed, begin), min(until, now)
        while first < len(idle) and idle[first][1] <= start:
            first += 1
        for a, b in _outside(start, end, idle, first):
            lines.append(LagLine(a, b, a - data_timestamp))
    return lines


def _outside(
    start: float, end: float, idle: Sequence[tuple[float, float]], first: int
) -> Iterable[tuple[float, float]]:
    while first < len(idle) and idle[first][0] < end and start < end:
        if idle[first][0] > start:
            yield start, idle[first][0]
        start = max(start, idle[first][1])
        first += 1
    if start < end:
        yield start, end


def lag_quantiles(lines: Sequence[LagLine], goals: Sequence[float]) -> list[float]:
    """For each goal, in rising order, the least lag that is not exceeded for that share of the
    time."""
    total = sum(line.seconds for line in lines)
    steps = sorted([(x.low, 1) for x in lines] + [(x.peak, -1) for x in lines])
    found: list[float] = []
    reached, open_lines, last = 0.0, 0, steps[0][0]
    for lag, step in steps:
        gained = open_lines * (lag - last)
        while len(found) < len(goals) and reached + gained >= goals[len(found)] * total:
            wanted = goals[len(found)] * total - reached
            found.append(last + (wanted / open_lines if open_lines else 0.0))
        reached, open_lines, last = reached + gained, open_lines + step, lag
    return found + [last] * (len(goals) - len(found))


def lag_figures(
    begin: Timestamp, lines: Sequence[LagLine], target: float | None, refreshes: int
) -> LagFigures:
    seconds = sum(line.seconds for line in lines)
    if not seconds:
        return LagFigures(begin, 0.0, refreshes)
    mean = sum(x.seconds * (x.low + x.peak) / 2 for x in lines) / seconds
    p50, p90, p95, p99 = lag_quantiles(lines, _GOALS)
    kept = None
    if target is not None:
        kept = sum(min(max(target - x.low, 0.0), x.seconds) for x in lines) / seconds
    worst = max(line.peak for line in lines)
    return LagFigures(begin, seconds, refreshes, mean, p50, p90, p95, p99, worst, kept)


def lag_over_days(
    name: Name,
    target: TargetLag,
    commits: Sequence[tuple[Timestamp, Timestamp]],
    now: Timestamp,
    days: float,
    idle: Sequence[tuple[Timestamp, Timestamp]] = (),
) -> LagDays:
    """Of (end, data timestamp) of the successful refreshes of a number of days, and of the last one
    before."""
    since = now.plus(-days * DAY_SECONDS)
    done = sorted((e.since(since), d.since(since)) for e, d in commits)
    ends = [e for e, _ in done]
    newest = [*accumulate((d for _, d in done), max)]
    pauses = [(a.since(since), b.since(since)) for a, b in idle]
    end = now.since(since)

    def figures(begin: float, until: float) -> LagFigures:
        first, last = bisect_right(ends, begin), bisect_right(ends, until)
        known = slice(max(first - 1, 0), last)
        lines = lag_lines(zip(ends[known], newest[known], strict=True), begin, until, pauses)
        return lag_figures(since.plus(begin), lines, target.seconds, last - first)

    begins = [max(end - (i + 1) * DAY_SECONDS, 0.0) for i in range(-int(-days // 1))]
    each = [figures(b, min(b + DAY_SECONDS, end)) for b in reversed(begins)]
    return LagDays(name, target, figures(0.0, end), tuple(each))


__all__ = [
    "DAY_SECONDS",
    "LagDays",
    "LagFigures",
    "LagLine",
    "lag_figures",
    "lag_lines",
    "lag_over_days",
    "lag_quantiles",
]
