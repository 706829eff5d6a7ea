"""Columns of data files, decoded once: a file never changes, so that a later version of a table
costs what its new files and deletion vectors cost."""

from __future__ import annotations

import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.lake.delta_log.key_ranges import KeyRange
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.log_replay import Action
from dt_jupyter.lake.paths import data_file
from dt_jupyter.lake.read.file_columns import (
    Constants,
    FileColumns,
    has_old_calendar,
    open_data_file,
)
from dt_jupyter.lake.read.key_index import KeyIndex, as_numbers, index_keys
from dt_jupyter.lake.read.living_rows import read_living_rows
from dt_jupyter.lake.read.memory import is_memory_short
from dt_jupyter.lake.types import contains, stores_int96

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dt_jupyter.lake.delta_log.deletion_vectors import Places

_TEXT = 32
_FILES_PER_BYTE = 4
"""So many bytes of files for one of some columns of theirs are looked at, and of nested columns so
many in memory are expected for one in files."""
_TIMED = frozenset({"date", "timestamp", "timestamp_ntz"})
_TABLES = 256
_FOOTERS = 20_000
_LOOKED_UP = 200
_LOOKED_UP_ROWS = 20_000
_VECTORS = 2_000
_PRESSURE_SECONDS = 1.0
_VERSIONS = 4
"""Of so many versions of a table that were asked for last the columns are kept."""
_PARALLEL_ROWS = 200_000
_INDEXED_ROWS = 20_000
_INDEXED_AFTER = 2
"""A column is sorted when it has been looked through so many times for keys."""
_FEW_KEYS = 8
"""So many times as many values are looked through faster by their order."""
_DIGITS_OF_4_BYTES, _DIGITS_OF_8_BYTES = 9, 18
_PLACE_BYTES = 4
"""A text's place in a dictionary takes so many."""

_FileKey = tuple[str, int, int, int]
"""Path, inode, time and size: a path that another file has taken is another key."""
_ColumnKey = tuple[_FileKey, int, str, str]
"""A file's row group, the column as it is stored, and the type that it is read in, or _INDEX."""
_INDEX = "index"
_StoredIn = tuple[_FileKey, int, str]
"""A file's row group, and the column as it is stored."""
_LookUp = tuple[_StoredIn, bytes, bool]
"""Where values are looked for, their digest, and whether NULL is one."""
_VectorKey = tuple[_FileKey, str]
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True)
class _Footer:
    """What a file says of itself; `rows` of each row group."""

    key: _FileKey
    metadata: pq.FileMetaData
    schema: pa.Schema
    rows: tuple[int, ...]
    places: Mapping[str, int]
    bounds: dict[tuple[int, str], tuple[Any, Any, bool] | None] = field(default_factory=dict)

    @property
    def starts(self) -> Iterable[int]:
        return accumulate(self.rows, initial=0)

    def may_hold(self, group: int, range_: KeyRange, stored: str) -> bool:
        """Whether a row group may have a value in a range, by its statistics."""
        if (group, stored) not in self.bounds:
            self.bounds[group, stored] = self._bounds(group, stored)
        found = self.bounds[group, stored]
        if found is None:
            return True
        low, high, nulls = found
        if range_.nulls and nulls:
            return True
        return low is not None and bool(low <= range_.high and high >= range_.low)

    def has_few_values(self, group: int, stored: str) -> bool:
        """Whether the values of a row group are told by a dictionary of few."""
        column = self.metadata.row_group(group).column(self.places[stored])
        small = column.total_uncompressed_size < _PLACE_BYTES * self.rows[group]
        return bool(small and column.has_dictionary_page)

    def _bounds(self, group: int, stored: str) -> tuple[Any, Any, bool] | None:
        """None where they are not told; (None, None, True): all are NULL."""
        if stored not in self.places:
            return None
        told = self.metadata.row_group(group).column(self.places[stored]).statistics
        if told is None or not told.has_null_count:
            return None
        if told.null_count == self.rows[group]:
            return None, None, True
        return (told.min, told.max, told.null_count > 0) if told.has_min_max else None


