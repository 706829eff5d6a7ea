"""Columns of data files, decoded once: a file never changes, so that a later version of a table
costs what its new files and deletion vectors cost."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.key_ranges import KeyRange
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.read.column_memory import pack, packed_type, put, row_width, unpack
from dt_jupyter.lake.read.file_columns import Constants, FileColumns, open_data_file
from dt_jupyter.lake.read.key_index import KeyIndex, index_keys
from dt_jupyter.lake.read.memory import is_memory_short
from dt_jupyter.lake.read.table_files import (
    FOOTERS,
    DataFileKey,
    KnownFiles,
    VersionFile,
    VersionFiles,
)
from dt_jupyter.lake.read.wanted_rows import (
    FoundRows,
    RowsBetween,
    RowSelection,
    WantedRows,
    look_up,
    search,
)

if TYPE_CHECKING:
    import pyarrow as pa

_FILES_PER_BYTE = 4
"""So many bytes of files for one of some columns of theirs are looked at, and of nested columns so
many in memory are expected for one in files."""
_LOOKED_UP_BYTES = 64 << 20
_ENTRY_BYTES = 256
_LOOKED_UP_ROWS = 20_000
_PRESSURE_SECONDS = 1.0
_PARALLEL_ROWS = 200_000
_INDEXED_ROWS = 20_000
_INDEXED_AFTER = 2
"""A column is sorted when it has been looked through so many times for keys."""
_SORTING_COST = 8
"""To sort a column takes as long as to look through so many of its length: no more is spent on
sorting than on looking, so that no refresh waits for all columns of a large table."""
_FEW_KEYS = 8
"""So many times as many values are looked through faster by their order."""

_ColumnKey = tuple[DataFileKey, int, str, str]
"""A file's row group, the column as it is stored, and the type that it is read in, or _INDEX."""
_INDEX = "index"
_StoredIn = tuple[DataFileKey, int, str]
"""A file's row group, and the column as it is stored."""
_LookUp = tuple[_StoredIn, bytes, bool]
"""Where values are looked for, their digest, and whether NULL is one."""


