from .alert_messages import AlertRow as AlertRow, AlertsMessage as AlertsMessage
from .live_messages import (
    Ask as Ask,
    CatalogueItem as CatalogueItem,
    CatalogueMessage as CatalogueMessage,
    ColumnEdge as ColumnEdge,
    DetailMessage as DetailMessage,
    DoneMessage as DoneMessage,
    EventMessage as EventMessage,
    Fact as Fact,
    Frontier as Frontier,
    FrontiersMessage as FrontiersMessage,
    FrontierSource as FrontierSource,
    HelloMessage as HelloMessage,
    LineageMessage as LineageMessage,
    LiveMessage as LiveMessage,
    ProfileMessage as ProfileMessage,
    ReplayMessage as ReplayMessage,
    ReplayStep as ReplayStep,
    Reply as Reply,
    Request as Request,
    RowsMessage as RowsMessage,
    ScriptMessage as ScriptMessage,
    SimulationMessage as SimulationMessage,
    SourceMessage as SourceMessage,
    Statement as Statement,
    StreamRow as StreamRow,
    StreamsMessage as StreamsMessage,
    TableVersion as TableVersion,
    TreeNode as TreeNode,
)
from .messages import (
    CardMessage as CardMessage,
    Column as Column,
    ErrorMessage as ErrorMessage,
    ExplanationMessage as ExplanationMessage,
    GraphEdge as GraphEdge,
    GraphMessage as GraphMessage,
    GraphNode as GraphNode,
    HistoryMessage as HistoryMessage,
    HistoryRow as HistoryRow,
    IdleTime as IdleTime,
    LagMessage as LagMessage,
    Message as Message,
    NodeKind as NodeKind,
    RefreshPoint as RefreshPoint,
    ReportMessage as ReportMessage,
    ResultMessage as ResultMessage,
    SinkMessage as SinkMessage,
    TaskMessage as TaskMessage,
    Underline as Underline,
)
from .requests import (
    parse_request as parse_request,
    request_id as request_id,
)
from .schema import (
    WIRE_VERSION as WIRE_VERSION,
    redact as redact,
)
from .sink_values import SinkDelivery as SinkDelivery, SinkStanding as SinkStanding
from .task_values import TaskRunRow as TaskRunRow, TaskStanding as TaskStanding
from .units import (
    count as count,
    duration as duration,
    duration_ticks as duration_ticks,
    instant as instant,
    instant_ticks as instant_ticks,
)
