"""The rows of chosen files of a Delta table, and its feed at a schema, as classic Spark reads them.

Delta's own reader does the work (deletion vectors, partition values, column mapping); it is
reached through py4j, so this is not for Spark Connect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.spark import as_active, text_of_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEPT = (
    "path",
    "partitionValues",
    "size",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
)


def files_view(
    spark: SparkSession, path: Path, version: int, actions: Sequence[Mapping[str, Any]]
) -> DataFrame:
    """The live rows of the files that `actions` (adds or removes of the log) name, with the
    schema of `version`. Raises NotSupported where the log does not say enough, or on Connect."""
    jvm, log, snapshot = _at(spark, path, version)
    delta, none = jvm.org.apache.spark.sql.delta, jvm.scala.Option.empty()
    files = jvm.java.util.ArrayList()
    for action in actions:
        files.add(delta.actions.Action.fromJson(json.dumps({"add": _as_add(action)})))
    chosen = jvm.scala.jdk.javaapi.CollectionConverters.asScala(files).toSeq()
    with as_active(spark):  # views of rows of another session would be unknown to this one
        rows = log.createDataFrame(snapshot, chosen, False, none)
    return _wrap(rows, spark)


def feed_at_end(spark: SparkSession, path: Path, first: int, last: int) -> DataFrame:
    """The change data feed of the commits first … last with the schema of the last one, where
    Delta's own table function reads a table without column mapping with that of now. Raises
    NotSupported on Connect."""
    jvm, log, snapshot = _at(spark, path, last)
    reader, option = jvm.org.apache.spark.sql.delta.commands.cdc.CDCReader, jvm.scala.Option
    none = option.empty()
    with as_active(spark):
        rows = reader.changesToBatchDF(
            log, first, last, spark._jsparkSession, none, option.apply(snapshot), False, none
        )
    return _wrap(rows, spark)


def _at(spark: SparkSession, path: Path, version: int) -> tuple[Any, Any, Any]:
    """The JVM, and Delta's log and snapshot of a version."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise NotSupported(
            "this is read by Delta's own reader, on classic Spark only", path=str(path)
        )
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, text_of_path(path))
    none = jvm.scala.Option.empty()
    return jvm, log, log.getSnapshotAt(version, none, none, False)


def _wrap(rows: Any, spark: SparkSession) -> DataFrame:
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    return Classic(rows, spark)


def _as_add(action: Mapping[str, Any]) -> dict[str, Any]:
    """An add for Delta's reader; a remove without its partition values cannot be read."""
    if action.get("partitionValues") is None or action.get("size") is None:
        raise NotSupported(f"the log does not describe {action['path']}", file=action["path"])
    add = {k: action[k] for k in _KEPT if action.get(k) is not None}
    return {**add, "modificationTime": action.get("modificationTime", 0), "dataChange": True}