@dataclass
class KeptColumns:
    """Values of row groups by file and column; of `most_bytes`, the least recently used go first,
    those of files that no version has any more before, and all where memory is short, with what
    `give_back` frees elsewhere. Threads share it."""

    most_bytes: int = 256 << 20
    give_back: Callable[[], None] = lambda: None
    bytes: int = 0
    _values: OrderedDict[_ColumnKey, pa.Array | KeyIndex] = field(default_factory=OrderedDict)
    _looked_up: OrderedDict[_LookUp, pa.Array] = field(default_factory=OrderedDict)
    _looked_up_bytes: int = 0
    _searches: OrderedDict[_StoredIn, int] = field(default_factory=OrderedDict)
    """How often a column was looked through."""
    _looked_through: int = 0
    """The values of all looks, less what was spent of them on sorting."""
    _of_file: dict[str, set[_ColumnKey]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _looked: float = float("-inf")

    def __post_init__(self) -> None:
        self.known = KnownFiles(self._forget_file)

    def files(self, log: TableLog, version: int, *, statistics: bool = False) -> VersionFiles:
        """As `KnownFiles.at`."""
        return self.known.at(log, version, statistics=statistics)

    def can_keep(self, schema: pa.Schema, files: VersionFiles) -> bool:
        """Whether some columns of a version, of whatever size, fit together."""
        import pyarrow as pa

        if files.bytes > _FILES_PER_BYTE * self.most_bytes:
            return False
        texts = [f.name for f in schema if pa.types.is_string(f.type)]
        others = [pa.field(f.name, packed_type(f.type)) for f in schema if f.name not in texts]
        width = row_width(pa.schema(others))
        if width is None:
            return _FILES_PER_BYTE * files.bytes <= self.most_bytes
        stored = FileColumns(files.log.metadata(files.version), texts).stored
        needed = sum(f.text_bytes(stored.get(n, n)) for n in texts for f in files.footers)
        return files.rows * width + needed <= self.most_bytes

    def rows(self, files: VersionFiles, columns: Sequence[str]) -> pa.Table:
        """The columns of a version. Raises as `KnownFiles.live` does."""
        return self.rows_of(self.known.live(files), files.log.metadata(files.version), columns)

    def rows_of(
        self, files: Iterable[VersionFile], metadata: Metadata, columns: Sequence[str]
    ) -> pa.Table:
        """The living rows of some files."""
        import pyarrow as pa

        asked = FileColumns(metadata, columns)
        parts = [asked.schema.empty_table()]
        for file in files:
            constants = asked.constants(file.action["partitionValues"], file.footer.schema)
            for group, start in self._groups(file, asked, ()):
                living = file.living_of(start, file.footer.rows[group])
                if living is not None and not living.true_count:
                    continue
                read = self._read(file, group, asked, constants, columns)
                if living is not None:
                    read = [c.filter(living) for c in read]
                values = [*map(unpack, read, asked.schema.types)]
                parts.append(pa.Table.from_arrays(values, schema=asked.schema))
        return pa.concat_tables(parts)

    def select(
        self,
        files: VersionFiles,
        columns: Sequence[str],
        wanted: RowSelection,
        most_rows: int,
    ) -> pa.Table | None:
        """The rows that are wanted; None where they are more than `most_rows`."""
        import pyarrow as pa

        schema = FileColumns(files.log.metadata(files.version), columns).schema
        parts, count = [schema.empty_table()], 0
        for found in self.find(files, columns, wanted):
            count += found.values.num_rows
            if count > most_rows:
                return None
            parts.append(found.values)
        return pa.concat_tables(parts)

    def find(
        self, files: VersionFiles, columns: Sequence[str], wanted: RowSelection
    ) -> Iterator[FoundRows]:
        """Rows of a version, where they are; some of each row group that has any. Raises as
        `rows` does."""
        import numpy as np
        import pyarrow as pa

        asked = FileColumns(files.log.metadata(files.version), columns)
        for file in self.known.live(files):
            constants = asked.constants(file.action["partitionValues"], file.footer.schema)
            for group, start in self._groups(file, asked, wanted.ranges):
                (keys,) = self._read(file, group, asked, constants, [wanted.column])
                if isinstance(wanted, RowsBetween):
                    places = wanted.find(keys, asked.schema.field(wanted.column).type)
                else:
                    of = (file.footer.key, group, asked.stored[wanted.column])
                    places = self._places(of, keys, wanted)
                living = file.living_of(start, len(keys))
                if living is not None:
                    places = places.filter(living.take(places))
                if not len(places):
                    continue
                read = self._read(file, group, asked, constants, columns)
                taken = [c.take(places) for c in read]
                values = [*map(unpack, taken, asked.schema.types)]
                yield FoundRows(
                    file,
                    np.array(places, np.int64) + start,
                    pa.Table.from_arrays(values, schema=asked.schema),
                )

    def _places(self, of: _StoredIn, keys: pa.Array, wanted: WantedRows) -> pa.Array:
        """Where the wanted values are, with rows that are gone: a refresh looks the same ones up
        for several of its parts."""
        key = (of, wanted.digest, wanted.nulls)
        with self._lock:
            known = self._looked_up.get(key)
        if known is None:
            index = self._index(of, keys, len(wanted.values))
            known = search(keys, wanted) if index is None else look_up(index, keys, wanted)
        if len(known) <= _LOOKED_UP_ROWS:
            self._remember(key, known)
        return known

    def _remember(self, key: _LookUp, places: pa.Array) -> None:
        """A table of many row groups is looked through in each of them before the first again."""
        with self._lock:
            if (before := self._looked_up.pop(key, None)) is not None:
                self._looked_up_bytes -= before.nbytes + _ENTRY_BYTES
            self._looked_up[key] = places
            self._looked_up_bytes += places.nbytes + _ENTRY_BYTES
            while self._looked_up_bytes > _LOOKED_UP_BYTES:
                _, oldest = self._looked_up.popitem(last=False)
                self._looked_up_bytes -= oldest.nbytes + _ENTRY_BYTES

    def _index(self, of: _StoredIn, keys: pa.Array, wanted: int) -> KeyIndex | None:
        """The order of a column that is looked through again and again."""
        if len(keys) < max(_INDEXED_ROWS, _FEW_KEYS * wanted):
            return None
        key = (*of, _INDEX)
        cost = _SORTING_COST * len(keys)
        with self._lock:
            known = self._values.get(key)
            searches = self._searches.get(of, 0) + 1
            put(self._searches, of, searches, FOOTERS)
            if known is not None:
                self._values.move_to_end(key)
            else:
                self._looked_through += len(keys)
            due = known is None and searches > _INDEXED_AFTER and cost <= self._looked_through
            if due:
                self._looked_through -= cost
        if due:
            known = index_keys(keys)
            if known is not None:
                self._keep({key: known})
        return known if isinstance(known, KeyIndex) else None

    def clear(self) -> None:
        """Gives all memory back."""
        with self._lock:
            self._values.clear()
            self._of_file.clear()
            self._looked_up.clear()
            self._looked_up_bytes = 0
            self._searches.clear()
            self.bytes = 0
        self.give_back()

    def _groups(
        self, file: VersionFile, asked: FileColumns, ranges: Sequence[KeyRange]
    ) -> Iterator[tuple[int, int]]:
        """The row groups that may have rows in all ranges, and where they begin."""
        footer = file.footer
        for group, (start, count) in enumerate(zip(footer.starts, footer.rows, strict=False)):
            stored = ((r, asked.stored.get(r.column, r.column)) for r in ranges)
            if count and all(footer.may_hold(group, r, name) for r, name in stored):
                yield group, start

    # -- values ------------------------------------------------------------------------------------

    def _read(
        self,
        file: VersionFile,
        group: int,
        asked: FileColumns,
        constants: Constants,
        columns: Sequence[str],
    ) -> list[pa.Array]:
        """The values of a row group, read where they are not kept; texts of which there are few
        are places in a dictionary."""
        import pyarrow as pa

        footer, rows = file.footer, file.footer.rows[group]
        keys: dict[str, _ColumnKey] = {}
        for name in columns:
            if name not in constants:
                kind = str(asked.schema.field(name).type)
                keys[name] = (footer.key, group, asked.stored[name], kind)
        with self._lock:
            found: dict[str, Any] = {
                n: self._values[k] for n, k in keys.items() if k in self._values
            }
            for name in found:
                self._values.move_to_end(keys[name])
        if missing := [n for n in keys if n not in found]:
            names = [asked.stored[n] for n in missing]
            texts = [
                asked.stored[n] for n in missing if pa.types.is_string(asked.schema.field(n).type)
            ]
            alike = [n for n in texts if footer.has_few_values(group, n)]
            with open_data_file(footer.key[0], footer.metadata, alike) as opened:
                parallel = rows * len(names) > _PARALLEL_ROWS
                read = opened.read_row_group(group, names, use_threads=parallel)
            for name in missing:
                cast = asked.cast_column(name, read[asked.stored[name]])
                found[name] = pack(pa.concat_arrays(cast.chunks or [pa.array([], cast.type)]))
            self._keep({keys[n]: found[n] for n in missing})
        return [found[n] if n in found else pa.repeat(constants[n], rows) for n in columns]

    def _keep(self, read: Mapping[_ColumnKey, pa.Array | KeyIndex]) -> None:
        with self._lock:
            for key, values in read.items():
                if key not in self._values:
                    self._values[key] = values
                    self._of_file.setdefault(key[0][0], set()).add(key)
                    self.bytes += values.nbytes
            if monotonic() - self._looked > _PRESSURE_SECONDS:
                self._looked = monotonic()
                if is_memory_short():
                    self.clear()
            while self._values and self.bytes > self.most_bytes:
                self._forget(next(iter(self._values)))

    def _forget_file(self, path: str) -> None:
        with self._lock:
            for key in self._of_file.pop(path, ()):
                self._forget(key)

    def _forget(self, key: _ColumnKey) -> None:
        """The caller holds the lock."""
        values = self._values.pop(key, None)
        if values is not None:
            self.bytes -= values.nbytes
        if (others := self._of_file.get(key[0][0])) is not None:
            others.discard(key)
            if not others:
                del self._of_file[key[0][0]]
