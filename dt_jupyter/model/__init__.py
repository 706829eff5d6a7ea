"""Values that every layer speaks: names, timestamps, lags, frontiers, states, records, errors.

Nothing here touches Spark, a file or a clock that was not passed in.
"""

from dt_jupyter.model.bigint import is_bigint
from dt_jupyter.model.definition import (
    DEFAULT_WAREHOUSE,
    Definition,
    DynamicTable,
    Source,
    SourceKind,
    ViewSource,
    Warehouse,
)
from dt_jupyter.model.error_page import (
    ERRORS_PAGE,
    FAMILIES,
    error_page,
    help_command,
    page_of_code,
)
from dt_jupyter.model.errors import CATALOGUE, DTError, Span, did_you_mean, error
from dt_jupyter.model.frontier import Frontier
from dt_jupyter.model.functions import (
    Captured,
    CapturedKind,
    FunctionInfo,
    FunctionKind,
    FunctionUse,
    UserFunction,
)
from dt_jupyter.model.hidden import HIDDEN
from dt_jupyter.model.interval import parse_interval
from dt_jupyter.model.isolation import Isolation, Level, ReadAt, isolation
from dt_jupyter.model.lag import TargetLag
from dt_jupyter.model.lake_events import (
    EventKind,
    LakeEvent,
    Severity,
    delivery_event,
    refresh_event,
    standing_event,
    task_run_event,
)
from dt_jupyter.model.names import Name, plain, quote
from dt_jupyter.model.naming import Named, is_word, require_name
from dt_jupyter.model.plural import count_of, plural_of
from dt_jupyter.model.records import Progress, RefreshRecord, RefreshStatistics
from dt_jupyter.model.rights import (
    ADMIN,
    BUILT_IN,
    PUBLIC,
    RIGHTS_ON,
    Grant,
    Right,
    RightsBook,
    Role,
    Securable,
    denied,
    require,
    require_acyclic,
    require_right_on,
)
from dt_jupyter.model.sawtooth import Sawtooth, Tooth, sawtooth_of
from dt_jupyter.model.sinks import (
    FROM_STREAM,
    DeliveryAction,
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    Sink,
    SinkState,
)
from dt_jupyter.model.states import (
    Happened,
    Initialize,
    Mark,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
)
from dt_jupyter.model.streams import EXTENSION_DAYS, Intent, Stream
from dt_jupyter.model.system import system_error
from dt_jupyter.model.task_schedule import TaskSchedule
from dt_jupyter.model.tasks import (
    FAILURES_BEFORE_SUSPENSION,
    TASK_TIMEOUT_MS,
    Task,
    TaskRun,
    TaskRunState,
    TaskState,
    TaskTrigger,
)
from dt_jupyter.model.time import FIRST, Clock, Timestamp, parse_time, zone_of
from dt_jupyter.model.tuning import DEFAULTS, Tuning
from dt_jupyter.model.undo import undo

__all__ = [
    "ADMIN",
    "BUILT_IN",
    "CATALOGUE",
    "DEFAULTS",
    "DEFAULT_WAREHOUSE",
    "ERRORS_PAGE",
    "EXTENSION_DAYS",
    "FAILURES_BEFORE_SUSPENSION",
    "FAMILIES",
    "FIRST",
    "FROM_STREAM",
    "HIDDEN",
    "PUBLIC",
    "RIGHTS_ON",
    "TASK_TIMEOUT_MS",
    "Captured",
    "CapturedKind",
    "Clock",
    "DTError",
    "Definition",
    "DeliveryAction",
    "DeliveryCounts",
    "DeliveryRecord",
    "DeliveryState",
    "DeliveryTrigger",
    "DynamicTable",
    "EventKind",
    "Frontier",
    "FunctionInfo",
    "FunctionKind",
    "FunctionUse",
    "Grant",
    "Happened",
    "Initialize",
    "Intent",
    "Isolation",
    "LakeEvent",
    "Level",
    "Mark",
    "Name",
    "Named",
    "Progress",
    "ReadAt",
    "Reason",
    "RefreshAction",
    "RefreshMode",
    "RefreshRecord",
    "RefreshState",
    "RefreshStatistics",
    "RefreshTrigger",
    "Right",
    "RightsBook",
    "Role",
    "Sawtooth",
    "SchedulingState",
    "Securable",
    "Severity",
    "Sink",
    "SinkState",
    "Source",
    "SourceKind",
    "Span",
    "Stream",
    "TargetLag",
    "Task",
    "TaskRun",
    "TaskRunState",
    "TaskSchedule",
    "TaskState",
    "TaskTrigger",
    "Timestamp",
    "Tooth",
    "Tuning",
    "UserFunction",
    "ViewSource",
    "Warehouse",
    "count_of",
    "delivery_event",
    "denied",
    "did_you_mean",
    "error",
    "error_page",
    "help_command",
    "is_bigint",
    "is_word",
    "isolation",
    "page_of_code",
    "parse_interval",
    "parse_time",
    "plain",
    "plural_of",
    "quote",
    "refresh_event",
    "require",
    "require_acyclic",
    "require_name",
    "require_right_on",
    "sawtooth_of",
    "standing_event",
    "system_error",
    "task_run_event",
    "undo",
    "zone_of",
]
