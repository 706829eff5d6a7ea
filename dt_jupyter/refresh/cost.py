"""Whether computing a table anew is cheaper than moving it: a pure function with its reason.

Moving is the rule; computing anew needs evidence. A change of many rows is judged by a line through
what this table's refreshes have cost, in units of what a source row costs when everything is
computed; once a few of about its size were measured, by the cheapest of those. Milliseconds of a
cold process say what moving costs at most, and no more; tables that are small are no evidence, and
what was chosen is kept until the other way is clearly cheaper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from statistics import mean, median

from dt_jupyter.model import (
    DEFAULTS,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    Tuning,
    count_of,
)

FACTOR = 12.0
"""What a changed row costs before any was measured: the work of so many source rows."""

APPEND_FACTOR = 1.0
"""The same where rows are only added and pass through without state."""

EVIDENCE = 3
"""So many refreshes of about one size, the newest, say what one of that size costs."""

DEARER = 1.5
"""Moving has to cost so many times as much before everything is computed; after that, more than
computing all of it, as long as it is done so."""

PROBE = 24
"""After so many computations in a row the table is moved once, to see what that costs now."""

_COLD_PROCESS, _COLD_TABLE = 12, 3
_CODE = "CHEAPER_FULL"
STATE_REBUILT = "STATE_REBUILT"
"""The code of a computation after one that left its state out."""
_WHOLE = (RefreshAction.FULL, RefreshAction.REINITIALIZE)


@dataclass(frozen=True)
class Work:
    """A change of `changed` rows in sources of `rows` rows in all; `append`: nothing but rows
    added, and no state to merge them into. To find the change so many rows are `searched`."""

    changed: int
    rows: int
    append: bool
    searched: int = 0


@dataclass(frozen=True)
class Estimate:
    """Milliseconds of either way; `measured` where moving was, and is no guess."""

    move: float
    whole: float
    measured: bool = False


def is_cold(in_process: int, of_table: int) -> bool:
    """Whether a refresh pays for code that is compiled first: after so many refreshes in its
    process, and of its table there."""
    return in_process < _COLD_PROCESS or of_table < _COLD_TABLE


def estimate(work: Work, history: Sequence[RefreshRecord]) -> Estimate | None:
    """What a refresh would cost by the table's own history (newest first); None without one."""
    done = [r for r in history if r.state is RefreshState.SUCCEEDED]
    full = _whole(work, done)
    if full is None:
        return None
    alike = [float(r.statistics.execution_ms) for r in _moves(done) if _is_alike(work, r)]
    if len(alike) >= EVIDENCE:
        return Estimate(min(alike[:EVIDENCE]), full, measured=True)
    return _by_line(work, done, full)


def _whole(work: Work, done: Sequence[RefreshRecord]) -> float | None:
    """Of computing everything: the middle of the newest; without its state if it ever was so, and
    cold ones where there are no others, which makes it dearer."""
    found = [r for r in done if r.action in _WHOLE]
    warm = [r for r in found if not r.statistics.cold]
    chosen = [r for r in warm if _code(r) == _CODE] or warm or found
    if not chosen or not work.rows:
        return None
    return float(median([_grown(r, work.rows) for r in chosen[:EVIDENCE]]))


def _grown(record: RefreshRecord, rows: int) -> float:
    """What a computation took, for the rows that the sources have now."""
    then = record.statistics.source_rows
    return record.statistics.execution_ms * max(1.0, rows / then if then else 1.0)


def _moves(done: Sequence[RefreshRecord], *, cold: bool = False) -> list[RefreshRecord]:
    """The incremental refreshes that are evidence; the `cold` ones are of the most it can be."""
    return [
        r
        for r in done
        if r.action is RefreshAction.INCREMENTAL
        and r.statistics.changed_rows
        and r.statistics.cold is cold
    ]


