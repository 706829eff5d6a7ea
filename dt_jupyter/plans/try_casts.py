"""TRY_CAST, which the JSON of a plan does not tell from CAST."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dt_jupyter.plans.expression_sql import arguments
from dt_jupyter.plans.plan_tree import SparkNode, tree_of

_CAST = re.compile(r"\b(TRY_)?CAST\(")


def mark_try_casts(plan: SparkNode, original: Any) -> bool:
    """Marks the casts of a tree that are TRY, as Spark's own writing of its expressions has them
    in the same order; whether there were any."""
    words = [m[1] is not None for text in _texts(original) for m in _CAST.finditer(text)]
    casts = [c for node in _operators(plan) for e in _expressions(node) for c in _casts(e)]
    if len(words) != len(casts) or not any(words):
        return False
    for cast, is_try in zip(casts, words, strict=True):
        cast.fields["try"] = is_try
    return True


def _texts(plan: Any) -> Iterator[str]:
    expressions, children = plan.expressions(), plan.children()
    for i in range(expressions.size()):
        yield expressions.apply(i).sql()
    for i in range(children.size()):
        yield from _texts(children.apply(i))


def _operators(plan: SparkNode) -> Iterator[SparkNode]:
    yield plan
    for child in plan.children:
        yield from _operators(child)


def _expressions(node: SparkNode) -> Iterator[SparkNode]:
    """The expressions of an operator, in the order of its fields."""
    for value in node.fields.values():
        yield from _trees(value)


def _trees(value: Any) -> Iterator[SparkNode]:
    if not isinstance(value, list) or not value:
        return
    if isinstance(value[0], dict):
        if "class" in value[0] and ".plans." not in value[0]["class"]:
            yield tree_of(value)
        return
    for part in value:
        yield from _trees(part)


def _casts(node: SparkNode) -> Iterator[SparkNode]:
    if node.kind == "Cast":
        yield node
    for child in arguments(node):
        yield from _casts(child)
