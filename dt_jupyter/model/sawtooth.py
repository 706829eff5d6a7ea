"""The lag of a dynamic table over time: it rises by a second each second, and falls at the end of
each refresh to that end less the refresh's data timestamp.

Source: DT paper, 5.2, figure 4. Lags are in seconds; instants are Timestamps or aware datetimes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from dt_jupyter.model.time import Timestamp

At = TypeVar("At", Timestamp, datetime)
_Refresh = TypeVar("_Refresh")


@dataclass(frozen=True, slots=True)
class Tooth(Generic[At, _Refresh]):
    """From the commit of a refresh to the next one (or the end) the lag rises from `low` to `peak`;
    the contents are of `data_timestamp` during it."""

    start: At
    end: At
    data_timestamp: At
    refresh: _Refresh
    low: float
    peak: float

    @classmethod
    def of(cls, start: At, end: At, data_timestamp: At, refresh: _Refresh) -> Tooth[At, _Refresh]:
        low, peak = _lag(start, data_timestamp), _lag(end, data_timestamp)
        return cls(start, end, data_timestamp, refresh, low, peak)

    @property
    def seconds(self) -> float:
        return self.peak - self.low

    def below(self, lag: float) -> float:
        """For how many seconds the lag was at most `lag`."""
        return min(max(lag - self.low, 0.0), self.seconds)


@dataclass(frozen=True, slots=True)
class Sawtooth(Generic[At, _Refresh]):
    """Teeth in the order of time; `target` in seconds. Empty before the first success. In the
    times of `idle`, which are disjoint and in order, no scheduler ran: no target was missed."""

    teeth: tuple[Tooth[At, _Refresh], ...]
    target: float | None
    idle: tuple[tuple[At, At], ...] = ()

    def at(self, instant: At) -> float | None:
        """The lag at an instant, after a refresh that ends then; None where the table has no
        contents, or past the end."""
        found = [t for t in self.teeth if t.start <= instant <= t.end]
        return _lag(instant, found[-1].data_timestamp) if found else None

    @property
    def worst(self) -> Tooth[At, _Refresh] | None:
        return max(self.teeth, key=lambda tooth: tooth.peak, default=None)

    @property
    def seconds(self) -> float:
        return sum(tooth.seconds for tooth in self.teeth)

    @property
    def mean(self) -> float | None:
        """Mean lag over time."""
        if not self.seconds:
            return self.teeth[-1].low if self.teeth else None
        area = sum(t.seconds * (t.peak + t.low) / 2 for t in self.teeth)
        return area / self.seconds

    @property
    def within(self) -> float | None:
        """The share of the time with a scheduler in which the lag was at most the target."""
        if self.target is None or not self.teeth:
            return None
        held = self.scheduled
        total = sum(tooth.seconds for tooth in held)
        if not total:
            return float(self.teeth[-1].low <= self.target)
        return sum(tooth.below(self.target) for tooth in held) / total

    @property
    def scheduled(self) -> tuple[Tooth[At, _Refresh], ...]:
        """The teeth without the times in which no scheduler ran: one may be in several parts."""
        return tuple(part for tooth in self.teeth for part in _parts(tooth, self.idle))

    def quantile(self, goal: float) -> float | None:
        """The least lag whose share of the time is the goal, to a microsecond."""
        total = self.seconds
        if not total:
            return self.mean
        low, high = min(t.low for t in self.teeth), max(t.peak for t in self.teeth)
        while high - low > 1e-6:
            middle = (low + high) / 2
            reached = sum(tooth.below(middle) for tooth in self.teeth) >= goal * total
            low, high = (low, middle) if reached else (middle, high)
        return high

    @property
    def above(self) -> tuple[Tooth[At, _Refresh], ...]:
        """The teeth whose peak is above the target while a scheduler ran."""
        if self.target is None:
            return ()
        return tuple(tooth for tooth in self.scheduled if tooth.peak > self.target)

    @property
    def falls(self) -> tuple[Tooth[At, _Refresh], ...]:
        """The teeth, those in one that no fall of the lag parts: an older refresh ended later."""
        found: list[Tooth[At, _Refresh]] = []
        for tooth in self.teeth:
            if found and found[-1].data_timestamp == tooth.data_timestamp:
                found[-1] = replace(found[-1], end=tooth.end, peak=tooth.peak)
            else:
                found.append(tooth)
        return tuple(found)


def _parts(
    tooth: Tooth[At, _Refresh], idle: Sequence[tuple[At, At]]
) -> Iterable[Tooth[At, _Refresh]]:
    """The tooth outside of those times."""
    start = tooth.start
    for begin, end in idle:
        if end <= start or begin >= tooth.end:
            continue
        if begin > start:
            yield Tooth.of(start, begin, tooth.data_timestamp, tooth.refresh)
        start = end
    if start < tooth.end or start == tooth.start:
        yield Tooth.of(start, tooth.end, tooth.data_timestamp, tooth.refresh)


def sawtooth_of(
    commits: Iterable[tuple[At, At, _Refresh]],
    until: At | None,
    target: float | None,
    idle: Sequence[tuple[At, At]] = (),
) -> Sawtooth[At, _Refresh]:
    """The lag from the first commit (end, data timestamp, refresh) on, up to `until` or to the
    last commit, the later of them. A table is never taken back: of two data timestamps the newer
    counts."""
    done = sorted(commits, key=lambda c: (c[0], c[1]))
    if not done:
        return Sawtooth((), target)
    starts: list[At] = [end for end, _, _ in done]
    ends = starts[1:]
    ends.append(starts[-1] if until is None else max(starts[-1], until))
    teeth: list[Tooth[At, _Refresh]] = []
    newest = done[0][1]
    for i, (start, data_timestamp, refresh) in enumerate(done):
        newest = max(newest, data_timestamp)
        teeth.append(Tooth.of(start, ends[i], newest, refresh))
    shown = tuple(
        (max(start, starts[0]), min(end, ends[-1]))
        for start, end in idle
        if end > starts[0] and start < ends[-1]
    )
    return Sawtooth(tuple(teeth), target, shown)


def _lag(instant: At, data_timestamp: At) -> float:
    return (instant - data_timestamp).total_seconds()
