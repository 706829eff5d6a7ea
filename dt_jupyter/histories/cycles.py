"""Cycles of a graph of dependencies."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dt_jupyter.histories.dependencies import Dependency

Edges = Mapping[str, Sequence[Dependency]]


def edges_of(dependencies: Iterable[Dependency]) -> Edges:
    """By the transaction that they go out from."""
    found: dict[str, list[Dependency]] = {}
    for each in dependencies:
        found.setdefault(each.before, []).append(each)
    return found


def find_cycle(starts: Iterable[Dependency], ways: Edges) -> tuple[Dependency, ...] | None:
    """A cycle of one of `starts`, as short as can be, that continues along `ways`; None: there is
    none."""
    begun = list(starts)
    part = _components(ways, begun)
    for start in begun:
        if part[start.before] == part[start.after]:
            back = _shortest(start.after, start.before, ways)
            if back is not None:
                return (start, *back)
    return None


def _shortest(source: str, target: str, ways: Edges) -> list[Dependency] | None:
    """Breadth first."""
    reached: dict[str, Dependency | None] = {source: None}
    waiting = deque((source,))
    while waiting and target not in reached:
        for way in ways.get(waiting.popleft(), ()):
            if way.after not in reached:
                reached[way.after] = way
                waiting.append(way.after)
    if target not in reached:
        return None
    path: list[Dependency] = []
    last = reached[target]
    while last is not None:
        path.append(last)
        last = reached[last.before]
    return path[::-1]


def _components(ways: Edges, more: Iterable[Dependency]) -> dict[str, int]:
    """Which transactions are on cycles together, `more` edges included: Tarjan 1972, without
    recursion."""
    graph: dict[str, list[str]] = {node: [w.after for w in out] for node, out in ways.items()}
    for each in more:
        graph.setdefault(each.before, []).append(each.after)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    found: dict[str, int] = {}
    stack: list[str] = []
    work: list[tuple[str, Iterator[str]]] = []

    def enter(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        work.append((node, iter(graph.get(node, ()))))

    def leave(node: str) -> None:
        work.pop()
        if work:
            parent = work[-1][0]
            low[parent] = min(low[parent], low[node])
        while low[node] == index[node] and node not in found:
            found[stack.pop()] = index[node]

    for root in graph:
        if root not in index:
            enter(root)
        while work:
            node, rest = work[-1]
            other = next(rest, None)
            if other is None:
                leave(node)
            elif other not in index:
                enter(other)
            elif other not in found:
                low[node] = min(low[node], index[other])
    return found
