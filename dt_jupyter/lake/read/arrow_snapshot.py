"""Small tables, and few rows of large ones, read from their files: milliseconds, where Spark first
computes a snapshot of the log."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dt_jupyter.caches import Cache
from dt_jupyter.lake.delta_log.key_ranges import KeyRange
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported, read_by_delta_rs
from dt_jupyter.lake.read.base_versions import BaseVersions
from dt_jupyter.lake.read.column_memory import row_width, table_bytes
from dt_jupyter.lake.read.disk_cache import DiskCache
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.narrowing import narrowest_range, ranges_of
from dt_jupyter.lake.read.reader_rs import items, read_snapshot
from dt_jupyter.lake.read.table_files import VersionFiles
from dt_jupyter.lake.read.wanted_rows import RowsBetween, ValueInterval, WantedRows
from dt_jupyter.lake.types import arrow_schema, fields_named, plain_type, spark_schema
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import TRACKED_ID, WEIGHT, hidden
from dt_jupyter.spark import arrow_frame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_KEY = hidden("key")

_Key = tuple[str, str, int, tuple[str, ...]]
_ENDS = 2
_SELECTING = frozenset({"byte", "short", "integer", "long", "date", "string"})


@dataclass
class SmallTables:
    """Snapshots as Arrow: columns of about `table_bytes` in memory, from files of `file_bytes` at
    most; `kept_bytes` of what was decoded are kept for the next who asks, and on `disk` for other
    processes. Of a larger one at most `selected` rows are selected by `selected_by` values. Threads
    may share it."""

    table_bytes: int = 16 << 20
    file_bytes: int = 64 << 20
    kept_bytes: int = 256 << 20
    selected_by: int = 100_000
    selected: int = 200_000
    disk: DiskCache | None = None

    def __post_init__(self) -> None:
        self.columns = KeptColumns(self.kept_bytes, self.disk)
        self.bases = BaseVersions(self.columns)
        self._kept: Cache[_Key, pa.Table] = Cache(self.columns.memory, "snapshots")

    def rows(self, log: TableLog, version: int, columns: Sequence[str]) -> pa.Table | None:
        """The columns of a snapshot in Delta's own types; None where Spark has to read it: too
        large, a type that does not travel, timestamps as INT96, a file that is gone."""
        key = (str(log.path), log.table_id(version), version, tuple(columns))
        known = self._kept.get(key)
        if known is not None:
            return known
        try:
            found = self._read(log, version, columns)
        except (LakeError, NotSupported):
            return None
        if found is not None:
            self._keep(key, found)
        return found

    def expected_bytes(self, log: TableLog, version: int, columns: Sequence[str]) -> int | None:
        """About the memory of the columns of a snapshot; None where its log does not have it, or
        Spark has to read it."""
        import pyarrow as pa

        metadata = log.metadata(version)
        if not metadata.is_plain:
            return None
        try:
            schema = arrow_schema(fields_named(metadata, columns))
            files, width = self.columns.files(log, version), row_width(schema)
            if width is None or files.bytes > self.file_bytes:
                return None
            return files.rows * width
        except (LakeError, pa.ArrowException, OSError):
            return None

    def _read(self, log: TableLog, version: int, columns: Sequence[str]) -> pa.Table | None:
        import pyarrow as pa
        from deltalake.exceptions import DeltaError

        metadata = log.metadata(version)
        if not metadata.is_plain:
            return None
        schema = arrow_schema(fields_named(metadata, columns))
        try:
            files = self.columns.files(log, version)
            if not self._is_small(schema, files) or files.has_other_times(columns):
                return None
            try:
                return self.columns.rows(files, columns)
            except NotSupported:
                return read_snapshot(TableSnapshot(log.path, version), metadata, schema)
        except (DeltaError, pa.ArrowException, OSError):
            return None

    def select(
        self,
        log: TableLog,
        version: int,
        columns: Sequence[str],
        key: str,
        values: pa.Array,
        *,
        nulls: bool,
        among: pa.Table | None = None,
    ) -> pa.Table | None:
        """The rows of a snapshot, whatever its size, whose column `key` (of `selecting_columns`) is
        one of the values, and with `nulls` those where it is NULL; of rows that are not in `among`
        some may be left out. None where there are too many values or rows, or delta-rs does not
        read the table as Spark does."""
        import pyarrow as pa
        from deltalake.exceptions import DeltaError

        metadata = log.metadata(version)
        if not metadata.is_plain:
            return None
        try:
            schema = arrow_schema(fields_named(metadata, columns))
            wanted = _keys(values, schema.field(key).type)
            if wanted is None or len(wanted) > self.selected_by:
                return None
            files = self.columns.files(log, version)
            if files.has_other_times(columns):
                return None
            if among is None and not nulls:
                among = pa.table({key: wanted})
            if self.columns.can_keep(schema, files):
                with suppress(NotSupported):
                    rows = WantedRows(key, wanted, nulls, ranges_of(metadata, among))
                    return self.bases.select(files, columns, rows, self.selected)
            snapshot, near = TableSnapshot(log.path, version), None
            if among is not None and files.bytes > self.table_bytes:
                near = narrowest_range(snapshot.files, metadata, among)
            return self._selected(snapshot, metadata, schema, key, wanted, nulls, near)
        except (LakeError, NotSupported, DeltaError, pa.ArrowException, OSError):
            return None

    def select_between(
        self,
        log: TableLog,
        version: int,
        columns: Sequence[str],
        key: str,
        interval: ValueInterval,
    ) -> pa.Table | None:
        """The rows of a snapshot, whatever its size, whose column `key` is in an interval of values
        that are compared with its own. None where there are too many, or the columns are more than
        what is kept."""
        import pyarrow as pa

        try:
            files = self._kept_files(log, version, columns)
            if files is None:
                return None
            wanted = RowsBetween(key, interval).within(log.metadata(version))
            return self.bases.select(files, columns, wanted, self.selected)
        except (LakeError, NotSupported, pa.ArrowException, OSError):
            return None

    def columns_of(self, log: TableLog, version: int, columns: Sequence[str]) -> pa.Table | None:
        """A few columns of a snapshot, whatever its size; None where they are more than what is
        kept."""
        import pyarrow as pa

        try:
            files = self._kept_files(log, version, columns)
            return None if files is None else self.columns.rows(files, columns)
        except (LakeError, NotSupported, pa.ArrowException, OSError):
            return None

    def _kept_files(
        self, log: TableLog, version: int, columns: Sequence[str]
    ) -> VersionFiles | None:
        """The files of a snapshot whose columns may be cached. Raises as
        `KeptColumns.rows` does."""
        metadata = log.metadata(version)
        if not metadata.is_plain:
            return None
        schema = arrow_schema(fields_named(metadata, columns))
        files = self.columns.files(log, version)
        kept = not files.has_other_times(columns) and self.columns.can_keep(schema, files)
        return files if kept else None

    def _selected(
        self,
        snapshot: TableSnapshot,
        metadata: Metadata,
        schema: pa.Schema,
        key: str,
        values: pa.Array,
        nulls: bool,
        near: KeyRange | None,
    ) -> pa.Table | None:
        """A semi join with a table of the keys: there is no text that grows with them."""
        import pyarrow as pa
        from deltalake import DeltaTable, QueryBuilder, write_deltalake

        listed, named = items(metadata, schema.names), items(metadata, [key])
        found: list[pa.RecordBatch] = []
        with TemporaryDirectory(prefix="dt_keys_") as folder, read_by_delta_rs():
            write_deltalake(folder, pa.table({_KEY: values}))
            tables = QueryBuilder().register("t", snapshot.table)
            tables = tables.register("keys", DeltaTable(folder))
            conditions = [f"{named} IN (SELECT {_KEY} FROM keys)"]
            conditions += [f"{named} IS NULL"] if nulls else []
            if near is not None:
                narrowed = near.sql("t", lambda column: items(metadata, [column]))
                conditions = [f"{condition} AND {narrowed}" for condition in conditions]
            for condition in conditions:
                for batch in tables.execute(f"SELECT {listed} FROM t WHERE {condition}"):
                    found.append(pa.record_batch(batch))
                    if sum(b.num_rows for b in found) > self.selected:
                        return None
        if not found:
            return schema.empty_table()
        return pa.Table.from_batches(found).rename_columns(schema.names).cast(schema)

    def _is_small(self, schema: pa.Schema, files: VersionFiles) -> bool:
        """Whether the columns fit, by the bytes of all files and the rows in them."""
        if files.bytes > self.file_bytes:
            return False
        width = row_width(schema)
        if width is None:
            return files.bytes <= self.table_bytes // 4
        return files.rows * width <= self.table_bytes

    def _keep(self, key: _Key, rows: pa.Table) -> None:
        """A table is requested at both ends of a change, and not at older ones again."""
        self._kept.put(key, rows, table_bytes(rows))
        alike = sorted((k for k in self._kept if k[:2] == key[:2] and k[3] == key[3]), key=_age)
        for old in alike[:-_ENDS]:
            self._kept.pop(old)


def _age(key: _Key) -> int:
    return key[2]


def selecting_columns(metadata: Metadata) -> frozenset[str]:
    """The columns that rows may be selected by: integers, dates and plain strings."""
    return frozenset(f["name"] for f in metadata.fields if plain_type(f) in _SELECTING)


def _keys(values: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """The different values in the type of a column; None where it is of another kind."""
    import pyarrow.compute as pc
    from pyarrow import types as t

    kinds = (t.is_integer, t.is_date, t.is_string)
    if not any(is_(type_) and is_(values.type) for is_ in kinds):
        return None
    return pc.unique(pc.drop_null(values)).cast(type_)


def local_view(spark: SparkSession, log: TableLog, version: int, rows: pa.Table, view: str) -> str:
    """The rows, or changes with weights and row ids, as a temporary view with the table's own
    types; the relation's text."""
    ours = [c for c in rows.column_names if c in (TRACKED_ID, WEIGHT)]
    names = [c for c in rows.column_names if c not in ours]
    longs = [{"name": c, "type": "long", "nullable": False, "metadata": {}} for c in ours]
    schema = spark_schema([*fields_named(log.metadata(version), names), *longs])
    arrow_frame(spark, rows.select([*names, *ours]), schema).createOrReplaceTempView(quote(view))
    return quote(view)
