"""What a text says and the relation that was read of it does not: a second look at both plans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dt_jupyter.plans.function_names import TRY
from dt_jupyter.plans.plan_tree import SparkNode, Unknown
from dt_jupyter.plans.scalar_reader import is_read_replaced

_STRUCTURE = frozenset({
    "Alias", "AttributeReference", "OuterReference", "And", "Or", "Not", "IsNull", "IsNotNull",
    "EqualTo", "EqualNullSafe", "CaseWhen", "If", "Coalesce", "SortOrder", "In", "InSet",
    "ListQuery", "ScalarSubquery", "Exists", "InSubquery", "LateralSubquery", "NamedLambdaVariable",
    "LambdaFunction", "With", "CommonExpressionDef", "CommonExpressionRef", "Between",
    "AssertNotNull", "KnownNotNull", "KnownNullable", "NormalizeNaNAndZero", "GetArrayItem",
    "AttributeSet", "RaiseError",
})  # fmt: skip
"""Expressions that relations have in other forms than texts."""
_PASSING = frozenset({
    "exprId", "resultId", "name", "qualifier", "timeZoneId", "nonInheritableMetadataKeys",
    "explicitMetadata", "metadata", "explicit", "replacement", "nullable", "queryContext",
})  # fmt: skip
"""Fields that name, or follow from others."""
_LIMITS = ("limitExpr", "offsetExpr")
_NULLS = ("Literal", "TypedNullLiteral")
_PICKS = frozenset({"Count", "First", "Last", "AnyValue", "GetArrayItem"})


def find_lost(text: SparkNode, relation: SparkNode) -> str | None:
    """A value, a cast or a function that is in the plan of a text and nowhere in that of the
    relation which was read of it, in words; None where there is none. Calls of aggregates and
    windows are left out: relations have them with their order settled."""
    kept = set(_words(relation))
    return next((w for w in sorted(set(_words(text))) if w not in kept), None)


def _words(plan: SparkNode) -> Iterator[str]:
    # What a call was written with says nothing where what Spark puts in its place is read.
    nodes = list(plan.everything(lambda node: not is_read_replaced(node)))
    moved = {id(value) for node in nodes for value in _moved_values(node)}
    for node in nodes:
        if id(node) in moved:
            continue
        called = "aggregate" in node.package and node.eval_mode != TRY
        settled = node.is_plan or node.kind in _STRUCTURE or called
        is_null = node.kind in _NULLS and node.fields.get("value") is None
        if not (settled or is_null or is_read_replaced(node)) and node.type is not None:
            yield _word(node)


def _moved_values(node: SparkNode) -> Iterator[SparkNode]:
    """Numbers of rows, which limits of limits share; constants that say only that a row counts,
    or that NULLs do not; and places in arrays, which pivots have."""
    if node.is_plan:
        yield from (n for f in _LIMITS if (n := node.tree(f)) is not None)
    elif node.kind in _PICKS:
        yield from (c for c in node.children if c.kind == "Literal")


def _word(node: SparkNode) -> str:
    """The class of an expression with the values of its fields, without what is below it; of a
    literal its value, whose type may come by a cast."""
    if node.kind == "Literal":
        return f"the value {node.fields['value']}"
    fields = {k: _plain(v) for k, v in node.fields.items() if k not in _PASSING}
    said = {k: v for k, v in fields.items() if v is not None}
    return f"{node.kind} {json.dumps(said, sort_keys=True)}" if said else node.kind


def _plain(value: Any) -> Any:
    """A field's own value; None for nodes."""
    if isinstance(value, SparkNode):
        return None
    if isinstance(value, Unknown):
        return value.kind
    if isinstance(value, list):
        return [p for v in value if (p := _plain(v)) is not None] or None
    if isinstance(value, dict):
        return {k: p for k, v in value.items() if (p := _plain(v)) is not None} or None
    return value
