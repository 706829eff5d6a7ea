"""Backing tables: made with the properties that both writers need, registered, put aside."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake.errors import NameTaken, TableGone
from dt_jupyter.lake.first_commit import plain_fields, write_first
from dt_jupyter.lake.locks import lock_file
from dt_jupyter.lake.log import TableLog, is_delta
from dt_jupyter.lake.paths import TablePath, local, sql_string, sql_table
from dt_jupyter.lake.types import is_inexact
from dt_jupyter.lake.writer_spark import MICROS
from dt_jupyter.model import Name, quote
from dt_jupyter.spark.confs import confs
from dt_jupyter.spark.relations import lookup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

FEED = "delta.enableChangeDataFeed"
_AWKWARD = frozenset(" ,;{}()\n\t=")
_SKIPPING = frozenset(
    ("byte", "short", "integer", "long", "string", "date", "timestamp", "timestamp_ntz")
)
_INDEXED = 32


def backing_properties(
    schema: StructType, *, retention_days: float = 7, extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Properties of a table that both writers may write: change feed, deletion vectors, no row
    tracking, no statistics of floats, and logs and files that nobody removes but we.

    `retention_days`: how long old versions stay readable. Column mapping only where a name has a
    character that Parquet does not take.
    """
    hours = max(1, round(retention_days * 24))
    found = {
        FEED: "true",
        "delta.enableDeletionVectors": "true",
        "delta.checkpointInterval": "50",
        "delta.enableExpiredLogCleanup": "false",
        "delta.logRetentionDuration": f"interval {hours} hours",
        "delta.deletedFileRetentionDuration": f"interval {hours} hours",
        "delta.dataSkippingStatsColumns": ",".join(_skipping(schema)),
    }
    if any(_awkward(f.name, f.dataType) for f in schema.fields):
        found["delta.columnMapping.mode"] = "name"
    return {**found, **(extra or {})}


def _skipping(schema: StructType) -> list[str]:
    """The first columns that statistics are kept of: plain ones that both writers get right."""
    kinds = ((f.name, str(f.dataType.jsonValue())) for f in schema.fields)
    short = ((n, k) for n, k in kinds if k.startswith("decimal(") or k in _SKIPPING)
    names = [quote(n) for n, k in short if not is_inexact(k)]
    return names[:_INDEXED]


def _awkward(name: str, kind: DataType) -> bool:
    """Whether a name, or one nested in its type, has a character that Parquet does not take."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if _AWKWARD & set(name):
        return True
    if isinstance(kind, StructType):
        return any(_awkward(f.name, f.dataType) for f in kind.fields)
    if isinstance(kind, ArrayType):
        return _awkward("", kind.elementType)
    if isinstance(kind, MapType):
        return _awkward("", kind.keyType) or _awkward("", kind.valueType)
    return False


def create(
    spark: SparkSession,
    path: TablePath,
    schema: StructType | str,
    properties: Mapping[str, str] | None = None,
    cluster_by: Sequence[str] = (),
) -> None:
    """Make an empty table at `path`: one commit, version 0. `schema` is a StructType or DDL text;
    all columns may be NULL. `properties` None: those of `backing_properties`.

    `cluster_by` makes the table clustered, which shuts out delta-rs: its writes are Spark's. A
    plain table with the properties of backing tables is made without Spark.
    """
    from pyspark.sql.types import StructField, StructType

    typed = schema if isinstance(schema, StructType) else _parsed(schema)
    chosen = backing_properties(typed) if properties is None else properties
    fields = plain_fields(typed, chosen) if not cluster_by and not is_delta(path) else None
    if fields is not None:
        return write_first(local(path), fields, chosen)
    columns = StructType([StructField(f.name, f.dataType) for f in typed.fields]).toDDL()
    cluster = f" CLUSTER BY ({', '.join(map(quote, cluster_by))})" if cluster_by else ""
    pairs = ", ".join(f"{sql_string(k)} = {sql_string(v)}" for k, v in chosen.items())
    listed = f" TBLPROPERTIES ({pairs})" if pairs else ""
    spark.sql(f"CREATE TABLE {sql_table(path)} ({columns}) USING delta{cluster}{listed}")


def _parsed(ddl: str) -> StructType:
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(ddl)
    if not isinstance(schema, StructType):
        raise ValueError(f"not a list of columns: {ddl}")
    return schema


def register(spark: SparkSession, name: Name, path: TablePath) -> None:
    """Make the table at `path` known by name in the session's catalog. What the session knows by
    that name stays: to drop a managed table would be to delete its rows. NameTaken where it is
    another one."""
    known, folder = lookup(spark, name), local(path).resolve()
    if known is None:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(name.schema)}")
        location = sql_string(folder.as_uri())
        spark.sql(f"CREATE TABLE {name.sql} USING delta LOCATION {location}")
    elif known.location is None or Path(known.location).resolve() != folder:
        raise NameTaken(f"{name} is another table of the session", name=str(name))


def enable_feed(spark: SparkSession, path: TablePath) -> bool:
    """Turn the change data feed on (one metadata commit); False: it was on already."""
    if TableLog(path).metadata().feed:
        return False
    with confs(spark, MICROS):
        spark.sql(f"ALTER TABLE {sql_table(path)} SET TBLPROPERTIES ({sql_string(FEED)} = 'true')")
    return True


def drop_folder(path: TablePath, trash: TablePath, label: str) -> Path:
    """Move the table aside to `trash/label` (a number is added where that exists): UNDROP moves it
    back. Raises TableGone where there is no table."""
    table = local(path)
    if not is_delta(table):
        raise TableGone(f"there is no Delta table at {table}", path=str(table))
    folder = local(trash)
    folder.mkdir(parents=True, exist_ok=True)
    target, number = folder / label, 1
    while target.exists():
        number += 1
        target = folder / f"{label}.{number}"
    _move(table, target)
    lock_file(table).unlink(missing_ok=True)
    return target


def restore_folder(dropped: TablePath, path: TablePath) -> None:
    """Move a table that `drop_folder` put aside to `path`. Raises TableGone where it is not there,
    FileExistsError where something else is."""
    source, target = local(dropped), local(path)
    if not is_delta(source):
        raise TableGone(f"there is no Delta table at {source}", path=str(source))
    move_table(source, target)


def move_table(source: Path, target: Path) -> None:
    """Move a table's folder. Raises FileExistsError where something else is."""
    if target.exists():
        raise FileExistsError(f"{target} exists")
    target.parent.mkdir(parents=True, exist_ok=True)
    _move(source, target)


def _move(source: Path, target: Path) -> None:
    try:
        os.rename(source, target)
    except OSError as e:
        if target.exists():
            raise FileExistsError(f"{target} exists") from e
        shutil.move(source, target)  # to another file system


__all__ = [
    "FEED", "backing_properties", "create", "drop_folder", "enable_feed", "register",
    "restore_folder",
]  # fmt: skip
