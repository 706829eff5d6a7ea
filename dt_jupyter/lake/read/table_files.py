"""The files of a table's versions, and the footer of each."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import unquote

from dt_jupyter.caches import Cache, CacheMemory
from dt_jupyter.lake.change.feed_cache import feed_cache
from dt_jupyter.lake.delta_log.active_files import ACTION_BYTES, LiveFiles
from dt_jupyter.lake.delta_log.commits import Remembered
from dt_jupyter.lake.delta_log.key_ranges import KeyRange
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.log_replay import Action
from dt_jupyter.lake.paths import data_file
from dt_jupyter.lake.read.column_memory import PLACE_BYTES, TEXT_BYTES, put
from dt_jupyter.lake.read.file_columns import has_old_calendar, open_data_file
from dt_jupyter.lake.read.living_rows import read_living_rows
from dt_jupyter.lake.types import contains, stores_int96

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from dt_jupyter.lake.delta_log.deletion_vectors import Places

TIMED_TYPES = frozenset({"date", "timestamp", "timestamp_ntz"})
_TABLES = 256
"""The number of tables whose cached files are tracked separately."""
_FOOTER_BYTES = 10
"""In memory a footer takes 9 to 12 times its bytes in the file: measured with 3 to 2,000 columns, 1
and 4 row groups."""
_VERSIONS = 4
"""The files of this number of the last requested versions of a table are known."""

DataFileKey = tuple[str, int, int, int]
"""Path, inode, time and size: a path that another file has taken is another key."""
_VectorKey = tuple[DataFileKey, str]
_Vectors: TypeAlias = "tuple[tuple[_VectorKey, pa.BooleanArray], ...]"
"""Those of a file that were read last."""


@dataclass(frozen=True)
class FileFooter:
    """The footer of a file; `rows` of each row group."""

    key: DataFileKey
    metadata: pq.FileMetaData
    schema: pa.Schema
    rows: tuple[int, ...]
    places: Mapping[str, int]
    bounds: dict[tuple[int, str], tuple[Any, Any, bool] | None] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """About its memory."""
        return _FOOTER_BYTES * int(self.metadata.serialized_size)

    @property
    def starts(self) -> Iterable[int]:
        return accumulate(self.rows, initial=0)

    @property
    def has_other_times(self) -> bool:
        """Whether its dates or times may not be those that Arrow reads: INT96 loses what Spark
        wrote, and older writers had another calendar."""
        return has_old_calendar(self.metadata) or stores_int96(self.metadata.schema)

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
        """Whether the values of a row group are in a small dictionary."""
        column = self.metadata.row_group(group).column(self.places[stored])
        small = column.total_uncompressed_size < PLACE_BYTES * self.rows[group]
        return bool(small and column.has_dictionary_page)

    def text_bytes(self, stored: str) -> int:
        """About the memory of a column of texts, as it is kept; none for one that came later."""
        if stored not in self.places:
            return 0
        if stored not in self.sizes:
            groups = range(len(self.rows))
            self.sizes[stored] = sum(self._text_bytes(g, stored) for g in groups)
        return self.sizes[stored]

    def _text_bytes(self, group: int, stored: str) -> int:
        column = self.metadata.row_group(group).column(self.places[stored])
        if self.has_few_values(group, stored):
            return PLACE_BYTES * self.rows[group]
        size = int(column.total_uncompressed_size)
        return max(size, TEXT_BYTES * self.rows[group]) if column.has_dictionary_page else size

    def _bounds(self, group: int, stored: str) -> tuple[Any, Any, bool] | None:
        """None where they are missing; (None, None, True): all are NULL."""
        if stored not in self.places:
            return None
        told = self.metadata.row_group(group).column(self.places[stored]).statistics
        if told is None or not told.has_null_count:
            return None
        if told.null_count == self.rows[group]:
            return None, None, True
        try:
            return (told.min, told.max, told.null_count > 0) if told.has_min_max else None
        except (ValueError, OverflowError):  # a time that Python's calendar does not hold
            return None


@dataclass(frozen=True)
class FileRows:
    """The rows of a file of a version, `stored_rows` with those that are gone; `living`: which of
    them, all where None."""

    action: Action
    stored_rows: int
    living: pa.BooleanArray | None

    @property
    def live_rows(self) -> int:
        return self.stored_rows if self.living is None else self.living.true_count

    @property
    def living_mask(self) -> NDArray[np.bool_]:
        """For each stored row whether it lives."""
        import numpy as np

        known = self.living
        return np.ones(self.stored_rows, np.bool_) if known is None else np.array(known)

    @property
    def gone_places(self) -> Places:
        """The places of the rows that do not live."""
        import numpy as np

        living = np.ones(0, np.bool_) if self.living is None else np.array(self.living)
        return np.flatnonzero(~living)

    def without(self, places: Places) -> Self:
        """The file as it is when the rows at some places are gone, too."""
        import pyarrow as pa

        living = self.living_mask
        living[places] = False
        return replace(self, living=pa.array(living))

    def living_of(self, start: int, count: int) -> pa.BooleanArray | None:
        return None if self.living is None else self.living.slice(start, count)


@dataclass(frozen=True)
class VersionFile(FileRows):
    """One that is on this disk."""

    footer: FileFooter


@dataclass(frozen=True)
class VersionFiles:
    """The files of a table at a version. What needs more than their `bytes` opens each of
    them, once, and raises ArrowException and OSError."""

    log: TableLog
    version: int
    actions: Sequence[Action]
    open_footer: Callable[[str], FileFooter]

    @property
    def bytes(self) -> int:
        return sum(int(a["size"]) for a in self.actions)

    @property
    def held_bytes(self) -> int:
        """About the memory of what it holds when it has opened its files."""
        return ACTION_BYTES * len(self.actions) + sum(f.bytes for f in self.footers)

    @property
    def rows(self) -> int:
        """Those that a deletion vector has taken, too."""
        return sum(sum(f.rows) for f in self.footers)

    def has_other_times(self, columns: Sequence[str]) -> bool:
        """Whether dates or times among the columns are in a file that has others."""
        timed = contains(self.log.metadata(self.version), TIMED_TYPES, columns)
        return timed and any(footer.has_other_times for footer in self.footers)

    @cached_property
    def footers(self) -> Sequence[FileFooter]:
        """By action."""
        return [self.open_footer(self.path_of(a)) for a in self.actions]

    def path_of(self, action: Action) -> str:
        """Where a file of the version is."""
        return data_file(self.log.path, unquote(action["path"]))


@dataclass
class KnownFiles:
    """Logs, footers and deletion vectors that were read; `forget` is called with the path of each
    file that only versions had that are not requested any more. Threads share it."""

    memory: CacheMemory
    forget: Callable[[str], None]
    _asked: OrderedDict[str, dict[int, frozenset[str]]] = field(default_factory=OrderedDict)
    """The files of the versions of each table that were requested last."""
    _held: OrderedDict[str, int] = field(default_factory=OrderedDict)
    """Versions that stay, by table."""

    _remembered: dict[str, Remembered] = field(default_factory=dict)
    """The commits of each log that is read by its files."""

    def __post_init__(self) -> None:
        self._lock = self.memory.lock
        self._footers: Cache[str, FileFooter] = Cache(self.memory, "footers")
        self._vectors: Cache[str, _Vectors] = Cache(self.memory, "deletion vectors")
        self._logs: Cache[tuple[str, bool], LiveFiles] = Cache(self.memory, "lists of files")
        self._feeds = feed_cache(self.memory)
        self._commits: Cache[str, Remembered] = Cache(
            self.memory, "commits", dropped=self._forget_commits
        )

    def at(self, log: TableLog, version: int, *, statistics: bool = False) -> VersionFiles:
        """The files of a version, for a writer that changes them, with all that the log has of
        their values. LakeError where the log does not reach it."""
        found = self.list(log, version, statistics=statistics)
        log.bring(found)
        log.kept.share(self._feeds)
        self._remembered[str(log.path)] = log.remembered
        self._commits.put(str(log.path), log.remembered, log.remembered.bytes)
        with self._lock:
            gone = self._gone_with(log, version, found)
        for path in (data_file(log.path, unquote(p)) for p in gone):
            self._footers.pop(path)
            self._vectors.pop(path)
            self.forget(path)
        return VersionFiles(log, version, found, self._footer)

    def list(self, log: TableLog, version: int, *, statistics: bool = False) -> Sequence[Action]:
        """The actions of a version's files, which are not opened. Raises as `at`."""
        key = str(log.path), statistics
        known = self._logs.get(key) or LiveFiles(log.path, statistics=statistics)
        found = known.at(version)
        self._logs.put(key, known, known.bytes)
        return found

    def _forget_commits(self, path: str) -> None:
        found = self._remembered.pop(path, None)
        if found is not None:
            found.clear()

    def _gone_with(self, log: TableLog, version: int, actions: Sequence[Action]) -> frozenset[str]:
        """Which files only versions had that are not requested any more, now that this one is.
        The caller holds the lock."""
        asked = self._asked.get(str(log.path), {})
        put(self._asked, str(log.path), asked, _TABLES)
        if version in asked:
            return frozenset()
        asked[version] = frozenset(str(a["path"]) for a in actions)
        others = [v for v in asked if v != self._held.get(str(log.path))]
        if len(others) <= _VERSIONS:
            return frozenset()
        return asked.pop(min(others)).difference(*asked.values())

    def hold(self, files: VersionFiles) -> None:
        """What is cached of a version's files stays, whatever others are requested; of another
        version of the table no longer."""
        with self._lock:
            put(self._held, str(files.log.path), files.version, _TABLES)

    def live(self, files: VersionFiles) -> Iterator[VersionFile]:
        """Each of the files. Raises LakeError, NotSupported, ArrowException and OSError."""
        for footer, action in zip(files.footers, files.actions, strict=True):
            yield self._version_file(files.log.path, footer, action)

    def file_of(self, table: Path, action: Action) -> VersionFile:
        """One file of the table, from an action of its log. Raises as `live`."""
        footer = self._footer(data_file(table, unquote(action["path"])))
        return self._version_file(table, footer, action)

    def rows_of_file(self, table: Path, action: Action) -> FileRows:
        """The rows of one file, which need not be on this disk where its log has their number; the
        file of its deletion vector is. Raises as `live`."""
        rows = json.loads(action.get("stats") or "{}").get("numRecords")
        if rows is None:
            return self.file_of(table, action)
        vector = action.get("deletionVector")
        living = read_living_rows(table, vector, rows) if vector else None
        return FileRows(action, rows, living)

    def _version_file(self, table: Path, footer: FileFooter, action: Action) -> VersionFile:
        living = self._living(table, footer, action)
        return VersionFile(action, sum(footer.rows), living, footer)

    def _footer(self, path: str) -> FileFooter:
        found = os.stat(path)
        key = (path, found.st_ino, found.st_mtime_ns, found.st_size)
        known = self._footers.get(path)
        if known is not None and known.key == key:
            return known
        with open_data_file(path) as file:
            metadata, schema = file.metadata, file.schema_arrow
        columns = metadata.schema
        made = FileFooter(
            key,
            metadata,
            schema,
            tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)),
            {columns.column(i).path: i for i in range(len(columns))},
        )
        self._footers.put(path, made, made.bytes)
        return made

    def _living(self, table: Path, footer: FileFooter, action: Action) -> pa.BooleanArray | None:
        vector = action.get("deletionVector")
        if not vector:
            return None
        key, path = _vector_key(footer, vector), footer.key[0]
        known = self._vectors.get(path) or ()
        living = next((rows for k, rows in known if k == key), None)
        if living is None:
            living = read_living_rows(table, vector, sum(footer.rows))
            last = ((key, living), *known)[:_VERSIONS]
            self._vectors.put(path, last, sum(rows.nbytes for _, rows in last))
        return living


def _vector_key(footer: FileFooter, vector: Mapping[str, Any]) -> _VectorKey:
    return footer.key, json.dumps(vector, sort_keys=True)
