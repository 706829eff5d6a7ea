"""Forms of plans: equal whatever order Spark joins in, and only where the rows are the same."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.plans.join_blocks import JoinBlocks
from dt_jupyter.plans.plan_form import plan_form
from tests.unit.plans.trees import (
    Child,
    Written,
    alias,
    column,
    expression,
    number,
    operator,
    tree_of,
    word,
)

Flat = list[Written]


def read(name: str, *columns: tuple[str, int]) -> Flat:
    output = [[column(*c, metadata={"of": name})] for c in columns]
    return [operator("LogicalRDD", 0, output=output)]


def equal(one: int, other: int) -> Flat:
    return [expression("EqualTo", 2), column(f"c{one}", one), column(f"c{other}", other)]


def join(left: Flat, right: Flat, condition: Flat, kind: str = "Inner") -> Flat:
    return [operator("Join", 2, joinType=word(kind), condition=condition), *left, *right]


def project(below: Flat, *items: Flat) -> Flat:
    return [operator("Project", projectList=list(items)), *below]


def keep(below: Flat, condition: Flat) -> Flat:
    return [operator("Filter", condition=condition), *below]


def form(flat: Flat) -> Any:
    return plan_form(tree_of(flat))


A, B, C = read("a", ("x", 1), ("y", 2)), read("b", ("x", 3)), read("c", ("x", 4))
POSITIVE = [expression("GreaterThan", 2), column("y", 2), number("0")]


def test_joins_in_another_order_are_the_same() -> None:
    one = project(join(join(A, B, equal(1, 3)), C, equal(2, 4)), [column("x", 4)])
    other = project(join(B, join(C, A, equal(4, 2)), equal(1, 3)), [column("x", 4)])
    assert form(one) == form(other)
    assert form(one) != form(
        project(join(join(A, B, equal(1, 3)), C, equal(1, 4)), [column("x", 4)])
    )


def test_a_filter_is_the_same_below_a_join_and_above_an_inner_one_only() -> None:
    for kind, same in (("Inner", True), ("LeftSemi", True), ("RightOuter", False)):
        above = keep(join(A, B, equal(1, 3), kind), POSITIVE)
        below = join(keep(A, POSITIVE), B, equal(1, 3), kind)
        if kind == "LeftSemi":
            above, below = project(above, [column("x", 1)]), project(below, [column("x", 1)])
        assert (form(above) == form(below)) is same, kind


def test_semi_and_anti_joins_differ() -> None:
    semi, anti = (
        project(join(A, B, equal(1, 3), k), [column("x", 1)]) for k in ("LeftSemi", "LeftAnti")
    )
    assert form(semi) != form(anti)


def test_two_reads_of_a_table_are_told_apart_by_what_is_made_of_them() -> None:
    again = read("a", ("x", 5), ("y", 6))
    more = [expression("GreaterThan", 2), column("y", 6), number("0")]
    first = project(join(A, keep(again, more), equal(1, 5)), [column("x", 1)])
    turned = project(join(keep(again, more), A, equal(5, 1)), [column("x", 1)])
    second = project(join(A, keep(again, more), equal(1, 5)), [column("x", 5)])
    assert form(first) == form(turned)
    assert form(first) != form(second)


@pytest.mark.parametrize(
    ("kind", "left"), [("Inner", True), ("LeftOuter", True), ("FullOuter", False)]
)
def test_a_column_that_using_merges_is_the_left_one_where_that_is_there(
    kind: str, left: bool
) -> None:
    merged = alias("x", 9, expression("Coalesce", 2), column("x", 1), column("x", 3))
    both = join(A, B, equal(1, 3), kind)
    assert (form(project(both, merged)) == form(project(both, [column("x", 1)]))) is left


def window(name: str, call: str, order: bool, *frame: str) -> Flat:
    spec = expression(
        "WindowSpecDefinition", 2 + order, partitionSpec=[Child(0)],
        orderSpec=[Child(1)] if order else [], frameSpecification=Child(1 + order),
    )  # fmt: skip
    bounds = [expression(b) for b in frame]
    ordered = [
        expression("SortOrder", 1, direction=word("Ascending")), column("y", 2)
    ]  # fmt: skip
    value = alias(
        name, 9, expression("WindowExpression", 2),
        expression("AggregateExpression", 1, isDistinct=False),
        expression(call, 1), column("y", 2),
        spec, column("x", 1), *(ordered if order else []),
        expression("SpecifiedWindowFrame", 2, frameType=word("RowFrame")), *bounds,
    )  # fmt: skip
    return [operator("Window", windowExpressions=[value]), *A]


def test_an_aggregate_of_a_whole_partition_has_no_order() -> None:
    whole, running = (
        ("UnboundedPreceding", "UnboundedFollowing"),
        ("UnboundedPreceding", "CurrentRow"),
    )
    plain = form(window("s", "Sum", False, *whole))
    assert form(window("s", "Sum", True, *whole)) == plain
    assert form(window("s", "Sum", True, *running)) != plain
    assert form(window("s", "Max", False, *whole)) != plain
    assert form(window("s", "CollectList", True, *whole)) != form(
        window("s", "CollectList", False, *whole)
    )


def test_a_row_that_is_read_once_is_not_one_that_is_read_twice() -> None:
    blocks = JoinBlocks()
    assert blocks.join("a", "a", []) not in ("a", blocks.join("a", "b", []))
    assert blocks.keep(blocks.join("a", "b", ["t"]), ["u"]) == blocks.join("b", "a", ["u", "t"])
