"""Statements as values: what a script asks for, with the places that errors can point to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dt_jupyter.model import (
    DEFAULT_WAREHOUSE,
    EXTENSION_DAYS,
    DTError,
    Initialize,
    Name,
    RefreshMode,
    Right,
    Securable,
    Span,
    TargetLag,
    TaskOptions,
    TaskSchedule,
    error,
)
from dt_jupyter.sql.grammar.functions import FunctionCall

DOWNSTREAM = TargetLag(None)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One statement of a script.

    `text` is exact, without the semicolon and the comments around it, and begins at character
    `offset` of the script; `places` are spans in the script, by what stands there ("name",
    "query", "source", "new_name", "at", "columns", "pattern", an option by its SQL name). None of
    the three takes part in comparison: a statement is what it says.
    """

    text: str = field(default="", compare=False)
    offset: int = field(default=0, compare=False)
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    def place(self, key: str) -> Span | None:
        """Where `key` stands, None when the text does not say it."""
        return self.places.get(key)


class CreateAction(StrEnum):
    """What creation does when the name is taken: fail, replace, alter, leave it alone, or fail
    unless what has the name is what is to be made."""

    CREATE = "CREATE"
    REPLACE = "REPLACE"
    ALTER = "ALTER"
    IF_NOT_EXISTS = "IF_NOT_EXISTS"
    UNCHANGED = "UNCHANGED"


@dataclass(frozen=True)
class CreateDynamicTable(Statement):
    """CREATE DYNAMIC TABLE … AS query; also what `%%dynamic_table` makes.

    `query` is the user's exact text, at character `query_offset` of the script. `columns` are
    (name, comment), or () for the query's own. `frozen` is the condition of the rows that refreshes
    leave as they are, `backfill` the table that gives the first of them. `given` are the SQL names
    of the options that the text sets; the others have their defaults. `parameters` are the
    literals of the `:names` that the query had. `partial` is one of a magic, whose options are not
    all that there are: what it has no words for stays as it is.
    """

    name: Name
    query: str
    columns: tuple[tuple[str, str | None], ...] = ()
    action: CreateAction = CreateAction.CREATE
    target_lag: TargetLag = DOWNSTREAM
    warehouse: str = DEFAULT_WAREHOUSE
    refresh_mode: RefreshMode = RefreshMode.AUTO
    initialize: Initialize = Initialize.ON_CREATE
    scheduler: bool = True
    cluster_by: tuple[str, ...] = ()
    retention_days: int | None = None
    alter_sources: bool = True
    comment: str | None = None
    frozen: str | None = None
    backfill: Name | None = None
    query_offset: int = field(default=0, compare=False)
    given: frozenset[str] = field(default=frozenset(), compare=False)
    parameters: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    partial: bool = field(default=False, compare=False)


class PointKind(StrEnum):
    TIMESTAMP = "TIMESTAMP"
    OFFSET = "OFFSET"
    VERSION = "VERSION"
    STATEMENT = "STATEMENT"
    STREAM = "STREAM"
    COMMON = "COMMON"


@dataclass(frozen=True, slots=True)
class TimePoint:
    """AT|BEFORE (kind => value [, ARCHIVE => TRUE]); `value` is the text of a SQL expression, ""
    for COMMON."""

    kind: PointKind
    value: str
    before: bool = False
    archive: bool = False


class Information(StrEnum):
    """What CHANGES gives: the minimum delta, rows as first inserted, or every change in order."""

    DEFAULT = "DEFAULT"
    APPEND_ONLY = "APPEND_ONLY"
    REDO = "REDO"


class SchemaMode(StrEnum):
    """Which schema old rows are shown in: that of their time, or today's."""

    SNAPSHOT_TIME = "snapshot_time"
    CURRENT = "current"


@dataclass(frozen=True, slots=True)
class TimedRelation:
    """A relation of a query that is read at a time, or whose changes are read.

    `parts` are the name's, unquoted; () for a subquery, whose text is at `query_span`.
    `information` is None for a snapshot, which has `at` alone; of changes, `at` None is the oldest
    version that is kept, and `end` None is now. `span` reaches from the relation's first character
    to the clause's last, `name_span` over the name, or over the subquery with its brackets; spans
    take no part in comparison.
    """

    parts: tuple[str, ...]
    information: Information | None
    at: TimePoint | None
    end: TimePoint | None = None
    span: Span = field(default=Span(0, 0), compare=False)
    name_span: Span = field(default=Span(0, 0), compare=False)
    query_span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class HasData:
    """SYSTEM$STREAM_HAS_DATA('stream'); `stream` is a name as written, `span` covers the call."""

    stream: str
    span: Span = field(default=Span(0, 0), compare=False)


