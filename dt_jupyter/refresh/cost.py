"""Whether computing a table anew is cheaper than moving it: a pure function with its reason.

The estimate is a line through what this table's refreshes have cost: a fixed part, and a part for
each changed row, in units of what a source row costs when everything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from dt_jupyter.model import Reason, RefreshAction, RefreshRecord, RefreshState

SMALL = 50_000
"""A change of fewer rows is moved, unless it was measured to cost more than computing anew."""

FACTOR = 12.0
"""What a changed row costs before any was measured: the work of so many source rows."""

APPEND_FACTOR = 1.0
"""The same where rows are only added and pass through without state."""

_NOTABLE_MS = 1_000
_DEARER = 1.2
_WHOLE = (RefreshAction.FULL, RefreshAction.REINITIALIZE)


@dataclass(frozen=True)
class Work:
    """A change of `changed` rows in sources of `rows` rows in all; `append`: nothing but rows
    added, and no state to merge them into."""

    changed: int
    rows: int
    append: bool


@dataclass(frozen=True)
class Estimate:
    """Milliseconds of either way."""

    move: float
    whole: float


def estimate(work: Work, history: Sequence[RefreshRecord]) -> Estimate | None:
    """What a refresh would cost by the table's own history (newest first); None without one."""
    done = [r for r in history if r.state is RefreshState.SUCCEEDED]
    whole = [r.statistics.execution_ms for r in done if r.action in _WHOLE][:3]
    if not whole or not work.rows:
        return None
    full = float(min(whole))
    a_row = full / work.rows
    moved = [
        (r.statistics.changed_rows, float(r.statistics.execution_ms))
        for r in done
        if r.action is RefreshAction.INCREMENTAL and r.statistics.changed_rows
    ][:8]
    fixed = min((ms for _, ms in moved), default=0.0)
    measured = [
        (ms - fixed / 2) / (n * a_row) for n, ms in moved if n * 5 >= work.changed and a_row
    ]
    factor = mean(measured) if measured else APPEND_FACTOR if work.append else FACTOR
    return Estimate(fixed + factor * work.changed * a_row, full)


def cheaper_whole(work: Work, history: Sequence[RefreshRecord]) -> Reason | None:
    """Why everything is computed anew; None where moving the table is cheaper."""
    found = estimate(work, history)
    if found is None or found.move <= found.whole:
        return None
    if work.changed < SMALL and not _measured(work, history, found):
        return None
    sentence = (
        f"{work.changed:,} of {work.rows:,} source rows changed: about {found.move / 1000:.1f} s"
        f" incrementally, {found.whole / 1000:.1f} s anew"
    )
    return Reason("CHEAPER_FULL", sentence)


def _measured(work: Work, history: Sequence[RefreshRecord], found: Estimate) -> bool:
    """Whether the last two refreshes of about this size did cost more than computing anew."""
    if found.whole < _NOTABLE_MS:
        return False
    alike = [
        r.statistics.execution_ms
        for r in history
        if r.action is RefreshAction.INCREMENTAL and r.state is RefreshState.SUCCEEDED
        and _is_alike(work, r)
    ][:2]  # fmt: skip
    return len(alike) == 2 and min(alike) > _DEARER * found.whole


def _is_alike(work: Work, record: RefreshRecord) -> bool:
    """Whether a refresh was of about this size."""
    return work.changed / 3 <= record.statistics.changed_rows <= work.changed * 3
