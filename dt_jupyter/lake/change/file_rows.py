"""The rows of chosen files of a Delta table, and its feed at a schema, as classic Spark reads them.

Delta's own reader does the work (deletion vectors, partition values, column mapping); it is
reached through py4j, so this is not for Spark Connect.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.spark import as_active, compile_java, text_of_path, wrap_dataset

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
    spark: SparkSession,
    log: TableLog,
    version: int,
    actions: Sequence[Mapping[str, Any]],
    extra: Sequence[Mapping[str, Any]] = (),
) -> DataFrame:
    """The live rows of the files that `actions` (adds, removes or cdcs of the log) name, with the
    schema of `version` and the fields `extra`; no job is run for it. Raises NotSupported where the
    log does not say enough, or on Connect."""
    jvm, state = _jvm_of(spark, log.path), log.raw_state(version)
    schema = json.loads(state.metadata["schemaString"])
    schema["fields"] += extra
    facts = {
        "metaData": {**state.metadata, "schemaString": json.dumps(schema)},
        "protocol": state.protocol,
        "add": [_as_add(action) for action in actions],
    }
    with as_active(spark):  # views of rows of another session would be unknown to this one
        opened = _delta_log(spark, jvm, log.path)
        rows = compile_java(jvm, "TableFiles").rows(opened, json.dumps(facts))
    return wrap_dataset(rows, spark)


def feed_at_end(spark: SparkSession, path: Path, first: int, last: int) -> DataFrame:
    """The change data feed of the commits first … last with the schema of the last one, where
    Delta's own table function reads a table without column mapping with that of now. Raises
    NotSupported on Connect."""
    jvm = _jvm_of(spark, path)
    log, none = _delta_log(spark, jvm, path), jvm.scala.Option.empty()
    snapshot = log.getSnapshotAt(last, none, none, False)
    reader, option = jvm.org.apache.spark.sql.delta.commands.cdc.CDCReader, jvm.scala.Option
    with as_active(spark):
        rows = reader.changesToBatchDF(
            log, first, last, spark._jsparkSession, none, option.apply(snapshot), False, none
        )
    return wrap_dataset(rows, spark)


def _jvm_of(spark: SparkSession, path: Path) -> Any:
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        raise NotSupported(
            "this is read by Delta's own reader, on classic Spark only", path=str(path)
        )
    return jvm


def _delta_log(spark: SparkSession, jvm: Any, path: Path) -> Any:
    """Delta's own log of a table, which it keeps for an hour."""
    return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        spark._jsparkSession, text_of_path(path)
    )


def _as_add(action: Mapping[str, Any]) -> dict[str, Any]:
    """An add for Delta's reader; a remove without its partition values cannot be read."""
    if action.get("partitionValues") is None or action.get("size") is None:
        raise NotSupported(f"the log does not describe {action['path']}", file=action["path"])
    add = {k: action[k] for k in _KEPT if action.get(k) is not None}
    return {**add, "modificationTime": action.get("modificationTime", 0), "dataChange": True}
