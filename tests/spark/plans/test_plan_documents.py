"""Documents of plans: all that Spark's plan says, each node once, whatever the release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from dt_jupyter.plans.plan_document import digest_document, read_document, write_document
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.spark import Catalyst

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = {
    "t": "id INT, k STRING, v INT, d DECIMAL(10,2), b BINARY, a ARRAY<INT>, s STRUCT<x: INT>",
    "u": "id INT, k STRING, w BIGINT",
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, str]]:
    with Catalyst.of(spark).empty_views(
        {n: StructType.fromDDL(c) for n, c in TABLES.items()}
    ) as views:
        yield dict(views)


Tables = dict[str, str]


def document(spark: SparkSession, tables: Tables, text: str, optimized: bool = False) -> str:
    frame: Any = spark.sql(text.format(**tables))
    execution = frame._jdf.queryExecution()
    return write_document(
        Catalyst.of(spark), execution.optimizedPlan() if optimized else execution.analyzed()
    )


def tree(spark: SparkSession, tables: Tables, text: str, optimized: bool = False) -> SparkNode:
    return read_document(document(spark, tables, text, optimized))


def first(plan: SparkNode, *kinds: str) -> SparkNode:
    return next(node for node in plan.everything() if node.kind in kinds)


def literals(nodes: tuple[SparkNode, ...]) -> list[str]:
    return [node.fields["value"] for node in nodes]


@pytest.mark.parametrize(
    ("text", "kind", "field", "word"),
    [
        ("SELECT * FROM {t} a JOIN {u} b ON a.id = b.id", "Join", "joinType", "Inner"),
        ("SELECT * FROM {t} a LEFT JOIN {u} b ON a.id = b.id", "Join", "joinType", "LeftOuter"),
        ("SELECT * FROM {t} a FULL JOIN {u} b ON a.id = b.id", "Join", "joinType", "FullOuter"),
        ("SELECT * FROM {t} a ANTI JOIN {u} b ON a.id = b.id", "Join", "joinType", "LeftAnti"),
        ("SELECT * FROM {t} CROSS JOIN {u}", "Join", "joinType", "Cross"),
        ("SELECT CAST(k AS INT) FROM {t}", "Cast", "evalMode", "ANSI"),
        ("SELECT TRY_CAST(k AS INT) FROM {t}", "Cast", "evalMode", "TRY"),
        ("SELECT id FROM {t} ORDER BY id DESC", "SortOrder", "direction", "Descending"),
        ("SELECT id FROM {t} ORDER BY id NULLS LAST", "SortOrder", "nullOrdering", "NullsLast"),
        ("SELECT sum(v) OVER (ORDER BY id ROWS 1 PRECEDING) FROM {t}", "SpecifiedWindowFrame",
         "frameType", "RowFrame"),
        ("SELECT max(v) FROM {t}", "AggregateExpression", "mode", "Complete"),
    ],
)  # fmt: skip
def test_a_word_among_several_is_said(
    spark: SparkSession, tables: Tables, text: str, kind: str, field: str, word: str
) -> None:
    assert first(tree(spark, tables, text), kind).word(field) == word


def test_an_expression_has_a_type_and_says_whether_it_is_fixed(
    spark: SparkSession, tables: Tables
) -> None:
    plan = tree(
        spark, tables,
        "SELECT v + 1 AS n, coalesce(v, 1) AS c, rand() AS r, s.x, d * d AS dd,"
        " named_struct('y', k) AS m, collect_list(v) OVER (PARTITION BY k) AS l FROM {t}",
    )  # fmt: skip
    found = {n.name: n for n in plan.everything() if n.kind == "Alias"}
    assert {n: (c.type, c.nullable, c.deterministic) for n, c in found.items() if n in "ncr"} == {
        "n": ("integer", True, True),
        "c": ("integer", False, True),
        "r": ("double", False, False),
    }
    assert found["dd"].type == "decimal(21,4)"
    assert found["m"].type["fields"][0]["name"] == "y"
    assert found["l"].type["elementType"] == "integer"
    field = first(plan, "GetStructField")
    assert (field.fields["ordinal"], field.type) == (0, "integer")
    frame = first(plan, "WindowSpecDefinition")
    assert (frame.type, frame.is_plan) == (None, False)
    assert first(plan, "Project").is_plan


def test_a_node_says_where_it_stands_in_the_text(spark: SparkSession, tables: Tables) -> None:
    text = f"SELECT k,\n  v + 1 AS w FROM {tables['t']}"
    origin = first(tree(spark, tables, text), "Add").origin
    assert origin is not None
    assert (origin.line, origin.column, origin.view) == (2, 2, None)
    assert text[origin.start : origin.stop + 1] == "v + 1"


def test_values_are_said_as_sql(spark: SparkSession, tables: Tables) -> None:
    plan = tree(
        spark, tables,
        "SELECT X'00FF' AS b, array(1, NULL) AS a, map('x', 1.5) AS m, 'it\\'s' AS s, -5L AS l,"
        " named_struct('p q', DATE'2026-01-02') AS r, CAST(NULL AS INT) AS n, 1.50BD AS d,"
        " TIMESTAMP_NTZ'2026-01-02 03:04:05' AS z, INTERVAL '1' DAY AS i, '' AS e FROM {t}",
        optimized=True,
    )  # fmt: skip
    found = {n.name: n.child for n in plan.everything() if n.kind == "Alias"}
    assert {name: (n.kind, n.fields["value"]) for name, n in found.items()} == {
        "b": ("Literal", "X'00FF'"),
        "a": ("Literal", "ARRAY(1, CAST(NULL AS INT))"),
        "m": ("Literal", "MAP('x', 1.5BD)"),
        "s": ("Literal", "it's"),
        "l": ("Literal", "-5"),
        "r": ("Literal", "NAMED_STRUCT('p q', DATE '2026-01-02')"),
        "n": ("Literal", None),
        "d": ("Literal", "1.50"),
        "z": ("Literal", "1767323045000000"),
        "i": ("Literal", "86400000000"),
        "e": ("Literal", ""),
    }
    assert found["d"].type == "decimal(3,2)"


def test_rows_sets_pivots_and_expansions_are_said(spark: SparkSession, tables: Tables) -> None:
    rows = tree(spark, tables, "SELECT * FROM VALUES (1, 'a'), (2, NULL) AS x (n, s)")
    assert first(rows, "LocalRelation").fields["data"] == [
        ["1", "'a'"], ["2", "CAST(NULL AS STRING)"],
    ]  # fmt: skip
    numbers = ", ".join(map(str, range(20, 0, -1)))
    found = tree(spark, tables, f"SELECT id FROM {{t}} WHERE id IN ({numbers})", optimized=True)
    values = literals(first(found, "InSet").trees("hset"))
    assert sorted(values, key=int) == [str(i + 1) for i in range(20)]
    pivot = first(
        tree(
            spark, tables, "SELECT * FROM (SELECT k, v FROM {t}) PIVOT (max(v) FOR k IN ('b', 'a'))"
        ),
        "PivotFirst",
    )
    assert literals(pivot.trees("pivotColumnValues")) == ["b", "a"]
    sets = tree(spark, tables, "SELECT k, v, count(*) FROM {t} GROUP BY ROLLUP (k, v)")
    kinds = [[n.kind for n in row[-3:]] for row in first(sets, "Expand").fields["projections"]]
    assert [row.count("Literal") for row in kinds] == [1, 2, 3]


def test_subqueries_and_common_tables_are_said(spark: SparkSession, tables: Tables) -> None:
    plan = tree(
        spark, tables,
        "SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM {u} WHERE {u}.k = {t}.k)"
        " AND v > (SELECT max(w) FROM {u}) AND v IN (SELECT id FROM {u})",
    )  # fmt: skip
    for kind in ("Exists", "ScalarSubquery", "ListQuery"):
        inner = first(plan, kind).tree("plan")
        assert inner is not None
        assert inner.is_plan
    outer = first(plan, "OuterReference")
    assert (outer.name, outer.id) == ("k", plan_column(plan, "k"))
    plan = tree(
        spark, tables,
        "WITH x AS (SELECT k FROM {t}), y AS (SELECT k FROM x) SELECT * FROM y JOIN x USING (k)",
    )  # fmt: skip
    defined = [n.fields["id"] for n in plan.everything() if n.kind == "CTERelationDef"]
    read = {n.fields["cteId"] for n in plan.everything() if n.kind == "CTERelationRef"}
    assert sorted(defined) == [0, 1] == sorted(read)


def plan_column(plan: SparkNode, name: str) -> int:
    leaf = next(n for n in plan.walk() if not n.children)
    return next(c.id for c in leaf.trees("output") if c.name == name)


def test_options_and_letters_are_said(spark: SparkSession, tables: Tables) -> None:
    plan = tree(
        spark, tables,
        "SELECT from_json(k, 'a INT', map('mode', 'FAILFAST')) AS j, transform(a, x -> x + 1) AS y,"
        " k LIKE 'a#%' ESCAPE '#' AS e FROM {t} TABLESAMPLE (10 PERCENT) REPEATABLE (7)",
    )  # fmt: skip
    parser = first(plan, "JsonToStructs")
    assert parser.fields["options"] == {"mode": "FAILFAST"}
    assert parser.fields["schema"]["fields"][0]["name"] == "a"
    assert first(plan, "Like").fields["escapeChar"] == "#"
    variable = first(plan, "NamedLambdaVariable")
    assert (variable.name, variable.fields["value"]) == ("x", None)
    sample = first(plan, "Sample")
    assert (sample.fields["upperBound"], sample.fields["seed"]) == (0.1, 7)
    assert not [n for n in plan.everything() if n.unknown and n.kind != "LogicalRDD"]


def test_what_is_not_said_is_seen_to_be(spark: SparkSession, tables: Tables) -> None:
    plus: Any = F.udf(lambda x: x, "int")
    frame: Any = spark.table(tables["t"]).select(plus("v").alias("p"))
    plan = read_document(write_document(Catalyst.of(spark), frame._jdf.queryExecution().analyzed()))
    call = first(plan, "PythonUDF")
    assert call.unknown == ("func",)
    assert call.fields["func"].kind.startswith("org.apache.spark.api.python.")
    assert first(plan, "LogicalRDD").fields["rdd"].text == ""


def case_in_case(depth: int) -> str:
    value = "v"
    for i in range(depth):
        value = f"CASE WHEN id = {i} THEN v + {i} ELSE {value} END"
    return f"SELECT id, {value} AS c FROM {{t}}"


def test_a_case_in_a_case_is_written_once(spark: SparkSession, tables: Tables) -> None:
    """`TreeNode.toJSON` writes 20 MB for it."""
    sizes = [len(document(spark, tables, case_in_case(n))) for n in (7, 14, 28)]
    assert sizes[1] < 100_000
    assert sizes[2] < 2.5 * sizes[1] < 6 * sizes[0]
    nodes = json.loads(document(spark, tables, case_in_case(14)))["nodes"]
    assert sum(n["class"] == "CaseWhen" for n in nodes) == 14


ALIKE = (
    "SELECT k, sum(v) AS s FROM {t} GROUP BY k HAVING count(*) > 1",
    "WITH x AS (SELECT k, w FROM {u}) SELECT * FROM x JOIN x AS y USING (k)",
    "SELECT id, transform(a, x -> x + v) AS b FROM {t} WHERE v BETWEEN 1 AND id + 5",
    "SELECT rand() AS r, uuid() AS u FROM {t}",
    "SELECT k, v, grouping(k), count(*) FROM {t} GROUP BY CUBE (k, v)",
)
"""Texts with columns, common tables, expressions and variables that Spark numbers by a counter."""
UNLIKE = (
    ("SELECT id FROM {t} WHERE v > 1", "SELECT id FROM {t} WHERE v > 2"),
    ("SELECT id FROM {t} WHERE k = 'a'", "SELECT id FROM {t} WHERE k = 'A'"),
    ("SELECT CAST(k AS INT) AS n FROM {t}", "SELECT TRY_CAST(k AS INT) AS n FROM {t}"),
    ("SELECT id FROM {t} LEFT SEMI JOIN {u} USING (k)",
     "SELECT id FROM {t} LEFT ANTI JOIN {u} USING (k)"),
    ("SELECT id FROM {t} ORDER BY id LIMIT 3", "SELECT id FROM {t} ORDER BY id DESC LIMIT 3"),
    ("SELECT id FROM {t}", "SELECT v AS id FROM {t}"),
    ("SELECT id, k FROM {t}", "SELECT id, k FROM {u}"),
    ("SELECT id FROM {t} UNION ALL SELECT v FROM {t}",
     "SELECT v AS id FROM {t} UNION ALL SELECT v FROM {t}"),
    ("SELECT first(v) AS f FROM {t}", "SELECT first(v, true) AS f FROM {t}"),
    ("SELECT k LIKE 'a#%' AS l FROM {t}", "SELECT k LIKE 'a#%' ESCAPE '#' AS l FROM {t}"),
    ("SELECT count(v) AS n FROM {t}", "SELECT count(DISTINCT v) AS n FROM {t}"),
    ("SELECT try_sum(v) AS s FROM {t}", "SELECT sum(v) AS s FROM {t}"),
    ("SELECT * FROM (SELECT k, v FROM {t}) PIVOT (max(v) FOR k IN ('a' AS x))",
     "SELECT * FROM (SELECT k, v FROM {t}) PIVOT (max(v) FOR k IN ('b' AS x))"),
    ("SELECT * FROM VALUES (X'00') AS x (b)", "SELECT * FROM VALUES (X'01') AS x (b)"),
)  # fmt: skip


def test_two_analyses_of_a_text_have_one_digest(spark: SparkSession, tables: Tables) -> None:
    def digest(views: Tables, text: str) -> str:
        return digest_document(document(spark, views, text))

    again = {n: StructType.fromDDL(c) for n, c in TABLES.items()}
    with Catalyst.of(spark).empty_views(again) as others:
        for text in ALIKE:
            assert digest(tables, text) == digest(dict(others), text), text
    for one, other in UNLIKE:
        assert digest(tables, one) != digest(tables, other), one
    one, other = "SELECT y.id FROM {t} AS y WHERE v > 1", "SELECT id\nFROM {t} z WHERE z.v > 1"
    assert digest(tables, one) == digest(tables, other)
