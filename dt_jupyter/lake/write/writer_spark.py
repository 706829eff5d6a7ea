"""The complete writer: every table and change that Spark can write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.key_ranges import key_range
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.types import spark_schema
from dt_jupyter.lake.write.commit_values import Append, Change, CommitRequest, Merge, Overwrite
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import OP, hidden
from dt_jupyter.spark import JobPurpose, confs, note_purpose, text_of_path, whole_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.lake.write.commit_values import Rows

NAME = "spark"
MICROS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
"""Timestamps in files as delta-rs reads them: a session may write INT96."""


def write(request: CommitRequest, change: Change, metadata: Metadata, spark: SparkSession) -> None:
    """One Delta commit with the change, the sequence and the metadata; `spark` is a session
    private to this write. Returns nothing: Delta skips a stale sequence silently, so the
    caller reads back."""
    note_purpose(spark, JobPurpose.WRITE)
    with confs(spark, MICROS):
        match change:
            case Append(rows):
                _save(request, frame(spark, rows, metadata), "append", {})
            case Overwrite(rows, new_schema):
                options = {"overwriteSchema": "true"} if new_schema else {}
                typed = None if new_schema else metadata
                _save(request, frame(spark, rows, typed), "overwrite", options)
            case Merge():
                _merge(request, change, frame(spark, change.rows, metadata), spark)


def frame(spark: SparkSession, rows: Rows, metadata: Metadata | None) -> DataFrame:
    """The rows as a DataFrame of this session; Arrow's in the types of the table, by name.

    Raises ValueError where a column is not the table's.
    """
    import pyarrow as pa

    if not isinstance(rows, pa.Table):
        return rows
    if metadata is None:
        return whole_frame(spark, rows)
    operation = {"name": OP, "type": "string", "nullable": True, "metadata": {}}
    known = {f["name"].lower(): f for f in (*metadata.fields, operation)}
    unknown = [c for c in rows.column_names if c.lower() not in known]
    if unknown:
        raise ValueError(f"the rows' columns are not the table's: {unknown}")
    fields = [{**known[c.lower()], "name": c} for c in rows.column_names]
    return whole_frame(spark, rows, spark_schema(fields))


def _save(request: CommitRequest, rows: DataFrame, mode: str, options: Mapping[str, str]) -> None:
    writer = rows.write.format("delta").mode(mode).options(**options)
    writer.option("txnAppId", request.app_id).option("txnVersion", request.sequence).option(
        "userMetadata", request.user_metadata
    ).save(text_of_path(request.folder))


def _merge(request: CommitRequest, change: Merge, rows: DataFrame, spark: SparkSession) -> None:
    view = hidden(f"merge_{request.attempt}")
    rows.createOrReplaceTempView(quote(view))
    columns = [c for c in rows.columns if c != OP]
    try:
        with confs(spark, _transaction(request)):
            spark.sql(merge_sql(request, change, view, columns))
    finally:
        spark.catalog.dropTempView(view)


def merge_sql(request: CommitRequest, change: Merge, view: str, columns: Sequence[str]) -> str:
    """The MERGE of rows in `view`; ranges of the keys let Delta skip files."""
    match_ = " AND ".join(f"t.{quote(k)} <=> s.{quote(k)}" for k in change.keys)
    ranged = key_range(change, "spark")
    bounds = f" AND {ranged.sql('t', quote)}" if ranged else ""
    sets = ", ".join(f"t.{quote(c)} = s.{quote(c)}" for c in columns)
    names = ", ".join(map(quote, columns))
    values = ", ".join(f"s.{quote(c)}" for c in columns)
    return (
        f"MERGE INTO {sql_table(request.path)} AS t USING {quote(view)} AS s "
        f"ON s.{OP} <> 'I' AND {match_}{bounds} "
        f"WHEN MATCHED AND s.{OP} = 'D' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {sets} "
        f"WHEN NOT MATCHED AND s.{OP} <> 'D' THEN INSERT ({names}) VALUES ({values})"
    )


def _transaction(request: CommitRequest) -> dict[str, str]:
    return {
        "spark.databricks.delta.write.txnAppId": request.app_id,
        "spark.databricks.delta.write.txnVersion": str(request.sequence),
        "spark.databricks.delta.commitInfo.userMetadata": request.user_metadata,
    }
