"""From which columns of sources the columns of a query are computed, by its plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_facts import columns_read, plan_columns, view_source
from dt_jupyter.plans.plan_tree import SparkNode

Flow = frozenset[tuple[str, str]]
"""Columns, each as its source, which is a mark or the name of a view, and its name."""
_SETS = frozenset({"Union", "Intersect", "Except"})


def column_flows(document: str) -> tuple[Flow, ...] | None:
    """For each column of a query, in order, the columns of views that its values are
    computed from, without what only decides which rows there are. None where an operator
    does not show its columns."""
    root = read_document(document)
    reads: dict[int, set[int]] = {}
    own: dict[int, tuple[str, str]] = {}
    try:
        for node in root.everything():
            for made, read in _steps(node):
                reads.setdefault(made, set()).update(read)
            if node.kind == "View":
                own |= {c.id: (view_source(node), c.name) for c in plan_columns(node)}
        return tuple(_reached(column.id, reads, own) for column in plan_columns(root))
    except NoForm:
        return None


def _steps(node: SparkNode) -> Iterator[tuple[int, Iterable[int]]]:
    """The columns that a node makes, each with those that it is made of."""
    if node.kind == "Alias":
        yield node.id, _values_read(node)
    elif node.kind in _SETS:
        sides = [plan_columns(side) for side in node.children]
        yield from ((same[0].id, [c.id for c in same[1:]]) for same in zip(*sides, strict=True))
    elif node.kind == "Expand":
        for place, output in enumerate(node.trees("output")):
            cells = (row[place] for row in node.fields["projections"])
            yield output.id, {i for cell in cells for i in columns_read(cell)} - {output.id}
    elif node.kind == "Generate":
        call = node.tree("generator")
        read = columns_read(call) if call is not None else ()
        yield from ((c.id, read) for c in node.trees("generatorOutput"))
    elif node.is_plan and node.children and isinstance(node.fields.get("output"), list):
        given = [c.id for side in node.children for c in plan_columns(side)]
        yield from ((c.id, given) for c in node.trees("output"))


def _values_read(node: SparkNode) -> set[int]:
    """The columns that an expression reads; of a subquery in it those that the subquery gives."""
    plans = (plan for n in node.walk() if (plan := n.tree("plan")) is not None)
    return columns_read(node).union(c.id for plan in plans for c in plan_columns(plan))


def _reached(column: int, reads: dict[int, set[int]], own: dict[int, tuple[str, str]]) -> Flow:
    waiting, seen = [column], {column}
    while waiting:
        more = reads.get(waiting.pop(), set()) - seen
        seen |= more
        waiting += more
    return frozenset(own[i] for i in seen if i in own)
