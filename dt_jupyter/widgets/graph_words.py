"""The graph as text for a terminal, and as DOT for Graphviz."""

from __future__ import annotations

from dt_jupyter.model import RefreshState
from dt_jupyter.widgets.graph import (
    NOT_REFRESHED,
    facts,
    is_idle,
    kind_text,
    mode_text,
    summary,
    target_text,
)
from dt_jupyter.widgets.layout import assign_layers
from dt_jupyter.widgets.markup import clean, one_line
from dt_jupyter.widgets.sink_words import SINK_BORDERS
from dt_jupyter.widgets.theme import TOKENS
from dt_jupyter.widgets.typeset import aligned
from dt_jupyter.wire import GraphMessage, GraphNode, NodeKind, duration, instant

_HEADER = ("NAME", "KIND", "STATE", "MODE", "ACTION", "LAG", "TARGET", "ROWS", "READS")
_BORDERS = {
    RefreshState.FAILED: "bad",
    RefreshState.UPSTREAM_FAILED: "bad",
    RefreshState.EXECUTING: "run",
}


def graph_text(message: GraphMessage) -> str:
    """A line per node, upstream first; errors and reasons below."""
    edges = [(e.source, e.target) for e in message.edges]
    layer = assign_layers([n.name for n in message.nodes], edges)
    nodes = sorted(message.nodes, key=lambda n: (layer[n.name], n.name))
    as_of = f" as of {instant(message.as_of)}" if message.as_of else ""
    lines = [f"Dynamic tables{as_of}: {summary(message)}"]
    if nodes:
        lines += aligned(_HEADER, [_line(n, message) for n in nodes], right=frozenset({5, 7}))
    lines += [
        f"{one_line(n.name)}: {one_line(text)}" for n in nodes if (text := n.error or n.mode_reason)
    ]
    return "\n".join(lines)


def _line(node: GraphNode, message: GraphMessage) -> tuple[str, ...]:
    state = _state_words(node)
    reads = dict.fromkeys(e.source for e in message.edges if e.target == node.name)
    lag = "" if node.lag_seconds is None else duration(node.lag_seconds)
    return (
        one_line(node.name),
        kind_text(node),
        state,
        mode_text(node),
        _action(node),
        lag,
        target_text(node),
        "" if node.rows is None else f"{node.rows:,}",
        one_line(", ".join(reads)),
    )


def _state_words(node: GraphNode) -> str:
    if node.sink is not None:
        return node.sink.state
    idle = NOT_REFRESHED if is_idle(node) else ""
    return " ".join(filter(None, (node.state, "SUSPENDED" if node.suspended else idle)))


def _action(node: GraphNode) -> str:
    done = node.sink.last if node.sink is not None else node
    return (done.action if done is not None else None) or ""


def graph_dot(message: GraphMessage) -> str:
    """Graphviz's DOT text. Node ids are numbers, so that a name is never more than a label."""
    import graphviz  # only needed for DOT

    dot = graphviz.Digraph("dynamic_tables")
    dot.attr(rankdir="LR")
    dot.attr("node", shape="box", style="rounded", fontname="sans-serif", fontsize="11")
    ids = {node.name: f"n{i}" for i, node in enumerate(message.nodes)}
    for node in message.nodes:
        border = TOKENS[_border(node)].light
        style = "dashed" if node.suspended or node.kind is NodeKind.VIEW else "solid"
        kept = node.kind in (NodeKind.DYNAMIC_TABLE, NodeKind.SINK, NodeKind.TASK)
        style = f"rounded,{style}" if kept else style
        label = "\\n".join(graphviz.escape(line) for line in _dot_lines(node))
        tooltip = graphviz.escape(clean(facts(node)).replace("\n", " | "))
        dot.node(ids[node.name], graphviz.nohtml(label), color=border, style=style, tooltip=tooltip)
    for source, target in dict.fromkeys((e.source, e.target) for e in message.edges):
        dot.edge(ids[source], ids[target])
    return str(dot.source)


def _border(node: GraphNode) -> str:
    if node.sink is not None:
        return SINK_BORDERS.get(node.sink.state, "line")
    if is_idle(node):
        return "warn"
    return _BORDERS.get(node.state, "line") if node.state else "line"


def _dot_lines(node: GraphNode) -> list[str]:
    sink = node.sink
    idle = NOT_REFRESHED if is_idle(node) else ""
    suspended = "SUSPENDED" if node.suspended and sink is None else idle
    outcome = " ".join(filter(None, (sink.state if sink else node.state, node.action, suspended)))
    lines = (one_line(node.name), mode_text(node) or node.kind.replace("_", " "), outcome)
    return list(filter(None, lines))
