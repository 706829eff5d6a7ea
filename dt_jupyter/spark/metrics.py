"""What the Spark jobs of a group read, from Spark's own task metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.jobs import job_ids
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.progress import scala_doubles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """Spark jobs started, and rows that their tasks read from files."""

    jobs: int = 0
    rows_read: int = 0


def job_metrics(spark: SparkSession, group: str) -> JobMetrics:
    """The metrics of a job group so far. Spark Connect reports none: zeros there.

    Waits for the scheduler's events to be delivered, so the numbers are exact.
    """
    if is_connect(spark):
        return JobMetrics()
    jobs = job_ids(spark, group)
    context: Any = spark.sparkContext
    scala, tracker = context._jsc.sc(), context.statusTracker()
    rows = 0
    for stage in {s for j in jobs if (info := tracker.getJobInfo(j)) for s in info.stageIds}:
        attempts = scala.statusStore().stageData(
            stage, False, context._jvm.java.util.ArrayList(), False, scala_doubles(context)
        )
        for i in range(attempts.size()):
            rows += attempts.apply(i).inputRecords()
    return JobMetrics(len(jobs), rows)
