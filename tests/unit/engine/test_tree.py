"""The tree that EXPLAIN draws: rules, state and rows of each node."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import (
    OPERATORS,
    Aggregate,
    AggregateCall,
    Bag,
    Filter,
    Generate,
    Group,
    Infix,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Stage,
    StageColumn,
    Top,
    Union,
    Window,
    WindowCall,
    col,
    compile_stages,
    equality,
    expr,
)
from dt_jupyter.ivm.explain import Size, estimated, tree

A = Scan("a", (("x", "x"), ("y", "y")))
B = Scan("b", (("u", "u"),))
SIZES = {"a": Size(1000, 10), "b": Size(50, 0)}
CALL = WindowCall("w", expr("ROW_NUMBER()"), (col("y"),), "", True, True)
NODES: tuple[tuple[Rel, str, Size], ...] = (
    (A, "table a (2 columns)", Size(1000, 10)),
    (Rows("(VALUES (1))", ("r",)), "literal rows", Size(None, 0)),
    (Project(A, (("p", col("x")),)), "projection of 1 column", Size(1000, 10)),
    (Filter(A, (expr("TRUE"),)), "filter by 1 condition", Size(500, 5)),
    (
        Join((A, B), (equality(col("x"), col("u")),)),
        "join of 2 inputs",
        Size(1000, 10),
    ),
    (Match(A, B, MatchKind.LEFT, (("x", "u"),)), "left join on (x)", Size(1000, 10)),
    (Match(A, B, MatchKind.SEMI, (("x", "u"),)), "semi join on (x)", Size(500, 10)),
    (Match(A, B, MatchKind.ANTI, (("x", "u"),)), "anti join on (x)", Size(500, 10)),
    (
        Match(A, B, MatchKind.LEFT, (), (Infix(col("x"), "<", col("u")),)),
        "left join on a condition: Δ of both sides",
        Size(1000, 10),
    ),
    (Match(A, B, MatchKind.ANTI, ()), "anti join with every row", Size(500, 10)),
    (Union((B, B), ("z",)), "union of 2 inputs", Size(100, 0)),
    (Generate(A, expr("EXPLODE({x})", x=col("x")), ("e",)), "rows generated", Size(3000, 30)),
    (
        Window(A, ("x",), (CALL,)),
        "changed partitions of (x) recomputed, ties in the order of contents",
        Size(1000, 10),
    ),
    (Window(A, (), (CALL,)), "the only partition", Size(1000, 10)),
    (Top(A, (col("x"),), 7), "first 7 rows in order", Size(7, 7)),
    (Aggregate(A, ("x",), ()), "aggregate", Size(1000, 10)),
    (Restrict(A, "keys", (("x", "k"),)), "restriction to changed keys", Size(1000, 10)),
)


@pytest.mark.parametrize(("rel", "text", "size"), NODES, ids=lambda v: str(v)[:30])
def test_each_node_has_its_rule_and_its_rows(rel: Rel, text: str, size: Size) -> None:
    stage = Stage("stage:0", rel, Bag(), ())
    line = str(tree((stage,), {"a": "table a"}, SIZES)[1])
    assert text in line
    assert estimated(rel, SIZES) == size


def test_every_operator_is_drawn() -> None:
    assert {type(rel) for rel, _, _ in NODES} == set(OPERATORS)


def test_a_hidden_stage_stands_below_the_table_with_its_state() -> None:
    def types(rel: Rel) -> dict[str, str]:
        return dict.fromkeys(rel.columns, "int") | {"n__0": "int", "m__0": "int"}

    largest = AggregateCall("max", (col("y"),), expr("MAX({y})", y=col("y")))
    middle = AggregateCall("median", (col("y"),), expr("MEDIAN({y})", y=col("y")))
    groups = Aggregate(A, ("x",), (("n", largest), ("m", middle)))
    stages = compile_stages(Top(groups, (col("n"),), 3), ("x", "n", "m"), types)
    drawn = tree(stages, {"a": "t", "stage:0": "hidden stage 0"}, {"stage:0": Size(12)})
    assert [str(node) for node in drawn] == [
        "the table: rows have no key: identified by a hash of all columns",
        "  first 3 rows in order: recomputed  [≈ 3 rows]",
        "    hidden stage 0 (3 columns)  [≈ 12 rows]",
        "hidden stage 0: key (x); max from state, median recomputed for changed groups"
        "  [≈ 12 rows]",
        "  t (2 columns)",
    ]
    assert [(n.depth, n.operator, n.rule) for n in drawn[1:3]] == [
        (1, "first 3 rows in order", "recomputed"),
        (2, "hidden stage 0 (3 columns)", ""),
    ]
    assert drawn[3].state.startswith("key (x); max from state")


def test_a_key_has_the_name_that_the_query_gives_it() -> None:
    """Inside, columns are unique by a number at their end."""
    read = Scan("a", (("country_2", "country"), ("day_3", "ts")))
    made = Project(
        read, (("country_2", col("country_2")), ("day_4", expr("DATE({t})", t=col("day_3"))))
    )
    count = StageColumn("n", AggregateCall("count", (), expr("COUNT(*)")), "bigint", None)
    outputs = (("land", col("country_2")), ("n", col("n")))
    group = Group(("country_2", "day_4"), (count,))
    stages = (Stage("stage:0", made, group, outputs), Stage("stage:1", made, group, outputs))
    drawn = tree(stages, {}, {})
    assert [n.state.partition(";")[0] for n in drawn if n.state] == [
        "key (land, day)", "key (country, day)",
    ]  # fmt: skip
