"""The part of a graph that a role sees."""

from __future__ import annotations

from dataclasses import replace

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import Name, Right
from dt_jupyter.reports import GraphNode, GraphReport, SinkReport, TaskName, TaskReport


def seen_graph(report: GraphReport, access: Access) -> GraphReport:
    """Its nodes on which the role has any right, and the edges between them; the state of those
    that it may not monitor is left out."""
    if not access.bound:
        return report
    nodes = tuple(shown for n in report.nodes if (shown := seen_node(n, access)) is not None)
    kept = {n.name for n in nodes}
    edges = tuple((a, b) for a, b in report.edges if a in kept and b in kept)
    return replace(report, nodes=nodes, edges=edges)


def seen_node(node: GraphNode, access: Access) -> GraphNode | None:
    """The node as the role sees it; None where it has no right on it."""
    if isinstance(node.name, TaskName):
        if not access.may_task(Right.MONITOR, node.name.of):
            return None
        return replace(node, task=seen_task(node.task, access)) if node.task else node
    name = node.name if isinstance(node.name, Name) else node.name.of
    if not access.sees(name):
        return None
    if not access.bound:
        return node
    if not access.monitors(name) and node.last is not None:
        return replace(node, last=None, running=None, problem=None)
    if node.sink is not None:
        return replace(node, sink=seen_sink(node.sink, access))
    return node if node.last is None else replace(node, last=access.redacted(node.last))


def seen_sink(found: SinkReport, access: Access) -> SinkReport:
    """Without the texts of errors, which may show rows, for who may not read its source."""
    if not access.bound:
        return found
    records = tuple(map(access.delivery_told, found.records))
    return replace(found, sink=access.sink_told(found.sink), records=records)


def seen_task(found: TaskReport, access: Access) -> TaskReport:
    """Without the texts of errors for who does not own it."""
    if not access.bound:
        return found
    return replace(found, runs=tuple(map(access.run_told, found.runs)))


__all__ = ["seen_graph", "seen_node", "seen_sink", "seen_task"]
