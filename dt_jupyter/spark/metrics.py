"""What the Spark jobs of a group read, from Spark's own task metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """Spark jobs started, and rows and bytes that their tasks read from files."""

    jobs: int = 0
    rows_read: int = 0
    bytes_read: int = 0


def job_metrics(spark: SparkSession, group: str) -> JobMetrics:
    """The metrics of a job group so far. Spark Connect tells none: zeros there.

    Waits for the scheduler's events to be delivered, so the numbers are exact.
    """
    if is_connect(spark):
        return JobMetrics()
    context: Any = spark.sparkContext
    scala = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    tracker = context.statusTracker()
    jobs = tracker.getJobIdsForGroup(group)
    rows = read = 0
    for stage in {s for j in jobs if (info := tracker.getJobInfo(j)) for s in info.stageIds}:
        attempts = scala.statusStore().stageData(stage, False, context._jvm.java.util.ArrayList(),
                                                 False, scala_doubles(context))  # fmt: skip
        for i in range(attempts.size()):
            rows += attempts.apply(i).inputRecords()
            read += attempts.apply(i).inputBytes()
    return JobMetrics(len(jobs), rows, read)


def job_count(spark: SparkSession, group: str) -> int:
    """Spark jobs that a group has started; 0 on Spark Connect."""
    if is_connect(spark):
        return 0
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    return len(context.statusTracker().getJobIdsForGroup(group))


def scala_doubles(context: Any) -> Any:
    """An empty array of doubles: no quantiles are asked for."""
    return context._gateway.new_array(context._jvm.double, 0)
