"""What a name means that is not a Delta table but files: a table `USING json`, a path as
`` json.`/data` ``; and the log in the lake that represents its recorded list."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake import (
    PARTITION_TYPES,
    DataFile,
    LakeError,
    NotSupported,
    TableLog,
    create_list,
    hadoop_path,
    is_delta,
    partition_names,
    storable_fields,
    table_lock,
)
from dt_jupyter.model import Name, quote
from dt_jupyter.sources.file_roots import (
    Roots,
    base_of,
    has_braced_folders,
    list_counted,
)
from dt_jupyter.spark import FILE_FORMATS, GLOB, CatalogRelation, text_of_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINKED = "parquet"
"""The format whose files are read in place; the rows of others are copied once."""
_FORMAT, _LOCATION, _OPTIONS = "dt.files.format", "dt.files.location", "dt.files.options"
_PARTITIONED, _CREATED = "dt.files.partitions", "dt.files.created"
_ROOTS = "dt.files.roots"
_FILLED = '"EXISTS_DEFAULT"'
"""Of a column that came later: older files have its default there."""
_ZONED = frozenset(("csv", "json", "xml"))
_LISTING = frozenset((
    "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter", "basepath",
    "ignorecorruptfiles", "ignoremissingfiles",
))  # fmt: skip
"""Options by which Spark lists other files than are there."""
_NO_OPTIONS = frozenset(("path", "serialization.format", "compression"))


@dataclass(frozen=True)
class FileTable:
    """Files of one format at a `location` of the local disk, which may be a pattern; `schema` is
    Spark's JSON of the columns, None for a path, whose columns are inferred once. `partitions` are
    those that a table of the session declares, `tracked` is its name where the catalog says which
    of them count."""

    format: str
    location: str
    options: tuple[tuple[str, str], ...] = ()
    schema: str | None = None
    partitions: tuple[str, ...] = ()
    roots: Roots = Roots.FOLDER
    tracked: Name | None = None

    @property
    def linked(self) -> bool:
        """Whether its files are read in place."""
        return self.format == _LINKED

    @classmethod
    def of_log(cls, properties: Mapping[str, str]) -> FileTable | None:
        """From a log's properties; None for any other table."""
        if _FORMAT not in properties:
            return None
        options = json.loads(properties[_OPTIONS])
        pairs = tuple((k, v) for k, v in options)
        roots, name = json.loads(properties.get(_ROOTS, '["folder", null]'))
        tracked = Name(*name) if name else None
        place = properties[_LOCATION]
        return cls(properties[_FORMAT], place, pairs, roots=Roots(roots), tracked=tracked)

    @property
    def properties(self) -> dict[str, str]:
        options = json.dumps([list(o) for o in self.options])
        roots = json.dumps([self.roots, self._name])
        known = {_FORMAT: self.format, _LOCATION: self.location, _OPTIONS: options}
        return known if self.roots is Roots.FOLDER else {**known, _ROOTS: roots}

    @property
    def _name(self) -> list[str] | None:
        return [self.tracked.schema, self.tracked.table] if self.tracked is not None else None

    @property
    def place(self) -> Path:
        """The folder that all its files are in, or the one file."""
        return base_of(self.location) if self.roots is Roots.PATTERN else Path(self.location)

    def files(self, spark: SparkSession) -> dict[str, DataFile]:
        """The files that there are now, from `list_counted`."""
        return list_counted(spark, self.place, self.location, self.roots, self.tracked)

    @property
    def key(self) -> str:
        """The same for the same files, read in the same way."""
        known = [self.format, self.location, [list(o) for o in self.options]]
        more = [list(self.partitions), self._name]
        return _digest([*known, *more] if any(more) else known)

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


def of_path(name: Name, written: str, zone: str, *, connect: bool = False) -> FileTable | None:
    """Of a path that is read as a table; None where its files are unknown, or not there."""
    pattern = bool(GLOB & set(written))
    if name.schema not in FILE_FORMATS or (connect and has_braced_folders(written)):
        return None
    roots = Roots.PATTERN if pattern else Roots.FOLDER
    return _local(FileTable(name.schema, written, roots=roots), zone)


def of_relation(name: Name, relation: CatalogRelation, zone: str) -> FileTable | None:
    """Of a table in the session's catalog; None where Spark may list other files than the folder
    and the catalog have."""
    told = relation.files
    if told is None or relation.provider not in FILE_FORMATS or relation.location is None:
        return None
    options = tuple(sorted((k.lower(), v) for k, v in told.options if k.lower() != "path"))
    if any(k in _LISTING for k, _ in options):
        return None
    if relation.provider == _LINKED and any(k not in _NO_OPTIONS for k, _ in options):
        return None
    if _FILLED in told.schema:
        return None
    found = FileTable(
        relation.provider, relation.location, options, told.schema, told.partitions,
        Roots.CATALOG if told.tracked else Roots.FOLDER, name if told.tracked else None,
    )  # fmt: skip
    return _local(found, zone)


def _local(table: FileTable, zone: str) -> FileTable | None:
    try:
        found = replace(table, location=str(hadoop_path(table.location)))
    except NotSupported:
        return None
    if not found.place.exists() or (found.place / "_delta_log").exists():
        return None
    if table.format in _ZONED and not any(k == "timezone" for k, _ in table.options):
        found = replace(found, options=(*table.options, ("timezone", zone)))
    return found


def record_table(spark: SparkSession, files: Path, table: FileTable) -> Path | None:
    """The folder of the table's list, made where there is none; None where Delta has no form of
    its columns."""
    try:
        partitions = _partitions(spark, table)
    except LakeError:
        return None
    schema = table.schema or _inferred(spark, table)
    told = json.loads(schema)
    fields = storable_fields(told)
    if fields is None:
        return None
    columns = [f["name"] for f in fields if f["name"].lower() in partitions]
    types = {f["name"]: f["type"] for f in fields}
    if len(columns) != len(partitions) or not all(map(_is_told, (types[c] for c in columns))):
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


def _partitions(spark: SparkSession, table: FileTable) -> tuple[str, ...]:
    """The columns that the folders have the values of, by a path's files. LakeError where the
    files have no such, or several."""
    listed = table.files(spark)
    if table.schema is not None:
        return tuple(c.lower() for c in table.partitions)
    if table.roots is Roots.PATTERN:
        return ()
    found = {partition_names(p) for p in listed if "=" in p or "/" not in p}
    if len(found) > 1:
        raise LakeError("the folders are not those of one list of columns")
    return tuple(n.lower() for n in next(iter(found), ()))


def _is_told(type_: Any) -> bool:
    """Whether values of a type are read from names of folders in one way."""
    return isinstance(type_, str) and type_ in PARTITION_TYPES


def _inferred(spark: SparkSession, table: FileTable) -> str:
    return spark.sql(
        f"SELECT * FROM {table.format}.{quote(text_of_path(table.location))}"
    ).schema.json()


def partition_types(log: TableLog) -> dict[str, str]:
    """The columns whose values are in the names of folders, and their types."""
    types = {f["name"]: f["type"] for f in log.metadata().fields}
    return {c: types[c] for c in json.loads(log.properties()[_PARTITIONED])}


__all__ = [
    "FileTable",
    "of_path",
    "of_relation",
    "partition_types",
    "read_creation_time",
    "record_table",
]
