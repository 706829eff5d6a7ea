"""States and their legal moves, modes, actions and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RefreshMode(StrEnum):
    AUTO = "AUTO"
    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"


class Initialize(StrEnum):
    ON_CREATE = "ON_CREATE"
    ON_SCHEDULE = "ON_SCHEDULE"


class RefreshAction(StrEnum):
    NO_DATA = "NO_DATA"
    INCREMENTAL = "INCREMENTAL"
    FULL = "FULL"
    REINITIALIZE = "REINITIALIZE"


class RefreshWay(StrEnum):
    """Where the rows of a refresh were computed: all in the engine's process, or some by Spark."""

    PROCESS = "process"
    SPARK = "spark"


class RefreshTrigger(StrEnum):
    SCHEDULED = "SCHEDULED"
    MANUAL = "MANUAL"
    CREATION = "CREATION"


class RefreshState(StrEnum):
    """Of one refresh, as the history shows it."""

    SCHEDULED = "SCHEDULED"
    EXECUTING = "EXECUTING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    UPSTREAM_FAILED = "UPSTREAM_FAILED"
    SKIPPED = "SKIPPED"

    @property
    def final(self) -> bool:
        return self not in (RefreshState.SCHEDULED, RefreshState.EXECUTING)

    def may_become(self, later: RefreshState) -> bool:
        """Whether a refresh of this state may be one of that state afterwards."""
        return later in _MOVES[self]


_ENDS = frozenset(s for s in RefreshState if s.final)
_MOVES = {
    RefreshState.SCHEDULED: _ENDS | {RefreshState.EXECUTING},
    RefreshState.EXECUTING: _ENDS - {RefreshState.SKIPPED, RefreshState.UPSTREAM_FAILED},
    **{end: frozenset[RefreshState]() for end in _ENDS},
    # Its process was taken for dead, or did not learn of it, but its commit was in the lake.
    RefreshState.CANCELLED: frozenset((RefreshState.SUCCEEDED,)),
    RefreshState.FAILED: frozenset((RefreshState.SUCCEEDED,)),
}


class Happened(StrEnum):
    """STARTED, PROGRESS and ENDED are a refresh's, ENDED a delivery's too; CHANGED says that the
    graph is another."""

    STARTED = "started"
    PROGRESS = "progress"
    ENDED = "ended"
    CHANGED = "changed"


class Mark(StrEnum):
    """Of a row compared with another state of its table: BEFORE and AFTER are the two sides of an
    update, found by the table's key."""

    SAME = "same"
    INSERTED = "inserted"
    DELETED = "deleted"
    BEFORE = "before"
    AFTER = "after"


class SchedulingState(StrEnum):
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was chosen: a code in upper snake case and a sentence for people."""

    code: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"
