"""Wire messages: what the engine says of its tables, and all that a picture is drawn from.

Every message is a frozen value. Instants are aware datetimes, durations are seconds, sizes are
rows; `wire` says what its JSON looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from dt_jupyter.model import (
    Mark,
    Progress,
    RefreshAction,
    RefreshMode,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    TargetLag,
    error_page,
)
from dt_jupyter.wire.schema import check_instants, message_json, redact_fields
from dt_jupyter.wire.sink_values import SinkDelivery, SinkStanding
from dt_jupyter.wire.task_values import TaskRunRow, TaskStanding


class NodeKind(StrEnum):
    TABLE = "table"
    VIEW = "view"
    DYNAMIC_TABLE = "dynamic_table"
    STREAM = "stream"
    SINK = "sink"
    TASK = "task"
    STAGE = "stage"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """What a graph shows as a box. `declared_mode` is what was requested (AUTO), `refresh_mode`
    what it came to; `rows` is the size of the table, where it is known. `held_to` is the lag in
    seconds that it must keep, DOWNSTREAM resolved. `parent` is the dynamic table that a hidden
    stage belongs to; `running` is there while a refresh runs. A scheduler that runs refreshes it
    at the multiples of `period` seconds since 1970. A sink has `sink`, and a task `task`; the
    `state` of a task is that of its last run. `files` says which files a source consists of that
    is not a Delta table. `held_back` says why nothing refreshes it though nothing has failed."""

    name: str
    kind: NodeKind
    scheduling_state: SchedulingState | None = None
    declared_mode: RefreshMode | None = None
    refresh_mode: RefreshMode | None = None
    mode_reason: str | None = None
    action: RefreshAction | None = None
    state: RefreshState | None = None
    target_lag: TargetLag | None = None
    lag_seconds: float | None = None
    data_timestamp: datetime | None = None
    rows: int | None = None
    error: str | None = None
    held_to: float | None = None
    warehouse: str | None = None
    parent: str | None = None
    running: Progress | None = None
    period: float | None = None
    sink: SinkStanding | None = None
    task: TaskStanding | None = None
    files: str | None = None
    held_back: str | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "mode_reason", "error", "held_back")

    @property
    def suspended(self) -> bool:
        return self.scheduling_state is SchedulingState.SUSPENDED


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """`target` reads `source`; both are names of nodes."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class GraphMessage:
    """The graph at `as_of`. A name twice, an edge from or to nowhere, or a cycle: ValueError."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        names = [node.name for node in self.nodes]
        if len(set(names)) < len(names):
            raise ValueError("two nodes have the same name")
        unknown = {end for e in self.edges for end in (e.source, e.target)} - set(names)
        if unknown:
            raise ValueError(f"edges name no node: {sorted(unknown)}")
        _check_acyclic(names, self.edges)

    def to_json(self) -> dict[str, Any]:
        return message_json("graph", self)


@dataclass(frozen=True, slots=True)
class RefreshPoint:
    """One refresh. A skip has neither start nor end; a success has an end and an action."""

    data_timestamp: datetime
    state: RefreshState
    start: datetime | None = None
    end: datetime | None = None
    action: RefreshAction | None = None
    detail: str | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "detail")
        if self.succeeded and (self.end is None or self.action is None):
            raise ValueError("a refresh that succeeded has an end and an action")
        if self.start and self.end and self.end < self.start:
            raise ValueError("a refresh does not end before it starts")

    @property
    def succeeded(self) -> bool:
        return self.state is RefreshState.SUCCEEDED

    @property
    def skipped(self) -> bool:
        return self.state is RefreshState.SKIPPED


@dataclass(frozen=True, slots=True)
class IdleTime:
    """No scheduler ran in it."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        check_instants(self)


@dataclass(frozen=True, slots=True)
class LagMessage:
    """The refreshes of one dynamic table. `target_lag` in seconds, None for DOWNSTREAM; the lag is
    drawn up to `as_of`, else up to the last refresh's end. `idle` times are disjoint and in
    order: the lag rises in them, and no target is missed."""

    name: str
    target_lag: float | None
    points: tuple[RefreshPoint, ...]
    as_of: datetime | None = None
    idle: tuple[IdleTime, ...] = ()

    def __post_init__(self) -> None:
        check_instants(self)
        if self.target_lag is not None and not self.target_lag > 0:
            raise ValueError("a target lag is more than zero seconds")

    def to_json(self) -> dict[str, Any]:
        return message_json("lag", self)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One refresh, as DYNAMIC_TABLE_REFRESH_HISTORY has it; `duration` in seconds."""

    name: str
    state: RefreshState
    data_timestamp: datetime
    action: RefreshAction | None = None
    trigger: RefreshTrigger | None = None
    duration: float | None = None
    rows_inserted: int | None = None
    rows_deleted: int | None = None
    rows_read: int | None = None
    reason: str | None = None
    bytes_written: int | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "reason")


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """Refreshes in the order in which they are shown; `title` is above them."""

    rows: tuple[HistoryRow, ...]
    title: str = "Refresh history"

    def to_json(self) -> dict[str, Any]:
        return message_json("history", self)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ResultMessage:
    """Rows of a result: cells are texts, None is NULL. `truncated`: there were more; `note` says
    what was read (its snapshot or skew). `marks`, of changes, say what happened to each row: BEFORE
    and AFTER, side by side, are the two sides of an update."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    truncated: bool = False
    title: str | None = None
    note: str | None = None
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row has a cell for each column")
        if self.marks and len(self.marks) != len(self.rows):
            raise ValueError("a row has a mark, or none has")

    def to_json(self) -> dict[str, Any]:
        return message_json("result", self)


