"""Each node of an expression and of a query has a rule, or a reason why Spark evaluates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from dt_jupyter.evaluation import LeftOut, value_kind
from dt_jupyter.evaluation.scalars import SCALARS
from dt_jupyter.evaluation.statements import translate
from dt_jupyter.ivm import (
    EXPRESSIONS,
    STAR,
    Bracketed,
    Call,
    Element,
    Expr,
    Infix,
    Literal,
    Postfix,
    Prefix,
    Raw,
    SortOrder,
    col,
)
from dt_jupyter.sql import AllColumns, Select, SelectItem, Table, TextQuery, tables_in
from dt_jupyter.sql.emit import query
from tests.queries import select

X, T = col("x"), Table("t")
SHAPES = {"t": (("x", value_kind("int")), ("y", value_kind("boolean")))}
ALL = Select((AllColumns(),), T)
LEFT_OUT: dict[str, Expr] = {
    "[": Element(X, Literal("1")),
    "an expression of another form": Raw((X, Raw((".f",)))),
    "GROUPING": Raw(("grouping(", X, ")")),
    "INITCAP": Call("INITCAP", (X,)),
    "ABS of 2 arguments": Call("ABS", (X, X)),
    "SUM with DISTINCT": Call("SUM", (X,), distinct=True),
    "RLIKE": Infix(X, "RLIKE", Literal("'a'")),
    "~": Prefix("~", X),
    "COLLATE UTF8_BINARY": Postfix(X, "COLLATE UTF8_BINARY"),
    "an operand without brackets": Infix(Infix(X, "+", X), "*", X),
}
ORDERED = SortOrder(X, descending=False, nulls_first=True)


def left_out(value: Expr) -> str:
    with pytest.raises(LeftOut) as found:
        translate(select(T, c=value), SHAPES, is_utc=True)
    return found.value.what


def test_each_node_of_an_expression_has_a_rule() -> None:
    assert set(SCALARS.nodes) == set(EXPRESSIONS)


@pytest.mark.parametrize(("what", "value"), LEFT_OUT.items(), ids=LEFT_OUT)
def test_what_is_left_out_is_named(what: str, value: Expr) -> None:
    assert left_out(value) == what
    assert translate(select(T, c=X), SHAPES, is_utc=True).columns == (("c", SHAPES["t"][0][1]),)


def test_a_node_without_a_rule_is_left_out() -> None:
    @dataclass(frozen=True, eq=False, repr=False)
    class Odd(Expr):
        @property
        def printed(self) -> tuple[str | Expr, ...]:
            return ("odd(1)",)

    assert left_out(Odd()) == "ODD"


# -- queries ---------------------------------------------------------------------------------------


def samples() -> dict[type, Any]:
    nested = query.Nested(ALL, "q")
    return {
        query.TextQuery: TextQuery("SELECT 1 AS x"),
        query.Select: ALL,
        query.UnionAll: query.UnionAll((ALL, ALL)),
        query.Table: T,
        query.Nested: nested,
        query.Joined: query.Joined(nested, T),
        query.Generated: query.Generated(nested, Call("EXPLODE", (X,)), ("e",), outer=False),
    }


BY_SPARK = {query.TextQuery: "rows that Spark computes", query.Generated: "EXPLODE"}


@pytest.mark.parametrize("kind", [*query.QUERIES, *query.FROM_NODES])
def test_each_node_of_a_query_is_printed_and_evaluated_or_left_out(kind: type) -> None:
    node = samples()[kind]
    made = node if isinstance(node, query.Query) else Select((AllColumns(),), node)
    assert made.sql
    if kind in BY_SPARK:
        with pytest.raises(LeftOut, match=BY_SPARK[kind]):
            translate(made, SHAPES, is_utc=True)
        return
    assert set(translate(made, SHAPES, is_utc=True).reads) == {t.view for t in tables_in(made)}


def test_the_lists_of_nodes_are_whole() -> None:
    known = (k for k in vars(query).values() if isinstance(k, type))
    queries = {k for k in known if k.__mro__[1] is query.Query}
    assert queries == set(query.QUERIES)
    assert set(query._RELATION_TEXT) == set(query.FROM_NODES)
    assert set(query._BELOW) == (queries | set(query.FROM_NODES)) - {query.Table}


def test_a_view_is_found_by_its_name_alone() -> None:
    names = {"`a b`": "a b", "`a``b`": "a`b", "t": "t", "`a`.`b`": "", "(SELECT 1)": "", "a.b": ""}
    assert {text: Table(text).view for text in names} == names


def test_groups_are_seen_where_an_aggregate_is_within() -> None:
    count = Call("COUNT", (STAR,))
    found = translate(select(T, c=Infix(Bracketed(count), "+", Literal("1"))), SHAPES, is_utc=True)
    assert "COUNT(*)" in found.sql
    with pytest.raises(LeftOut, match="COUNT"):
        translate(Select((SelectItem(X),), T, where=Infix(count, ">", X)), SHAPES, is_utc=True)
    with pytest.raises(LeftOut, match="ORDER BY of all rows"):
        translate(Select((SelectItem(X),), T, order=(ORDERED,)), SHAPES, is_utc=True)
