"""What decides by a floating aggregate is FULL; what only moves with it stays INCREMENTAL. The
functions that are said to be continuous are tested over the registry of Spark."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from dt_jupyter.ivm import continuity
from tests.spark.engine_lab import Lab

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POINTS = (0.0, 1e-3, -1e-3, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 10.0, 100.25, -100.25)
STEP, TOLERANCE = 1e-12, 1e-9
DECIDE = {
    "nullif(sum(v), 1)", "nullif(sum(v), 1) IS NULL", "coalesce(nullif(avg(v), 0.1D), -1)",
    "sum(v) % 1", "sign(sum(v) - 1)", "round(sum(v), 2)", "floor(sum(v))", "CAST(sum(v) AS INT)",
    "CAST(avg(v) AS DECIMAL(9, 2))", "CAST(sum(v) AS STRING)", "if(sum(v) > 1, 1D, 0D)",
    "CASE WHEN stddev(v) = 0 THEN 0D ELSE 1D END", "bround(var_pop(v), 1)", "struct(sum(v) > 1)",
    "try_divide(1, sum(v))", "coalesce(1 / sum(v), 0)",
}  # fmt: skip
MOVE = {
    "sum(v)", "sum(v) / count(*)", "coalesce(sum(v), 0)", "sqrt(abs(sum(v)))", "sum(v) IS NULL",
    "CASE WHEN count(*) > 1 THEN avg(v) ELSE 0 END", "greatest(sum(v), 0D) - avg(v) * 2",
    "if(sum(v) IS NULL, -1D, sum(v))", "struct(sum(v))", "pow(sum(v), 2)", "CAST(sum(v) AS FLOAT)",
}  # fmt: skip
ABOVE = {
    "SELECT g, v > avg(v) OVER (PARTITION BY g) b FROM t": False,
    "SELECT g, v - avg(v) OVER (PARTITION BY g) b FROM t": True,
    "SELECT g, i > avg(i) OVER (PARTITION BY g) b FROM t": True,
    "SELECT g, v > max(v) OVER (PARTITION BY g) - 1 b FROM t": True,
    "SELECT g, v FROM t QUALIFY v > avg(v) OVER (PARTITION BY g)": False,
    "SELECT sum(DISTINCT s) d FROM (SELECT g, sum(v) s FROM t GROUP BY g)": False,
    "SELECT max(s % 1) d FROM (SELECT g, sum(v) s FROM t GROUP BY g)": False,
    "SELECT max(s + 1) d FROM (SELECT g, sum(v) s FROM t GROUP BY g)": True,
    "SELECT count(nullif(s, 1)) d FROM (SELECT g, sum(v) s FROM t GROUP BY g)": False,
    "SELECT DISTINCT s FROM (SELECT g, sum(v) s FROM t GROUP BY g)": False,
    "SELECT s FROM (SELECT g, sum(v) s FROM t GROUP BY g) UNION SELECT v FROM t": False,
}


@pytest.fixture(scope="module")
def t(shared_lab: Lab) -> Lab:
    shared_lab.table("t", "g INT, i INT, v DOUBLE", "1, 1, 0.1D", "1, 2, 0.9D", "2, 3, NULL")
    return shared_lab


def test_an_item_is_full_where_a_last_bit_may_decide(t: Lab) -> None:
    queries = {f"SELECT g, {item} r FROM t GROUP BY g": item in MOVE for item in DECIDE | MOVE}
    for query, moves in (queries | ABOVE).items():
        statement = f"EXPLAIN CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS {query}"
        head = t.sql(statement)[0][0]
        wanted = "d: INCREMENTAL" if moves else "d: FULL (FLOATING_AGGREGATE_DECIDES"
        assert head.startswith(wanted), (query, head)


def test_the_rows_of_a_deciding_query_are_those_of_spark(t: Lab) -> None:
    item = "nullif(sum(v), 1)"
    t.dynamic_table("n", f"SELECT g, {item} r, {item} IS NULL b FROM t GROUP BY g")
    assert t.why("n") == "FLOATING_AGGREGATE_DECIDES"
    t.sql("INSERT INTO t VALUES (2, 1, 0.7D), (2, 1, 0.2D), (2, 1, 0.1D)")
    assert t.refresh("n") == "FULL"
    wanted = t.spark.sql(f"SELECT g, {item} r, {item} IS NULL b FROM t GROUP BY g").collect()
    assert t.rows("n") == sorted((tuple(r) for r in wanted), key=repr)


@pytest.mark.nightly
def test_functions_that_move_with_their_argument_do_so_over_the_registry(
    spark: SparkSession,
) -> None:
    names = _of_a_double(spark)
    assert {n.upper() for n in names} >= continuity.CONTINUOUS
    items = ", ".join(f"{name}(x), {name}(y)" for name in names)
    points = ", ".join(f"({p!r}D, {p * (1 + STEP)!r}D)" for p in POINTS)
    rows = spark.sql(f"SELECT {items} FROM VALUES {points} AS p(x, y)").collect()
    jump = {n for i, n in enumerate(names) if any(_jumps(r[2 * i], r[2 * i + 1]) for r in rows)}
    assert jump >= {"acos", "rint"}
    assert not {n.upper() for n in jump} & continuity.CONTINUOUS


def test_functions_of_several_numbers_move_with_those_that_may_move(spark: SparkSession) -> None:
    calls = [
        f"{f}({{}}, {b})"
        for f in (
            "greatest",
            "least",
            "hypot",
            "pow",
            "power",
            "try_add",
            "try_subtract",
            "try_multiply",
            "try_divide",
        )
        for b in ("2D", "0.5D", "-1D")
    ]
    calls += [f"{f}(2D, {{}})" for f in ("greatest", "least", "hypot", "try_add", "try_subtract")]
    calls += ["coalesce({}, 0D)", "nvl2({}, {}, 0D)", "if({} IS NULL, 1D, {})", "{} / 3D"]
    items = ", ".join(f"{c.replace('{}', 'x')}, {c.replace('{}', 'y')}" for c in calls)
    points = ", ".join(f"({p!r}D, {p * (1 + STEP)!r}D)" for p in POINTS)
    rows = spark.sql(f"SELECT {items} FROM VALUES {points} AS p(x, y)").collect()
    jump = [c for i, c in enumerate(calls) if any(_jumps(r[2 * i], r[2 * i + 1]) for r in rows)]
    assert jump == []


def _of_a_double(spark: SparkSession) -> list[str]:
    """The functions that make a double or a float of one double, of no chance and no error here."""
    found = []
    for name in sorted(r[0] for r in spark.sql("SHOW SYSTEM FUNCTIONS").collect()):
        if not name.isidentifier() or name in ("rand", "randn", "random", "raise_error", "uniform"):
            continue
        query = f"SELECT {name}(x) AS r, x FROM VALUES (CAST(1.5 AS DOUBLE)) AS p(x)"
        try:
            kind = spark.sql(query).schema["r"].dataType.typeName()  # of no aggregate, beside x
        except PySparkException:
            continue
        if kind in ("double", "float"):
            found.append(name)
    return found


def _jumps(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) != math.isnan(other)
    if math.isinf(one) or math.isinf(other):
        return one != other
    return abs(one - other) > TOLERANCE * max(1.0, abs(one), abs(other))
