"""Whether recomputing a table is cheaper than moving it: a pure function with its reason.

A table is moved in this process, or by Spark where some step does not fit into it, or all its rows
are computed. Each way has a separate cost, and what one has cost is not evidence for another.

Moving is the rule; recomputing needs evidence. A change of many rows is judged by a line through
what this table's refreshes of that way have cost, in units of what a source row costs when
everything is computed; once a few of about its size were measured, by the cheapest of those.
Milliseconds of a cold process say what moving costs at most, and no more, unless all were measured
in such a one; tables that are small are not evidence, and what was chosen is kept until the other
way is clearly cheaper.
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
    RefreshStatistics,
    RefreshWay,
    Tuning,
    count_of,
)

FACTOR = 12.0
"""What a changed row costs before any was measured: the work of this number of source rows."""

APPEND_FACTOR = 1.0
"""The same where rows are only added and pass through without state."""

EVIDENCE = {RefreshWay.PROCESS: 3, RefreshWay.SPARK: 1}
"""This number of refreshes of about one size, the newest, shows what one of that size costs."""

NOTABLE = {RefreshWay.PROCESS: 3, RefreshWay.SPARK: 2}
"""This number is measured before a small change is weighed."""

FIXED = {RefreshWay.PROCESS: 0.5, RefreshWay.SPARK: 0.9}
"""The share of the cheapest refresh that is taken to be for no row."""

FIXED_ROWS = 300_000
"""What computing everything costs for no row is taken to be the cost of this many rows."""

DEARER = {RefreshWay.PROCESS: 1.5, RefreshWay.SPARK: 1.1}
"""Moving has to cost this many times as much before everything is computed; after that, more than
computing all of it, as long as it is done so. Seconds of Spark's differ less than milliseconds."""

SPARK_SHARE, SPARK_LEAST = 0.5, 2_000.0
"""Before any was measured, a refresh by Spark is taken to cost this share of computing everything,
and this number of milliseconds at least, besides what its changed rows cost."""

PROBE = 24
"""After this number of computations in a row the table is moved once, to see what that costs
now."""

_COLD_PROCESS, _COLD_TABLE = 12, 3
_NEWEST, _RECENT = 8, 3
_CODE = "CHEAPER_FULL"
STATE_REBUILT = "STATE_REBUILT"
"""The code of a computation after one that left its state out."""
_WHOLE = (RefreshAction.FULL, RefreshAction.REINITIALIZE)


@dataclass(frozen=True)
class Work:
    """A change of `changed` rows in sources of `rows` rows in all; `append`: nothing but rows
    added, and no state to merge them into. To find the change `searched` rows are searched.
    `large`: more rows of a source changed than are read in the process."""

    changed: int
    rows: int
    append: bool
    searched: int = 0
    large: bool = False


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a way; `measured` where it was, and is not a guess."""

    ms: float
    measured: bool = False


@dataclass(frozen=True)
class Estimate:
    """What each way costs; `way` is the one of the two that a move is expected to take."""

    process: Cost
    spark: Cost
    whole: float
    way: RefreshWay

    @property
    def move(self) -> Cost:
        return self.spark if self.way is RefreshWay.SPARK else self.process

    @property
    def sentence(self) -> str:
        """The seconds of the three ways."""
        seconds = [f"{ms / 1000:.1f} s" for ms in (self.process.ms, self.spark.ms, self.whole)]
        return "about {} in the process, {} in Spark, {} for a full refresh".format(*seconds)


def is_cold(in_process: int, of_table: int) -> bool:
    """Whether a refresh pays for code that is compiled first: after a number of refreshes in its
    process, and of its table there."""
    return in_process < _COLD_PROCESS or of_table < _COLD_TABLE


def estimate(work: Work, history: Sequence[RefreshRecord]) -> Estimate | None:
    """What a refresh would cost by the table's own history (newest first); None without one."""
    done = [r for r in history if r.state is RefreshState.SUCCEEDED]
    full = _whole(work, done)
    if full is None:
        return None
    process, spark = (_cost(work, done, full, way) for way in RefreshWay)
    return Estimate(process, spark, full, expected_way(work, done))


def expected_way(work: Work, done: Sequence[RefreshRecord]) -> RefreshWay:
    """By which way a refresh would move the table: by Spark where the change is too large for the
    process, or the newest of about its size, or any of fewer rows, went that way."""
    if work.large:
        return RefreshWay.SPARK
    moves = [r.statistics for r in done if r.action is RefreshAction.INCREMENTAL]
    alike = [s.way for s in moves if _is_alike(work, s) and s.way is not None]
    if alike:
        return alike[0]
    newest = moves[:_NEWEST]
    smaller = any(s.way is RefreshWay.SPARK and s.changed_rows < work.changed for s in newest)
    return RefreshWay.SPARK if smaller else RefreshWay.PROCESS


def _cost(work: Work, done: Sequence[RefreshRecord], full: float, way: RefreshWay) -> Cost:
    moves = _moves(done, way) or _cold_evidence(done, way)
    alike = [float(s.execution_ms) for s in moves if _is_alike(work, s)]
    if len(alike) >= EVIDENCE[way]:
        return Cost(min(alike[:_RECENT]), measured=True)
    return _by_line(work, done, full, way)


def _cold_evidence(done: Sequence[RefreshRecord], way: RefreshWay) -> list[RefreshStatistics]:
    """Of Spark, whose refreshes take seconds, cold ones are evidence against computations that
    were no less cold."""
    if way is RefreshWay.PROCESS or any(r.action in _WHOLE and not r.statistics.cold for r in done):
        return []
    return _moves(done, way, cold=True)


