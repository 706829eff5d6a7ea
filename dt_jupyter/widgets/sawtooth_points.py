"""The lag of a dynamic table over time (DT paper, 5.2): it rises one second per second, and falls
at the end of each refresh to that end minus the refresh's data timestamp."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dt_jupyter.wire import LagMessage, RefreshPoint


@dataclass(frozen=True, slots=True)
class Tooth:
    """The time from one commit to the next (or to now): the lag rises from `low` to `peak`, in
    seconds. `refresh` is the one that began it; `data_timestamp` is the table's meanwhile."""

    start: datetime
    end: datetime
    data_timestamp: datetime
    refresh: RefreshPoint

    @property
    def low(self) -> float:
        return _lag(self.start, self.data_timestamp)

    @property
    def peak(self) -> float:
        return _lag(self.end, self.data_timestamp)


@dataclass(frozen=True, slots=True)
class Sawtooth:
    """Teeth in the order of time; `target` in seconds. Empty before the first success."""

    teeth: tuple[Tooth, ...]
    target: float | None

    def at(self, instant: datetime) -> float | None:
        """The lag in seconds at an instant, after a refresh that ends then; None where the table
        has no contents, or past the end."""
        found = [t for t in self.teeth if t.start <= instant <= t.end]
        return _lag(instant, found[-1].data_timestamp) if found else None

    @property
    def worst(self) -> Tooth | None:
        return max(self.teeth, key=lambda tooth: tooth.peak, default=None)

    @property
    def seconds(self) -> float:
        return sum(tooth.peak - tooth.low for tooth in self.teeth)

    @property
    def mean(self) -> float | None:
        """Mean lag over time."""
        if not self.seconds:
            return self.teeth[-1].low if self.teeth else None
        area = sum((t.peak - t.low) * (t.peak + t.low) / 2 for t in self.teeth)
        return area / self.seconds

    @property
    def within(self) -> float | None:
        """The share of the time in which the lag was at most the target."""
        if self.target is None or not self.teeth:
            return None
        if not self.seconds:
            return float(self.teeth[-1].low <= self.target)
        good = sum(min(t.peak, max(self.target, t.low)) - t.low for t in self.teeth)
        return good / self.seconds

    @property
    def above(self) -> tuple[Tooth, ...]:
        """The teeth whose peak is above the target."""
        return tuple(t for t in self.teeth if self.target is not None and t.peak > self.target)


def sawtooth(message: LagMessage) -> Sawtooth:
    """The lag from the first success on, up to `as_of` or to the last success."""
    done = sorted(
        (p for p in message.points if p.succeeded), key=lambda p: (p.end, p.data_timestamp)
    )
    starts = [p.end for p in done if p.end is not None]
    if not starts:
        return Sawtooth((), message.target_lag)
    last = max([starts[-1], *filter(None, [message.as_of])])
    teeth: list[Tooth] = []
    for point, start, end in zip(done, starts, [*starts[1:], last], strict=True):
        newest = max([point.data_timestamp, *(t.data_timestamp for t in teeth[-1:])])
        teeth.append(Tooth(start, end, newest, point))
    return Sawtooth(tuple(teeth), message.target_lag)


def _lag(instant: datetime, data_timestamp: datetime) -> float:
    return (instant - data_timestamp).total_seconds()
