"""Where a statement is computed, in this process or in Spark: a pure function of facts.

A refresh asks with the rows that it has read, EXPLAIN with what logs tell of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.model import RefreshWay, count_of


@dataclass(frozen=True, slots=True)
class StatementFacts:
    """What decides where a statement is computed: `rows` are those of all relations that it reads,
    `apart` says why some of these are not in memory, `left_out` is what of the statement the
    evaluator has no rule for; either may be empty."""

    rows: int
    apart: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class WayDecision:
    """`reason` says why it is Spark, empty for this process; `for_any_rows` that fewer rows would
    change nothing."""

    way: RefreshWay
    reason: str = ""
    for_any_rows: bool = False

    @property
    def is_here(self) -> bool:
        return self.way is RefreshWay.PROCESS


def decide_way(facts: StatementFacts, most_rows: int) -> WayDecision:
    """The way of a statement; fewer than `most_rows` rows are computed in this process."""
    if facts.left_out:
        return WayDecision(RefreshWay.SPARK, facts.left_out, for_any_rows=True)
    if facts.apart:
        return WayDecision(RefreshWay.SPARK, facts.apart)
    if facts.rows >= most_rows:
        what = f"{count_of(facts.rows, 'row')} of changes and state"
        limit = f"fewer than {most_rows} are evaluated without it"
        return WayDecision(RefreshWay.SPARK, f"{what}, and {limit}")
    return WayDecision(RefreshWay.PROCESS)
