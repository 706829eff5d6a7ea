"""Refreshes over few rows need no Spark where their statements are on the closed list, say which
are, and hold the same rows where they are not."""

from __future__ import annotations

import random
from itertools import product

import pytest

from dt_jupyter.model.tuning import DEFAULTS
from dt_jupyter.spark import confs
from tests.cases import some
from tests.spark.engine_lab import Lab
from tests.spark.refresh.test_oracle_random import Tables

QUERIES = {
    "summed": "SELECT k, sum(v) AS s, avg(d) AS m, max(v) AS x, count(*) AS n FROM t GROUP BY k",
    "joined": "SELECT t.id, name, v * d AS p FROM t JOIN u ON t.k = u.k WHERE v > 0",
    "left": "SELECT t.id, u.name FROM t LEFT JOIN u ON t.k = u.k",
    "bought": "SELECT id, k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "first": "SELECT id, d FROM t ORDER BY d DESC, id LIMIT 3",
    "known": "SELECT DISTINCT k FROM t",
}
LEFT_TO_SPARK = {
    "titled": ("SELECT initcap(name) AS n FROM u", "INITCAP"),
    "coded": ("SELECT k, sum(ascii(k)) AS m FROM t GROUP BY k", "ASCII"),
    "rounded": ("SELECT id, round(v / 2, 1) AS h FROM t", "ROUND of double"),
}
OF_MORE_TYPES = {
    "ranked": "SELECT id, row_number() OVER (PARTITION BY s ORDER BY p DESC, id) AS n, "
    "lag(p) OVER (PARTITION BY s ORDER BY id) AS l FROM w",
    "running": "SELECT id, sum(id) OVER (PARTITION BY s ORDER BY id) AS r FROM w",
    "priced": "SELECT id, p * 1.1 AS q, p / 3 AS h FROM w WHERE p > 0.25",
    "doubles": "SELECT s, sum(p) AS a, avg(p) AS b, max(p) AS c, avg(id) AS d FROM w GROUP BY s",
    "hourly": "SELECT date_trunc('HOUR', at) AS h, sum(id) AS n FROM w "
    "GROUP BY date_trunc('HOUR', at)",
    "daily": "SELECT to_date(at) AS d, max(p) AS m FROM w GROUP BY to_date(at)",
    "named": "SELECT id, upper(trim(s)) AS u, length(s) AS l, concat(s, id) AS c FROM w",
}
CHANGES_OF_W = (
    "INSERT INTO w VALUES (6, double('NaN'), TIMESTAMP '2024-01-01 00:59:59', 'b'), "
    "(7, -0.0D, NULL, 'b'), (8, 1e300, TIMESTAMP '2024-03-01 10:00:00', NULL)",
    "UPDATE w SET p = p + 0.1D, at = at + INTERVAL 1 HOUR WHERE id IN (1, 6)",
    "DELETE FROM w WHERE id IN (3, 7)",
    "UPDATE w SET s = 'Straße ', p = NULL WHERE id = 2",
)
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


def test_windows_doubles_and_times_run_no_job(few: Lab) -> None:
    few.table("w", "id INT, p DOUBLE, at TIMESTAMP, s STRING",
              "(1, 0.1D, TIMESTAMP '2024-01-01 00:10:00', ' a')",
              "(2, 0.0D, TIMESTAMP '2024-01-01 01:10:00', ' a')",
              "(3, 2.5D, TIMESTAMP '1969-12-31 23:59:59', 'b')", "(4, NULL, NULL, NULL)",
              "(5, 2.5D, TIMESTAMP '2024-01-02 00:00:00', 'b')")  # fmt: skip
    with confs(few.spark, {"spark.sql.session.timeZone": "UTC"}):
        for name, query in OF_MORE_TYPES.items():
            few.dynamic_table(name, query)
            assert few.wrong(name) is None
        for change in CHANGES_OF_W:
            few.sql(change)
            for name in OF_MORE_TYPES:
                record = few.record(name)
                assert (record.action, record.error) in {("INCREMENTAL", None), ("NO_DATA", None)}
                assert record.statistics.spark_jobs == 0, f"{name} after {change}"
                assert few.wrong(name) is None, f"{name} after {change}"


