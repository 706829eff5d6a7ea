"""What the JSON of a plan leaves out: asked of Spark's own plan, operator by operator."""

from __future__ import annotations

import json
from typing import Any

from dt_jupyter.plans.plan_tree import SparkNode

_VALUES, _ROWS = "pivotColumnValues", "projections"


def fill_gaps(plan: SparkNode, original: Any) -> None:
    """Puts the values of pivots and the rows of unpivots into a tree, from the plan itself, which
    is an analysed one."""
    if not any(map(_has_gap, plan.walk())):
        return
    if plan.kind == "Expand":
        plan.fields[_ROWS] = plan.fields[_ROWS] or _projections(original)
    for i, call in enumerate(_calls(plan)):
        if _is_pivot(call):
            _fill_pivot(call, original.aggregateExpressions().apply(i))
    for i, child in enumerate(plan.children):
        fill_gaps(child, original.children().apply(i))


def fill_expansions(plan: SparkNode, original: Any) -> None:
    """Puts the rows of unpivots and grouping sets into the tree of an optimized plan."""
    if plan.kind == "Expand":
        plan.fields[_ROWS] = plan.fields[_ROWS] or _projections(original)
    if any(n.kind == "Expand" for n in plan.walk()):
        for i, child in enumerate(plan.children):
            fill_expansions(child, original.children().apply(i))


def _has_gap(plan: SparkNode) -> bool:
    if plan.kind == "Expand":
        return not plan.fields[_ROWS]
    return any(map(_is_pivot, _calls(plan)))


def _calls(plan: SparkNode) -> tuple[SparkNode, ...]:
    return plan.trees("aggregateExpressions") if plan.kind == "Aggregate" else ()


def _projections(expand: Any) -> list[list[Any]]:
    rows = expand.projections()
    made = []
    for i in range(rows.size()):
        row = rows.apply(i)
        made.append([json.loads(row.apply(j).toJSON()) for j in range(row.size())])
    return made


def _is_pivot(call: SparkNode) -> bool:
    return any(n.kind == "PivotFirst" for n in call.walk())


def _fill_pivot(call: SparkNode, original: Any) -> None:
    """The values as text: the column that is pivoted by says their type."""
    pivot = next(n for n in call.walk() if n.kind == "PivotFirst")
    values = original.child().aggregateFunction().pivotColumnValues()
    found = [values.apply(i) for i in range(values.size())]
    pivot.fields[_VALUES] = [_text(v) for v in found]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, bool | int | float | str):
        return (
            None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        )
    return str(value.toString())
