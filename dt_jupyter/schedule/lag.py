"""Lag: the sawtooth that a dynamic table's refreshes draw, its figures, and what they foretell.

The lag is the time now less the data timestamp. It rises by a second each second, and drops when
a refresh commits (DT paper, 5.2, figure 4). Everything here is in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dt_jupyter.model import (
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Timestamp,
)

SAMPLES = 32
"""An estimate looks at so many of the newest refreshes."""
QUANTILE = 0.9
_DATA = frozenset((RefreshAction.INCREMENTAL, RefreshAction.FULL))


@dataclass(frozen=True, slots=True)
class Tooth:
    """From the commit at `start` to the next one at `end` the contents were of `data_timestamp`."""

    start: Timestamp
    end: Timestamp
    data_timestamp: Timestamp

    @property
    def low(self) -> float:
        return self.start.since(self.data_timestamp)

    @property
    def high(self) -> float:
        return self.end.since(self.data_timestamp)

    def below(self, lag: float) -> float:
        """For how many seconds the lag was at most `lag`."""
        return min(max(lag - self.low, 0.0), self.high - self.low)


@dataclass(frozen=True, slots=True)
class LagStatistics:
    """Over the time since the first commit: mean, largest and 95th-percentile lag, each second
    counting the same, and the share of the time in which the lag was within the target."""

    mean: float
    maximum: float
    p95: float
    time_within_target_lag_ratio: float | None


def sawtooth(records: Iterable[RefreshRecord], now: Timestamp) -> tuple[Tooth, ...]:
    """The teeth of the successful refreshes, oldest first; the last one reaches to `now`."""
    commits = sorted(
        (record.end, record.data_timestamp)
        for record in records
        if record.state is RefreshState.SUCCEEDED and record.end is not None and record.end <= now
    )
    forward = []
    newest: Timestamp | None = None
    for end, data_timestamp in commits:
        if newest is None or data_timestamp > newest:
            newest = data_timestamp
            forward.append((end, data_timestamp))
    ends = [end for end, _ in forward[1:]] + [now]
    return tuple(Tooth(start, end, t) for (start, t), end in zip(forward, ends, strict=False))


def lag_statistics(
    records: Iterable[RefreshRecord], now: Timestamp, target: float | None
) -> LagStatistics | None:
    """The figures of DYNAMIC_TABLES(); None before the first commit. Without a target (DOWNSTREAM
    with no consumer) there is no ratio."""
    teeth = sawtooth(records, now)
    if not teeth:
        return None
    total = sum(tooth.high - tooth.low for tooth in teeth)
    if total <= 0:  # committed this very moment
        low = teeth[-1].low
        return LagStatistics(low, low, low, None if target is None else float(low <= target))
    area = sum((tooth.high - tooth.low) * (tooth.high + tooth.low) / 2 for tooth in teeth)

    def share(lag: float) -> float:
        return sum(tooth.below(lag) for tooth in teeth) / total

    maximum = max(tooth.high for tooth in teeth)
    return LagStatistics(
        mean=area / total,
        maximum=maximum,
        p95=_reaching(share, 0.95, min(tooth.low for tooth in teeth), maximum),
        time_within_target_lag_ratio=None if target is None else share(target),
    )


def _reaching(share: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """The least lag whose share is the goal, to a microsecond; `share` only rises."""
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= goal else (middle, high)
    return high


def estimate(records: Iterable[RefreshRecord]) -> tuple[float | None, float | None]:
    """The wait and the duration to expect of the next refresh; None where there is nothing to go
    by: the 90th percentile, but never the very largest, of the newest successes that moved data
    (else of any).

    A wait longer than the target lag says nothing of the next one, nor do one or two waits: the
    scheduler had just started, the machine was asleep, or the warehouse suspended.
    """
    done = [r for r in records if r.state is RefreshState.SUCCEEDED and r.start and r.end][:SAMPLES]
    moved = [r for r in done if r.action in _DATA] or done
    waits = [
        max(r.start.since(r.data_timestamp), 0.0)
        for r in moved
        if r.start is not None and r.trigger is RefreshTrigger.SCHEDULED
        if r.target_lag_seconds is None or r.start.since(r.data_timestamp) <= r.target_lag_seconds
    ]
    durations = [r.duration for r in moved if r.duration is not None]
    return _quantile(waits, least=3), _quantile(durations)


def _quantile(values: Sequence[float], least: int = 1) -> float | None:
    if len(values) < least:
        return None
    return sorted(values)[int(QUANTILE * (len(values) - 1))]