@dataclass(frozen=True)
class CloneDynamicTable(Statement):
    """CREATE DYNAMIC TABLE … CLONE …; `at` None is now, options None are as the other's."""

    name: Name
    source: Name
    at: TimePoint | None = None
    action: CreateAction = CreateAction.CREATE
    target_lag: TargetLag | None = None
    warehouse: str | None = None


@dataclass(frozen=True)
class CloneSchema(Statement):
    """CREATE SCHEMA … CLONE …: all that it holds; `at` None is now."""

    name: str
    source: str
    at: TimePoint | None = None
    action: CreateAction = CreateAction.CREATE


@dataclass(frozen=True)
class RenameSchema(Statement):
    """ALTER SCHEMA … RENAME TO …: with all that it holds."""

    name: str
    new_name: str


@dataclass(frozen=True)
class SwapSchemas(Statement):
    """ALTER SCHEMA … SWAP WITH …: each takes the other's name, with all that it holds."""

    name: str
    other: str


@dataclass(frozen=True, slots=True)
class SetOptions:
    """ALTER … SET: None leaves an option as it is."""

    target_lag: TargetLag | None = None
    warehouse: str | None = None
    scheduler: bool | None = None
    cluster_by: tuple[str, ...] | None = None
    retention_days: int | None = None
    alter_sources: bool | None = None
    comment: str | None = None
    frozen: str | None = None


@dataclass(frozen=True, slots=True)
class UnsetOptions:
    """ALTER … UNSET: these options, by SQL name, go back to their defaults."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Suspend:
    """ALTER … SUSPEND."""


@dataclass(frozen=True, slots=True)
class Resume:
    """ALTER … RESUME."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """ALTER … REFRESH [FULL] [NOWAIT]: `full` recomputes all rows, whatever has changed; with
    `nowait` a refresh that runs is an error."""

    full: bool = False
    nowait: bool = False


@dataclass(frozen=True, slots=True)
class RenameTo:
    new_name: Name


@dataclass(frozen=True, slots=True)
class SwapWith:
    other: Name


TableChange = SetOptions | UnsetOptions | Suspend | Resume | Refresh | RenameTo | SwapWith


@dataclass(frozen=True)
class AlterDynamicTable(Statement):
    name: Name
    change: TableChange
    if_exists: bool = False


@dataclass(frozen=True)
class DropDynamicTable(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class UndropDynamicTable(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class UndropTable(Statement):
    name: Name


@dataclass(frozen=True)
class UndropSchema(Statement):
    """Names of schemas are in lower case."""

    name: str


@dataclass(frozen=True)
class DescribeDynamicTable(Statement):
    name: Name


@dataclass(frozen=True)
class ShowDynamicTables(Statement):
    """`like` is a LIKE pattern, None for all."""

    like: str | None = None


@dataclass(frozen=True)
class ExplainDynamicTable(Statement):
    """Of a dynamic table that is there, or of one that a statement would create."""

    subject: Name | CreateDynamicTable


@dataclass(frozen=True)
class CreateWarehouse(Statement):
    """Names of warehouses are in lower case."""

    name: str
    max_concurrency: int = 2
    weight: int = 1
    action: CreateAction = CreateAction.CREATE
    auto_suspend: int = 0
    auto_resume: bool = False


@dataclass(frozen=True, slots=True)
class SetWarehouse:
    """ALTER WAREHOUSE … SET: None leaves an option as it is."""

    max_concurrency: int | None = None
    weight: int | None = None
    auto_suspend: int | None = None
    auto_resume: bool | None = None


@dataclass(frozen=True)
class AlterWarehouse(Statement):
    name: str
    change: Suspend | Resume | SetWarehouse
    if_exists: bool = False


@dataclass(frozen=True)
class DropWarehouse(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class ShowWarehouses(Statement):
    like: str | None = None


class StreamSource(StrEnum):
    """What a stream watches."""

    TABLE = "TABLE"
    VIEW = "VIEW"
    DYNAMIC_TABLE = "DYNAMIC TABLE"


class SinkSource(StrEnum):
    """What a sink delivers the changes of."""

    TABLE = "TABLE"
    DYNAMIC_TABLE = "DYNAMIC TABLE"
    STREAM = "STREAM"


@dataclass(frozen=True)
class CreateStream(Statement):
    """CREATE STREAM … ON …; `at` is where the stream starts, None for now."""

    name: Name
    source_kind: StreamSource
    source: Name
    at: TimePoint | None = None
    append_only: bool = False
    show_initial_rows: bool = False
    comment: str | None = None
    extension_days: int = EXTENSION_DAYS
    action: CreateAction = CreateAction.CREATE


@dataclass(frozen=True)
class CloneStream(Statement):
    """CREATE STREAM … CLONE …: where the other one stands, or from `at` on."""

    name: Name
    source: Name
    at: TimePoint | None = None
    action: CreateAction = CreateAction.CREATE


@dataclass(frozen=True, slots=True)
class SetStream:
    """ALTER STREAM … SET: None leaves an option as it is."""

    comment: str | None = None
    extension_days: int | None = None


@dataclass(frozen=True)
class AlterStream(Statement):
    name: Name
    change: SetStream | UnsetOptions
    if_exists: bool = False


@dataclass(frozen=True)
class UndropStream(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DropStream(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DescribeStream(Statement):
    name: Name


@dataclass(frozen=True)
class ShowStreams(Statement):
    like: str | None = None


@dataclass(frozen=True)
class CreateSink(Statement):
    """CREATE SINK … FROM … INTO; `reductions` are strategies by column, `options` the store's."""

    name: Name
    source_kind: SinkSource
    source: Name
    url: str
    key: tuple[str, ...] = ()
    delta_updates: bool = False
    target_lag: TargetLag = DOWNSTREAM
    warehouse: str = DEFAULT_WAREHOUSE
    reductions: tuple[tuple[str, str], ...] = ()
    partitions: int = 1
    options: tuple[tuple[str, str], ...] = ()
    comment: str | None = None
    action: CreateAction = CreateAction.CREATE


