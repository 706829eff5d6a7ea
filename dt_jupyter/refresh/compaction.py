"""Upkeep of backing tables: small files made one, within a budget, counted as no change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake import TableLog, TableSize, sql_table, statistics_columns
from dt_jupyter.model import Tuning, quote
from dt_jupyter.spark import JobPurpose, confs, note_purpose

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LARGEST = "spark.databricks.delta.optimize.maxFileSize"


def due(size: TableSize, tuning: Tuning) -> bool:
    """Whether a table has grown into many small files."""
    few_bytes = size.bytes <= min(tuning.rewritten_bytes, size.files * tuning.small_file_bytes)
    return size.files >= tuning.compaction_files and few_bytes


def compacted(
    spark: SparkSession,
    path: Path,
    log: TableLog,
    version: int,
    keys: Sequence[str],
    tuning: Tuning,
) -> int:
    """The table's version after its upkeep: the same rows in fewer files, those with near `keys`
    together, or `version` itself.

    Delta marks the commit as no change of data, so nothing that reads the table's changes sees it.
    """
    if log.version() != version or not due(log.size(), tuning):
        return version
    note_purpose(spark, JobPurpose.UPKEEP)
    near = ", ".join(quote(k) for k in keys if _has_statistics(log, k))
    with confs(spark, {_LARGEST: str(tuning.largest_file_bytes)}):
        spark.sql(f"OPTIMIZE {sql_table(path)}" + (f" ZORDER BY ({near})" if near else ""))
    return log.version()


def _has_statistics(log: TableLog, column: str) -> bool:
    listed = log.properties().get("delta.dataSkippingStatsColumns", "")
    return quote(column) in statistics_columns(listed)
