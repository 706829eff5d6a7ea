"""Canonical refresh periods: 48 · 2ⁿ seconds, with one phase for all (DT paper, 5.2).

Each period is a multiple of every shorter one, so a tick of a dynamic table is a tick of all that
it reads, whatever their target lags.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from dt_jupyter.model import Reason, Timestamp

BASE = 48.0
SHORTEST = BASE / 64
"""Three quarters of a second: no refresh is worth starting more often."""
MARGIN = 1.25
"""A period changes only where waits and durations so much worse than now would still fit."""


@dataclass(frozen=True, slots=True)
class Period:
    """Seconds between the ticks of a dynamic table, whether its lag stays below the target with
    them, and why it is this one."""

    seconds: float
    attainable: bool
    reason: Reason


def at_most(limit: float) -> float | None:
    """The largest canonical period below `limit` (in seconds); None if there is none."""
    if limit <= SHORTEST:
        return None
    period = BASE * 2.0 ** math.floor(math.log2(limit / BASE))
    return period if period < limit else period / 2


def at_least(limit: float) -> float:
    """The smallest canonical period that is not below `limit`."""
    if limit <= SHORTEST:
        return SHORTEST
    period = float(BASE * 2.0 ** math.ceil(math.log2(limit / BASE)))
    return period if period >= limit else period * 2


def tick(period: float, now: Timestamp) -> Timestamp:
    """The newest tick that is not after `now`: a multiple of the period since 1970."""
    micros = round(period * 1e6)
    return Timestamp(now.micros // micros * micros)


def next_tick(period: float, now: Timestamp) -> Timestamp:
    """The first tick after `now`."""
    return tick(period, now).plus(period)


def choose_period(
    target_lag: float,
    wait: float,
    duration: float,
    upstream_periods: Iterable[float] = (),
    current: Period | None = None,
) -> Period:
    """The largest canonical p with p + w + d < target lag, not below any upstream's (seconds).

    Just before a commit the lag is p + w + d: the period, the wait from the data timestamp to the
    start, the duration. Nor may p be below d, or every other tick would find the refresh busy.
    Where no p will do, the smallest that is allowed, and the reason says so. `current` is kept
    while it will do, until the estimates leave room for another one (`MARGIN`), so that noisy
    durations do not make the period flap.
    """
    upstream = max(upstream_periods, default=0.0)

    def fits(period: float | None, margin: float = 1.0) -> bool:
        busy = max(duration * margin, upstream)
        lag = (wait + duration) * margin
        return period is not None and busy <= period < target_lag - lag

    def largest(margin: float) -> float | None:
        period = at_most(target_lag - (wait + duration) * margin)
        return period if fits(period, margin) else None

    if current is None:
        chosen = largest(1.0)
    elif current.attainable and fits(current.seconds):
        chosen = max(current.seconds, largest(MARGIN) or 0.0)
    else:
        chosen = largest(1.0 if current.attainable else MARGIN)
    if chosen is None:
        return _smallest(target_lag, wait, duration, upstream, current)
    sentence = (
        f"{chosen:g} s between ticks, {wait:.3g} s of waiting and {duration:.3g} s of refreshing "
        f"are together less than the target lag of {target_lag:g} s."
    )
    return Period(chosen, True, Reason("LAG_ATTAINABLE", sentence))


def _smallest(
    target_lag: float, wait: float, duration: float, upstream: float, current: Period | None
) -> Period:
    smallest = at_least(max(duration, upstream))
    calmer = at_least(max(duration * MARGIN, upstream))
    if current is not None and smallest < current.seconds <= calmer:
        smallest = current.seconds
    sentence = (
        f"The target lag of {target_lag:g} s cannot be kept: a refresh takes {duration:.3g} s and "
        f"begins {wait:.3g} s after its tick. A tick comes every {smallest:g} s."
    )
    return Period(smallest, False, Reason("LAG_NOT_ATTAINABLE", sentence))
