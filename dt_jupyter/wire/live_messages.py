"""Wire messages of the live views: what a panel or a widget asks a kernel, and what it hears.

A browser sends a `Request` and gets a `Reply`; what happens in between comes as an `EventMessage`.
Values of rows are texts, as Spark writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from dt_jupyter.model import Happened, Mark, RefreshMode, TargetLag
from dt_jupyter.wire.alert_messages import AlertsMessage, LateRow
from dt_jupyter.wire.messages import (
    CardMessage,
    Column,
    ErrorMessage,
    GraphMessage,
    GraphNode,
    HistoryMessage,
    LagMessage,
    ResultMessage,
    SinkMessage,
    TaskMessage,
)
from dt_jupyter.wire.schema import check_instants, message_json, redact_fields


@dataclass(frozen=True, slots=True)
class HelloMessage:
    """What a kernel says first; its `version` must be the browser's. `lake` is None until an
    engine is open, and `starting` while one is being opened; `recent` are the lakes that the user
    opened last, where none is open."""

    package_version: str = ""
    lake: str | None = None
    scheduler: bool = False
    starting: bool = False
    recent: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return message_json("hello", self)


@dataclass(frozen=True, slots=True)
class EventMessage:
    """Something happened at `at`. `node` is the dynamic table, sink or task as it is now, with
    its progress while it runs; `seconds` is how long a refresh that ended took."""

    happened: Happened
    at: datetime
    name: str | None = None
    node: GraphNode | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_instants(self)

    def to_json(self) -> dict[str, Any]:
        return message_json("event", self)


@dataclass(frozen=True, slots=True)
class ColumnEdge:
    """`target_column` of `target` is computed from `source_column` of `source`."""

    source: str
    source_column: str
    target: str
    target_column: str


@dataclass(frozen=True, slots=True)
class LineageMessage:
    """Where the columns of `name` come from, and where they go, through all that is known."""

    name: str
    columns: tuple[Column, ...]
    edges: tuple[ColumnEdge, ...]

    def to_json(self) -> dict[str, Any]:
        return message_json("lineage", self)


@dataclass(frozen=True, slots=True)
class FrontierSource:
    """A source at the version that a dynamic table has read; `newest` is what it has now."""

    name: str
    kind: str
    version: int | None
    newest: int | None = None


@dataclass(frozen=True, slots=True)
class Frontier:
    """Of one dynamic table. `data_timestamps` are those that it can still be read at, newest
    first: the newest one that two tables share is their common time."""

    name: str
    data_timestamp: datetime | None
    version: int | None
    sources: tuple[FrontierSource, ...]
    data_timestamps: tuple[datetime, ...] = ()

    def __post_init__(self) -> None:
        check_instants(self)


@dataclass(frozen=True, slots=True)
class FrontiersMessage:
    frontiers: tuple[Frontier, ...]
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        check_instants(self)

    def to_json(self) -> dict[str, Any]:
        return message_json("frontiers", self)


@dataclass(frozen=True, slots=True)
class StreamRow:
    """A stream: `offset` is the time up to which its changes were consumed, `waiting` how many
    commits of its base tables are behind it; `consumers` are the tables it was consumed into."""

    name: str
    source: str
    source_type: str
    mode: str
    offset: datetime | None = None
    waiting: int | None = None
    has_data: bool | None = None
    stale: bool = False
    stale_after: datetime | None = None
    reason: str | None = None
    consumers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "reason")


@dataclass(frozen=True, slots=True)
class StreamsMessage:
    streams: tuple[StreamRow, ...]
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        check_instants(self)

    def to_json(self) -> dict[str, Any]:
        return message_json("streams", self)


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """A snapshot; `inserted` and `deleted` count what moved since the one before."""

    number: int
    time: datetime
    version: int | None
    operation: str
    row_count: int
    inserted: int | None = None
    deleted: int | None = None
    schema_change: str = ""
    digest: str | None = None

    def __post_init__(self) -> None:
        check_instants(self)


@dataclass(frozen=True, slots=True)
class ReplayMessage:
    """A walk over snapshots of `name`; `replay` is what requests for its rows are sent to."""

    name: str
    replay: str
    schema_mode: str
    steps: tuple[ReplayStep, ...]

    def to_json(self) -> dict[str, Any]:
        return message_json("replay", self)


@dataclass(frozen=True, slots=True)
class RowsMessage:
    """Rows of a step, or the difference of two: a mark for each row, BEFORE and AFTER are the two
    sides of an update. `truncated`: there are more than are shown."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    marks: tuple[Mark, ...]
    step: int
    since: int | None = None
    truncated: bool = False

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row has a cell for each column")
        if len(self.marks) != len(self.rows):
            raise ValueError("a row has a mark")

    def to_json(self) -> dict[str, Any]:
        return message_json("rows", self)