def _whole(work: Work, done: Sequence[RefreshRecord]) -> float | None:
    """Of computing everything: the middle of the newest; without its state if it ever was so, and
    cold ones where there are no others, which makes it dearer."""
    found = [r for r in done if r.action in _WHOLE]
    warm = [r for r in found if not r.statistics.cold]
    chosen = [r for r in warm if _code(r) == _CODE] or warm or found
    if not chosen or not work.rows:
        return None
    return float(median([_grown(r, work.rows) for r in chosen[:_RECENT]]))


def _grown(record: RefreshRecord, rows: int) -> float:
    """What a computation took, for the rows that the sources have now."""
    then = record.statistics.source_rows
    growth = (rows + FIXED_ROWS) / (then + FIXED_ROWS) if then else 1.0
    return record.statistics.execution_ms * max(1.0, growth)


def _moves(
    done: Sequence[RefreshRecord], way: RefreshWay, *, cold: bool = False
) -> list[RefreshStatistics]:
    """The incremental refreshes of a way that are evidence, and those with an unknown
    way; the `cold` ones are of the most it can be."""
    return [
        r.statistics
        for r in done
        if r.action is RefreshAction.INCREMENTAL
        and r.statistics.changed_rows
        and r.statistics.cold is cold
        and r.statistics.way in (way, None)
    ]


def _by_line(work: Work, done: Sequence[RefreshRecord], full: float, way: RefreshWay) -> Cost:
    a_row = full / work.rows
    moves = _moves(done, way)[:_NEWEST]
    moved = [(s.changed_rows, float(s.execution_ms)) for s in moves]
    fixed = min((ms for _, ms in moved), default=_least(full, way))
    measured = [
        (ms - fixed * FIXED[way]) / (n * a_row)
        for n, ms in moved
        if n * 5 >= work.changed and a_row
    ]
    if measured:
        return Cost(fixed + mean(measured) * work.changed * a_row, measured=True)
    guess = fixed + (APPEND_FACTOR if work.append else FACTOR) * work.changed * a_row
    guess += work.searched * a_row
    return Cost(min([guess, *_bounds(work, done, way)]))


def _least(full: float, way: RefreshWay) -> float:
    """What a refresh costs besides its rows, before any was measured."""
    return max(SPARK_LEAST, SPARK_SHARE * full) if way is RefreshWay.SPARK else 0.0


def _bounds(work: Work, done: Sequence[RefreshRecord], way: RefreshWay) -> list[float]:
    """What moving costs at most, by cold refreshes of not many fewer rows."""
    return [
        s.execution_ms * max(1.0, work.changed / s.changed_rows)
        for s in _moves(done, way, cold=True)[:_NEWEST]
        if s.changed_rows * 5 >= work.changed
    ]


def cheaper_whole(
    work: Work, history: Sequence[RefreshRecord], tuning: Tuning = DEFAULTS
) -> Reason | None:
    """Why everything is recomputed; None where moving the table is the rule."""
    found = estimate(work, history)
    if found is None or work.rows < tuning.small_table_rows:
        return None
    if work.changed < tuning.small_change_rows and not _is_notable(work, history, found, tuning):
        return None
    again = _in_a_row(history)
    if again >= PROBE or _is_probing(history):
        return None
    move, dearer = found.move, DEARER[found.way]
    if move.ms <= found.whole * (dearer if move.measured and not again else 1.0):
        return None
    sentence = f"{work.changed:,} of {count_of(work.rows, 'source row')} changed: {found.sentence}"
    return Reason(_CODE, sentence)


def with_costs(reason: Reason, work: Work | None, history: Sequence[RefreshRecord]) -> Reason:
    """The reason to move a table, with what each way costs where that is known."""
    found = estimate(work, history) if work is not None else None
    if found is None:
        return reason
    where = "by Spark" if found.way is RefreshWay.SPARK else "in the process"
    return Reason(reason.code, f"{reason.sentence}; expected {where}: {found.sentence}")


def _is_notable(
    work: Work, history: Sequence[RefreshRecord], found: Estimate, tuning: Tuning
) -> bool:
    """Whether enough like a small change was measured, and all of it is worth a thought. Of Spark
    those of more rows count too: most of what it takes is for no row."""
    done = [r for r in history if r.state is RefreshState.SUCCEEDED]
    moves = _moves(done, found.way) or _cold_evidence(done, found.way)
    spark = found.way is RefreshWay.SPARK
    alike = [s for s in moves if _is_alike(work, s) or (spark and s.changed_rows > work.changed)]
    return len(alike) >= NOTABLE[found.way] and found.whole >= tuning.notable_ms


def was_evaluated(history: Sequence[RefreshRecord]) -> bool:
    """Whether all rows, when they were last computed, were so with their state in this process:
    Spark takes longer for the rows alone."""
    whole = (r for r in history if r.state is RefreshState.SUCCEEDED and r.action in _WHOLE)
    last = next(whole, None)
    if last is None:
        return False
    did = last.statistics
    return did.writer == "engine" and did.spark_jobs == 0 and did.rows_read > 0


def keeps_state(history: Sequence[RefreshRecord]) -> bool:
    """Whether all rows are computed with their state: where that is evaluated, and where the table
    was moved of late, since the next small change needs it."""
    newest = _with_data(history)[:_RECENT]
    moved = any(r.action is RefreshAction.INCREMENTAL for r in newest)
    return moved or was_evaluated(history)


def _in_a_row(history: Sequence[RefreshRecord]) -> int:
    """How many refreshes with new data were full because of their cost, up to the last one."""
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


def _is_alike(work: Work, did: RefreshStatistics) -> bool:
    """Whether a refresh was of about this size."""
    return work.changed / 3 <= did.changed_rows <= work.changed * 3
