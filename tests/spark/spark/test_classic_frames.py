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
