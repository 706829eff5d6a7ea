"""What an operator of a plan says of itself: its columns, what it reads, whether SQL has it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode, tree_of

ONE_SIDED = frozenset({"LeftSemi", "LeftAnti"})
"""Joins that have the columns of their left side alone."""
EXISTENCE = "ExistenceJoin"
"""A join that marks the rows of its left side that have a partner."""
_ONE_ROW = "OneRowRelation"
"""What a query without FROM reads: one row without columns."""


def plan_columns(plan: SparkNode) -> tuple[SparkNode, ...]:
    """The columns of a leaf, or of what says itself what its columns are."""
    for name in ("output", "projectList", "aggregateExpressions"):
        if name in plan.fields:
            return plan.trees(name)
    if plan.kind == "Generate":
        return (*plan_columns(plan.child), *plan.trees("generatorOutput"))
    if plan.kind == "Window":
        return (*plan_columns(plan.child), *plan.trees("windowExpressions"))
    if plan.kind == "Join":
        left_only = plan.word("joinType") in ONE_SIDED | {EXISTENCE}
        sides = plan.children[:1] if left_only else plan.children
        mark = plan.fields["joinType"]["exists"] if plan.word("joinType") == EXISTENCE else []
        marks = (tree_of(mark),) if mark else ()
        return (*(c for side in sides for c in plan_columns(side)), *marks)
    if plan.kind == _ONE_ROW:
        return ()
    if not plan.children:
        raise NoForm(f"the columns of {plan.kind}")
    return plan_columns(plan.child)


def is_cut(plan: SparkNode) -> bool:
    """Whether Spark's operator is none that a text of its own brings about."""
    if plan.kind == "Expand":
        return True
    if plan.kind == "Filter":
        condition = plan.tree("condition")
        return condition is not None and any(n.kind == "AtLeastNNonNulls" for n in condition.walk())
    if plan.kind == "Aggregate" and plan.child.kind != "Expand":
        calls = plan.trees("aggregateExpressions")
        return any(n.kind == "PivotFirst" for c in calls for n in c.walk())
    return False


def expanded_keys(expand: SparkNode, known: Container[int]) -> Iterator[int]:
    """The columns of its input by which an expansion groups: copies of what it was given."""
    for place, output in enumerate(expand.trees("output")):
        if output.id not in known:
            row = (p[place][0] for p in expand.fields["projections"])
            yield from (cell["exprId"]["id"] for cell in row if "exprId" in cell)


def grouping_bit(node: SparkNode) -> tuple[SparkNode, int] | None:
    """Where an expression is one bit of a column, as `grouping(key)` is one of what tells grouping
    sets apart: the column, and the place of the bit from the lowest."""
    inner = node.child if node.kind == "Cast" else node
    if inner.kind != "BitwiseAnd" or inner.child.kind != "ShiftRight":
        return None
    (column, place), one = inner.child.children, inner.children[1]
    is_bit = column.kind == "AttributeReference" and place.kind == "Literal"
    return (
        (column, int(place.fields["value"])) if is_bit and one.fields.get("value") == "1" else None
    )


def renamed_column(node: SparkNode) -> SparkNode | None:
    """The column that an item only names anew; None where it computes something."""
    inner = node.child if node.kind == "Alias" else node
    return inner if inner.kind == "AttributeReference" else None


def expressions_of(node: SparkNode) -> Iterator[SparkNode]:
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


def conditions(node: SparkNode) -> list[SparkNode]:
    if node.kind != "And":
        return [node]
    return [c for side in node.children for c in conditions(side)]


def columns_read(node: SparkNode) -> set[int]:
    """The columns that an expression reads, those of calls as they were written included."""
    found = {n.id for n in node.walk() if n.kind == "AttributeReference"}
    plans = [n.fields["plan"] for n in node.walk() if "plan" in n.fields]
    return found | {a["exprId"]["id"] for a in _outer_columns(plans)}


def _outer_columns(value: Any) -> Iterator[Mapping[str, Any]]:
    """What a subquery reads of the query around it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and str(value.get("class", "")).endswith(".OuterReference"):
        yield from (a for a in value["e"] if "exprId" in a)
    for part in inner:
        yield from _outer_columns(part)
