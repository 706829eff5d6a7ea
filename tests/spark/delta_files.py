"""A small reader of Delta tables, by the log's JSON and the Parquet files that it names: neither
Spark nor delta-rs nor a line of the engine. What it does not read it leaves to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import StructType

from dt_jupyter.spark import spark_arrow_schema, whole_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEW_BYTES = 4 << 20
_ALIKE = (
    {pa.timestamp(u, z) for u in ("ms", "us", "ns") for z in (None, "UTC")},
    {pa.string(), pa.large_string(), pa.string_view()},
    {pa.binary(), pa.large_binary(), pa.binary_view()},
)
"""Types of which writers take one or the other for the same type of Delta's."""


def local_frame(spark: SparkSession, folder: str, version: int) -> DataFrame | None:
    """The rows of a version, in the plan itself: a query over them waits for no job over a log.

    None where a commit is gone, a table is partitioned, mapped or large, rows are deleted by
    vectors, or a column is no plain one in each file.
    """
    actions = _actions(Path(folder), version)
    if actions is None:
        return None
    metadata = next(a["metaData"] for a in reversed(actions) if "metaData" in a)
    mapped = metadata.get("configuration", {}).get("delta.columnMapping.mode", "none") != "none"
    files = _files(actions)
    whole = not any(f.get("deletionVector") for f in files)
    if mapped or metadata["partitionColumns"] or not whole:
        return None
    if sum(f["size"] for f in files) > _FEW_BYTES:
        return None
    schema = StructType.fromJson(json.loads(metadata["schemaString"]))
    shape = spark_arrow_schema(schema)
    parts = [_rows(Path(folder) / unquote(f["path"]), shape) for f in files]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return whole_frame(spark, pa.concat_tables([shape.empty_table(), *found]), schema)


def newest_version(folder: str) -> int:
    """By the names of the log's commits."""
    return max(
        int(f.stem) for f in (Path(folder) / "_delta_log").glob("[0-9]*.json") if f.stem.isdigit()
    )


def _actions(folder: Path, version: int) -> list[dict[str, Any]] | None:
    commits = [folder / "_delta_log" / f"{v:020}.json" for v in range(version + 1)]
    if not all(commit.is_file() for commit in commits):
        return None
    return [json.loads(line) for c in commits for line in c.read_text("utf-8").splitlines() if line]


def _files(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A commit that puts a vector to a file removes the file as it was, and may say so last."""
    files: dict[tuple[str, str], dict[str, Any]] = {}
    for action in actions:
        for kind, file in action.items():
            if kind in ("add", "remove"):
                key = file["path"], json.dumps(file.get("deletionVector"), sort_keys=True)
                files[key] = file if kind == "add" else {}
    return [file for file in files.values() if file]


def _rows(file: Path, shape: pa.Schema) -> pa.Table | None:
    """None where the file lacks a column, or has one of another type."""
    if not file.is_file():
        return None
    read = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
    if not set(shape.names) <= set(read.schema_arrow.names):
        return None
    rows = read.read(columns=shape.names).select(shape.names)
    for given, wanted in zip(rows.schema, shape, strict=True):
        if given.type != wanted.type and not any({given.type, wanted.type} <= k for k in _ALIKE):
            return None
    return rows.cast(shape)
