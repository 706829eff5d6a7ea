"""Classic Spark or Spark Connect: the one question that the rest of the package asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_connect(spark: SparkSession) -> bool:
    """Whether `spark` is a Spark Connect session: it has no SparkContext and no JVM."""
    return type(spark).__module__.startswith("pyspark.sql.connect")
