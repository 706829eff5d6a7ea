"""Fields of expressions that the JSON of a plan has as null, though they are not: how a cast or a
sum treats what has no value, the options of a parser. Asked of the plan itself."""

from __future__ import annotations

import re
from typing import Any

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_facts import expressions_of
from dt_jupyter.plans.plan_tree import SparkNode, tree_of

FILLED = "filled"
"""What is noted of an expression, by field."""
_NOT_FIELDS = frozenset({"class", "num-children", FILLED})
_TRY, _SOME = "TRY", "Some"
_EMPTY = frozenset({"None", "null"})
_COLUMN = re.compile(r"#\d+L?")


def fill_fields(plan: SparkNode, original: Any) -> None:
    """Notes in a tree what its expressions are besides what it says. NoForm where the tree and the
    plan are not of the same expressions."""
    trees = list(expressions_of(plan)) if plan.children else []
    if any(map(_has_null, trees)):
        found = original.expressions()
        if found.size() != len(trees):
            raise NoForm(f"what {plan.kind} holds")
        for i, tree in enumerate(trees):
            _fill(tree, found.apply(i))
    for i, child in enumerate(plan.children):
        fill_fields(child, original.children().apply(i))


def is_try(node: SparkNode) -> bool:
    """Whether a cast gives NULL for what it cannot cast, where its fields are filled."""
    return bool(node.fields.get(FILLED, {}).get("evalMode") == _TRY)


def _has_null(tree: SparkNode) -> bool:
    return _holds_null(tree.fields) or any(map(_has_null, tree.children))


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_null, value.values() if isinstance(value, dict) else value))
    return value is None


def _fill(tree: SparkNode, original: Any) -> None:
    if not _has_null(tree):
        return
    if original.getClass().getSimpleName().rstrip("$") != tree.kind:
        raise NoForm(f"what {tree.kind} holds")
    known: dict[str, str] = {}
    names = [name for name in tree.fields if name not in _NOT_FIELDS]
    for at, name in enumerate(names[: original.productArity()]):
        value = tree.fields[name]
        if value is None:
            known[name] = _text(original.productElement(at))
        elif isinstance(value, list) and _holds_null(value):
            _fill_inner(value, original.productElement(at))
    if found := {name: text for name, text in known.items() if text not in _EMPTY}:
        tree.fields[FILLED] = found
    for i, child in enumerate(tree.children):
        _fill(child, original.children().apply(i))


def _fill_inner(value: list[Any], original: Any) -> None:
    """A plan, an expression that is no child (as what `ELSE` has, an option), or several."""
    if original.getClass().getSimpleName() == _SOME:
        original = original.get()
    if isinstance(value[0], dict) and "class" in value[0]:
        fill = fill_fields if ".plans." in value[0]["class"] else _fill
        fill(tree_of(value), original)
    elif all(isinstance(part, list) and part for part in value):
        for i, part in enumerate(value):
            _fill_inner(part, original.apply(i))


def _text(value: Any) -> str:
    text = str(value.toString()) if hasattr(value, "toString") else str(value)
    return _COLUMN.sub("#", text)
