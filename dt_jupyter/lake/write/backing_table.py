"""Backing tables: made with the properties that both writers need, registered, moved away."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NameTaken, TableGone
from dt_jupyter.lake.paths import TablePath, local, sql_path, sql_string, sql_table
from dt_jupyter.lake.storage.mounts import folder_exists, is_delta, move_folder
from dt_jupyter.lake.storage.questions import ask_again
from dt_jupyter.lake.types import allow_nulls, is_inexact
from dt_jupyter.lake.write.clustering import STATISTICS, clusterable_paths, path_sql, recluster
from dt_jupyter.lake.write.create_commit import plain_fields, write_first
from dt_jupyter.lake.write.locks import lock_file
from dt_jupyter.lake.write.writer_spark import MICROS
from dt_jupyter.model import Name, quote
from dt_jupyter.spark import (
    TableEntry,
    confs,
    is_connect,
    lookup,
    parts_of_type,
    storage_at,
    storage_of,
    text_of_path,
    type_text,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FEED = "delta.enableChangeDataFeed"
MAPPING = "delta.columnMapping.mode"
_AWKWARD = frozenset(" ,;{}()\n\t=")
_SKIPPING = frozenset(
    ("byte", "short", "integer", "long", "string", "date", "timestamp", "timestamp_ntz")
)
_INDEXED = 32


def backing_properties(
    schema: StructType,
    *,
    retention_days: float = 7,
    extra: Mapping[str, str] | None = None,
    cluster_by: Sequence[str] = (),
) -> dict[str, str]:
    """Properties of a table that both writers may write: change feed, deletion vectors, no row
    tracking, no statistics of floats, and logs and files that only the engine removes.

    `retention_days`: how long old versions stay readable. Column mapping only where a name has a
    character that Parquet does not take. `cluster_by`: columns to keep statistics of in any case.
    """
    found = {
        FEED: "true",
        "delta.enableDeletionVectors": "true",
        "delta.checkpointInterval": "50",
        "delta.enableExpiredLogCleanup": "false",
        **_retention(retention_days),
        STATISTICS: ",".join(_skipping(schema, cluster_by)),
    }
    if _has_awkward_names(schema):
        found[MAPPING] = "name"
    return {**found, **(extra or {})}


def admit_schema(spark: SparkSession, log: TableLog, stored: StructType, new: StructType) -> None:
    """Make a backing table with the schema `stored` one that an overwrite may give the schema
    `new`: a metadata commit, which changes no rows.

    Delta refuses a schema without a column that has statistics or that rows are clustered by, and
    an awkward name without column mapping. With it, it refuses to lose a column while the change
    feed is on: the feed is off for that overwrite, whose commit turns it on again.
    """
    recluster(spark, log, ())
    kept = {(f.name, f.dataType) for f in stored}
    both = type(new)([f for f in new.fields if (f.name, f.dataType) in kept])
    changed = {STATISTICS: ",".join(_skipping(both))}
    mapped = log.metadata().mapping != "none"
    if not mapped and _has_awkward_names(new):
        changed[MAPPING], mapped = "name", True
    if mapped and len(both.fields) < len(stored.fields):
        changed[FEED] = "false"
    spark.sql(f"ALTER TABLE {sql_table(log.path)} SET TBLPROPERTIES ({_pairs(changed)})")


def add_columns(spark: SparkSession, log: TableLog, schema: StructType) -> None:
    """Give a backing table the columns of `schema` that it lacks, in their places: a metadata
    commit for each, which changes no rows."""
    known, before = {c.lower() for c in log.metadata().columns}, None
    if log.metadata().mapping == "none" and _has_awkward_names(schema):
        pairs = _pairs({MAPPING: "name"})
        spark.sql(f"ALTER TABLE {sql_table(log.path)} SET TBLPROPERTIES ({pairs})")
    for field in schema.fields:
        if field.name.lower() not in known:
            place = "FIRST" if before is None else f"AFTER {quote(before)}"
            column = f"{quote(field.name)} {type_text(field.dataType)} {place}"
            spark.sql(f"ALTER TABLE {sql_table(log.path)} ADD COLUMNS ({column})")
        before = field.name
    ask_again()


def _pairs(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{sql_string(k)} = {sql_string(v)}" for k, v in properties.items())


def _retention(days: float) -> dict[str, str]:
    interval = f"interval {max(1, round(days * 24))} hours"
    return {"delta.logRetentionDuration": interval, "delta.deletedFileRetentionDuration": interval}


def retain(spark: SparkSession, log: TableLog, days: float) -> bool:
    """A backing table keeps its past for so long: a metadata commit where it does not, else
    nothing. The caller holds the table's lock."""
    wanted, known = _retention(days), log.properties()
    if all(known.get(k) == v for k, v in wanted.items()):
        return False
    spark.sql(f"ALTER TABLE {sql_table(log.path)} SET TBLPROPERTIES ({_pairs(wanted)})")
    return True


def _skipping(schema: StructType, cluster_by: Sequence[str] = ()) -> list[str]:
    """The first columns that statistics are kept of: plain ones that both writers get right, after
    those that it is clustered by, which shuts out delta-rs."""
    first = [path_sql(p) for p in clusterable_paths(_fields(schema), cluster_by)]
    kinds = ((f.name, str(f.dataType.jsonValue())) for f in schema.fields)
    short = ((n, k) for n, k in kinds if k.startswith("decimal(") or k in _SKIPPING)
    names = [quote(n) for n, k in short if not is_inexact(k)]
    return list(dict.fromkeys([*first, *names]))[:_INDEXED]


