"""The changes that several staged commits add up to, as files of changes for the one commit that
they become."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.type_changes import PHYSICAL
from dt_jupyter.lake.paths import sql_path
from dt_jupyter.lake.storage.mounts import list_all, move_folder
from dt_jupyter.lake.txn.shadow_log import Staging
from dt_jupyter.lake.types import stored_name
from dt_jupyter.lake.write.writer_spark import MICROS
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.spark import confs, text_of_path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

_NULL = "__HIVE_DEFAULT_PARTITION__"
_UNGROUPED = ("map<", "variant", "interval")


def folded(spark: SparkSession, staging: Staging) -> list[dict[str, Any]]:
    """Writes the files into the copy's folder; their actions. What was added and removed again is
    in none of them; an update of an update is one delete and one insert."""
    rows = _net(spark, staging)
    physical = rows.select(*(_physical(rows, f) for f in staging.metadata.fields), "_change_type")
    names = {f["name"]: stored_name(f) for f in staging.metadata.fields}
    by = [names[c] for c in staging.metadata.partition_columns]
    out = staging.folder / f"_folded_{uuid.uuid4().hex}"
    with confs(spark, MICROS):
        physical.coalesce(1).write.partitionBy(*by).parquet(text_of_path(out))
    written = sorted((name, size) for name, size in list_all(out) if name.endswith(".parquet"))
    return [_moved(out, name, size, staging.folder) for name, size in written]


def _net(spark: SparkSession, staging: Staging) -> DataFrame:
    first, last = staging.version + 1, staging.last
    feed = f"table_changes_by_path({sql_path(staging.folder)}, {first}, {last})"
    columns = [f["name"] for f in staging.metadata.fields]
    listed = ", ".join(map(quote, columns))
    rows = spark.sql(f"SELECT {listed}, _change_type FROM {feed}")
    if any(kind in t for _, t in rows.dtypes for kind in _UNGROUPED):
        return rows
    weight = "SUM(CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END)"
    return spark.sql(
        f"SELECT {listed}, IF({WEIGHT} > 0, 'insert', 'delete') AS _change_type FROM"
        f" (SELECT {listed}, {WEIGHT}, EXPLODE(SEQUENCE(1L, ABS({WEIGHT}))) FROM"
        f" (SELECT {listed}, {weight} AS {WEIGHT} FROM {feed} GROUP BY {listed})"
        f" WHERE {WEIGHT} <> 0)"
    )


def _physical(rows: DataFrame, field: Mapping[str, Any]) -> Column:
    """A column under the names by which the table's files have it and what is in it."""
    from pyspark.sql.types import StructField

    known = StructField.fromJson(dict(field))
    column = rows[quote(field["name"])]
    name = field["metadata"].get(PHYSICAL)
    if name is None:
        return column
    return column.cast(_renamed(known.dataType)).alias(name)


def _renamed(kind: DataType) -> DataType:
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    match kind:
        case StructType():
            return StructType(
                [
                    StructField(
                        (f.metadata or {}).get(PHYSICAL, f.name), _renamed(f.dataType), f.nullable
                    )
                    for f in kind.fields
                ]
            )
        case ArrayType():
            return ArrayType(_renamed(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_renamed(kind.keyType), _renamed(kind.valueType), kind.valueContainsNull)
    return kind


def _moved(out: Path, name: str, size: int, folder: Path) -> dict[str, Any]:
    values: dict[str, str | None] = {}
    for part in name.split("/")[:-1]:
        column, _, value = part.partition("=")
        values[unquote(column)] = None if value == _NULL else unquote(value)
    path = f"_change_data/cdc-{uuid.uuid4()}.snappy.parquet"
    move_folder(out / name, folder / path)
    return {"path": path, "partitionValues": values, "size": size, "dataChange": False}
