"""CHAR columns are compared as Spark compares them: padded where its analyser pads, and nowhere
else. The oracle is Spark's own answer to the same text, before and after changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.engine_lab import Lab

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PADDED = {
    "literal": "SELECT id FROM c1 WHERE c = 'ab'",
    "list": "SELECT id FROM c1 WHERE c NOT IN ('ab', 'xy')",
    "join": "SELECT c1.id, c2.id j FROM c1 JOIN c2 ON c1.c = c2.c",
    "exists": "SELECT id FROM c1 WHERE EXISTS (SELECT 1 FROM c2 WHERE c2.c = c1.c)",
    "having": "SELECT c, count(*) n FROM c1 GROUP BY c HAVING c = 'ab'",
    "groups": "SELECT a.c, n, b.id FROM (SELECT c, count(*) n FROM c1 GROUP BY c) a "
    "JOIN c2 b ON a.c = b.c",
    "distinct": "SELECT a.c FROM (SELECT DISTINCT c FROM c1) a JOIN (SELECT DISTINCT c FROM c2) b "
    "ON a.c = b.c",
    "values": "SELECT id, c <=> 'ab' a, CASE c WHEN 'ab' THEN 1 END b, c LIKE 'ab' d FROM c1",
}
PLAIN = {
    "in_query": "SELECT id FROM c1 WHERE c IN (SELECT c FROM c2)",
    "not_in": "SELECT id FROM c1 WHERE c NOT IN (SELECT c FROM c2)",
    "tuple": "SELECT id FROM c1 WHERE (id, c) IN (SELECT id, c FROM c2)",
    "mark": "SELECT id, c IN (SELECT c FROM c2) b FROM c1",
    "set": "SELECT c FROM c1 INTERSECT SELECT c FROM c2",
    "less": "SELECT c FROM c1 EXCEPT SELECT c FROM c2",
    "field": "SELECT id FROM c1 WHERE n.a = 'ab'",
    "string": "SELECT id FROM c1 WHERE v IN (SELECT c FROM c2)",
}
CHANGES = (
    "INSERT INTO c1 VALUES (3, 'ab', 'ab ', NULL), (4, NULL, NULL, NULL), "
    "(5, 'abc', 'abc', struct('ab'))",
    "INSERT INTO c2 VALUES (1, 'xy'), (6, 'abc')",
    "DELETE FROM c1 WHERE id = 1; UPDATE c2 SET c = 'q' WHERE id = 2",
)


@pytest.fixture(scope="module")
def made(shared_lab: Lab) -> Lab:
    """All definitions over two tables whose CHAR columns differ in length."""
    lab = shared_lab
    lab.table(
        "c1",
        "id INT, c CHAR(5), v VARCHAR(4), n STRUCT<a: CHAR(5)>",
        "1, 'ab', 'ab', struct('ab')",
        "2, 'xy', 'xy', struct('z')",
    )
    lab.table("c2", "id INT, c CHAR(3)", "2, 'ab'", "3, 'ab'")
    lab.sql(f"CREATE VIEW w AS {PADDED['literal']}")
    for name, query in (PADDED | PLAIN).items():
        lab.dynamic_table(name, query)
    lab.dynamic_table("over_view", "SELECT * FROM w")
    lab.engine.create("frame", lab.spark.sql(PADDED["literal"]), target_lag="1 hour")
    return lab


@pytest.mark.nightly
def test_each_definition_is_incremental(made: Lab) -> None:
    for name in (*PADDED, *PLAIN, "over_view", "frame"):
        assert made.mode(name) == "INCREMENTAL", (name, made.engine.table(name).mode_reason)


@pytest.mark.nightly
def test_rows_are_those_of_spark_after_changes(made: Lab, spark: SparkSession) -> None:
    queries = {**PADDED, **PLAIN, "over_view": PADDED["literal"], "frame": PADDED["literal"]}
    made.sql("CREATE STREAM s ON VIEW w")
    before = spark.sql(PADDED["literal"]).collect()
    for change in ("", "; ".join(CHANGES)):
        made.sql(change)
        for name, query in queries.items():
            assert not change or made.refresh(name) in ("INCREMENTAL", "NO_DATA")
            wanted = sorted((tuple(r) for r in spark.sql(query).collect()), key=repr)
            assert made.rows(name) == wanted, (name, change)
    after = {r.id for r in spark.sql(PADDED["literal"]).collect()}
    changes = {(r[0], r[1]) for r in made.sql("SELECT id, `$ACTION` FROM s")}
    was = {r.id for r in before}
    wanted_changes = {(i, "DELETE") for i in was - after} | {(i, "INSERT") for i in after - was}
    assert changes == wanted_changes
