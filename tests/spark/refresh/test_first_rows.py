"""The first rows of a table: evaluated without Spark, or computed by Spark and written without it;
changes go on from either."""

from __future__ import annotations

import pytest

from tests.spark.engine_lab import Lab

QUERIES = {
    "nested": "SELECT k, n, count(*) AS m FROM (SELECT k, name, count(*) AS n, sum(d) AS s FROM "
    "(SELECT t.k, name, d FROM t JOIN u ON t.k = u.k) GROUP BY k, name) GROUP BY k, n",
    "joined": "SELECT t.id, name, v * d AS p FROM t LEFT JOIN u ON t.k = u.k",
    "first": "SELECT id, d FROM t ORDER BY d DESC, id LIMIT 3",
}
CHANGES = "INSERT INTO t VALUES (7, 'a', 5, 1.25); DELETE FROM t WHERE id = 2"


@pytest.fixture
def many(quick_lab: Lab) -> Lab:
    """Tables that no limit of these tests takes for small."""
    lab = quick_lab
    lab.tune(evaluated_rows=2, interpreted_rows=2)
    lab.table("t", "id INT, k STRING, v INT, d DECIMAL(7, 2)",
              "(1, 'a', 1, 0.50)", "(2, 'a', 2, NULL)", "(3, 'b', NULL, 3.10)",
              "(4, NULL, 4, -1.00)", "(5, 'b', 0, 0.00)")  # fmt: skip
    lab.table("u", "k STRING, name STRING", "('a', 'n1')", "('b', 'n2')", "('b', 'n2')")
    return lab


def made(lab: Lab, name: str, query: str, options: str = "") -> tuple[int, str | None]:
    """The jobs of the first refresh, and its writer; that change and contents go on from it."""
    lab.dynamic_table(name, query, options)
    (first,) = lab.engine.records(name)
    assert (first.action, first.error) == ("REINITIALIZE", None)
    assert lab.wrong(name) is None
    return first.statistics.spark_jobs, first.statistics.writer


def moved(lab: Lab) -> None:
    for change in CHANGES.split("; "):
        lab.sql(change)
    for name in QUERIES:
        record = lab.record(name)
        assert (record.action, record.error) == ("INCREMENTAL", None)
        assert lab.wrong(name) is None


def test_they_are_evaluated_where_what_they_are_computed_from_fits(many: Lab) -> None:
    for name, query in QUERIES.items():
        assert made(many, name, query) == (0, "engine")
    moved(many)


def test_they_are_sparks_where_it_does_not_and_the_engine_writes_them(many: Lab) -> None:
    many.tune(evaluated_rows=2, interpreted_rows=2, evaluated_bytes=1)
    for name, query in QUERIES.items():
        jobs, writer = made(many, name, query)
        assert (jobs > 0, writer) == (True, "engine")
    moved(many)


def test_rows_of_every_type_that_delta_rs_writes_come_through_files(quick_lab: Lab) -> None:
    quick_lab.tune(evaluated_rows=2, interpreted_rows=2, evaluated_bytes=1)
    quick_lab.sql(
        "CREATE TABLE w AS SELECT id, cast(id AS DOUBLE) / 3 AS f, id % 2 = 0 AS b, "
        "TIMESTAMP '1500-01-01 00:00:00.000001' AS old, TIMESTAMP_NTZ '2026-03-29 02:30:00' AS n, "
        "DATE '1400-02-28' AS day, cast(cast(id AS STRING) AS BINARY) AS raw, "
        "cast(id AS DECIMAL(38, 9)) AS x, "
        "named_struct('p', id, 'q', array('a', NULL)) AS s, map('k', id) AS m FROM range(5)"
    )
    assert made(quick_lab, "wide", "SELECT id + 1 AS i, w.* FROM w")[0] > 0
    assert made(quick_lab, "empty", "SELECT * FROM w WHERE id < 0")[0] > 0
    assert made(quick_lab, "nulls", "SELECT a.id, b.f, b.s FROM w a LEFT JOIN w b "
                "ON a.id = b.id AND b.id > 2")[0] > 0  # fmt: skip


def test_a_clustered_table_and_a_row_that_fails_are_sparks(many: Lab) -> None:
    assert made(many, "sorted", "SELECT id, k FROM t", "CLUSTER BY (id)") != (0, "engine")
    with pytest.raises(Exception, match="zero"):
        many.dynamic_table("failing", "SELECT k, sum(1 / v) AS s FROM t GROUP BY k")
