"""Which state of the lake a result shows: one moment's, or several tables' own.

Source: CQ 2.2 and the DT paper's section on isolation: reading one dynamic table is snapshot
isolation at its data timestamp; several with their own timestamps are read committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.model.definition import SourceKind
from dt_jupyter.model.time import Timestamp


class Level(StrEnum):
    SNAPSHOT = "Snapshot"
    READ_COMMITTED = "Read committed"


@dataclass(frozen=True, slots=True)
class ReadAt:
    """A table that was read: its version, current from `since` until `until` (None: still is).
    Of a dynamic table `since` is the data timestamp, which is the one time it speaks of.
    `table_id` is Delta's, or the dynamic table's own."""

    name: str
    kind: SourceKind
    version: int
    since: Timestamp
    until: Timestamp | None = None
    table_id: str = ""

    def holds_at(self, t: Timestamp) -> bool:
        """Whether its rows are those of the time `t`."""
        if self.kind is SourceKind.DYNAMIC_TABLE:
            return t == self.since
        return self.since <= t and (self.until is None or t < self.until)


@dataclass(frozen=True)
class Isolation:
    """The level of a result. `time` is the moment of a snapshot; `skew` the seconds between the
    oldest and the newest state among the tables of a result that is not a snapshot."""

    level: Level
    time: Timestamp
    skew: float
    reads: tuple[ReadAt, ...]

    def __str__(self) -> str:
        if self.level is Level.SNAPSHOT:
            return f"{self.level} (data time {self.time.words})"
        states = ", ".join(f"{r.name}@{r.since.words}" for r in self.reads)
        return f"{self.level}: {states}; skew {self.skew:.3f} s"


def isolation(reads: Sequence[ReadAt], now: Timestamp) -> Isolation:
    """The isolation of a result that read these at `now`.

    It is a snapshot if every table has a version for one time: the dynamic tables' data
    timestamp, without one the newest time that all base tables' versions share.
    """
    told = [r.since for r in reads if r.kind is SourceKind.DYNAMIC_TABLE]
    ends = [r.until for r in reads if r.until is not None]
    newest = Timestamp(min(ends).micros - 1) if ends else now
    t = max(told, default=newest)
    if all(r.holds_at(t) for r in reads):
        return Isolation(Level.SNAPSHOT, t, 0.0, tuple(reads))
    times = [_newest_of(r, now) for r in reads]
    return Isolation(Level.READ_COMMITTED, t, max(times).since(min(times)), tuple(reads))


def _newest_of(read: ReadAt, now: Timestamp) -> Timestamp:
    """The newest time that a table's rows speak of."""
    if read.kind is SourceKind.DYNAMIC_TABLE:
        return read.since
    return Timestamp(read.until.micros - 1) if read.until is not None else now