@dataclass(frozen=True, slots=True)
class ReportMessage:
    """Lines of text under a title: what was found, in the words of the engine."""

    title: str
    lines: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return message_json("report", self)


@dataclass(frozen=True, slots=True)
class CardMessage:
    """A dynamic table as created or described; `sample` holds its first rows, `notes` what the
    guards of the creation checked and what was altered on the sources; `held_back` is that of its
    node."""

    name: str
    declared_mode: RefreshMode
    refresh_mode: RefreshMode
    mode_reason: str
    schema: tuple[Column, ...]
    target_lag: TargetLag
    warehouse: str
    upstream: tuple[str, ...]
    scheduling_state: SchedulingState = SchedulingState.ACTIVE
    data_timestamp: datetime | None = None
    sample: ResultMessage | None = None
    notes: tuple[str, ...] = ()
    held_back: str | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "mode_reason", "held_back")

    def to_json(self) -> dict[str, Any]:
        return message_json("card", self)


@dataclass(frozen=True, slots=True)
class SinkMessage:
    """A sink as created or described: its state, the statement that makes it, and its newest
    deliveries; `notes` say what its creation did. `error` is why it does not deliver."""

    name: str
    node: GraphNode
    created: datetime
    key: tuple[str, ...]
    reductions: tuple[str, ...]
    delta_updates: bool
    partitions: int
    definition: str
    deliveries: tuple[SinkDelivery, ...] = ()
    comment: str | None = None
    notes: tuple[str, ...] = ()
    error: ErrorMessage | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "definition")
        if self.node.sink is None:
            raise ValueError("the node of a sink has its state")

    @property
    def standing(self) -> SinkStanding:
        assert self.node.sink is not None
        return self.node.sink

    def to_json(self) -> dict[str, Any]:
        return message_json("sink", self)


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """The state of a task: the statement that makes it, what it comes after, what it reads and
    writes as far as its text shows, and its newest runs. `error` is of its last run."""

    name: str
    node: GraphNode
    created: datetime
    definition: str
    after: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    runs: tuple[TaskRunRow, ...] = ()
    comment: str | None = None
    error: ErrorMessage | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "definition")
        if self.node.task is None:
            raise ValueError("the node of a task has its state")

    def to_json(self) -> dict[str, Any]:
        return message_json("task", self)


@dataclass(frozen=True, slots=True)
class Underline:
    """A place in a query: line and column count from 1, in characters; never past the text."""

    line: int
    column: int
    length: int

    @classmethod
    def of(cls, query: str, start: int, end: int) -> Underline:
        """From offsets in the query, `start` inclusive, `end` exclusive; clamped to the text."""
        start = min(max(start, 0), len(query))
        before = query[:start]
        column = start - (before.rfind("\n") + 1) + 1
        return cls(before.count("\n") + 1, column, max(1, min(end, len(query)) - start))


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """An error of the catalogue: `code`, one `sentence`, a `hint`; the `query` with the place;
    `details` (a JVM's stack trace) are one click away, as is the `page` of a code of ours, which
    is given by it."""

    code: str
    sentence: str
    hint: str | None = None
    query: str | None = None
    underline: Underline | None = None
    details: str | None = None
    page: str | None = None

    def __post_init__(self) -> None:
        redact_fields(self, "sentence", "hint", "details")
        object.__setattr__(self, "page", error_page(self.code))

    def to_json(self) -> dict[str, Any]:
        return message_json("error", self)


@dataclass(frozen=True)
class ExplanationMessage:
    """`steps` are (what for, SQL) in the order in which they run; `note` is at the top."""

    name: str
    refresh_mode: RefreshMode
    mode_reason: str
    schema: tuple[Column, ...]
    upstream: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]
    action: str | None = None
    hint: str = ""
    checked: str = ""
    note: str = ""


Message = (
    GraphMessage
    | LagMessage
    | HistoryMessage
    | ResultMessage
    | ReportMessage
    | CardMessage
    | SinkMessage
    | ErrorMessage
)


def _check_acyclic(names: Sequence[str], edges: Sequence[GraphEdge]) -> None:
    waits = {name: {e.source for e in edges if e.target == name} for name in names}
    while ready := [name for name, sources in waits.items() if not sources]:
        for name in ready:
            del waits[name]
        for sources in waits.values():
            sources.difference_update(ready)
    if waits:
        raise ValueError(f"a cycle: {sorted(waits)}")
