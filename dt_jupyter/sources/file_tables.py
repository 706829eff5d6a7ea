"""What a name means that is no Delta table but files: a table `USING json`, a path as
`` json.`/data` ``; and the log in the lake that stands for its recorded list."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake import (
    NotSupported,
    TableGone,
    TableLog,
    create_list,
    is_delta,
    list_folder,
    local,
    partition_names,
    storable_fields,
    table_lock,
)
from dt_jupyter.model import Name, quote
from dt_jupyter.spark import FILE_FORMATS, CatalogRelation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINKED = "parquet"
"""The format whose files are read where they lie; the rows of others are copied once."""
_FORMAT, _LOCATION, _OPTIONS = "dt.files.format", "dt.files.location", "dt.files.options"
_PARTITIONED, _CREATED = "dt.files.partitions", "dt.files.created"
_ZONED = frozenset(("csv", "json", "xml"))
_LISTING = frozenset((
    "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter", "basepath",
    "ignorecorruptfiles", "ignoremissingfiles",
))  # fmt: skip
"""Options by which Spark lists other files than are there."""
_NO_OPTIONS = frozenset(("path", "serialization.format", "compression"))
_GLOB = frozenset("*?[]{}")
_PARTITIONS = frozenset(("byte", "short", "integer", "long", "string", "date", "boolean"))


@dataclass(frozen=True)
class FileTable:
    """Files of one format at a `location` of the local disk; `schema` is Spark's JSON of the
    columns, None for a path, whose columns are inferred once."""

    format: str
    location: str
    options: tuple[tuple[str, str], ...] = ()
    schema: str | None = None

    @property
    def linked(self) -> bool:
        """Whether its files are read where they lie."""
        return self.format == _LINKED

    @classmethod
    def of_log(cls, properties: Mapping[str, str]) -> FileTable | None:
        """As a log's properties tell it; None for any other table."""
        if _FORMAT not in properties:
            return None
        options = json.loads(properties[_OPTIONS])
        pairs = tuple((k, v) for k, v in options)
        return cls(properties[_FORMAT], properties[_LOCATION], pairs)

    @property
    def properties(self) -> dict[str, str]:
        options = json.dumps([list(o) for o in self.options])
        return {_FORMAT: self.format, _LOCATION: self.location, _OPTIONS: options}

    @property
    def key(self) -> str:
        """The same for the same files, read in the same way."""
        return _digest([self.format, self.location, [list(o) for o in self.options]])

    def folder(self, files: Path, schema: str) -> Path:
        """Where the list of its files with these columns is kept."""
        return files / f"{self.key}-{_digest(storable_fields(json.loads(schema)))}"

    def found(self, files: Path) -> Path | None:
        """The folder of a list that there is; of a path with several, the newest."""
        if self.schema is not None:
            folder = self.folder(files, self.schema)
            return folder if is_delta(folder) else None
        known = [f for f in files.glob(f"{self.key}-*") if is_delta(f)]
        return max(known, key=read_creation_time, default=None)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:20]


def read_creation_time(folder: Path) -> float:
    """When a list was made, in seconds: its first commit is older than any."""
    return int(TableLog(folder).properties()[_CREATED]) / 1e9


def of_path(name: Name, written: str, zone: str) -> FileTable | None:
    """Of a path that is read as a table; None where its files are not told, or not there."""
    if name.schema not in FILE_FORMATS or _GLOB & set(written):
        return None
    return _local(name.schema, written, (), None, zone)


def of_relation(relation: CatalogRelation, zone: str) -> FileTable | None:
    """Of a table in the session's catalog; None where Spark may list other files than the folder
    has."""
    told = relation.files
    if told is None or relation.provider not in FILE_FORMATS or relation.location is None:
        return None
    options = tuple(sorted((k.lower(), v) for k, v in told.options if k.lower() != "path"))
    if told.partitioned or any(k in _LISTING for k, _ in options):
        return None
    if relation.provider == _LINKED and any(k not in _NO_OPTIONS for k, _ in options):
        return None
    return _local(relation.provider, relation.location, options, told.schema, zone)


def _local(
    kind: str, path: str, options: tuple[tuple[str, str], ...], schema: str | None, zone: str
) -> FileTable | None:
    try:
        place = local(path)
    except NotSupported:
        return None
    if not place.exists() or (place / "_delta_log").exists():
        return None
    if kind in _ZONED and not any(k == "timezone" for k, _ in options):
        options = (*options, ("timezone", zone))
    return FileTable(kind, str(place), options, schema)


def record_table(spark: SparkSession, files: Path, table: FileTable) -> Path | None:
    """The folder of the table's list, made where there is none; None where Delta has no form of
    its columns."""
    place = Path(table.location)
    try:
        listed = list_folder(place, nested=True)
    except TableGone:
        return None
    partitions = _partitions(listed) if table.schema is None else ()
    schema = table.schema or _inferred(spark, table)
    told = json.loads(schema)
    fields = storable_fields(told)
    if fields is None:
        return None
    columns = [f["name"] for f in fields if f["name"].lower() in partitions]
    types = {f["name"]: f["type"] for f in fields}
    if len(columns) != len(partitions) or any(_odd(types[c]) for c in columns):
        return None
    folder = table.folder(files, schema)
    files.mkdir(parents=True, exist_ok=True)
    with table_lock(folder):
        if not is_delta(folder):
            known = {_PARTITIONED: json.dumps(columns), _CREATED: str(time.time_ns())}
            create_list(
                folder,
                fields,
                columns if table.linked else (),
                {**table.properties, **known},
                linked=table.linked,
            )
    return folder


def _partitions(paths: Iterable[str]) -> tuple[str, ...]:
    first = next(iter(sorted(paths)), "")
    return tuple(n.lower() for n in partition_names(first))


def _odd(type_: Any) -> bool:
    """Whether a type has partition values that readers read in different ways."""
    return not isinstance(type_, str) or type_ not in _PARTITIONS


def _inferred(spark: SparkSession, table: FileTable) -> str:
    return spark.sql(f"SELECT * FROM {table.format}.{quote(table.location)}").schema.json()


def partition_columns(log: TableLog) -> tuple[str, ...]:
    """The columns whose values are in the names of folders."""
    return tuple(json.loads(log.properties()[_PARTITIONED]))


__all__ = [
    "FileTable",
    "of_path",
    "of_relation",
    "partition_columns",
    "read_creation_time",
    "record_table",
]
