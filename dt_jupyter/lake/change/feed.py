"""The change data feed of some commits, read without Spark: all their files as one scan, where
delta-rs goes through the log once more and commit by commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from dt_jupyter.lake.change.vector_rows import MovedFile, pairs_of, vector_rows
from dt_jupyter.lake.delta_log.actions import FileAction
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.paths import data_file, require_openable
from dt_jupyter.lake.types import (
    INT96,
    arrow_schema,
    contains,
    fields_named,
    int96,
    stores_int96,
)
from dt_jupyter.model.hidden import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dt_jupyter.lake.read.kept_columns import KeptColumns


_CHANGE = "_change_type"
_NEW = ("insert", "update_postimage")
_WHOLE = 1 << 20
"""A file of no more bytes is read in one go."""
_PARTITIONS = frozenset(("byte", "short", "integer", "long", "string", "date", "boolean"))
"""Types whose partition values every writer writes in the same way."""
_Action: TypeAlias = Mapping[str, Any]
_Commits: TypeAlias = Sequence[tuple[int, Sequence[FileAction]]]


def feed_table(
    log: TableLog,
    first: int,
    last: int,
    columns: Sequence[str],
    kept: KeptColumns | None = None,
) -> pa.Table:
    """The changes of the commits first … last, in any order: `columns` in Delta's own types, and
    `__dt_w`. The table has no column mapping. `kept` has columns of files that were decoded.

    Raises NotSupported for what is left to Spark (types, timestamps as INT96), and what Arrow,
    delta-rs and the operating system raise for what cannot be read.
    """
    import pyarrow as pa

    schema = arrow_schema(fields_named(log.metadata(last), columns))
    made = schema.append(pa.field(WEIGHT, pa.int64()))
    commits = log.files(first, last)
    upto, known = log.kept.find(first, last, made) or (first - 1, made.empty_table())
    if upto < last:
        since = [c for c in commits if c[0] > upto]
        log.bring(body for _, files in since for _, body in files)
        read = _read(log, upto + 1, last, columns, since, kept)
        parts = [known, *(_named(rows, made) for rows in read)]
        known = pa.concat_tables(parts).combine_chunks()
        log.kept.keep(first, last, known)
    return known


def _named(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    return rows.rename_columns(schema.names).cast(schema)


def _read(
    log: TableLog,
    first: int,
    last: int,
    columns: Sequence[str],
    commits: _Commits,
    kept: KeptColumns | None,
) -> list[pa.Table]:
    files, moved = _groups(commits)
    scan = scan_of(log, last, columns, [f for group in files.values() for f in group])
    if scan is not None:
        rows = vector_rows(log, last, columns, moved, kept) if moved else []
        return [*rows, *(scan.rows(group, weight) for weight, group in files.items() if group)]
    if any(file.came is None or file.went is None for file in moved):
        # delta-rs would also give the rows that the vector of a removed file had deleted.
        raise NotSupported("nested columns of a file with a deletion vector that came or went")
    return [_by_delta_rs(log, first, last, columns, commits)]


def scan_of(
    log: TableLog, version: int, columns: Sequence[str], files: Sequence[_Action]
) -> FeedScan | None:
    """What reads columns of the files, as they are at a version; None for nested ones, and where
    the log does not write a partition column's values in one way only."""
    metadata = log.metadata(version)
    partitions = frozenset(metadata.partition_columns)
    fields = _stored(metadata, columns)
    schema = arrow_schema(fields)
    apart = [f for f in fields if f["name"] in partitions]
    if any(not isinstance(f["type"], str) for f in fields):
        return None
    if apart and any("partitionValues" not in f for f in files):
        return None
    if any(f["type"] not in _PARTITIONS for f in apart):
        return None
    return FeedScan(log.path, schema, partitions, _has_timestamps(metadata, columns))


def _stored(metadata: Metadata, columns: Sequence[str]) -> list[_Action]:
    """The columns' fields, named as the table names them."""
    known = {f["name"].lower(): f for f in metadata.fields}
    return [known[c.lower()] for c in columns]


def _has_timestamps(metadata: Metadata, columns: Sequence[str]) -> bool:
    return contains(metadata, frozenset(["timestamp"]), columns)


_TOLD = 0
"""In place of a weight: each row of the file has its own."""


