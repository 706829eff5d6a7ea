"""The settings of a session for the statements of a refresh, by how much they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

INTERPRETED: Mapping[str, str] = {
    # To generate and compile classes for few rows takes longer than they do.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # What equal columns imply of each other is worth nothing where no file is skipped by it.
    "spark.sql.constraintPropagation.enabled": "false",
}
"""For statements over a few rows that are all on the driver."""
_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
_REPLANNED_ROWS = 2_000_000
"""Statements over a change of fewer rows are planned once."""
_PARTITION_ROWS = 50_000
"""Changed rows that go to one task, where there are more tasks than cores."""


def plan_for(
    spark: SparkSession, *, heavy: bool, local: bool = False, changed: int = _REPLANNED_ROWS
) -> None:
    """Re-planning between stages, which makes each a separate job, pays for large work only, and
    not where few rows changed: their joins know what to send. A second task, or a job that
    sends rows to tasks, pays for none of local rows alone."""
    adaptive = heavy and changed >= _REPLANNED_ROWS
    spark.conf.set("spark.sql.adaptive.enabled", "true" if adaptive else "false")
    context: SparkContext | None = getattr(spark, "sparkContext", None)
    cores = context.defaultParallelism if heavy and context is not None else 8
    spark.conf.set("spark.sql.leafNodeDefaultParallelism", str(max(8, cores)) if heavy else "1")
    spark.conf.set(_BROADCAST, "-1" if local else "10MB")
    if local:
        spark.conf.set("spark.sql.shuffle.partitions", "1")
    if heavy:
        partitions = max(8, 4 * cores) if adaptive else max(cores, changed // _PARTITION_ROWS)
        spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
