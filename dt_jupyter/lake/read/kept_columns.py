"""Columns of data files, decoded once: a file never changes, so that a later version of a table
costs what its new files and deletion vectors cost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.caches import Cache, CacheMemory
from dt_jupyter.lake.delta_log.key_ranges import KeyRange
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.read.column_memory import (
    COLUMN_BYTES,
    pack,
    packed_type,
    put,
    row_width,
    unpack,
)
from dt_jupyter.lake.read.disk_cache import DiskCache
from dt_jupyter.lake.read.disk_columns import INDEX, CachedValues, ColumnKey
from dt_jupyter.lake.read.file_columns import Constants, FileColumns, open_data_file
from dt_jupyter.lake.read.key_index import KeyIndex, index_keys
from dt_jupyter.lake.read.table_files import DataFileKey, KnownFiles, VersionFile, VersionFiles
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
"""This number of bytes of files for one of some of their columns is searched, and of nested columns
this number in memory is expected for one in files."""
_LOOKED_UP_BYTES = 16 << 20
_LOOKED_UP_ROWS = 20_000
_SEARCHED = 20_000
"""The number of columns of row groups whose searches are counted."""
_PARALLEL_ROWS = 200_000
_INDEXED_ROWS = 20_000
_INDEXED_AFTER = 2
"""A column is sorted when it has been searched this number of times for keys."""
_SORTING_COST = 8
"""Sorting a column takes as long as searching this number of its length: no more is spent on
sorting than on looking, so that no refresh waits for all columns of a large table."""
_FEW_KEYS = 8
"""This many times more values are searched faster by their order."""
_MAPPED_BYTES = 2_048
"""What a column in mapped memory takes in addition to the pages, which the system gives and
takes."""
_MAPPINGS = 10_000
"""A process may have 65,530 by Linux's default."""

_StoredIn = tuple[DataFileKey, int, str]
"""A file's row group, and the column as it is stored."""
_LookUp = tuple[_StoredIn, bytes, bool]
"""Where values are looked for, their digest, and whether NULL is one."""


@dataclass
class KeptColumns:
    """Values of row groups by file and column; those of files that no version has any more go at
    once. All that is kept in memory has `most_bytes`; long columns are on `disk`, too, where there
    is a cache for them. Threads share it."""

    most_bytes: int = 256 << 20
    disk: DiskCache | None = None
    _searches: OrderedDict[_StoredIn, int] = field(default_factory=OrderedDict)
    """How often a column was looked through."""
    _looked_through: int = 0
    """The values of all looks, less what was spent of them on sorting."""
    _of_file: dict[str, set[ColumnKey]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.memory = CacheMemory(self.most_bytes)
        self.known = KnownFiles(self.memory, self._forget_file)
        self._values: Cache[ColumnKey, CachedValues] = Cache(
            self.memory, "columns", dropped=self._forget_key
        )
        self._mapped: Cache[ColumnKey, CachedValues] = Cache(
            self.memory, "mapped columns", _MAPPINGS * _MAPPED_BYTES, self._forget_key
        )
        self._looked_up: Cache[_LookUp, pa.Array] = Cache(
            self.memory, "look-ups", own_bytes=_LOOKED_UP_BYTES
        )
        self._lock = self.memory.lock

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
        known = self._looked_up.get(key)
        if known is None:
            index = self._index(of, keys, len(wanted.values))
            known = search(keys, wanted) if index is None else look_up(index, keys, wanted)
            if len(known) <= _LOOKED_UP_ROWS:
                self._looked_up.put(key, known, known.nbytes + COLUMN_BYTES)
        return known

    def _index(self, of: _StoredIn, keys: pa.Array, wanted: int) -> KeyIndex | None:
        """The order of a column that is looked through again and again."""
        if len(keys) < max(_INDEXED_ROWS, _FEW_KEYS * wanted):
            return None
        key = (*of, INDEX)
        cost = _SORTING_COST * len(keys)
        known = self._cached(key, len(keys))
        with self._lock:
            searches = self._searches.get(of, 0) + 1
            put(self._searches, of, searches, _SEARCHED)
            if known is None:
                self._looked_through += len(keys)
            due = known is None and searches > _INDEXED_AFTER and cost <= self._looked_through
            if due:
                self._looked_through -= cost
        if due:
            known = index_keys(keys)
            if known is not None:
                self._keep({key: known})
        return known if isinstance(known, KeyIndex) else None

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
        """The values of a row group, read where they are not kept; texts with few distinct values
        are indexes in a dictionary."""
        import pyarrow as pa

        footer, rows = file.footer, file.footer.rows[group]
        keys: dict[str, ColumnKey] = {}
        for name in columns:
            if name not in constants:
                kind = str(asked.schema.field(name).type)
                keys[name] = (footer.key, group, asked.stored[name], kind)
        asked_for = ((name, self._cached(key, rows)) for name, key in keys.items())
        found: dict[str, Any] = {n: v for n, v in asked_for if v is not None}
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

    def _cached(self, key: ColumnKey, rows: int) -> CachedValues | None:
        """Values of `rows` rows that are in memory, or can be mapped into it."""
        found = self._values.get(key)
        if found is None:
            found = self._mapped.get(key)
        if found is None and self.disk is not None:
            found = self.disk.find(key, rows)
            if found is not None:
                with self._lock:
                    self._of_file.setdefault(key[0][0], set()).add(key)
                    self._mapped.put(key, found, _MAPPED_BYTES)
        return found

    def _keep(self, read: Mapping[ColumnKey, CachedValues]) -> None:
        with self._lock:
            for key, values in read.items():
                self._of_file.setdefault(key[0][0], set()).add(key)
                self._values.put(key, values, values.nbytes + COLUMN_BYTES)
        if self.disk is not None:
            for key, values in read.items():
                self.disk.keep(key, values)

    def _forget_file(self, path: str) -> None:
        with self._lock:
            for key in self._of_file.pop(path, ()):
                self._values.pop(key)
                self._mapped.pop(key)
        if self.disk is not None:
            self.disk.forget(path)

    def _forget_key(self, key: ColumnKey) -> None:
        """The caller holds the lock."""
        if (others := self._of_file.get(key[0][0])) is not None:
            others.discard(key)
            if not others:
                del self._of_file[key[0][0]]
