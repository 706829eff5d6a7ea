"""The times in which no scheduler ran, in any process."""

from __future__ import annotations

from collections.abc import Iterable

from dt_jupyter.catalog import SchedulerRun
from dt_jupyter.model import Timestamp

BEAT_SECONDS = 15.0
"""A scheduler records so often that it runs."""
_ALIVE = 3 * BEAT_SECONDS


def awake_since(runs: Iterable[SchedulerRun], now: Timestamp) -> Timestamp | None:
    """Since when a scheduler has run without a pause; None where none runs now."""
    known = sorted(runs, key=lambda run: run.began)
    idle = idle_times(known, now)
    if not known or (idle and idle[-1][1] == now):
        return None
    return idle[-1][1] if idle else known[0].began


def idle_times(
    runs: Iterable[SchedulerRun], now: Timestamp
) -> tuple[tuple[Timestamp, Timestamp], ...]:
    """Between the runs, and since the last one, in order; nothing is known of the time before the
    first. A run that has not ended and was seen a moment ago is running."""
    found: list[tuple[Timestamp, Timestamp]] = []
    covered: Timestamp | None = None
    for run in sorted(runs, key=lambda run: run.began):
        if covered is not None and run.began > covered:
            found.append((covered, run.began))
        goes_on = not run.ended and now.since(run.seen) <= _ALIVE
        until = now if goes_on else run.seen
        covered = until if covered is None else max(covered, until)
    if covered is not None and covered < now:
        found.append((covered, now))
    return tuple(found)
