"""Lag: the sawtooth that a dynamic table's refreshes draw, its figures, and what they foretell.

The lag is the time now less the data timestamp. It rises by a second each second, and drops when
a refresh commits (DT paper, 5.2, figure 4). Everything here is in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dt_jupyter.model import (
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Sawtooth,
    Timestamp,
    Tooth,
    sawtooth_of,
)

SAMPLES = 32
"""An estimate uses this number of the newest refreshes."""
QUANTILE = 0.9
_DATA = frozenset((RefreshAction.INCREMENTAL, RefreshAction.FULL))


Teeth: TypeAlias = tuple[Tooth[Timestamp, RefreshRecord], ...]
Idle: TypeAlias = Sequence[tuple[Timestamp, Timestamp]]


@dataclass(frozen=True, slots=True)
class LagStatistics:
    """Over the time since the first commit: mean, largest and 95th-percentile lag, each second
    counting the same, and the share of the time in which the lag was within the target."""

    mean: float
    maximum: float
    p95: float
    time_within_target_lag_ratio: float | None


def lag_teeth(records: Iterable[RefreshRecord], now: Timestamp) -> Teeth:
    """The teeth of the successful refreshes, oldest first; the last one reaches to `now`."""
    return _sawtooth(records, now, None).falls


def _sawtooth(
    records: Iterable[RefreshRecord], now: Timestamp, target: float | None, idle: Idle = ()
) -> Sawtooth[Timestamp, RefreshRecord]:
    done = [
        (r.end, r.data_timestamp, r)
        for r in records
        if r.state is RefreshState.SUCCEEDED and r.end is not None and r.end <= now
    ]
    return sawtooth_of(done, now, target, idle)


def lag_statistics(
    records: Iterable[RefreshRecord], now: Timestamp, target: float | None, idle: Idle = ()
) -> LagStatistics | None:
    """The figures of DYNAMIC_TABLES(); None before the first commit. Without a target (DOWNSTREAM
    with no consumer) there is no ratio; times of `idle`, without a scheduler, are none of it."""
    saw = _sawtooth(records, now, target, idle)
    worst, mean, p95 = saw.worst, saw.mean, saw.quantile(0.95)
    if worst is None or mean is None or p95 is None:
        return None
    return LagStatistics(mean, worst.peak, p95, saw.within)


def estimate_times(records: Iterable[RefreshRecord]) -> tuple[float | None, float | None]:
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
