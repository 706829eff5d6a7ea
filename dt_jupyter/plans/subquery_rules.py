"""Spark's own rules that write subqueries as joins, run alone over an analysed plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dt_jupyter.spark import as_active, compile_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def join_subqueries(spark: SparkSession, plan: Any) -> Any:
    """The plan with its common tables in the place of their names, and with joins in the place of
    its subqueries; a scalar one that reads nothing of the query around it stays."""
    session: Any = spark
    with as_active(spark):
        return compile_java(session._jvm, "SubqueryJoins").of(plan)
