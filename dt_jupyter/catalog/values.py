"""Values that the catalog gives out and the model does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dt_jupyter.catalog.owner import Owner
from dt_jupyter.model import (
    Definition,
    Frontier,
    Name,
    Reason,
    RefreshRecord,
    RefreshTrigger,
    SchedulingState,
    TargetLag,
    Timestamp,
    count_of,
)

FAILURES_ALLOWED = 5
"""This number of failed scheduled refreshes in a row suspends a dynamic table (DT paper, 3.3.3)."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A refresh under a lease. `sequence` is what its lake commit must carry, `epoch` the fence,
    `abandoned` the dead attempt that it took the lease from, `ttl` the lease's length in seconds
    between heartbeats, `generation` the state of the definition it began with."""

    id: str
    dt_id: str
    name: Name
    trigger: RefreshTrigger
    data_timestamp: Timestamp
    epoch: int
    sequence: int
    started: Timestamp
    ttl: float
    generation: int
    abandoned: str | None = None


@dataclass(frozen=True, slots=True)
class UnchangedTable:
    """A refresh that finds nothing new, by the data timestamp of its record: of a dynamic table
    at `sequence`, that reads the dynamic tables `upstream` (ids)."""

    dt_id: str
    record: RefreshRecord
    sequence: int
    upstream: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease: who refreshes which dynamic table to which data timestamp, and since when."""

    dt_id: str
    owner: Owner
    epoch: int
    attempt: str
    expires: Timestamp
    trigger: RefreshTrigger
    data_timestamp: Timestamp
    started: Timestamp


@dataclass(frozen=True, slots=True)
class StageRow:
    """The version of a hidden stage of a dynamic table; `ordinal` counts from the bottom."""

    dt_id: str
    ordinal: int
    id: str
    sequence: int
    version: int | None
    frontier: Frontier | None
    path: str


@dataclass(frozen=True, slots=True)
class BaseTable:
    """A table to register again when a session starts."""

    name: Name
    table_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Pin:
    """A version of a table that a running attempt reads: no vacuum may take its files."""

    attempt: str
    table_id: str
    version: int


class HoldKind(StrEnum):
    """Why versions are held: a name that the user gave them, or a replay that reads them."""

    PIN = "PIN"
    REPLAY = "REPLAY"


@dataclass(frozen=True, slots=True)
class HeldTable:
    """The versions `first` … `last` of a table; `copy` is the folder of their hard links, None
    where there is none, so that only the engine's own vacuum spares them."""

    table_id: str
    name: str
    path: str
    first: int
    last: int
    copy: str | None = None

    def covers(self, table_id: str, version: int) -> bool:
        return self.table_id == table_id and self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class Hold:
    """Versions of tables that no vacuum may take: a pin by its name, or a running replay.

    `point` says in words what was requested; a pin is held until it is taken off or `expires`, a
    replay as long as its process lives (on another host: until `expires`).
    """

    id: str
    kind: HoldKind
    name: str | None
    subject: str
    point: str
    created: Timestamp
    expires: Timestamp | None
    tables: tuple[HeldTable, ...]
    owner: Owner

    @property
    def holder(self) -> str:
        """Who it is, in words."""
        if self.kind is HoldKind.PIN:
            return f"pin {self.name}"
        return f"replay of {self.subject} ({self.owner})"


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """A definition of a dynamic table, in force from `valid_from`; its commits name the digest."""

    dt_id: str
    valid_from: Timestamp
    digest: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class SchedulerRun:
    """A scheduler of some process ran from `began` until it was last `seen`; `ended`: it said so
    when it stopped."""

    began: Timestamp
    seen: Timestamp
    ended: bool = False


@dataclass(frozen=True, slots=True)
class GraphRow:
    """What a dynamic table was from `valid_from` until `valid_to` (None: still is): a row of
    DYNAMIC_TABLE_GRAPH_HISTORY. `inputs` are (kind, name); `trigger` is what made the row."""

    dt_id: str
    name: Name
    valid_from: Timestamp
    valid_to: Timestamp | None
    query: str
    inputs: tuple[tuple[str, Name], ...]
    target_lag: TargetLag
    warehouse: str
    scheduling: SchedulingState
    trigger: str


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What Spark's analyser answered about a dynamic table's query. `query_key` is a digest of the
    text and of the columns that it reads, `session_key` of the session that analysed it, `digest`
    that of the query's plan. `answers` are by question."""

    query_key: str
    session_key: str
    digest: str
    answers: Mapping[str, str]


TOO_MANY_FAILURES = "TOO_MANY_FAILURES"


def suspended_by_failures(count: int, last: str | None) -> Reason:
    """`last` is what the last of them failed with, which every downstream table shows too."""
    told = f"{count_of(count, 'scheduled refresh')} failed in a row"
    told = f"{told}, the last with: {last}" if last else f"{told}."
    return Reason(TOO_MANY_FAILURES, f"{told} Fix the cause, then RESUME.")


@dataclass(frozen=True, slots=True)
class SinkTaskRow:
    """A task of a sink: the hashes of keys from `begin` to `end`. `epoch` is that of the newest
    who opened it, `checkpoints` what was committed last: a JSON object, None before the first."""

    sink: str
    begin: int
    end: int
    epoch: int
    checkpoints: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StreamMove:
    """The offset of a sink's stream, by its id, after `sink` has delivered: the version of each
    base table, by its id, and the time that it represents."""

    sink: str
    stream: str
    frontier: Mapping[str, int]
    advanced: Timestamp


@dataclass(frozen=True, slots=True)
class SinkTaskPlan:
    """What opening a task writes: its own row, rows that are gone, and what is left of those."""

    own: SinkTaskRow
    rest: tuple[SinkTaskRow, ...]
    removed: tuple[SinkTaskRow, ...]