@pytest.mark.nightly
def test_hours_of_another_zone_are_sparks(few: Lab) -> None:
    few.table("w", "id INT, at TIMESTAMP", "(1, TIMESTAMP '2024-01-01 00:10:00')")
    with confs(few.spark, {"spark.sql.session.timeZone": "Asia/Kathmandu"}):
        few.dynamic_table("hourly", "SELECT id, date_trunc('HOUR', at) AS h, hour(at) AS n FROM w")
    few.sql("INSERT INTO w VALUES (2, TIMESTAMP '2024-01-01 00:50:00')")
    record = few.record("hourly")
    assert (record.action, record.error) == ("INCREMENTAL", None)
    assert record.statistics.spark_jobs > 0
    few.verified("hourly")


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


def test_what_fails_fails_as_in_spark(few: Lab) -> None:
    few.dynamic_table("added", "SELECT id, v + 10 AS w FROM t")
    few.sql("UPDATE t SET v = v + 8 WHERE id = 6")
    record = few.record("added")
    assert record.error is not None
    assert "overflow" in str(record.error).lower()
    few.sql("UPDATE t SET v = 3 WHERE id = 6")
    few.record("added")
    few.verified("added")


@pytest.mark.nightly
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


@pytest.mark.parametrize(("seed", "by"), some(1, product(range(3), ("engine", "spark"))))
def test_more_changes_than_come_to_the_driver(quick_lab: Lab, seed: int, by: str) -> None:
    """What is at hand is evaluated all the same; by Spark, what comes out stays with it."""
    lab, rng = quick_lab, random.Random(seed)
    lab.tune(driver_rows=4, evaluated_rows=DEFAULTS.evaluated_rows if by == "engine" else 1)
    tables = Tables(lab, rng)
    tables.start()
    queries = {
        "few": "SELECT p.id, dim.name FROM p JOIN dim ON p.k = dim.k WHERE p.v = 2",
        "bag": "SELECT p.id, p.x, q.v FROM p JOIN q ON p.k = q.k",
        "filtered": "SELECT k, v, day FROM p WHERE v IS NOT NULL",
        "groups": "SELECT id, count(*) AS n, sum(v) AS s, max(day) AS m FROM q GROUP BY id",
    }
    for name, query in queries.items():
        lab.dynamic_table(name, query)
    changed, jobs = 0, 0
    for _ in range(2):
        for table in ("p", "q"):
            tables.insert(table, 9)
        lab.sql("DELETE FROM p WHERE id = 1; UPDATE q SET v = 3 WHERE id < 1")
        for name in queries:
            record = lab.record(name)
            assert (record.action, record.error) == ("INCREMENTAL", None), name
            changed += record.statistics.inserted_rows + record.statistics.deleted_rows
            jobs += record.statistics.spark_jobs or 0
        lab.verified(*queries)
    assert changed > 4 * 2 * len(queries)
    assert (jobs == 0) == (by == "engine")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"evaluated_rows": 9}, "9 rows of changes and state, and fewer than 9 are evaluated"),
        ({"read_rows": 4}, "5 records are more than 4"),
    ],
)
def test_the_limit_that_leaves_a_change_to_spark_is_told(
    few: Lab, limits: dict[str, int], reason: str
) -> None:
    """One row of a change and the four of the state, then five of a change and these."""
    few.dynamic_table("known", QUERIES["known"])
    few.tune(**{"evaluated_rows": 100, "read_rows": 100, **limits})
    few.sql("DELETE FROM t WHERE id = 1")
    assert "evaluated by Spark" not in str(few.engine.explain("known"))
    record = few.record("known")
    assert (record.action, record.statistics.way) == ("INCREMENTAL", "process")
    few.sql("INSERT INTO t SELECT id + 10, concat('n', id), v, d FROM t WHERE id < 7")
    assert f"This is evaluated by Spark: {reason}" in str(few.engine.explain("known"))
    record = few.record("known")
    assert (record.action, record.statistics.way) == ("INCREMENTAL", "spark")
    few.verified("known")
