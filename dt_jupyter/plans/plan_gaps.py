"""What the JSON of a plan leaves out: asked of Spark's own plan, operator by operator."""

from __future__ import annotations

import json
from typing import Any

from dt_jupyter.plans.plan_tree import SparkNode

_VALUES, _ROWS = "pivotColumnValues", "projections"


def fill_gaps(plan: SparkNode, original: Any) -> None:
    """Puts the values of pivots and the rows of unpivots into a tree, from the plan itself."""
    if not any(n.kind in ("Expand", "Aggregate") for n in plan.walk()):
        return
    if plan.kind == "Expand" and not plan.fields[_ROWS]:
        plan.fields[_ROWS] = _projections(original)  # type: ignore[index]
    if plan.kind == "Aggregate":
        for i, call in enumerate(plan.trees("aggregateExpressions")):
            _fill_pivot(call, original.aggregateExpressions().apply(i)) if _is_pivot(call) else None
    for i, child in enumerate(plan.children):
        fill_gaps(child, original.children().apply(i))


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
    pivot.fields[_VALUES] = [_text(v) for v in found]  # type: ignore[index]


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, bool | int | float | str):
        return (
            None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        )
    return str(value.toString())
