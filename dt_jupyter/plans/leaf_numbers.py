"""Numbers that tell two reads of the same table: by what is made of each, not by which stands first
in a plan, since Spark joins tables in the order that it finds best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from dt_jupyter.plans.join_blocks import Form
from dt_jupyter.plans.plan_tree import SparkNode

_MOVED = frozenset({"Project", "Filter", "Sort", "LocalLimit", "SubqueryAlias"})
"""Operators that say little of what is below them, or stand at another height in another plan."""
_INNER = frozenset({"Inner", "Cross", "LeftSemi", "LeftAnti"})


def number_leaves(plan: SparkNode, forms: Mapping[int, Form]) -> Mapping[int, int]:
    """The number of each leaf by its `id`, among those of the same form. `forms` are the rows of
    the operators by `id`, all leaves of a table being one. Where two leaves are used alike, by the
    order in which they stand: their plans are then perhaps not found to be the same."""
    found = sorted(_leaves(plan, (), forms), key=lambda leaf: (forms[leaf[0]], *leaf[1]))
    seen = Counter[Form]()
    numbers = {}
    for leaf, _ in found:
        seen[forms[leaf]] += 1
        numbers[leaf] = seen[forms[leaf]]
    return numbers


def _leaves(
    plan: SparkNode, above: tuple[SparkNode, ...], forms: Mapping[int, Form]
) -> Iterator[tuple[int, tuple[str, ...]]]:
    if not plan.children:
        yield id(plan), tuple(_uses((*above, plan), forms))
    for child in plan.children:
        yield from _leaves(child, (*above, plan), forms)


def _uses(path: tuple[SparkNode, ...], forms: Mapping[int, Form]) -> Iterator[str]:
    """What becomes of a leaf, from below: the filters of its own, and what groups or joins it."""
    alone = True
    for below, plan in zip(path[:0:-1], path[-2::-1], strict=True):
        kind = plan.kind
        side = str(plan.children.index(below)) if kind == "Join" else ""
        if kind == "Union":
            yield forms[id(below)]
        elif kind == "Join" and plan.word("joinType") in _INNER:
            alone = False
            if side == "1" and plan.word("joinType").startswith("Left"):
                yield plan.word("joinType") + forms[id(below)]
        elif kind not in _MOVED or (kind == "Filter" and alone):
            yield forms[id(plan)] + side
