"""The graph of a lake and the state of all in it, as one HTML document."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from dt_jupyter.dispatch.definitions import text_to_edit
from dt_jupyter.dispatch.static_messages import graph_message, history_message
from dt_jupyter.model import Name
from dt_jupyter.reports import GraphNode, SourceReports
from dt_jupyter.widgets import NodeState, graph_document
from dt_jupyter.wire import Column, duration, instant

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine

_REFRESHES = 20


def graph_page(engine: Engine) -> str:
    """What the session's role sees of the lake now."""
    report, context = engine.graph(), engine.context
    graph = graph_message(report, stages=True, periods=context.scheduling.periods())
    states = [_state(engine, node) for node in report.nodes if node.kind != "stage"]
    lake = PurePath(str(engine.lake)).name
    return graph_document(graph, states, lake, instant(report.as_of.datetime))


def write_graph(engine: Engine, file: str | os.PathLike[str]) -> Path:
    """Writes the document to a file that was not there before: FileExistsError."""
    target, text = Path(file), graph_page(engine)
    with target.open("x", encoding="utf-8") as opened:
        opened.write(text)
    return target


def _state(engine: Engine, node: GraphNode) -> NodeState:
    """Without refreshes for who may not monitor it, without a text for what has none."""
    name, table = node.name, node.table
    kind = node.kind.replace("_", " ")
    if table is not None:
        monitors = engine.context.access.monitors(table.name)
        loud = engine.context.catalog.recent(table.id, _REFRESHES, quiet=False) if monitors else ()
        records = engine.context.access.told(loud)
        columns = tuple(Column(n, t) for n, t, _ in table.definition.columns)
        text = text_to_edit(engine, str(name))
        history = history_message(records, f"Refreshes of {name}")
        return NodeState(str(name), kind, tuple(_facts(node)), columns, text, history)
    if node.kind == "table" and isinstance(name, Name):
        return NodeState(str(name), kind, tuple(_facts(node)), _columns(engine, name))
    edited = node.kind in ("view", "task")
    text = text_to_edit(engine, str(name)) if edited else ""
    return NodeState(str(name), kind, tuple(_facts(node)), (), text)


def _columns(engine: Engine, name: Name) -> tuple[Column, ...]:
    context = engine.context
    path = next((t.path for t in context.catalog.tables() if t.name == name), None)
    found = SourceReports(context.nodes.refresher).columns(path) if path is not None else ()
    return tuple(Column(n, t) for n, t in found)


def _facts(node: GraphNode) -> Iterator[tuple[str, str]]:
    table, last = node.table, node.last
    if table is not None:
        yield "mode", f"{table.effective_mode}: {table.mode_reason.sentence}"
        yield "state", str(last.state if last is not None else table.scheduling)
        yield "target lag", str(table.target_lag)
        yield "warehouse", table.warehouse
        if node.lag is not None:
            yield "lag", duration(node.lag)
        if table.data_timestamp is not None:
            yield "data timestamp", instant(table.data_timestamp.datetime)
    if node.rows is not None:
        yield "rows", f"{node.rows:,}"
    if node.files is not None:
        yield "files", node.files
    if node.sink is not None:
        yield "delivers to", node.sink.address
        yield "state", str(node.sink)
    if node.task is not None:
        yield "state", str(node.task)
    if node.obstacle is not None:
        yield "why it is not fresh", node.obstacle