@dataclass(frozen=True, slots=True)
class SetSink:
    """ALTER SINK … SET: None leaves an option as it is."""

    target_lag: TargetLag | None = None
    warehouse: str | None = None
    partitions: int | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ResetSink:
    """ALTER SINK … RESET: everything again, into an emptied target."""


@dataclass(frozen=True, slots=True)
class RetryDeadLetters:
    """ALTER SINK … RETRY DEAD LETTERS: what the store refused is sent again."""


@dataclass(frozen=True)
class AlterSink(Statement):
    name: Name
    change: Suspend | Resume | Refresh | ResetSink | RetryDeadLetters | SetSink
    if_exists: bool = False


@dataclass(frozen=True)
class DropSink(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DescribeSink(Statement):
    name: Name


@dataclass(frozen=True)
class ShowSinks(Statement):
    like: str | None = None


@dataclass(frozen=True)
class CreateTask(TaskOptions, Statement):
    """CREATE TASK … AS body; `body` is the user's exact text, at character `body_offset`."""

    name: Name
    body: str
    action: CreateAction = CreateAction.CREATE
    body_offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SetTask:
    """ALTER TASK … SET: None leaves an option as it is."""

    schedule: TaskSchedule | None = None
    warehouse: str | None = None
    overlaps: bool | None = None
    suspend_after: int | None = None
    retries: int | None = None
    timeout_ms: int | None = None
    comment: str | None = None
    trigger_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class ModifyBody:
    """ALTER TASK … MODIFY AS …"""

    body: str
    body_offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class ModifyCondition:
    """ALTER TASK … MODIFY WHEN …; None: REMOVE WHEN."""

    condition: str | None


@dataclass(frozen=True, slots=True)
class AfterTasks:
    """ALTER TASK … ADD AFTER or REMOVE AFTER."""

    names: tuple[Name, ...]
    remove: bool = False


TaskChange = Suspend | Resume | SetTask | UnsetOptions | ModifyBody | ModifyCondition | AfterTasks


@dataclass(frozen=True)
class AlterTask(Statement):
    name: Name
    change: TaskChange
    if_exists: bool = False


@dataclass(frozen=True)
class ExecuteTask(Statement):
    """EXECUTE TASK t, or ALTER TASK t EXECUTE."""

    name: Name


@dataclass(frozen=True)
class DropTask(Statement):
    name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class DescribeTask(Statement):
    name: Name


@dataclass(frozen=True)
class ShowTasks(Statement):
    like: str | None = None


@dataclass(frozen=True)
class CreateRole(Statement):
    """Names of roles are in lower case."""

    name: str
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropRole(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class ShowRoles(Statement):
    like: str | None = None


@dataclass(frozen=True)
class UseRole(Statement):
    name: str


@dataclass(frozen=True)
class GrantRights(Statement):
    """GRANT right, … ON kind name TO ROLE role; of a role, USAGE on it."""

    rights: tuple[Right, ...]
    on: Securable
    role: str


@dataclass(frozen=True)
class RevokeRights(Statement):
    """REVOKE right, … ON kind name FROM ROLE role."""

    rights: tuple[Right, ...]
    on: Securable
    role: str


@dataclass(frozen=True)
class ShowGrants(Statement):
    """All; those on an object, or those of a role."""

    on: Securable | None = None
    role: str | None = None


@dataclass(frozen=True)
class Begin(Statement):
    """BEGIN or START TRANSACTION; `name` is that of NAME."""

    name: str | None = None


@dataclass(frozen=True)
class Commit(Statement):
    """COMMIT."""


@dataclass(frozen=True)
class Rollback(Statement):
    """ROLLBACK."""


@dataclass(frozen=True)
class Unsupported(Statement):
    """A statement of the surface that a later release brings; `span` is what gives it away."""

    statement: str
    hint: str
    span: Span

    def error(self, script: str) -> DTError:
        """DT-1005, placed in the script; the engine raises it."""
        return error("DT-1005", statement=self.statement, hint=self.hint).at(script, self.span)


class SparkKind(StrEnum):
    """What a statement of Spark's own does to the lake; SCRIPT may do anything."""

    QUERY = "QUERY"
    CREATE_TABLE = "CREATE_TABLE"
    CREATE_VIEW = "CREATE_VIEW"
    ALTER_TABLE = "ALTER_TABLE"
    ALTER_VIEW = "ALTER_VIEW"
    DROP_TABLE = "DROP_TABLE"
    DROP_VIEW = "DROP_VIEW"
    CREATE_SCHEMA = "CREATE_SCHEMA"
    DROP_SCHEMA = "DROP_SCHEMA"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    MERGE = "MERGE"
    TRUNCATE = "TRUNCATE"
    RESTORE = "RESTORE"
    OPTIMIZE = "OPTIMIZE"
    VACUUM = "VACUUM"
    USE = "USE"
    SET = "SET"
    SCRIPT = "SCRIPT"
    OTHER = "OTHER"


@dataclass(frozen=True)
class SparkStatement(Statement):
    """Everything that is not ours: Spark runs `text` as it is.

    `targets` are the tables or views that it makes, changes or drops, where they can be told: one,
    or several for FROM … INSERT … INSERT. None for a path (delta.`/x`), another catalog,
    IDENTIFIER(…). `target_parts` are the first target's parts as they stand there; for USE, the
    schema's; for CREATE_SCHEMA and DROP_SCHEMA too. `new_name` is that of RENAME TO. `functions`
    are our table functions in it, `timed` the relations with CHANGES or AT, `has_data` the calls of
    SYSTEM$STREAM_HAS_DATA, with spans in the script that do not overlap: what stands within a
    timed relation is not among the others.
    """

    kind: SparkKind
    targets: tuple[Name, ...] = ()
    target_parts: tuple[str, ...] = ()
    new_name: Name | None = None
    or_replace: bool = False
    if_not_exists: bool = False
    if_exists: bool = False
    temporary: bool = False
    functions: tuple[FunctionCall, ...] = ()
    timed: tuple[TimedRelation, ...] = ()
    has_data: tuple[HasData, ...] = ()

    @property
    def target(self) -> Name | None:
        return self.targets[0] if self.targets else None
