"""The rows of a version in an order that never changes, a bounded range at a time, read from the
files themselves: without Spark, and without reading anything twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.paths import data_file
from dt_jupyter.lake.read.file_columns import (
    Constants,
    FileColumns,
    has_old_calendar,
    open_data_file,
)
from dt_jupyter.lake.read.living_rows import read_living_rows
from dt_jupyter.lake.types import arrow_schema, fields_named
from dt_jupyter.model.hidden import VISIBLE

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 50_000


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
    constants: Constants


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
        self._columns = FileColumns(metadata, asked)
        self._table = Path(log.path)
        self._actions = LiveFiles(log.path).at(version)
        with _as_lake_errors():
            self._files = [self._file(action) for action in self._actions]
        self._at, self._rest = RowPlace(), self._stream(RowPlace())
        self._left: _Batch | None = None
        self._vector: tuple[int, pa.BooleanArray | None] = (-1, None)

    def end_of(self, start: RowPlace, rows: int, bytes_: int) -> RowPlace | None:
        """Where a range ends that begins at a place, of at most `rows` rows and about `bytes_`
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
        another continue where the one before stopped."""
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

    def _file(self, action: Mapping[str, Any]) -> _File:
        path = data_file(self._table, unquote(action["path"]))
        with open_data_file(path) as file:
            found = file.metadata
            if has_old_calendar(found):
                raise NotSupported("a file has dates of another calendar", path=path)
            size = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
            constants = self._columns.constants(action["partitionValues"], file.schema_arrow)
            return _File(path, found.num_rows, size, constants)

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

        wanted = [s for c, s in self._columns.stored.items() if c not in file.constants]
        with open_data_file(file.path) as opened:
            sizes = [opened.metadata.row_group(i).num_rows for i in range(opened.num_row_groups)]
            starts = [0, *accumulate(sizes)]
            groups = [i for i in range(len(sizes)) if starts[i + 1] > row]
            at = starts[groups[0]] if groups else file.rows
            if not wanted:
                yield row, self._columns.cast(_rows_alone(file.rows - row), file.constants)
                return
            for batch in opened.iter_batches(_BATCH_ROWS, groups, wanted, use_threads=False):
                skipped = min(max(row - at, 0), batch.num_rows)
                rows = pa.Table.from_batches([batch]).slice(skipped)
                if rows.num_rows:
                    yield at + skipped, self._columns.cast(rows, file.constants)
                at += batch.num_rows

    def _live(self, place: RowPlace, rows: pa.Table) -> pa.Table:
        """Without rows that a deletion vector or the table itself keeps out of sight."""
        living = self._living(place.file)
        if living is not None:
            rows = rows.filter(living.slice(place.row, rows.num_rows))
        if self._hides:
            rows = rows.filter(rows[VISIBLE])
        return rows.select(self._schema.names)

    def _living(self, number: int) -> pa.BooleanArray | None:
        """Which rows of a file live; None: all. That of the last one is kept."""
        vector = self._actions[number].get("deletionVector")
        if vector and self._vector[0] != number:
            rows = self._files[number].rows
            self._vector = number, read_living_rows(self._table, vector, rows)
        return self._vector[1] if vector else None


def _rows_alone(count: int) -> pa.Table:
    """A number of rows without a column."""
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
