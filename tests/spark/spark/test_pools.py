"""FAIR pools with weights, from the start or declared later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.spark import Pool, declare_pool
from dt_jupyter.spark.pools import in_pool, weight_in_force

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_pool_of_the_allocation_file_has_its_weight(spark: SparkSession) -> None:
    assert weight_in_force(spark, "heavy") == 3


def test_a_pool_is_declared_while_the_session_runs(spark: SparkSession) -> None:
    assert weight_in_force(spark, "late") is None
    assert declare_pool(spark, Pool("late", weight=5))
    assert weight_in_force(spark, "late") == 5
    with in_pool(spark, "late"):
        assert spark.range(3).count() == 3


def test_a_pool_keeps_the_weight_that_it_was_made_with(spark: SparkSession) -> None:
    with in_pool(spark, "by name only"):
        assert spark.range(3).count() == 3
    assert weight_in_force(spark, "by name only") == 1
    assert not declare_pool(spark, Pool("by name only", weight=2))
    assert declare_pool(spark, Pool("by name only"))