@dataclass(frozen=True)
class VersionFile:
    """A file of a version; `living`: which of its rows, all where None."""

    footer: _Footer
    action: Action
    living: pa.BooleanArray | None

    @property
    def stored_rows(self) -> int:
        """Those that are gone, too."""
        return sum(self.footer.rows)

    @property
    def live_rows(self) -> int:
        return self.stored_rows if self.living is None else self.living.true_count

    @property
    def gone_places(self) -> Places:
        """The places of the rows that do not live."""
        import numpy as np

        living = np.ones(0, np.bool_) if self.living is None else np.array(self.living)
        return np.flatnonzero(~living)

    def without(self, places: Places) -> VersionFile:
        """The file as it is when the rows at some places are gone, too."""
        import numpy as np
        import pyarrow as pa

        known = self.living
        living = np.ones(self.stored_rows, np.bool_) if known is None else np.array(known)
        living[places] = False
        return replace(self, living=pa.array(living))

    def living_of(self, start: int, count: int) -> pa.BooleanArray | None:
        return None if self.living is None else self.living.slice(start, count)


@dataclass(frozen=True)
class WantedRows:
    """Those whose `column` is one of the values, and with `nulls` those where it is NULL; of those
    outside of a range some may be left out."""

    column: str
    values: pa.Array
    nulls: bool
    ranges: Sequence[KeyRange] = ()

    @cached_property
    def in_order(self) -> np.typing.NDArray[np.integer]:
        """Integers, or days, in order."""
        import numpy as np

        return np.unique(as_numbers(self.values))

    @cached_property
    def digest(self) -> bytes:
        """The same for the same values, in whichever order."""
        import pyarrow.compute as pc

        values = self.values.take(pc.sort_indices(self.values))
        found = blake2b(str(values.type).encode())
        for buffer in values.buffers():
            found.update(buffer or b"-")
        return found.digest()


@dataclass(frozen=True)
class FoundRows:
    """Rows of a file: their places in it, and some of their columns."""

    file: VersionFile
    places: Places
    values: pa.Table


@dataclass(frozen=True)
class VersionFiles:
    """The files of a table at a version. What asks for more than their `bytes` looks at each of
    them, once, and raises ArrowException and OSError."""

    log: TableLog
    version: int
    actions: Sequence[Action]
    open_footer: Callable[[str], _Footer]

    @property
    def bytes(self) -> int:
        return sum(int(a["size"]) for a in self.actions)

    @property
    def rows(self) -> int:
        """Those that a deletion vector has taken, too."""
        return sum(sum(f.rows) for f in self.footers)

    def has_other_times(self, columns: Sequence[str]) -> bool:
        """Whether dates or times among the columns are not those that a file holds: INT96 loses
        what Spark wrote, and older writers had another calendar."""
        if not contains(self.log.metadata(self.version), _TIMED, columns):
            return False
        found = (f.metadata for f in self.footers)
        return any(has_old_calendar(f) or stores_int96(f.schema) for f in found)

    @cached_property
    def footers(self) -> Sequence[_Footer]:
        """By action."""
        paths = (data_file(self.log.path, unquote(a["path"])) for a in self.actions)
        return [self.open_footer(path) for path in paths]


