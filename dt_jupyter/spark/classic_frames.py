"""DataFrames of classic Spark, made of what its JVM has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DATASET = "org.apache.spark.sql.classic.Dataset"
_ROWS = "org.apache.spark.sql.execution.LogicalRDD$"
_NIL = "scala.collection.immutable.Nil$"


def wrap_dataset(dataset: Any, spark: SparkSession) -> DataFrame:
    """The DataFrame of a Java Dataset."""
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    return Classic(dataset, spark)


def frame_of_plan(plan: Any, spark: SparkSession) -> DataFrame:
    """The rows of a logical plan, as Java has it."""
    from py4j.java_gateway import JavaClass

    session: Any = spark
    # by its name, since `jvm.org.…` asks the JVM about each part of it
    dataset = JavaClass(_DATASET, session._jvm._gateway_client)
    return wrap_dataset(dataset.ofRows(session._jsparkSession, plan), spark)


def leave_plan(frame: DataFrame) -> DataFrame:
    """The same rows, computed when they are read, as a relation whose plan is a leaf. What plans of
    cached rows are made of is in each plan that reads them, as often as it does, and Spark writes
    all of that down for each statement.

    Jobs that the plan itself has are run now: broadcasts, and stages that are planned again."""
    from py4j.java_gateway import JavaClass

    session: Any = frame.sparkSession
    dataset: Any = frame._jdf
    made = getattr(JavaClass(_ROWS, session._jvm._gateway_client), "MODULE$")
    rows = dataset.queryExecution().toRdd()
    return frame_of_plan(made.fromDataset(rows, dataset, False), session)


def read_cached(frame: DataFrame) -> DataFrame:
    """The rows that Spark caches for a persisted DataFrame, without the plan that computes them:
    statements over them are not analysed with it, and read the cache for certain. Spark finds a
    cached plan by comparing plans, and where one is twice in a statement it may not find it.

    The DataFrame itself if nothing is cached: plans that are the same share what is cached, and
    another refresh may have released it. What is cached may have been so under other names."""
    session: Any = frame.sparkSession
    found = session._jsparkSession.sharedState().cacheManager().lookupCachedData(frame._jdf)
    if found.isEmpty():
        return frame
    rows = frame_of_plan(_without_order(found.get().cachedRepresentation(), session), session)
    return rows if rows.columns == frame.columns else rows.toDF(*frame.columns)


def _without_order(relation: Any, session: Any) -> Any:
    """The cached rows as an unordered relation. If a plan has the relation twice, Spark renames the
    columns of the second, but not those in its order, and then fails to find them."""
    from py4j.java_gateway import JavaClass

    if relation.outputOrdering().isEmpty():
        return relation
    none = getattr(JavaClass(_NIL, session._jvm._gateway_client), "MODULE$")
    plain = relation.copy(relation.output(), relation.cacheBuilder(), none)
    getattr(plain, "statsOfPlanToCache_$eq")(relation.statsOfPlanToCache())
    return plain


__all__ = ["frame_of_plan", "leave_plan", "read_cached", "wrap_dataset"]
