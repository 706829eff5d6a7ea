"""Plans without a table, columns of the query around as items, and conditions in ON: each is
INCREMENTAL or FULL by a reason, with the rows of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.engine_lab import Lab

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GENERATED = "SELECT explode(array(1, 2)) AS x"
ROWS = {
    GENERATED: GENERATED,
    "stack": "SELECT * FROM stack(2, 1, 'a', 2, 'b')",
    "positions": "SELECT posexplode(array(1, 2))",
    "inline": "SELECT inline(array(struct(1 AS a, 2 AS b)))",
    "never": f"{GENERATED} WHERE false",
    "one row": "SELECT 1 AS a, map(1, 2) m",
    "values": "VALUES (1), (2)",
    "count": "SELECT count(*) c",
    "sum": f"SELECT sum(x) s FROM ({GENERATED})",
    "join": f"SELECT f, x FROM t LEFT JOIN ({GENERATED}) e ON e.x = t.f",
    "union": f"{GENERATED} UNION ALL SELECT f FROM t",
    "in": f"SELECT f FROM t WHERE f IN ({GENERATED}) OR EXISTS ({GENERATED})",
    "twice": f"WITH c AS ({GENERATED}) SELECT a.x FROM c a JOIN c b ON a.x = b.x",
}
INCREMENTAL = {
    "exists": "SELECT f FROM t WHERE EXISTS (SELECT t.f, u.f FROM u WHERE u.f = t.f)",
    "not exists": "SELECT f FROM t WHERE NOT EXISTS (SELECT t.f + 1 FROM u WHERE u.f = t.f)",
    "mark": "SELECT f, EXISTS (SELECT DISTINCT t.f FROM u WHERE u.f = t.f) e FROM t",
    "on": "SELECT f FROM t WHERE EXISTS (SELECT 1 FROM u JOIN u v ON u.f = v.f AND v.f = t.f)",
    "not on": "SELECT f FROM t WHERE NOT EXISTS (SELECT 1 FROM u JOIN u v ON v.f = t.f "
    "LEFT JOIN u w ON w.f = v.f)",
    "scalar on": "SELECT f, (SELECT sum(v.h) FROM u JOIN u v ON u.f = v.f AND v.f = t.f) m FROM t",
    "own t": "SELECT f FROM t WHERE EXISTS (SELECT 1 FROM u t JOIN u v ON t.f = v.f)",
    "variant": "SELECT f, variant_get(j, '$.k', 'int') a, j:k::int b FROM tv "
    "WHERE try_variant_get(j, '$.k', 'string') IS NOT NULL",
}
OUTER = {
    "in outer": "SELECT f FROM t WHERE f IN (SELECT t.f FROM u WHERE u.f = t.f)",
    "not in outer": "SELECT f FROM t WHERE f NOT IN (SELECT t.f FROM u WHERE u.f = t.f)",
    "tuple": "SELECT f FROM t WHERE (f, f) IN (SELECT t.f, u.f FROM u)",
    "value": "SELECT f, (SELECT t.f FROM u WHERE u.f = t.f) m FROM t",
    "left on": "SELECT f FROM t WHERE EXISTS (SELECT 1 FROM u LEFT JOIN u v ON v.f = t.f)",
}
CHANGES = "INSERT INTO u VALUES (1, 7), (4, 8); DELETE FROM u WHERE f = 0; INSERT INTO t VALUES (4)"


@pytest.fixture(scope="module")
def tables(shared_lab: Lab) -> Lab:
    lab = shared_lab
    lab.table("t", "f INT", "0", "1", "3")
    lab.table("u", "f INT, h INT", "0, 5", "3, 6")
    lab.sql("CREATE TABLE tv (f INT, j VARIANT) USING delta")
    lab.sql("INSERT INTO tv SELECT 1, parse_json('{\"k\": 1}')")
    return lab


@pytest.fixture(scope="module")
def made(tables: Lab) -> Lab:
    """Every definition."""
    lab = tables
    for i, query in enumerate(ALL.values()):
        lab.dynamic_table(f"d{i}", query)
    return lab


ALL = ROWS | INCREMENTAL | OUTER


def test_each_shape_is_incremental(made: Lab) -> None:
    found = {key: made.mode(f"d{i}") for i, key in enumerate(ALL)}
    assert found == dict.fromkeys(ALL, "INCREMENTAL")


@pytest.mark.nightly
def test_their_rows_are_those_of_spark_after_changes(made: Lab, spark: SparkSession) -> None:
    made.sql(CHANGES)
    for i, (key, query) in enumerate(ALL.items()):
        made.refresh(f"d{i}")
        wanted = sorted((tuple(r) for r in spark.sql(query).collect()), key=repr)
        assert made.rows(f"d{i}") == wanted, key


@pytest.mark.parametrize("key", [GENERATED, "stack", "exists", "in outer", "on"])
def test_a_dataframe_of_such_a_shape_is_read_too(
    tables: Lab, spark: SparkSession, key: str
) -> None:
    explained = str(tables.engine.explain(spark.sql(ALL[key])))
    assert ": INCREMENTAL" in explained