@dataclass
class KeptColumns:
    """Values of row groups by file and column; of `most_bytes`, the least recently used go first,
    those of files that no version has any more before, and all where memory is short, with what
    `give_back` frees elsewhere. Threads share it."""

    most_bytes: int = 256 << 20
    give_back: Callable[[], None] = lambda: None
    bytes: int = 0
    _values: OrderedDict[_ColumnKey, pa.Array | KeyIndex] = field(default_factory=OrderedDict)
    _footers: OrderedDict[_FileKey, _Footer] = field(default_factory=OrderedDict)
    _vectors: OrderedDict[_VectorKey, pa.BooleanArray] = field(default_factory=OrderedDict)
    _logs: OrderedDict[tuple[str, bool], LiveFiles] = field(default_factory=OrderedDict)
    _asked: OrderedDict[str, dict[int, frozenset[str]]] = field(default_factory=OrderedDict)
    """The files of the versions of each table that were asked for last."""
    _held: OrderedDict[str, int] = field(default_factory=OrderedDict)
    """Versions that stay, by table."""
    _looked_up: OrderedDict[_LookUp, pa.Array] = field(default_factory=OrderedDict)
    _searches: OrderedDict[_StoredIn, int] = field(default_factory=OrderedDict)
    """How often a column was looked through."""
    _of_file: dict[str, set[_ColumnKey]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _looked: float = float("-inf")

    def files(self, log: TableLog, version: int, *, statistics: bool = False) -> VersionFiles:
        """The files of a version, for whoever changes them with all that the log tells of their
        values. LakeError where the log does not reach it."""
        key = str(log.path), statistics
        with self._lock:
            known = self._logs.get(key) or LiveFiles(log.path, statistics=statistics)
            _put(self._logs, key, known, _TABLES)
        found = known.at(version)
        with self._lock:
            self._note_version(log, version, found)
        return VersionFiles(log, version, found, self._footer)

    def _note_version(self, log: TableLog, version: int, actions: Sequence[Action]) -> None:
        """Gives back what only versions had that nobody asks for any more. The caller holds the
        lock."""
        asked = self._asked.get(str(log.path), {})
        _put(self._asked, str(log.path), asked, _TABLES)
        if version in asked:
            return
        asked[version] = frozenset(str(a["path"]) for a in actions)
        others = [v for v in asked if v != self._held.get(str(log.path))]
        if len(others) > _VERSIONS:
            gone = asked.pop(min(others))
            for path in gone.difference(*asked.values()):
                for key in self._of_file.pop(data_file(log.path, unquote(path)), ()):
                    self._forget(key)

    def hold(self, files: VersionFiles) -> None:
        """What is kept of a version's files stays, whichever others are asked for; of another
        version of the table no longer."""
        with self._lock:
            _put(self._held, str(files.log.path), files.version, _TABLES)

    def can_keep(self, schema: pa.Schema, files: VersionFiles) -> bool:
        """Whether some columns of a version, of whatever size, fit together."""
        width = row_width(schema)
        if width is None:
            return _FILES_PER_BYTE * files.bytes <= self.most_bytes
        if files.bytes > _FILES_PER_BYTE * self.most_bytes:
            return False
        return files.rows * width <= self.most_bytes

    def live(self, files: VersionFiles) -> Iterator[VersionFile]:
        """Each of the files. Raises LakeError, NotSupported, ArrowException and OSError."""
        for footer, action in zip(files.footers, files.actions, strict=True):
            yield VersionFile(footer, action, self._living(files.log.path, footer, action))

    def rows(self, files: VersionFiles, columns: Sequence[str]) -> pa.Table:
        """The columns of a version. Raises as `live` does."""
        return self.rows_of(self.live(files), files.log.metadata(files.version), columns)

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
                read = self._read(file, group, asked, constants, columns)
                values = [*map(_unpacked, read, asked.schema.types)]
                part = pa.Table.from_arrays(values, schema=asked.schema)
                living = file.living_of(start, part.num_rows)
                parts.append(part if living is None else part.filter(living))
        return pa.concat_tables(parts)

    def select(
        self,
        files: VersionFiles,
        columns: Sequence[str],
        wanted: WantedRows,
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
        self, files: VersionFiles, columns: Sequence[str], wanted: WantedRows
    ) -> Iterator[FoundRows]:
        """Rows of a version, where they are; some of each row group that has any. Raises as
        `rows` does."""
        import numpy as np
        import pyarrow as pa

        asked = FileColumns(files.log.metadata(files.version), columns)
        for file in self.live(files):
            constants = asked.constants(file.action["partitionValues"], file.footer.schema)
            for group, start in self._groups(file, asked, wanted.ranges):
                (keys,) = self._read(file, group, asked, constants, [wanted.column])
                of = (file.footer.key, group, asked.stored[wanted.column])
                places = self._places(of, keys, wanted)
                living = file.living_of(start, len(keys))
                if living is not None:
                    places = places.filter(living.take(places))
                if not len(places):
                    continue
                read = self._read(file, group, asked, constants, columns)
                taken = [c.take(places) for c in read]
                values = [*map(_unpacked, taken, asked.schema.types)]
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
            known = _search(keys, wanted) if index is None else _look_up(index, keys, wanted)
        if len(known) <= _LOOKED_UP_ROWS:
            with self._lock:
                _put(self._looked_up, key, known, _LOOKED_UP)
        return known

    def _index(self, of: _StoredIn, keys: pa.Array, wanted: int) -> KeyIndex | None:
        """The order of a column that is looked through again and again."""
        if len(keys) < max(_INDEXED_ROWS, _FEW_KEYS * wanted):
            return None
        key = (*of, _INDEX)
        with self._lock:
            known = self._values.get(key)
            searches = self._searches.get(of, 0) + 1
            _put(self._searches, of, searches, _FOOTERS)
            if known is not None:
                self._values.move_to_end(key)
        if known is None and searches > _INDEXED_AFTER:
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
            self._searches.clear()
            self.bytes = 0
        self.give_back()

    # -- files -------------------------------------------------------------------------------------

    def _footer(self, path: str) -> _Footer:
        found = os.stat(path)
        key = (path, found.st_ino, found.st_mtime_ns, found.st_size)
        with self._lock:
            if key in self._footers:
                self._footers.move_to_end(key)
                return self._footers[key]
        with open_data_file(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
        columns = metadata.schema
        made = _Footer(
            key,
            metadata,
            schema,
            tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)),
            {columns.column(i).path: i for i in range(len(columns))},
        )
        with self._lock:
            _put(self._footers, key, made, _FOOTERS)
        return made

    def _living(self, table: Path, footer: _Footer, action: Action) -> pa.BooleanArray | None:
        vector = action.get("deletionVector")
        if not vector:
            return None
        key = _vector_key(footer, vector)
        with self._lock:
            known = self._vectors.get(key)
        living = read_living_rows(table, vector, sum(footer.rows)) if known is None else known
        with self._lock:
            _put(self._vectors, key, living, _VECTORS)
        return living

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
                found[name] = _packed(pa.concat_arrays(cast.chunks or [pa.array([], cast.type)]))
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

    def _forget(self, key: _ColumnKey) -> None:
        """The caller holds the lock."""
        values = self._values.pop(key, None)
        if values is not None:
            self.bytes -= values.nbytes
        if (others := self._of_file.get(key[0][0])) is not None:
            others.discard(key)
            if not others:
                del self._of_file[key[0][0]]