def _fields(schema: StructType) -> list[Mapping[str, Any]]:
    return list(schema.jsonValue()["fields"])


def _has_awkward_names(schema: StructType) -> bool:
    """Whether a column, or a part of one, has a character in its name that Parquet refuses."""
    from pyspark.sql.types import StructType

    structs = (part for part in parts_of_type(schema) if isinstance(part, StructType))
    return any(_AWKWARD & set(name) for struct in structs for name in struct.names)


def create(
    spark: SparkSession,
    path: TablePath,
    schema: StructType | str,
    properties: Mapping[str, str] | None = None,
    cluster_by: Sequence[str] = (),
) -> None:
    """Make an empty table at `path`: one commit, version 0. `schema` is a StructType or DDL text;
    all columns, and all parts of nested ones, may be NULL. `properties` None: those of
    `backing_properties`.

    `cluster_by` (those of them that can be) makes the table clustered, which shuts out delta-rs. A
    plain table with the properties of backing tables is made without Spark.
    """
    from pyspark.sql.types import StructField, StructType

    given = schema if isinstance(schema, StructType) else _parsed(schema)
    opened = StructType.fromJson(allow_nulls(given.jsonValue()))
    typed = StructType([StructField(f.name, f.dataType) for f in opened.fields])
    chosen = backing_properties(typed) if properties is None else properties
    fields = plain_fields(typed, chosen) if not cluster_by and not is_delta(path) else None
    if fields is not None:
        return write_first(local(path), fields, chosen)
    columns = _ddl(spark, typed)
    paths = clusterable_paths(_fields(typed), cluster_by)
    cluster = f" CLUSTER BY ({', '.join(map(path_sql, paths))})" if paths else ""
    listed = f" TBLPROPERTIES ({_pairs(chosen)})" if chosen else ""
    spark.sql(f"CREATE TABLE {sql_table(path)} ({columns}) USING delta{cluster}{listed}")


def _ddl(spark: Any, columns: StructType) -> str:
    """On Connect `toDDL` asks the thread's active session: one of a pool has none."""
    return str(spark._to_ddl(columns)) if is_connect(spark) else columns.toDDL()


def _parsed(ddl: str) -> StructType:
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(ddl)
    if not isinstance(schema, StructType):
        raise ValueError(f"not a list of columns: {ddl}")
    return schema


def register(spark: SparkSession, name: Name, path: TablePath) -> None:
    """Make the table at `path`, which may be on other storage, known by name in the session's
    catalog. What the session knows by that name stays: to drop a managed table would be to delete
    its rows. NameTaken where it is a different one."""
    known, folder = lookup(spark, name), _real(path)
    if known is not None and known.location is not None and _is_gone(known.location):
        spark.sql(f"DROP TABLE {name.sql}")  # of a lake that was moved: there is nothing to lose
        known = None
    if known is None:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(name.schema)}")
        spark.sql(f"CREATE TABLE {name.sql} USING delta LOCATION {sql_path(folder)}")
    elif known.location is None or _real(known.location) != folder:
        raise NameTaken(f"{name} is another table of the session", name=str(name))


def table_entry(name: Name, path: TablePath) -> TableEntry:
    """What `register` makes of a table in a session that keeps its own names."""
    return TableEntry(name, text_of_path(_real(path)))


def _real(path: TablePath) -> str:
    """Without links, where a disk may have them."""
    text = os.fspath(path)
    return text.rstrip("/") if storage_of(text) else str(local(path).resolve())


def _is_gone(location: str) -> bool:
    """Of a disk: other storage may be away for a while."""
    return storage_at(location) is None and not Path(location).exists()


def enable_feed(spark: SparkSession, path: TablePath) -> None:
    """Turn the change data feed on: one metadata commit. The table may be on other storage."""
    with confs(spark, MICROS):
        spark.sql(f"ALTER TABLE {sql_table(path)} SET TBLPROPERTIES ({sql_string(FEED)} = 'true')")


def drop_folder(path: TablePath, trash: TablePath, label: str) -> Path:
    """Move the table aside to `trash/label` (a number is added where that exists): UNDROP moves it
    back. Raises TableGone where there is no table."""
    table = local(path)
    if not is_delta(table):
        raise TableGone(f"there is no Delta table at {table}", path=str(table))
    return put_aside(table, trash, label)


def put_aside(path: TablePath, trash: TablePath, label: str) -> Path:
    """As `drop_folder`, whatever is at the path."""
    table, folder = local(path), local(trash)
    target = folder / free_label(folder, label)
    move_folder(table, target)
    lock_file(table).unlink(missing_ok=True)
    return target


def free_label(trash: TablePath, label: str) -> str:
    """The label, with a number where the trash has something under it."""
    found, number = label, 1
    while folder_exists(local(trash) / found):
        number += 1
        found = f"{label}.{number}"
    return found


def restore_folder(dropped: TablePath, path: TablePath) -> None:
    """Move a table that `drop_folder` has moved away to `path`. Raises TableGone where it is not
    there, FileExistsError where something else is."""
    source, target = local(dropped), local(path)
    if not is_delta(source):
        raise TableGone(f"there is no Delta table at {source}", path=str(source))
    move_folder(source, target)


__all__ = [
    "FEED",
    "add_columns",
    "admit_schema",
    "backing_properties",
    "create",
    "drop_folder",
    "enable_feed",
    "free_label",
    "register",
    "restore_folder",
    "retain",
    "table_entry",
]
