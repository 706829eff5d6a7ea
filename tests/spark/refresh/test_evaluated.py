"""Refreshes over few rows need no Spark where their statements are on the closed list, say which
are, and hold the same rows where they are not."""

from __future__ import annotations

import pytest

from dt_jupyter.spark import confs
from tests.spark.engine_lab import Lab

QUERIES = {
    "summed": "SELECT k, sum(v) AS s, avg(d) AS m, max(v) AS x, count(*) AS n FROM t GROUP BY k",
    "joined": "SELECT t.id, name, v * d AS p FROM t JOIN u ON t.k = u.k WHERE v > 0",
    "left": "SELECT t.id, u.name FROM t LEFT JOIN u ON t.k = u.k",
    "bought": "SELECT id, k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "first": "SELECT id, d FROM t ORDER BY d DESC, id LIMIT 3",
    "known": "SELECT DISTINCT k FROM t",
}
LEFT_TO_SPARK = {
    "shouted": ("SELECT upper(name) AS n FROM u", "UPPER"),
    "long": ("SELECT k, sum(length(k)) AS m FROM t GROUP BY k", "LENGTH"),
    "halved": ("SELECT id, v / 2 AS h FROM t", "arithmetic of int and int"),
}
CHANGES = (
    "INSERT INTO t VALUES (7, 'a', 5, 1.25), (8, NULL, NULL, NULL), (9, 'c', -3, 99999.99)",
    "UPDATE t SET v = v + 1, d = d - 0.01 WHERE k = 'a' OR id = 3",
    "DELETE FROM t WHERE id IN (1, 4)",
    "UPDATE u SET name = 'other', k = 'c' WHERE k = 'b'",
    "INSERT INTO u VALUES ('a', 'again'), (NULL, 'none')",
)


@pytest.fixture
def few(quick_lab: Lab) -> Lab:
    lab = quick_lab
    lab.table("t", "id INT, k STRING, v INT, d DECIMAL(7, 2)",
              "(1, 'a', 1, 0.50)", "(2, 'a', 2, NULL)", "(3, 'b', NULL, 3.10)",
              "(4, NULL, 4, -1.00)", "(5, 'b', 0, 0.00)", "(6, 'd', 2147483630, 7.77)")  # fmt: skip
    lab.table("u", "k STRING, name STRING", "('a', 'n1')", "('b', 'n2')", "('b', 'n2')")
    return lab


def test_refreshes_over_few_rows_run_no_job(few: Lab) -> None:
    for name, query in QUERIES.items():
        few.dynamic_table(name, query)
        assert few.engine.records(name)[0].statistics.spark_jobs == 0, name
        assert few.wrong(name) is None
        assert "evaluated by Spark" not in str(few.engine.explain(name))
    for change in CHANGES:
        few.sql(change)
        for name in QUERIES:
            record = few.record(name)
            assert (record.action, record.error) in {("INCREMENTAL", None), ("NO_DATA", None)}
            assert record.statistics.spark_jobs == 0, f"{name} after {change}"
            assert few.wrong(name) is None


def test_what_is_not_on_the_list_is_told_and_left_to_spark(few: Lab) -> None:
    for name, (query, _) in LEFT_TO_SPARK.items():
        few.dynamic_table(name, query)
    for change in CHANGES[:2]:
        few.sql(change)
        for name in LEFT_TO_SPARK:
            few.record(name)
            few.verified(name)
    few.sql("INSERT INTO t VALUES (10, 'a', 1, 1.00)")
    few.sql("INSERT INTO u VALUES ('e', 'more')")
    for name, (_, what) in LEFT_TO_SPARK.items():
        assert f"evaluated by Spark: {what}" in str(few.engine.explain(name))


def test_all_of_it_can_be_left_to_spark(few: Lab) -> None:
    few.tune(evaluated_rows=1)
    few.reopen()
    few.dynamic_table("joined", QUERIES["joined"])
    for change in CHANGES[:3]:
        few.sql(change)
        record = few.record("joined")
        assert (record.action, record.error) == ("INCREMENTAL", None)
        assert record.statistics.spark_jobs > 0
        few.verified("joined")


def test_what_fails_fails_as_in_spark(few: Lab) -> None:
    few.dynamic_table("added", "SELECT id, v + 10 AS w FROM t")
    few.sql("UPDATE t SET v = v + 8 WHERE id = 6")
    record = few.record("added")
    assert record.error is not None
    assert "overflow" in str(record.error).lower()
    few.sql("UPDATE t SET v = 3 WHERE id = 6")
    few.record("added")
    few.verified("added")


def test_decimals_of_another_meaning_are_left_to_spark(few: Lab) -> None:
    """Without loss of precision a quotient of long decimals has other digits."""
    part = "SELECT id, CAST(d AS DECIMAL(30, 10)) / CAST(7 AS DECIMAL(20, 10)) AS p FROM t"
    with confs(few.spark, {"spark.sql.decimalOperations.allowPrecisionLoss": "false"}):
        few.dynamic_table("exactly", part)
    few.dynamic_table("usually", part)
    few.sql("INSERT INTO t VALUES (11, 'a', 1, 0.33), (12, 'a', 1, 1.07)")
    for name, jobs in (("exactly", True), ("usually", False)):
        record = few.record(name)
        assert (record.action, record.error) == ("INCREMENTAL", None)
        few.verified(name)
        assert (record.statistics.spark_jobs > 0) is jobs
    few.sql("INSERT INTO t VALUES (13, 'a', 1, 0.10)")
    assert "decimals have another meaning" in str(few.engine.explain("exactly"))
    assert "evaluated without Spark" in str(few.engine.explain("usually"))
