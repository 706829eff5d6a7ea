"""Why a dynamic table is late, and what helps: what alerts, Details and `dt.why_late` share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.model.lag import TargetLag
from dt_jupyter.model.names import Name


class RemedyKind(StrEnum):
    """RESUME, REFRESH, RAISE_LAG, RESUME_WAREHOUSE and START_SCHEDULER act; SHOW opens a table,
    EXPLAIN says what its last failure was."""

    RESUME = "resume"
    REFRESH = "refresh"
    RAISE_LAG = "raise_lag"
    RESUME_WAREHOUSE = "resume_warehouse"
    START_SCHEDULER = "start_scheduler"
    SHOW = "show"
    EXPLAIN = "explain"


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something to do with the table (or warehouse) `name`; `target_lag` in seconds, of RAISE_LAG.
    `foreign`: the table is not the one that is late."""

    kind: RemedyKind
    name: str = ""
    target_lag: float | None = None
    foreign: bool = False

    @property
    def label(self) -> str:
        """What a button says."""
        of = f" {self.name}" if self.foreign else ""
        match self.kind:
            case RemedyKind.RESUME:
                return f"Resume{of}"
            case RemedyKind.REFRESH:
                return "Refresh now"
            case RemedyKind.RAISE_LAG:
                return f"Raise the lag to {TargetLag(self.target_lag)}"
            case RemedyKind.RESUME_WAREHOUSE:
                return f"Resume warehouse {self.name}"
            case RemedyKind.START_SCHEDULER:
                return "Start scheduler"
            case RemedyKind.SHOW:
                return f"Show {self.name}, upstream of it"
            case RemedyKind.EXPLAIN:
                return f"Explain failure{' of' if of else ''}{of}"


@dataclass(frozen=True, slots=True)
class LateCause:
    """`code` in upper snake case, a sentence, and the table with the cause, if that is a different
    one; `remedies` are what helps, the best one first."""

    code: str
    sentence: str
    root: Name | None = None
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class Lateness:
    """The lag of a dynamic table and the lag that is required of it, in seconds: its own target,
    or what its readers ask for (None: nothing). `cause` is None for a table that is on time."""

    name: Name
    lag: float | None
    target: float | None
    cause: LateCause | None = None

    @property
    def late(self) -> bool:
        """Whether its lag is over the target."""
        return self.target is not None and (self.lag is None or self.lag > self.target)

    def __str__(self) -> str:
        lag = "not initialised" if self.lag is None else f"lag {self.lag:,.1f} s"
        asked = f", target {self.target:,.0f} s" if self.target is not None else ", no target lag"
        if self.cause is None:
            return f"{self.name}: on time ({lag}{asked})"
        word = "late" if self.late else "held back"
        helps = "; ".join(remedy.label for remedy in self.cause.remedies)
        told = f"{self.name}: {word} ({lag}{asked})\n  {self.cause.code}: {self.cause.sentence}"
        return f"{told}\n  What helps: {helps}" if helps else told


__all__ = ["LateCause", "Lateness", "Remedy", "RemedyKind"]
