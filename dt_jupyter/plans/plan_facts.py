"""What an operator of a plan says of itself: its columns, what it reads, whether SQL has it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode, nodes_in
from dt_jupyter.spark import SOURCE_MARK

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
        return (*(c for side in sides for c in plan_columns(side)), *existence_marks(plan))
    if plan.kind == _ONE_ROW:
        return ()
    if not plan.children:
        raise NoForm(f"the columns of {plan.kind}")
    return plan_columns(plan.child)


def view_source(view: SparkNode) -> str:
    """What the columns of a view are marked with, else its name."""
    return mark_in(plan_columns(view)) or str(view.fields["desc"]["identifier"]["table"])


def mark_in(columns: Iterable[SparkNode]) -> str | None:
    """The source that columns are marked with; None where they are not."""
    marks = (c.fields.get("metadata") or {} for c in columns)
    return next((str(m[SOURCE_MARK]) for m in marks if SOURCE_MARK in m), None)


def existence_marks(join: SparkNode) -> tuple[SparkNode, ...]:
    """The column that a join marks its rows by, where it does."""
    return tuple(nodes_in(join.fields["joinType"])) if join.word("joinType") == EXISTENCE else ()


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
            row = (p[place] for p in expand.fields["projections"])
            yield from (cell.id for cell in row if cell.kind == "AttributeReference")


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


def conditions(node: SparkNode) -> list[SparkNode]:
    if node.kind != "And":
        return [node]
    return [c for side in node.children for c in conditions(side)]


def columns_read(node: SparkNode) -> set[int]:
    """The columns that an expression reads, those of calls as they were written included."""
    found = {n.id for n in node.walk() if n.kind == "AttributeReference"}
    inner = (o for n in node.walk() for o in _outer_columns(n.tree("plan")))
    return found.union(inner)


def _outer_columns(plan: SparkNode | None) -> Iterator[int]:
    """What a subquery reads of the query around it."""
    for node in plan.everything() if plan is not None else ():
        read = node.tree("e") if node.kind == "OuterReference" else None
        if read is not None:
            yield from (n.id for n in read.walk() if "exprId" in n.fields)
