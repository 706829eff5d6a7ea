"""DataFrames that are made of what the JVM of classic Spark has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dt_jupyter.spark import is_connect, read_cached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    if is_connect(spark):
        pytest.skip("Connect shows no plan of its own")
    return spark.range(5).selectExpr("id", "id % 2 AS k", "CAST(NULL AS STRING) AS `a b`")


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().analyzed().toString())  # type: ignore[union-attr]


def test_cached_rows_are_read_without_their_plan(frame: DataFrame) -> None:
    frame.persist()
    cached = read_cached(frame)
    assert plan_of(cached).startswith("InMemoryRelation")
    pairs = cached.alias("a").join(cached.alias("b"), "k")
    assert pairs.count() == 3 * 3 + 2 * 2
    assert cached.unionAll(cached).count() == 2 * 5
    assert (cached.schema, cached.collect()) == (frame.schema, frame.collect())
    frame.unpersist()
    assert cached.collect() == frame.collect()


def test_rows_that_another_refresh_has_released_are_computed(frame: DataFrame) -> None:
    frame.persist()
    frame.select("*").unpersist()
    assert read_cached(frame).collect() == frame.collect()


def test_rows_that_are_cached_under_other_names_have_their_own(frame: DataFrame) -> None:
    """Spark takes plans for the same whose columns have other names: groups of groups in a refresh
    are such, and a name that both have would be read of another column."""
    frame.persist()
    other = frame.selectExpr("id AS k", "k AS id", "`a b` AS c")
    same = frame.sparkSession.range(5).selectExpr(
        "id AS k", "id % 2 AS id", "CAST(NULL AS STRING) c"
    )
    for each in (other, same):
        each.persist()
        assert read_cached(each).collect() == each.collect()
        assert read_cached(each).columns == each.columns
        each.unpersist()
    frame.unpersist()
