"""The pictures of README and guide, drawn by the widgets from messages as a kernel sends them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from dt_jupyter.model import RefreshAction, RefreshMode, RefreshState, SchedulingState, TargetLag
from dt_jupyter.widgets import graph_svg, lag_svg
from dt_jupyter.wire.messages import (
    GraphEdge,
    GraphMessage,
    GraphNode,
    LagMessage,
    NodeKind,
    RefreshPoint,
)

NOON = datetime(2013, 12, 24, 12, tzinfo=UTC)
_INCREMENTAL, _NO_DATA = RefreshAction.INCREMENTAL, RefreshAction.NO_DATA


def graph() -> str:
    nodes = (
        _source("flight_events", 336_776),
        _source("airlines", 16),
        _table("arrivals", None, 18, 327_346),
        _table("delays_by_hour", None, 18, 42_118),
        _table("worst_hours", 24, 18, 12, _NO_DATA),
        _table("airline_ranking", 300, 142, 16),
    )
    paths = (
        "flight_events > arrivals > delays_by_hour > worst_hours",
        "airlines > arrivals",
        "delays_by_hour > airline_ranking",
    )
    edges = tuple(GraphEdge(a, b) for path in paths for a, b in pairwise(path.split(" > ")))
    return graph_svg(GraphMessage(nodes, edges, NOON), "down")


def _source(name: str, rows: int) -> GraphNode:
    return GraphNode(name, NodeKind.TABLE, rows=rows)


def _table(
    name: str, target: float | None, lag: float, rows: int, action: RefreshAction = _INCREMENTAL
) -> GraphNode:
    return GraphNode(
        name,
        NodeKind.DYNAMIC_TABLE,
        SchedulingState.ACTIVE,
        RefreshMode.AUTO,
        RefreshMode.INCREMENTAL,
        None,
        action,
        RefreshState.SUCCEEDED,
        TargetLag(target),
        lag,
        NOON - timedelta(seconds=lag),
        rows,
        None,
    )


def lag() -> str:
    """Twelve refreshes every 24 seconds, two of them without new data."""
    points = tuple(
        _refresh(24.0 * i, 2.0 + i % 3, _NO_DATA if i in (4, 9) else _INCREMENTAL)
        for i in range(12)
    )
    return lag_svg(LagMessage("delays_by_sky", 48.0, points, NOON + timedelta(seconds=280)))


def _refresh(at: float, seconds: float, action: RefreshAction) -> RefreshPoint:
    begun = NOON + timedelta(seconds=at)
    ended = begun + timedelta(seconds=seconds)
    return RefreshPoint(begun, RefreshState.SUCCEEDED, begun, ended, action)
