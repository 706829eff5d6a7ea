"""What keeps dynamic tables from being fresh, whatever the time: pure functions with reasons.

A table that is suspended holds back all that is downstream of it, however far; a warehouse that is
suspended lets only refreshes through that find nothing new; a table without a target lag is
refreshed only for those that read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import Name, Reason
from dt_jupyter.schedule.plan import effective_lags
from dt_jupyter.schedule.state import Node, Slots, node_of, slots_of, upstream_first


@dataclass(frozen=True, slots=True)
class _Root:
    """The table that holds others back, by what, and the sentence about it."""

    id: str
    code: str
    subject: str
    problem: str

    def reason(self, node: Node) -> Reason:
        how = "which it reads" if self.id in node.upstream else "upstream of it"
        return Reason(self.code, f"{self.subject}, {how}, {self.problem}")


def held_back(nodes: Iterable[Node]) -> dict[str, Reason]:
    """By id, for nodes upstream first: why a table waits for one upstream of it that does not
    move without help. Those that do not wait are absent."""
    roots: dict[str, _Root] = {}
    held: dict[str, Reason] = {}
    for node in nodes:
        above = [roots[u] for u in node.upstream if u in roots]
        if above:
            held[node.id] = above[0].reason(node)
        own = _own(node)
        if own is not None or above:
            roots[node.id] = own or above[0]
    return held


def _own(node: Node) -> _Root | None:
    if node.suspended:
        why = f": {node.suspension}" if node.suspension else "."
        return _Root(node.id, "UPSTREAM_SUSPENDED", node.name, f"is suspended{why}")
    if not node.scheduler_enabled:
        return _Root(node.id, "UPSTREAM_NOT_SCHEDULED", node.name, "is refreshed manually only.")
    return None


def obstacles(
    nodes: Iterable[Node], warehouses: Iterable[Slots], others: Collection[str] = ()
) -> dict[str, Reason]:
    """As `held_back`, what waits for a warehouse (its own, or that of a table upstream), and what
    nothing asks for. `others` are the ids of those that sinks, streams or tasks read."""
    ordered = upstream_first(nodes)
    suspended = {slots.name for slots in warehouses if slots.rests}
    found = held_back(ordered)
    stopped: dict[str, Node] = {}
    for node in ordered:
        above = next((stopped[u] for u in node.upstream if u in stopped), None)
        if node.warehouse in suspended:
            stopped[node.id] = node
            sentence = f"{_stopped(node)}: it is refreshed only when its sources have no new data."
            found.setdefault(node.id, Reason("WAREHOUSE_SUSPENDED", sentence))
        elif above is not None:
            stopped[node.id] = above
            sentence = f"{_stopped(above)}, in which {above.name} is refreshed, upstream of it."
            found.setdefault(node.id, Reason("UPSTREAM_WAREHOUSE_SUSPENDED", sentence))
    return {**_unread(ordered, others), **found}


def _unread(nodes: tuple[Node, ...], others: Collection[str]) -> dict[str, Reason]:
    """DOWNSTREAM, without a reader that has a lag to keep."""
    lags, read = effective_lags(nodes), {u for node in nodes for u in node.upstream} | {*others}
    idle = [node for node in nodes if node.id not in lags]
    return {node.id: _NO_READER if node.id not in read else _NO_LAG for node in idle}


NO_READER = "NO_READER"
_NO_READER = Reason(NO_READER, "Not refreshed: no target lag, and nothing reads it.")
_NO_LAG = Reason(NO_READER, "Not refreshed: no target lag, and nothing that is refreshed reads it.")


def _stopped(node: Node) -> str:
    return f"Warehouse {node.warehouse} is suspended"


def obstacles_in(catalog: Catalog) -> Mapping[str, Reason]:
    """By id, of the tables that the scheduler would refresh, by the present catalog."""
    tables = catalog.list()
    by_name = {table.name: table.id for table in tables}
    nodes = [node_of(table, by_name) for table in tables]
    warehouses = map(slots_of, catalog.warehouses())
    active = {node.id for node in nodes if node.active}
    others = _read_by_others(catalog, by_name) if None in (n.target_lag for n in nodes) else ()
    found = obstacles(nodes, warehouses, others)
    return {i: r for i, r in found.items() if i in active}


def _read_by_others(catalog: Catalog, by_name: Mapping[Name, str]) -> set[str]:
    """Ids of the tables that a sink or a stream reads, or that the text of a task may name."""
    bodies = " ".join(task.body.lower() for task in catalog.tasks())
    named = {name for name in by_name if name.table in bodies}
    named |= {sink.source for sink in catalog.sinks()} | {s.source for s in catalog.streams()}
    return {by_name[name] for name in named if name in by_name}