def _groups(commits: _Commits) -> tuple[dict[int, list[_Action]], list[MovedFile]]:
    """The files that hold the changes, by the weight of their rows, and those in which deletion
    vectors say which rows they are. Files of changes hold all that their commit did."""
    groups: dict[int, list[_Action]] = {1: [], -1: [], _TOLD: []}
    moved: list[MovedFile] = []
    for _, files in commits:
        told = [body for kind, body in files if kind == "cdc"]
        groups[_TOLD] += told
        for came, went in () if told else pairs_of(files):
            if any(body is not None and body.get("deletionVector") for body in (came, went)):
                moved.append(MovedFile(came, went))
                continue
            groups[1] += [came] if came is not None else []
            groups[-1] += [went] if went is not None else []
    return groups, moved


@dataclass(frozen=True)
class FeedScan:
    """Reads columns of the files of the table at `folder`: `schema` are their names there, and
    Delta's types; of those in `partitions` the log has the values."""

    folder: Path
    schema: pa.Schema
    partitions: frozenset[str]
    timestamps: bool

    def rows(self, files: Sequence[_Action], weight: int) -> pa.Table:
        """The rows of the files, with their weights."""
        import pyarrow as pa

        told = [pa.field(_CHANGE, pa.string())] if weight == _TOLD else []
        schema = pa.schema([*self.schema, *told])
        read = [self.file(f, schema) for f in files]
        try:
            rows = pa.concat_tables(read).cast(schema)
        except pa.ArrowInvalid:  # several writers have stored the types in their own ways
            rows = pa.concat_tables([r.cast(schema) for r in read])
        if told:
            return _weighted(rows)
        return rows.append_column(WEIGHT, pa.repeat(pa.scalar(weight, pa.int64()), len(rows)))

    def file(self, action: _Action, schema: pa.Schema) -> pa.Table:
        """The rows of one file; the columns of `schema`, in the types that the file has."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = data_file(self.folder, unquote(action["path"]))
        small = action.get("size", _WHOLE + 1) <= _WHOLE
        source = pa.BufferReader(_bytes(path)) if small else path
        with pq.ParquetFile(source) as parquet:
            if self.timestamps and stores_int96(parquet.schema):
                raise NotSupported(INT96, file=path)
            names = [n for n in schema.names if n not in self.partitions]
            rows = parquet.read(columns=names, use_threads=not small)
            if rows.column_names == schema.names:
                return rows
            return self._completed(action, schema, parquet)

    def _completed(self, action: _Action, schema: pa.Schema, parquet: pq.ParquetFile) -> pa.Table:
        """With partition values, NULL for columns that came later, names in any case."""
        import pyarrow as pa

        there = {n.lower(): n for n in parquet.schema_arrow.names}
        wanted = {f.name: there.get(f.name.lower()) for f in schema}
        rows = parquet.read(columns=[n for n in wanted.values() if n], use_threads=False)
        count = parquet.metadata.num_rows
        values = action.get("partitionValues") or {}
        columns = []
        for field in schema:
            name = wanted[field.name]
            if field.name in self.partitions:
                value = pa.scalar(values.get(field.name) or None, pa.string()).cast(field.type)
                columns.append(pa.repeat(value, count))
            else:
                columns.append(rows[name] if name else pa.nulls(count, field.type))
        return pa.table(columns, names=schema.names)


def _bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _weighted(rows: pa.Table) -> pa.Table:
    """With the weight in place of the last column, the kind of the change."""
    import pyarrow as pa
    import pyarrow.compute as pc

    new = pc.is_in(rows[_CHANGE], pa.array(_NEW))
    weight = pc.if_else(new, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    return rows.drop_columns([_CHANGE]).append_column(WEIGHT, weight)


def _by_delta_rs(
    log: TableLog, first: int, last: int, columns: Sequence[str], commits: _Commits
) -> pa.Table:
    import pyarrow as pa
    from deltalake import DeltaTable

    metadata = log.metadata(last)
    if _has_timestamps(metadata, columns):
        _require_no_int96(log.path, commits)
    told = arrow_schema(_stored(metadata, columns)).append(pa.field(_CHANGE, pa.string()))
    quoted = ['"' + n.replace('"', '""') + '"' for n in told.names]
    require_openable(log.path)
    table = DeltaTable(log.path, version=last)
    raw = pa.table(table.load_cdf(first, last, columns=quoted).read_all())
    return _weighted(raw.select(told.names).cast(told))


def _require_no_int96(folder: Path, commits: _Commits) -> None:
    paths = {unquote(body["path"]) for _, files in commits for _, body in files}
    problem = int96(data_file(folder, p) for p in sorted(paths))
    if problem is not None:
        raise NotSupported(problem)
