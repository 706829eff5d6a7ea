"""Messages to draw, and a reader of what was drawn."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise

from dt_jupyter.model import (
    DeliveryAction,
    DeliveryState,
    DeliveryTrigger,
    RefreshAction,
    RefreshMode,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    SinkState,
    TargetLag,
)
from dt_jupyter.wire import (
    CardMessage,
    Column,
    ErrorMessage,
    ExplanationMessage,
    GraphEdge,
    GraphMessage,
    GraphNode,
    HistoryMessage,
    HistoryRow,
    LagMessage,
    NodeKind,
    RefreshPoint,
    ReportMessage,
    ResultMessage,
    SinkDelivery,
    SinkMessage,
    SinkStanding,
    Underline,
)
from dt_jupyter.wire.messages import Message

NOON = datetime(2013, 1, 4, 12, 0, 0, tzinfo=UTC)


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def source(name: str, kind: NodeKind = NodeKind.TABLE) -> GraphNode:
    return GraphNode(name, kind, rows=336_776)


def table(
    name: str,
    state: RefreshState | None = RefreshState.SUCCEEDED,
    *,
    action: RefreshAction | None = RefreshAction.INCREMENTAL,
    mode: RefreshMode = RefreshMode.INCREMENTAL,
    why: str | None = None,
    lag: float | None = 42.0,
    target: float | None = 300.0,
    suspended: bool = False,
    error: str | None = None,
) -> GraphNode:
    scheduling = SchedulingState.SUSPENDED if suspended else SchedulingState.ACTIVE
    return GraphNode(
        name,
        NodeKind.DYNAMIC_TABLE,
        scheduling,
        RefreshMode.AUTO,
        mode,
        why,
        action,
        state,
        TargetLag(target),
        lag,
        NOON,
        1200,
        error,
    )


def sink(
    name: str,
    state: SinkState = SinkState.ACTIVE,
    *,
    below: str = "delays",
    lag: float | None = 42.0,
    error: str | None = None,
    text: str | None = None,
) -> GraphNode:
    """A sink into PostgreSQL; `text` stands wherever a store or a user may write one."""
    failed = state in (SinkState.RETRYING, SinkState.PAUSED)
    delivery = SinkDelivery(
        DeliveryState.RETRYING if state is SinkState.RETRYING else DeliveryState.SUCCEEDED,
        DeliveryTrigger.SCHEDULED,
        later(-50),
        None if failed else later(-48),
        DeliveryAction.INCREMENTAL,
        7,
        1200,
        1204,
        3,
        20_480,
        retries=6 if failed else 0,
        error=text or error,
    )
    scheduling = (
        SchedulingState.SUSPENDED if state is SinkState.SUSPENDED else SchedulingState.ACTIVE
    )
    return GraphNode(
        name,
        NodeKind.SINK,
        scheduling,
        target_lag=TargetLag(300.0),
        lag_seconds=lag,
        error=error,
        held_to=300.0,
        warehouse="default",
        sink=SinkStanding(
            state,
            below,
            text or "postgresql",
            text or "postgresql://db.example.org:5432/app",
            text or "delays",
            7,
            9,
            None if lag is None else later(-lag),
            delivery,
            later(30) if state is SinkState.RETRYING else None,
        ),
    )


def graph(nodes: list[GraphNode], *edges: str) -> GraphMessage:
    """Edges are written `a > b > c`."""
    pairs = [pair for edge in edges for pair in pairwise(edge.split(" > "))]
    return GraphMessage(tuple(nodes), tuple(GraphEdge(a, b) for a, b in pairs), NOON)


def flights() -> GraphMessage:
    """A diamond with a failure below it, a view, a suspended table and one on its own."""
    nodes = [
        source("flights"), source("weather"), source("recent", NodeKind.VIEW),
        table("by_hour"), table("with_weather", action=RefreshAction.NO_DATA),
        table("ranking", action=RefreshAction.FULL, mode=RefreshMode.FULL,
              why="WINDOW_UNPARTITIONED: rank() has no PARTITION BY"),
        table("worst", RefreshState.FAILED, lag=3721.0, error="DT-2105: Division by zero"),
        table("alerts", RefreshState.UPSTREAM_FAILED, action=None),
        table("monthly", suspended=True), table("board", RefreshState.EXECUTING, target=None),
        table("fresh", None, action=None, lag=None), source("alone"),
    ]  # fmt: skip
    return graph(
        nodes,
        "flights > by_hour > with_weather > worst > alerts",
        "weather > with_weather",
        "by_hour > ranking > worst",
        "flights > recent > board",
        "with_weather > monthly",
        "flights > alerts",
        "flights > fresh",
    )


def random_graph(size: int, seed: int) -> GraphMessage:
    """Each table reads one to three earlier nodes; a fourth of the nodes are sources."""
    chance = random.Random(seed)
    nodes = [source(f"n{i}") if i < size // 4 else table(f"n{i}") for i in range(size)]
    edges = [
        f"n{chance.randrange(max(0, i - 25), i)} > n{i}"
        for i in range(max(1, size // 4), size)
        for _ in range(chance.randint(1, 3))
    ]
    return graph(nodes, *edges)


def done(
    t: float, start: float, end: float, action: RefreshAction = RefreshAction.INCREMENTAL
) -> RefreshPoint:
    return RefreshPoint(later(t), RefreshState.SUCCEEDED, later(start), later(end), action)


def failed(t: float, start: float, end: float) -> RefreshPoint:
    return RefreshPoint(later(t), RefreshState.FAILED, later(start), later(end), detail="DT-2105")


def skipped(t: float) -> RefreshPoint:
    return RefreshPoint(later(t), RefreshState.SKIPPED, detail="busy")


def lag(
    *points: RefreshPoint, target: float | None = 60.0, until: float | None = None
) -> LagMessage:
    return LagMessage("delays", target, points, None if until is None else later(until))


HISTORY = HistoryMessage(
    (
        HistoryRow(
            "delays",
            RefreshState.SUCCEEDED,
            NOON,
            RefreshAction.INCREMENTAL,
            RefreshTrigger.SCHEDULED,
            1.5,
            1200,
            3,
            1203,
            "CHANGED_INPUTS: flights",
        ),
        HistoryRow(
            "delays",
            RefreshState.SUCCEEDED,
            later(48),
            RefreshAction.NO_DATA,
            RefreshTrigger.SCHEDULED,
            0.004,
            0,
            0,
            0,
            "SOURCES_UNCHANGED",
        ),
        HistoryRow("delays", RefreshState.SKIPPED, later(96.5), reason="busy"),
    )
)
RESULT = ResultMessage(
    (Column("id", "bigint"), Column("name", "string")),
    (("1", "rug"), ("23", None), ("4", "NULL")),
    truncated=True,
    title="First rows",
    note="Snapshot (data time T)",
)
CARD = CardMessage(
    "delays",
    RefreshMode.AUTO,
    RefreshMode.FULL,
    "TOP_K: needs FULL",
    RESULT.columns,
    TargetLag(300.0),
    "default",
    ("flights", "weather"),
    data_timestamp=NOON,
    sample=RESULT,
    notes=("guard: all 3 rows compared",),
)
DOWN = "DT-6110: postgresql://db.example.org:5432/app cannot be reached: connection refused"
SINK_NODE = sink("app_delays", SinkState.RETRYING, lag=400.0, error=DOWN)
SINK = SinkMessage(
    "app_delays",
    SINK_NODE,
    NOON,
    ("carrier", "origin"),
    ("flights SUM",),
    False,
    2,
    "CREATE SINK app_delays FROM DYNAMIC TABLE delays\n"
    "  INTO 'postgresql://db.example.org:5432/app'\n  KEY (carrier, origin)\n"
    "  TARGET_LAG = '5 minutes'",
    tuple(
        SinkDelivery(
            DeliveryState.RETRYING if i == 0 else DeliveryState.SUCCEEDED,
            DeliveryTrigger.CREATION if i == 7 else DeliveryTrigger.SCHEDULED,
            later(-60 * i - 5),
            later(-60 * i) if i else None,
            DeliveryAction.INITIAL if i == 7 else DeliveryAction.INCREMENTAL if i else None,
            9 - i if i else None,
            120 * i,
            121 * i,
            i,
            2_100 * i,
            0,
            0 if i else 6,
            None if i else DOWN,
        )
        for i in range(8)
    ),
    "for the application",
    ("Sink app_delays created on delays: 48 rows delivered.",),
    ErrorMessage("DT-6110", DOWN.partition(": ")[2]),
)
QUERY = "SELECT carrier,\n       avg(dep_dely) AS mean\nFROM flights"
ERROR = ErrorMessage(
    "DT-1102",
    "Column dep_dely does not exist.",
    "Did you mean dep_delay?",
    QUERY,
    Underline.of(QUERY, QUERY.index("dep_dely"), QUERY.index("dep_dely") + 8),
    "org.apache.spark.sql.AnalysisException\n\tat org.apache…",
)
EXPLANATION = ExplanationMessage(
    "delays",
    RefreshMode.INCREMENTAL,
    "every operator has a rule",
    RESULT.columns,
    ("flights", "weather"),
    (("delta of flights", "SELECT id,\n       name\nFROM flights"), ("merge", "MERGE INTO delays")),
    action="INCREMENTAL",
)
REPORT = ReportMessage("Status", ("scheduler  running", "problems   none"))
GALLERY: dict[str, Message | ExplanationMessage] = {
    "graph": flights(),
    "lag": lag(done(0, 2, 10), skipped(48), failed(96, 97, 99), done(144, 145, 250), target=60),
    "history": HISTORY,
    "result": RESULT,
    "report": REPORT,
    "card": CARD,
    "sink": SINK,
    "error": ERROR,
    "explanation": EXPLANATION,
}
"""One message of every kind that a cell can show."""


class Reader(HTMLParser):
    """Elements, attributes and texts of markup, as a browser would find them."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.styles: list[str] = []
        self._inside: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._inside.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._inside.pop() == tag, f"</{tag}> does not match"

    def handle_data(self, data: str) -> None:
        (self.styles if "style" in self._inside[-1:] else self.texts).append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)
