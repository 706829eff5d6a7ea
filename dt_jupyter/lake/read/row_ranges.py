"""The rows of a version in an order that never changes, a bounded range at a time, read from the
files themselves: neither Spark nor a second look at what was read before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported, read_by_delta_rs
from dt_jupyter.lake.paths import data_file
from dt_jupyter.lake.types import arrow_schema, fields_named
from dt_jupyter.model.hidden import VISIBLE

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH_ROWS = 50_000
_LEGACY = b"org.apache.spark.legacy"
"""What Spark writes into a file whose old dates are of another calendar."""
_CONSTANTS = ("is_integer", "is_string", "is_boolean", "is_date", "is_decimal")


@dataclass(frozen=True, order=True)
class RowPlace:
    """Before a row of a file, both counted from 0."""

    file: int = 0
    row: int = 0


_Batch = tuple[RowPlace, "pa.Table"]
"""Rows of one file, and where they begin."""


@dataclass(frozen=True)
class _File:
    """A data file: its rows, those of its deletion vector too, and bytes in memory, about;
    `constants` are the columns that are not in it."""

    path: str
    rows: int
    bytes: int
    constants: Mapping[str, pa.Scalar[Any]]


class RowRanges:
    """The public rows of a version of a table, oldest file first. For one thread.

    Raises NotSupported where Spark alone reads the table (column mapping, types), LakeError where
    a file is gone or broken.
    """

    def __init__(self, log: TableLog, version: int, columns: Sequence[str]) -> None:
        metadata = log.metadata(version)
        if not metadata.is_plain:
            raise NotSupported("the table has column mapping", path=str(log.path))
        names = {n.lower(): n for n in metadata.columns}
        self._hides = VISIBLE in names
        self._schema = arrow_schema(fields_named(metadata, columns))
        asked = [*columns, VISIBLE] if self._hides else columns
        self._read_schema = arrow_schema(fields_named(metadata, asked))
        self._stored = {c: names[c.lower()] for c in asked}
        self._partitions = frozenset(metadata.partition_columns)
        self._snapshot = TableSnapshot(log.path, version)
        self._actions = LiveFiles(log.path).at(version)
        with _as_lake_errors():
            self._files = [self._file(Path(log.path), action) for action in self._actions]
        self._require_names()
        self._at, self._rest = RowPlace(), self._stream(RowPlace())
        self._left: _Batch | None = None

    def end_of(self, start: RowPlace, rows: int, bytes_: int) -> RowPlace | None:
        """Where a range ends that begins at a place, of at most so many rows and about so many
        bytes; None: at the end of the table."""
        row = start.row
        for number in range(start.file, len(self._files)):
            file = self._files[number]
            width = max(file.bytes // max(file.rows, 1), 1)
            taken = min(file.rows - row, rows, max(bytes_ // width, 1))
            if row + taken < file.rows:
                return RowPlace(number, row + taken)
            rows, bytes_, row = rows - taken, bytes_ - taken * width, 0
            if rows <= 0 or bytes_ <= 0:
                return RowPlace(number + 1) if number + 1 < len(self._files) else None
        return None

    def read(self, start: RowPlace, end: RowPlace | None) -> Iterator[pa.Table]:
        """The rows from a place to another one, None: all of the rest. Ranges that follow one
        another go on where the one before stopped."""
        if self._at != start:
            self._at, self._rest, self._left = start, self._stream(start), None
        with _as_lake_errors():
            while end is None or self._at < end:
                found = self._left if self._left is not None else next(self._rest, None)
                if found is None:
                    return
                yield from self._taken(found, end)

    def _taken(self, found: _Batch, end: RowPlace | None) -> Iterator[pa.Table]:
        place, rows = found
        size = rows.num_rows
        if end is not None and place.file >= end.file:
            size = min(size, end.row - place.row) if place.file == end.file else 0
        after = RowPlace(place.file, place.row + size)
        self._left = (after, rows.slice(size)) if size < rows.num_rows else None
        ended = after.row == self._files[place.file].rows
        self._at = RowPlace(place.file + 1) if ended else after
        if size:
            yield self._live(place, rows.slice(0, size))

    # -- files -------------------------------------------------------------------------------------

    def _require_names(self) -> None:
        """Deletion vectors are found by the names of their files."""
        names = {Path(file.path).name for file in self._files}
        vectors = any(action.get("deletionVector") for action in self._actions)
        if vectors and len(names) < len(self._files):
            raise NotSupported("two files with one name have deletion vectors")

    def _file(self, table: Path, action: Mapping[str, Any]) -> _File:
        path = data_file(table, unquote(action["path"]))
        with self._opened(path) as file:
            found = file.metadata
            if any(key.startswith(_LEGACY) for key in found.metadata or ()):
                raise NotSupported("a file has dates of another calendar", path=path)
            size = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
            constants = self._constants(action["partitionValues"], file.schema_arrow)
            self._cast(file.schema_arrow.empty_table(), constants)
            return _File(path, found.num_rows, size, constants)

    def _opened(self, path: str) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        return pq.ParquetFile(path, memory_map=True, coerce_int96_timestamp_unit="us")

    def _constants(
        self, values: Mapping[str, str | None], known: pa.Schema
    ) -> Mapping[str, pa.Scalar[Any]]:
        """Columns of the partition, and NULLs of columns that are younger than the file."""
        import pyarrow as pa

        found = {}
        lowered = {name.lower() for name in known.names}
        for name, stored in self._stored.items():
            kind = self._read_schema.field(name).type
            if stored in self._partitions:
                text = values.get(stored) or None
                if text and not any(getattr(pa.types, test)(kind) for test in _CONSTANTS):
                    raise NotSupported(f"a partition's values are of type {kind}")
                found[name] = pa.scalar(text, pa.string()).cast(kind)
            elif stored not in known.names:
                if stored.lower() in lowered:
                    raise NotSupported(f"a file has {stored} in other letters")
                found[name] = pa.scalar(None, kind)
        return found

    def _cast(self, rows: pa.Table, constants: Mapping[str, pa.Scalar[Any]]) -> pa.Table:
        import pyarrow as pa

        try:
            columns = [
                pa.repeat(constants[f.name], rows.num_rows)
                if f.name in constants
                else rows[self._stored[f.name]].cast(f.type)
                for f in self._read_schema
            ]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            raise NotSupported(f"a file has other types than the table: {e}") from e
        return pa.Table.from_arrays(columns, schema=self._read_schema)

    # -- rows --------------------------------------------------------------------------------------

    def _stream(self, start: RowPlace) -> Iterator[_Batch]:
        """Every batch from a place on, with where it begins."""
        for number in range(start.file, len(self._files)):
            file = self._files[number]
            row = start.row if number == start.file else 0
            for at, rows in self._batches(file, row):
                yield RowPlace(number, at), rows

    def _batches(self, file: _File, row: int) -> Iterator[tuple[int, pa.Table]]:
        import pyarrow as pa

        wanted = [s for c, s in self._stored.items() if c not in file.constants]
        with self._opened(file.path) as opened:
            sizes = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
            starts = [0, *accumulate(sizes)]
            groups = [i for i in range(len(sizes)) if starts[i + 1] > row]
            at = starts[groups[0]] if groups else file.rows
            if not wanted:
                yield row, self._cast(_rows_alone(file.rows - row), file.constants)
                return
            for batch in opened.iter_batches(_BATCH_ROWS, groups, wanted, use_threads=False):
                skipped = min(max(row - at, 0), batch.num_rows)
                rows = pa.Table.from_batches([batch]).slice(skipped)
                if rows.num_rows:
                    yield at + skipped, self._cast(rows, file.constants)
                at += batch.num_rows

    def _live(self, place: RowPlace, rows: pa.Table) -> pa.Table:
        """Without rows that a deletion vector or the table itself keeps out of sight."""
        if self._actions[place.file].get("deletionVector"):
            rows = rows.filter(self._kept_of(place, rows.num_rows))
        if self._hides:
            rows = rows.filter(rows[VISIBLE])
        return rows.select(self._schema.names)

    def _kept_of(self, place: RowPlace, count: int) -> pa.BooleanArray:
        """A vector may end behind the last row that is gone."""
        import pyarrow as pa

        known = self._kept[Path(self._files[place.file].path).name].slice(place.row, count)
        return pa.concat_arrays([known, pa.repeat(True, count - len(known))])

    @cached_property
    def _kept(self) -> Mapping[str, pa.BooleanArray]:
        """By file name, for each of its rows whether it lives."""
        import pyarrow as pa

        with read_by_delta_rs():
            found = pa.table(self._snapshot.table.deletion_vectors())
        vectors = zip(found["filepath"].to_pylist(), found["selection_vector"], strict=True)
        return {path.rsplit("/", 1)[-1]: vector.values for path, vector in vectors}


def _rows_alone(count: int) -> pa.Table:
    """So many rows without a column."""
    import pyarrow as pa

    return pa.table({"": pa.nulls(count)})


@contextmanager
def _as_lake_errors() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as e:
        raise LakeError(f"{e.filename or e} is gone") from e
    except (pa.ArrowException, OSError) as e:
        raise LakeError(f"a file cannot be read: {e}") from e
