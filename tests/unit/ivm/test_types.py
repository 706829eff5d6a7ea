"""Types of expressions and relations by rules."""

from __future__ import annotations

from random import Random

import pytest

from dt_jupyter.ivm import (
    EXPRESSIONS,
    NULL,
    Between,
    Call,
    Case,
    Cast,
    Column,
    ColumnType,
    End,
    Expr,
    ExpressionFacts,
    Filter,
    Infix,
    InList,
    Literal,
    Postfix,
    Prefix,
    Rel,
    RelationTypes,
    Untyped,
    at,
    case,
    col,
    conjunction,
    equality,
    expr,
    expression_types,
    type_expression,
)
from tests.unit.ivm_lab import PLUS, Search, Term

COLUMNS = {"n": ColumnType("int", nullable=False), "x": ColumnType("bigint"),
           "s": ColumnType("string")}  # fmt: skip
N, X, S, ONE = col("n"), col("x"), col("s"), Literal("1")


@pytest.mark.parametrize(
    ("e", "kind", "nullable"),
    [
        (N, "int", False),
        (X, "bigint", True),
        (ONE, "int", False),
        (Literal("7L"), "bigint", False),
        (Literal("'it''s'"), "string", False),
        (NULL, "void", True),
        (equality(N, ONE), "boolean", False),
        (equality(N, X), "boolean", True),
        (Infix(N, "<=>", X), "boolean", False),
        (Postfix(X, "IS NULL"), "boolean", False),
        (Prefix("NOT", equality(N, X)), "boolean", True),
        (InList(N, (ONE, X)), "boolean", True),
        (Between(N, ONE, N), "boolean", False),
        (Prefix("-", X), "bigint", True),
        (Infix(N, "-", X), "bigint", True),
        (case(equality(N, ONE), N), "int", True),
        (case(equality(X, ONE), N, X), "bigint", True),
        (case(equality(X, ONE), N, ONE), "int", False),
        (case(equality(X, ONE), NULL, S), "string", True),
        (Case(N, ((ONE, N), (X, S)), S), "", False),
        (Call("COUNT", (X,)), "bigint", False),
        (Call("SUM", (N,)), "bigint", True),
        (Call("MAX", (N,)), "int", True),
        (Call("COALESCE", (X, N)), "bigint", False),
        (Call("CONCAT", (S, Literal("''"))), "string", True),
        (Cast(X, "DECIMAL(10, 2)"), "decimal(10,2)", True),
        (Call("UPPER", (S,)), "", False),
        (Call("COALESCE", (X, S)), "", False),
        (expr("{x} + 1", x=X), "", False),
        (expr("{x} + 1", x=X).typed("bigint"), "bigint", True),
        (col("y"), "", False),
    ],
)
def test_types_of_what_is_of_our_own_making(e: Expr, kind: str, nullable: bool) -> None:
    """ "": there is no rule, and nothing is taken for granted."""
    if not kind:
        with pytest.raises(Untyped):
            type_expression(e, COLUMNS)
    else:
        assert type_expression(e, COLUMNS) == ColumnType(kind, nullable)


def test_what_spark_says_stays_through_rewrites() -> None:
    said = ExpressionFacts("bigint", nullable=False, deterministic=False)
    e = Call("f", (Column("n", facts=ExpressionFacts("int", nullable=False)),), facts=said)
    renamed = e.renamed({"n": "m"})
    assert renamed.facts == said
    assert not renamed.deterministic
    assert Call("g", (renamed,)).children[0].facts == said
    assert renamed == Call("f", (col("m"),)), "what is said of it is no part of what it is"
    assert e.replaced({"n": X}).facts == ExpressionFacts(
        "bigint", nullable=True, deterministic=False
    )


def test_a_column_with_nulls_that_spark_took_for_one_without_makes_no_promise() -> None:
    said = ExpressionFacts("int", nullable=False)
    taken, open_ = (Column("c", facts=ExpressionFacts("int", nullable=n)) for n in (False, True))
    nulls = {"c": ColumnType("int")}
    assert type_expression(Call("f", (taken,), facts=said), nulls).nullable
    assert type_expression(Call("f", (col("c"),), facts=said), nulls).nullable
    assert not type_expression(Call("f", (open_,), facts=said), nulls).nullable
    none = {"c": ColumnType("int", nullable=False)}
    assert not type_expression(Call("f", (taken,), facts=said), none).nullable


def test_each_class_of_nodes_has_a_rule_and_a_printer() -> None:
    assert set(expression_types._RULES) == set(EXPRESSIONS)
    assert set(expr.__globals__["_PRINTED"]) == set(EXPRESSIONS)


def never_null_holds_none(rel: Rel, changed: frozenset[str], rng: Random) -> list[list[Term]]:
    """σ(a column is NULL that is never NULL)(R) = ∅"""
    types = RelationTypes(lambda source: AnyColumns())
    columns = sorted(types.never_null(rel))
    if not columns:
        return [[]]
    SEEN.append(rel)
    there = conjunction(tuple(Postfix(col(c), "IS NOT NULL") for c in columns))
    assert there is not None
    return [[Term(at(Filter(rel, (expr("NOT ({t})", t=there),)), End.NEW), PLUS)]]


SEEN: list[Rel] = []


class AnyColumns(dict[str, ColumnType]):
    def __missing__(self, name: str) -> ColumnType:
        return ColumnType("int")


def test_columns_that_are_never_null_are_not() -> None:
    for seed in range(120):
        search = Search(range(seed, seed + 1), 3)
        if RelationTypes(lambda source: AnyColumns()).never_null(search.relation(seed)):
            search(never_null_holds_none)
    assert len(SEEN) > 10