def _by_line(work: Work, done: Sequence[RefreshRecord], full: float) -> Estimate:
    a_row = full / work.rows
    newest = _moves(done)[:8]
    moved = [(r.statistics.changed_rows, float(r.statistics.execution_ms)) for r in newest]
    fixed = min((ms for _, ms in moved), default=0.0)
    measured = [
        (ms - fixed / 2) / (n * a_row) for n, ms in moved if n * 5 >= work.changed and a_row
    ]
    if measured:
        return Estimate(fixed + mean(measured) * work.changed * a_row, full, measured=True)
    guess = fixed + (APPEND_FACTOR if work.append else FACTOR) * work.changed * a_row
    guess += work.searched * a_row
    return Estimate(min([guess, *_bounds(work, done)]), full)


def _bounds(work: Work, done: Sequence[RefreshRecord]) -> list[float]:
    """What moving costs at most, by cold refreshes of not many fewer rows."""
    cold = [r.statistics for r in _moves(done, cold=True)[:8]]
    return [
        s.execution_ms * max(1.0, work.changed / s.changed_rows)
        for s in cold
        if s.changed_rows * 5 >= work.changed
    ]


def cheaper_whole(
    work: Work, history: Sequence[RefreshRecord], tuning: Tuning = DEFAULTS
) -> Reason | None:
    """Why everything is computed anew; None where moving the table is the rule."""
    found = estimate(work, history)
    if found is None or work.rows < tuning.small_table_rows:
        return None
    if work.changed < tuning.small_change_rows and not _is_notable(work, history, found, tuning):
        return None
    again = _in_a_row(history)
    if again >= PROBE or _is_probing(history):
        return None
    if found.move <= found.whole * (DEARER if found.measured and not again else 1.0):
        return None
    sentence = (
        f"{work.changed:,} of {count_of(work.rows, 'source row')} changed: about "
        f"{found.move / 1000:.1f} s incrementally, {found.whole / 1000:.1f} s for a full refresh"
    )
    return Reason(_CODE, sentence)


def _is_notable(
    work: Work, history: Sequence[RefreshRecord], found: Estimate, tuning: Tuning
) -> bool:
    """Whether enough like a small change was measured, and all of it is worth a thought."""
    done = [r for r in history if r.state is RefreshState.SUCCEEDED]
    alike = [r for r in _moves(done) if _is_alike(work, r)]
    return len(alike) >= EVIDENCE and found.whole >= tuning.notable_ms


def was_evaluated(history: Sequence[RefreshRecord]) -> bool:
    """Whether all rows, when they were last computed, were so with their state in this process:
    Spark takes longer for the rows alone."""
    whole = (r for r in history if r.state is RefreshState.SUCCEEDED and r.action in _WHOLE)
    last = next(whole, None)
    if last is None:
        return False
    did = last.statistics
    return did.writer == "engine" and did.spark_jobs == 0 and did.rows_read > 0


def _in_a_row(history: Sequence[RefreshRecord]) -> int:
    """How many refreshes with new data were computed anew for their cost, up to the last one."""
    return sum(1 for _ in takewhile(lambda r: _code(r) == _CODE, _with_data(history)))


def _is_probing(history: Sequence[RefreshRecord]) -> bool:
    """Whether the last one computed the state again, so as to move the table from then on."""
    return _code(next(iter(_with_data(history)), None)) == STATE_REBUILT


def _with_data(history: Sequence[RefreshRecord]) -> list[RefreshRecord]:
    return [
        r
        for r in history
        if r.state is RefreshState.SUCCEEDED and r.action is not RefreshAction.NO_DATA
    ]


def _code(record: RefreshRecord | None) -> str | None:
    return record.reason.code if record is not None and record.reason is not None else None


def _is_alike(work: Work, record: RefreshRecord) -> bool:
    """Whether a refresh was of about this size."""
    return work.changed / 3 <= record.statistics.changed_rows <= work.changed * 3
