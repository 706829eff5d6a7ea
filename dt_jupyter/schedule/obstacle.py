"""What keeps dynamic tables from being fresh, whatever the time: pure functions with reasons.

A table that is suspended holds back all that is downstream of it, however far; a warehouse that is
suspended lets only refreshes through that find nothing new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import Reason
from dt_jupyter.schedule.state import Node, Slots, node_of, slots_of, upstream_first


@dataclass(frozen=True, slots=True)
class _Root:
    """The table that holds others back, by what, and how they are told so."""

    id: str
    code: str
    subject: str
    problem: str

    def reason(self, node: Node) -> Reason:
        how = "which it reads" if self.id in node.upstream else "upstream of it"
        return Reason(self.code, f"{self.subject}, {how}, {self.problem}")


def held_back(nodes: Iterable[Node]) -> dict[str, Reason]:
    """By id, for nodes upstream first: why a table waits for one upstream of it that does not
    move by itself. Those that do not wait are absent."""
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
        return _Root(node.id, "UPSTREAM_NOT_SCHEDULED", node.name, "is refreshed by hand only.")
    return None


def obstacles(nodes: Iterable[Node], warehouses: Iterable[Slots]) -> dict[str, Reason]:
    """As `held_back`, and what waits for a warehouse: its own, or that of a table upstream."""
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
    return found


def _stopped(node: Node) -> str:
    return f"Warehouse {node.warehouse} is suspended"


def obstacles_in(catalog: Catalog) -> Mapping[str, Reason]:
    """By id, of the tables that the scheduler would refresh, as the catalog stands."""
    tables = catalog.list()
    by_name = {table.name: table.id for table in tables}
    nodes = [node_of(table, by_name) for table in tables]
    warehouses = map(slots_of, catalog.warehouses())
    active = {node.id for node in nodes if node.active}
    return {i: r for i, r in obstacles(nodes, warehouses).items() if i in active}
