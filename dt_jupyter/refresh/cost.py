"""Whether computing a table anew is cheaper than moving it: a pure function with its reason.

The estimate is a line through what this table's refreshes have cost: a fixed part, and a part for
each changed row, in units of what a source row costs when everything is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from dt_jupyter.ivm import (
    End,
    Group,
    Rel,
    Sizes,
    Stage,
    arranged,
    differentiate,
    key_relations,
    scans,
)
from dt_jupyter.model import Reason, RefreshAction, RefreshRecord, RefreshState

SMALL = 50_000
"""A change of fewer rows is moved, unless it was measured to cost more than computing anew."""

FACTOR = 12.0
"""What a changed row costs before any was measured: the work of so many source rows."""

APPEND_FACTOR = 1.0
"""The same where rows are only added and pass through without state."""

SCANNED = 0.25
"""What it costs to look at a row of a table for a change, in units of computing everything from
it: nothing is done with most of these rows."""

_NOTABLE_MS = 1_000
_DEARER = 1.2
_WHOLE = (RefreshAction.FULL, RefreshAction.REINITIALIZE)


@dataclass(frozen=True)
class Work:
    """A change of `changed` rows in sources of `rows` rows in all; `append`: nothing but rows
    added, and no state to merge them into; `reads`: the rows of tables that moving reads, for each
    that computing anew does (None: not known)."""

    changed: int
    rows: int
    append: bool
    reads: float | None = None


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
    move = fixed + factor * work.changed * a_row
    return Estimate(move if measured else max(move, SCANNED * (work.reads or 0) * full), full)


def cheaper_whole(work: Work, history: Sequence[RefreshRecord]) -> Reason | None:
    """Why everything is computed anew; None where moving the table is cheaper."""
    found = estimate(work, history)
    if found is None or found.move <= found.whole:
        return None
    if work.changed < SMALL and not (
        _measured(work, history, found) or _reads_more(work, history, found)
    ):
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


def _reads_more(work: Work, history: Sequence[RefreshRecord], found: Estimate) -> bool:
    """Whether moving has to read so much that it is no gain, and was not tried yet."""
    tried = any(r.action is RefreshAction.INCREMENTAL and _is_alike(work, r) for r in history)
    return not tried and found.whole >= _NOTABLE_MS and SCANNED * (work.reads or 0) > _DEARER


def _is_alike(work: Work, record: RefreshRecord) -> bool:
    """Whether a refresh was of about this size."""
    return work.changed / 3 <= record.statistics.changed_rows <= work.changed * 3


def reads(stages: Iterable[Stage], changed: frozenset[str], sizes: Sizes) -> float | None:
    """The rows of tables that moving the stages reads, for each that computing them anew does."""
    moved = whole = 0
    for stage in stages:
        anew = _read(stage.input, sizes)
        whole += anew
        if not changed.intersection(stage.sources):
            continue
        delta = differentiate(arranged(stage.input, sizes), changed)
        if delta is not None:
            moved += _read(delta, sizes) + sum(_read(k, sizes) for k in key_relations(delta))
            moved += anew if isinstance(stage.top, Group) and stage.top.recomputes else 0
            changed |= {stage.id}
    return moved / whole if whole else None


def _read(rel: Rel, sizes: Sizes) -> int:
    return sum(sizes.rows(s.source) for s in scans(rel) if s.end is not End.DELTA)
