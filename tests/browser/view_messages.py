"""One message of every live view, with what a kernel answers to each of its questions."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from dt_jupyter.model import (
    Mark,
    RefreshAction,
    RefreshMode,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    SinkState,
    TaskRunState,
    TaskState,
    TaskTrigger,
)
from dt_jupyter.wire import (
    CatalogueItem,
    CatalogueMessage,
    Column,
    DetailMessage,
    DoneMessage,
    ErrorMessage,
    Fact,
    Frontier,
    FrontiersMessage,
    FrontierSource,
    GraphEdge,
    GraphNode,
    HelloMessage,
    HistoryMessage,
    HistoryRow,
    IdleTime,
    LagMessage,
    LiveMessage,
    NodeKind,
    ProfileMessage,
    ReplayMessage,
    ReplayStep,
    ResultMessage,
    RowsMessage,
    SimulationMessage,
    SourceMessage,
    Statement,
    StreamRow,
    StreamsMessage,
    TableVersion,
    TaskMessage,
    TaskRunRow,
    TaskStanding,
    TreeNode,
)
from tests.unit.widgets_lab import (
    CARD,
    DOWN,
    NOON,
    SINK,
    done,
    failed,
    flights,
    lag,
    later,
    sink,
    skipped,
)

HOUR = 3600
TWINS = "DT-6130: Two rows of the source have the key (1): two rows with the key (1)."
LAG = replace(
    lag(
        *(done(48 * i, 48 * i + 1, 48 * i + 5) for i in range(10)),
        skipped(480),
        failed(528, 529, 533),
        done(600, 601, 606),
        done(1500, 1502, 1512, RefreshAction.FULL),
        *(done(1500 + 48 * i, 1501 + 48 * i, 1505 + 48 * i) for i in range(1, 6)),
        until=1790,
    ),
    idle=(IdleTime(later(640), later(1490)),),
)
"""With a failure above the target, and a night without a scheduler."""
HISTORY = HistoryMessage(
    tuple(
        HistoryRow(
            "delays",
            RefreshState.FAILED if i == 3 else RefreshState.SUCCEEDED,
            later(-300 * i),
            None if i == 3 else RefreshAction.NO_DATA if i % 4 == 2 else RefreshAction.INCREMENTAL,
            RefreshTrigger.SCHEDULED,
            0.02 if i % 4 == 2 else 1.2 + 0.4 * (i % 5),
            0 if i % 4 == 2 else 1200 + 37 * i,
            0 if i % 4 == 2 else 3 * i,
            0 if i % 4 == 2 else 5200,
            "DT-2105: Division by zero" if i == 3 else None,
            None if i == 3 else 0 if i % 4 == 2 else 40_000 + 9_000 * (i % 7),
        )
        for i in range(20)
    ),
    "Refreshes of delays",
)
DETAIL = DetailMessage(
    "delays",
    RefreshMode.INCREMENTAL,
    "every operator has a rule",
    "",
    "SELECT carrier, origin, count(*) AS flights, avg(dep_delay) AS mean\nFROM flights\n"
    "JOIN weather USING (origin, time_hour)\nGROUP BY carrier, origin",
    replace(
        CARD,
        refresh_mode=RefreshMode.INCREMENTAL,
        sample=None,
        schema=(
            Column("carrier", "string"),
            Column("origin", "string"),
            Column("flights", "bigint"),
            Column("mean", "double"),
        ),
    ),
    (
        TreeNode(0, "delays", "key (carrier, origin)", "counted", 48, 3),
        TreeNode(1, "GROUP BY carrier, origin", "Δγ(R) = γ(ΔR) ⊎ γ(R)", "sums", 48, 3),
        TreeNode(2, "JOIN", "ΔA ⋈ B + A ⋈ ΔB − ΔA ⋈ ΔB", "", 336_776, 120),
        TreeNode(3, "flights", "", "", 336_776, 120),
        TreeNode(3, "weather", "", "", 26_115, 0),
    ),
    (Statement("the change of flights", "SELECT * FROM table_changes('flights', 7, 8)"),),
    "INCREMENTAL: 120 of 336,776 rows changed",
    (Fact("took", "1.2 s"), Fact("Spark jobs", "3"), Fact("rows read", "5,200")),
    HISTORY,
)
ITEMS = CatalogueMessage(
    (
        CatalogueItem("delays", "dynamic_table", "SUCCEEDED", "INCREMENTAL, target lag 5 minutes"),
        CatalogueItem("worst", "dynamic_table", "FAILED", "FULL, target lag DOWNSTREAM"),
        CatalogueItem("new_flights", "stream", "DEFAULT", "on table flights"),
        CatalogueItem("app_delays", "sink", "ACTIVE", "dynamic table delays into postgresql://db"),
        CatalogueItem("hook", "sink", "PAUSED", "table flights into https://hooks.example.org"),
        CatalogueItem("flights", "table", "", "/lake/tables/flights", (Column("id", "bigint"),)),
        CatalogueItem("default", "warehouse", "ACTIVE", "2 at once, weight 1"),
        CatalogueItem("before_the_change", "pin", "", "flights at version 7"),
    ),
    "/lake",
)
FRONTIERS = FrontiersMessage(
    (
        Frontier(
            "delays",
            NOON,
            12,
            (FrontierSource("flights", "table", 8, 9), FrontierSource("weather", "table", 3, 3)),
            (NOON, later(-300)),
        ),
        Frontier(
            "worst",
            later(-300),
            4,
            (FrontierSource("delays", "dynamic_table", 11, 12),),
            (later(-300),),
        ),
    ),
    later(30),
)
STREAMS = StreamsMessage(
    (
        StreamRow("new_flights", "flights", "table", "DEFAULT", NOON, 3, True, False,
                  NOON + timedelta(days=14), None, ("loads",)),
        StreamRow("old", "weather", "table", "APPEND_ONLY", later(-HOUR), 0, False, True,
                  NOON, "its past was vacuumed"),
    ),
    later(30),
)  # fmt: skip
SOURCE = SourceMessage(
    "flights",
    "table",
    (Column("id", "bigint"), Column("carrier", "string"), Column("origin", "string")),
    336_776,
    None,
    "/lake/tables/flights",
    tuple(TableVersion(9 - i, later(-600 * i), "MERGE" if i % 3 else "WRITE") for i in range(10)),
    ("delays", "worst", "new_flights"),
    as_of=later(30),
)
WIDE = 14
"""Columns of the table that is replayed: more than a panel shows at once."""
REPLAY = ReplayMessage(
    "delays",
    "r1",
    "snapshot_time",
    tuple(
        ReplayStep(i, later(60 * i), i, "WRITE" if i else "CREATE TABLE", 10 * i, 10 if i else None,
                   0 if i else None)
        for i in range(6)
    ),
)  # fmt: skip
ROWS = RowsMessage(
    "delays",
    tuple(Column(f"measure_{i}", "double") for i in range(WIDE)),
    tuple(
        tuple(f"{1000 * row + i}.25" if i < WIDE - 1 else f"{kind}" for i in range(WIDE))
        for row, kind in enumerate(("same", "before", "after", "added"))
        for row in [1 if kind == "after" else row]
    ),
    (Mark.SAME, Mark.BEFORE, Mark.AFTER, Mark.INSERTED),
    5,
    4,
)


def _result(
    title: str, columns: tuple[Column, ...], *rows: tuple[str | None, ...]
) -> ResultMessage:
    return ResultMessage(columns, rows, title=title, note="version 12 (2013-01-04 12:00:00 UTC)")


PROFILE = ProfileMessage(
    "delays",
    "version 12 (2013-01-04 12:00:00 UTC)",
    48,
    _result(
        "Columns",
        tuple(
            Column(name, "bigint" if name in ("NULL", "distinct, about") else "string")
            for name in ("column", "type", "NULL", "distinct, about", "least", "greatest")
        ),
        ("carrier", "string", "0", "16", "9E", "YV"),
        ("origin", "string", "0", "3", "EWR", "LGA"),
        ("flights", "bigint", "0", "47", "1", "58665"),
        ("mean", "double", "2", "45", "-3.5", "41.2"),
    ),
    _result(
        "Sample rows",
        DETAIL.card.schema,
        ("UA", "EWR", "46087", "12.5"),
        ("AA", "LGA", "15459", None),
    ),
)
GRAPH = flights()
HAS_DATA = "SYSTEM$STREAM_HAS_DATA('news')"
RUN = TaskRunRow(
    TaskRunState.SUCCEEDED, TaskTrigger.SCHEDULE, later(-60), later(-60), later(-58), rows=1204
)
LOST = replace(RUN, state=TaskRunState.FAILED, rows=None, attempt=2, message=DOWN)
TASKS = tuple(
    GraphNode(
        f"task {name}",
        NodeKind.TASK,
        SchedulingState.ACTIVE if standing.state == "STARTED" else SchedulingState.SUSPENDED,
        state=RefreshState(standing.last.state.value) if standing.last is not None else None,
        error=standing.last.message if standing.last is not None else None,
        warehouse="main",
        task=standing,
    )
    for name, standing in (
        (
            "load",
            TaskStanding(
                TaskState.STARTED, "5 minutes", "SYSTEM$STREAM_HAS_DATA('news')", later(240), RUN
            ),
        ),
        ("sum_up", TaskStanding(TaskState.STARTED, "after load", None, None, LOST, 2)),
        ("sweep", TaskStanding(TaskState.SUSPENDED, "USING CRON 0 9 * * MON-FRI Europe/Berlin")),
    )
)
TASK = TaskMessage(
    "task sum_up",
    TASKS[1],
    later(-86_400),
    "CREATE TASK sum_up AFTER load AS\nINSERT INTO revenue SELECT shop, sum(price) FROM flights",
    ("task load",),
    ("flights",),
    ("revenue",),
    (LOST, replace(RUN, trigger=TaskTrigger.MANUAL), replace(RUN, state=TaskRunState.SKIPPED)),
    error=ErrorMessage("DT-1101", DOWN),
)
SINKS = (
    sink("app_delays", below="with_weather"),
    sink("hook_of_alerts", SinkState.PAUSED, below="alerts", lag=4000.0, error=TWINS),
    sink("reports", SinkState.RETRYING, below="ranking", lag=400.0, error=DOWN),
    sink("archive", SinkState.SUSPENDED, below="flights", lag=None),
)
EDGES = (
    *(GraphEdge(s.sink.source, s.name) for s in SINKS if s.sink is not None),
    GraphEdge("flights", "task load"),
    GraphEdge("task load", "task sum_up"),
    GraphEdge("task sum_up", "task sweep"),
)
VIEWS: dict[str, LiveMessage] = {
    "graph": replace(GRAPH, nodes=(*GRAPH.nodes, *SINKS, *TASKS), edges=(*GRAPH.edges, *EDGES)),
    "sink": SINK,
    "task": TASK,
    "source": SOURCE,
    "catalogue": ITEMS,
    "frontiers": FRONTIERS,
    "streams": STREAMS,
    "lag": LAG,
    "detail": DETAIL,
    "replay": REPLAY,
}
"""By the kind of the widget."""
SIMULATION = SimulationMessage(
    LagMessage("delays", 60.0, LAG.points[:8], later(400)), 48, 4, 28, 53, 1, 0.1
)
ANSWERS: dict[str, LiveMessage] = {
    "hello": HelloMessage("0.1.0", "/lake", True),
    "rows": ROWS,
    "simulate": SIMULATION,
    "profile": PROFILE,
    "refresh": DoneMessage("Refresh of delays started."),
    **VIEWS,
}
"""By what is asked."""


def answers() -> dict[str, Any]:
    return {ask: message.to_json() for ask, message in ANSWERS.items()}