@dataclass(frozen=True, slots=True)
class TableRowsMessage:
    """The first rows of a table `at` a time, at most `limit`, each with its change since
    the point that was requested. `table_version` is None of a view; one
    that is not `dynamic` changes without being refreshed. `chart` are the columns
    that are drawn: across, and up."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    marks: tuple[Mark, ...]
    at: datetime
    table_version: int | None
    limit: int
    dynamic: bool = True
    truncated: bool = False
    chart: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_instants(self)
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row has a cell for each column")
        if len(self.marks) != len(self.rows):
            raise ValueError("a row has a mark")

    def to_json(self) -> dict[str, Any]:
        return message_json("tablerows", self)


@dataclass(frozen=True, slots=True)
class CompareMessage:
    """The difference between two versions, definitions or tables: in lines the definition, the
    schema and the counts, and the first rows that were inserted and deleted."""

    title: str
    lines: tuple[str, ...]
    rows: ResultMessage

    def to_json(self) -> dict[str, Any]:
        return message_json("compare", self)


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node of a definition: what it does, by which rule it is kept, with which state; estimated
    rows of it and of its change. `depth` counts from 0, nodes come in the order of reading."""

    depth: int
    operator: str
    rule: str = ""
    state: str = ""
    rows: float | None = None
    changed: float | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement of a refresh, and what it is for."""

    title: str
    sql: str


@dataclass(frozen=True, slots=True)
class HealthRow:
    """A dynamic table over some days: `within` is the share of the time in which its lag was within
    the target, `lag` its lag now and `p95` the 95th percentile, in seconds (None: unknown).
    `refreshes` are those that changed rows, of which `recomputed` computed all of them;
    `seconds` and `bytes` are what they took and wrote."""

    name: str
    schema: str
    target: TargetLag
    within: float | None
    lag: float | None
    p95: float | None
    refreshes: int
    recomputed: int
    failed: int
    seconds: float
    rows: int
    bytes: int
    days: float
    cause: str | None = None

    def __post_init__(self) -> None:
        redact_fields(self, "cause")


@dataclass(frozen=True, slots=True)
class HealthMessage:
    """The dynamic tables of a lake over the last `days`, those least within their target first."""

    days: float
    tables: tuple[HealthRow, ...]

    def to_json(self) -> dict[str, Any]:
        return message_json("health", self)


@dataclass(frozen=True, slots=True)
class DetailMessage:
    """All about one dynamic table: its card, its tree, the statements of its next refresh, what
    was decided and why, the figures of its last refresh, and its newest refreshes; why it is late,
    and what it costs."""

    name: str
    refresh_mode: RefreshMode
    mode_reason: str
    hint: str
    query: str
    card: CardMessage
    tree: tuple[TreeNode, ...]
    statements: tuple[Statement, ...]
    decision: str
    statistics: tuple[Fact, ...]
    history: HistoryMessage
    error: ErrorMessage | None = None
    late: LateRow | None = None
    cost: HealthRow | None = None

    def __post_init__(self) -> None:
        redact_fields(self, "mode_reason", "decision")

    def to_json(self) -> dict[str, Any]:
        return message_json("detail", self)


@dataclass(frozen=True, slots=True)
class ProfileMessage:
    """What a table holds at one `snapshot`, which is said in words: a row for each column of
    `columns`, and the first rows."""

    name: str
    snapshot: str
    row_count: int
    columns: ResultMessage
    sample: ResultMessage

    def to_json(self) -> dict[str, Any]:
        return message_json("profile", self)


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A commit of a table; `operation` is what its writer calls it."""

    version: int
    time: datetime
    operation: str

    def __post_init__(self) -> None:
        check_instants(self)


@dataclass(frozen=True, slots=True)
class SourceMessage:
    """The state of a table, view or stream: `rows`, `versions` (newest first) and `columns` as far
    as a log has them, `files` where it is files, `readers` are nodes that read it. `definition` is
    the text of a view, `stream` the offset of a stream."""

    name: str
    kind: str
    columns: tuple[Column, ...] = ()
    rows: int | None = None
    files: str | None = None
    place: str | None = None
    versions: tuple[TableVersion, ...] = ()
    readers: tuple[str, ...] = ()
    definition: str = ""
    stream: StreamRow | None = None
    as_of: datetime | None = None

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "definition", "place")

    def to_json(self) -> dict[str, Any]:
        return message_json("source", self)


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """`state` is one word for its mark; `about` a line for people; `columns` are those of a table,
    as far as they are known without Spark."""

    name: str
    kind: str
    state: str = ""
    about: str = ""
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class CatalogueMessage:
    """What a lake holds: dynamic tables, streams, sinks, tasks, tables, warehouses, pins."""

    items: tuple[CatalogueItem, ...]
    lake: str = ""

    def to_json(self) -> dict[str, Any]:
        return message_json("catalogue", self)


