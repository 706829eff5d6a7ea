"""Where a stage's rows are computed, by the sizes that logs tell: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dt_jupyter.evaluation import WayDecision
from dt_jupyter.ivm import LARGE
from dt_jupyter.model import RefreshWay, Tuning

_SELECTED_FROM = 10_000
"""Of a table with more rows those are selected that a change needs."""


def has_many_rows(rows: int | None) -> bool:
    """Whether some rows of a table (None: of unknown size) are better selected than all taken."""
    return rows is None or rows > _SELECTED_FROM


@dataclass(frozen=True, slots=True)
class ChangeSize:
    """The rows of the change of each source; None: its log does not tell."""

    rows: tuple[int | None, ...]

    @property
    def is_small(self) -> bool:
        """Small enough to be sent to every task; what fits the driver is smaller still."""
        return all(n is not None and n <= LARGE for n in self.rows)

    def fits_driver(self, tuning: Tuning) -> bool:
        return self.is_small and sum(n or 0 for n in self.rows) <= tuning.driver_rows

    def may_fit(self, tuning: Tuning, *, grouped: bool) -> bool:
        """Whether what comes out is worth a try: a group's rows are one, however many changed."""
        return self.fits_driver(tuning) or (self.is_small and grouped)


@dataclass(frozen=True, slots=True)
class WholeFacts:
    """What decides where all rows of a stage are computed: `sizes` are the bytes in memory of what
    it reads (None: unknown), `refusal` is why its table is not written without Spark, `left_out`
    as in StatementFacts."""

    sizes: Sequence[int | None]
    refusal: str = ""
    left_out: str = ""


def decide_whole(facts: WholeFacts, tuning: Tuning) -> WayDecision:
    """The way of the first rows of a stage, which may be many."""
    if facts.left_out:
        return WayDecision(RefreshWay.SPARK, facts.left_out, for_any_rows=True)
    if facts.refusal:
        return WayDecision(RefreshWay.SPARK, facts.refusal, for_any_rows=True)
    if tuning.evaluated_rows == 1:
        return WayDecision(
            RefreshWay.SPARK, "no statement is evaluated without it", for_any_rows=True
        )
    sizes = [n for n in facts.sizes if n is not None]
    if len(sizes) < len(facts.sizes):
        return WayDecision(RefreshWay.SPARK, "a table of unknown size")
    if sum(sizes) >= tuning.evaluated_bytes:
        what = f"{sum(sizes)} bytes of columns, and fewer than {tuning.evaluated_bytes}"
        return WayDecision(RefreshWay.SPARK, f"{what} are evaluated without it")
    return WayDecision(RefreshWay.PROCESS)


def are_few_rows(counts: Sequence[int | None], tuning: Tuning) -> bool:
    """Whether tables of so many rows (None: unknown) are few enough to be in memory."""
    known = [n for n in counts if n is not None]
    most = max(tuning.evaluated_rows, tuning.interpreted_rows)
    return len(known) == len(counts) and sum(known) < most