def _packed(values: pa.Array) -> pa.Array:
    """Decimals of few digits as Arrow keeps them in four or eight bytes."""
    import pyarrow as pa

    type_ = values.type
    if not pa.types.is_decimal128(type_) or type_.precision > _DIGITS_OF_8_BYTES:
        return values
    small = pa.decimal32 if type_.precision <= _DIGITS_OF_4_BYTES else pa.decimal64
    return values.cast(small(type_.precision, type_.scale))


def _unpacked(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Values as they are asked for: without a dictionary, and decimals in Spark's own type."""
    import pyarrow as pa

    if isinstance(values, pa.DictionaryArray):
        return values.dictionary_decode()
    return values if values.type == type_ else values.cast(type_)


def _search(keys: pa.Array, wanted: WantedRows) -> pa.Array:
    """Where the wanted values are."""
    import pyarrow.compute as pc

    found = _are_among(keys, wanted.values)
    return pc.indices_nonzero(pc.or_(found, pc.is_null(keys)) if wanted.nulls else found)


def _look_up(index: KeyIndex, keys: pa.Array, wanted: WantedRows) -> pa.Array:
    """Where the wanted values are, by their order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    places = index.find(wanted.in_order)
    if wanted.nulls and keys.null_count:
        nulls = np.array(pc.indices_nonzero(pc.is_null(keys)), np.int64)
        places = np.sort(np.concatenate([places, nulls]))
    return pa.array(places, pa.uint64())


def _are_among(values: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Which values are wanted; NULL never is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(values, pa.DictionaryArray):
        return pc.is_in(values, value_set=wanted, skip_nulls=True)
    found = pc.is_in(values.dictionary, value_set=wanted, skip_nulls=True)
    return pc.fill_null(found.take(values.indices), False)


def row_width(schema: pa.Schema) -> int | None:
    """The bytes of a row in memory, about; None with a nested column."""
    widths = [_width(t) for t in schema.types]
    return None if None in widths else sum(w or 0 for w in widths)


def _width(type_: pa.DataType) -> int | None:
    """The bytes of a value in memory, a text's by a guess; None for a nested one."""
    from pyarrow import types as t

    if t.is_nested(type_):
        return None
    return -(-type_.bit_width // 8) if t.is_primitive(type_) or t.is_decimal(type_) else _TEXT


def _vector_key(footer: _Footer, vector: Mapping[str, Any]) -> _VectorKey:
    return footer.key, json.dumps(vector, sort_keys=True)


def _put(kept: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> None:
    """Keeps a value as the newest; of more than `most` the oldest go."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