@dataclass(frozen=True, slots=True)
class SimulationMessage:
    """What the scheduler would do: a simulated sawtooth, its figures, and how many seconds
    of the warehouse's slots it takes per second."""

    lag: LagMessage
    period: float
    refresh_seconds: float
    mean_lag: float
    maximum_lag: float
    within_target: float | None
    load: float

    def to_json(self) -> dict[str, Any]:
        return message_json("simulation", self)


@dataclass(frozen=True, slots=True)
class DoneMessage:
    """An action was done, in a sentence."""

    sentence: str

    def to_json(self) -> dict[str, Any]:
        return message_json("done", self)


@dataclass(frozen=True, slots=True)
class ScriptMessage:
    """The definitions of the lake as an SQL script."""

    sql: str

    def to_json(self) -> dict[str, Any]:
        return message_json("script", self)


@dataclass(frozen=True, slots=True)
class FailureMessage:
    """The last failure of `name`, `at` when it was: the error with the place in the query, the
    `expression` and the first `row` that failed, where they are known, and what to do."""

    name: str
    at: datetime
    error: ErrorMessage
    expression: str | None = None
    row: str | None = None
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "row")

    def to_json(self) -> dict[str, Any]:
        return message_json("failure", self)


@dataclass(frozen=True, slots=True)
class Problem:
    """Of a text at [start, end), in characters; `severity` is error or warning."""

    severity: str
    code: str
    sentence: str
    hint: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LintMessage:
    """The problems of a text, in the order of their places."""

    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        return message_json("lint", self)


@dataclass(frozen=True, slots=True)
class PageMessage:
    """A whole HTML document, to be saved under `file`."""

    file: str
    html: str

    def to_json(self) -> dict[str, Any]:
        return message_json("page", self)


class Ask(StrEnum):
    """What can be asked. The lower ones act."""

    HELLO = "hello"
    GRAPH = "graph"
    CATALOGUE = "catalogue"
    FRONTIERS = "frontiers"
    STREAMS = "streams"
    LAG = "lag"
    DETAIL = "detail"
    SINK = "sink"
    TASK = "task"
    SOURCE = "source"
    LINEAGE = "lineage"
    EXPORT = "export"
    HEALTH = "health"
    DEFINITION = "definition"
    FAILURE = "failure"
    LINT = "lint"
    PAGE = "page"
    VERIFY = "verify"
    PROFILE = "profile"
    REPLAY = "replay"
    ROWS = "rows"
    TABLE_ROWS = "table_rows"
    COMPARE = "compare"
    COMPARE_DEFINITION = "compare_definition"
    SIMULATE = "simulate"
    REFRESH = "refresh"
    REFRESH_FULL = "refresh_full"
    CANCEL = "cancel"
    STOP = "stop"
    SUSPEND = "suspend"
    RESUME = "resume"
    PIN = "pin"
    ALTER = "alter"
    DROP = "drop"
    RESET = "reset"
    RETRY_DEAD_LETTERS = "retry_dead_letters"
    RESUME_WAREHOUSE = "resume_warehouse"
    START_SCHEDULER = "start_scheduler"


@dataclass(frozen=True, slots=True)
class Request:
    """`id` comes back in the reply. `name` is a table's, a sink's
    or a task's node's, of STOP the id of an activity; the other fields belong to
    the one kind that reads them: `since`, `until` and `schema_mode` to REPLAY (points as text or
    version), `since` and `limit` to TABLE_ROWS, `since` and `until` to COMPARE, `replay`, `step`
    and `against` to ROWS, `pin` and `version` to PIN, `target_lag` in
    seconds to ALTER (None: DOWNSTREAM), and to SIMULATE `target_lag`, `refresh_seconds` and
    `interval` (between arrivals) in seconds and `concurrency`; `text` is the cell of a LINT.
    """

    id: int
    ask: Ask
    name: str | None = None
    since: str | None = None
    until: str | None = None
    schema_mode: str | None = None
    replay: str | None = None
    step: int | None = None
    against: int | None = None
    pin: str | None = None
    version: int | None = None
    target_lag: float | None = None
    refresh_seconds: float | None = None
    interval: float | None = None
    concurrency: int | None = None
    text: str | None = None
    limit: int | None = None


LiveMessage = (
    HelloMessage | EventMessage | AlertsMessage | GraphMessage | CatalogueMessage | FrontiersMessage
    | StreamsMessage | LagMessage | DetailMessage | SinkMessage | TaskMessage | SourceMessage
    | LineageMessage
    | ReplayMessage | RowsMessage | TableRowsMessage | CompareMessage | ProfileMessage
    | SimulationMessage | HistoryMessage | HealthMessage | FailureMessage | LintMessage
    | PageMessage | ResultMessage | CardMessage | ScriptMessage | DoneMessage | ErrorMessage
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to the request of that `id`; an ErrorMessage where it could not be done."""

    id: int
    message: LiveMessage

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "message": self.message.to_json()}
