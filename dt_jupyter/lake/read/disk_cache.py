"""Decoded columns on this machine's disk, for the first refresh of the next process: written in the
background when nothing else is read, and mapped into memory where they are requested."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from platformdirs import user_cache_path

from dt_jupyter.lake.read.disk_columns import CachedValues, ColumnFolder, ColumnKey, DamagedFile
from dt_jupyter.lake.read.key_index import KeyIndex
from dt_jupyter.model import count_of

_LEAST_ROWS = 100_000
"""Columns of fewer rows are decoded again sooner than a file of theirs is found."""
_LEAST_BYTES = 1 << 20
"""A cache of less is none."""
_PENDING_BYTES = 256 << 20
"""More is not held for the writer: what does not fit is decoded again by the next process."""
_LOOKED_BYTES = 64 << 20
"""Others write too: after this number of bytes the size of all files is counted again."""
_QUIET_SECONDS = 0.5
"""The writer waits until nothing was read for so long, or half of what may wait does."""
_log = logging.getLogger("dt_jupyter.lake")


@dataclass(eq=False)
class DiskCache:
    """Columns and indexes by key, of `most_bytes` in all processes that share the folder. A file
    that cannot be used is as one that is not there; where the folder cannot be written the cache
    ends, and `problem` says why. Threads share it."""

    folder: Path
    most_bytes: int
    hits: int = 0
    damaged: int = 0
    problem: str | None = None
    _pending: OrderedDict[ColumnKey, CachedValues] = field(default_factory=OrderedDict)
    _bases: dict[str, int] = field(default_factory=dict)
    """Versions by table, to be written down."""
    _bytes: int = 0
    _room: int = 0
    """This number of bytes is written before the folder is measured again."""
    _swept: bool = False
    _looked: bool = False
    _quiet_at: float = 0.0
    _flushing: bool = False
    _writer: threading.Thread | None = None

    def __post_init__(self) -> None:
        self._files = ColumnFolder(self.folder)
        self._ready = threading.Condition()
        self._on = self.most_bytes >= _LEAST_BYTES

    def find(self, key: ColumnKey, rows: int) -> CachedValues | None:
        """The values of a key of `rows` rows, in mapped memory; None where there are none."""
        if not self._on or rows < _LEAST_ROWS:
            return None
        self._quiet_at = monotonic() + _QUIET_SECONDS
        if not self._is_own():
            return None
        try:
            found = self._files.load(key)
        except FileNotFoundError:
            return None
        except (DamagedFile, OSError) as e:
            self.damaged += 1
            _log.info("a cached column is read from its table again: %s", e)
            return None
        self.hits += 1
        return found

    def _is_own(self) -> bool:
        """Whether the folder may be read; checked once."""
        if not self._looked:
            try:
                self._files.require_own()
            except OSError as e:
                self._end(e)
            self._looked = True
        return self._on

    def keep(self, key: ColumnKey, values: CachedValues) -> None:
        """Writes values later, in a thread."""
        if not self._on or not values.nbytes or _length(values) < _LEAST_ROWS:
            return
        with self._ready:
            if key in self._pending or self._bytes + values.nbytes > _PENDING_BYTES:
                return
            self._pending[key] = values
            self._bytes += values.nbytes
            self._start()

    def has(self, data_file: str) -> bool:
        """Whether some columns of a data file are there."""
        return self._on and self._files.has(data_file)

    def base_of(self, table: str) -> int | None:
        """The version of a table that some process read by its columns last."""
        return self._files.base_of(table) if self._on else None

    def keep_base(self, table: str, version: int, size: int) -> None:
        """Records a version of a table of `size` bytes, later, in a thread."""
        if self._on and size >= _LEAST_BYTES:
            with self._ready:
                self._bases[table] = version
                self._start()

    def _start(self) -> None:
        """The caller holds the lock."""
        self._quiet_at = monotonic() + _QUIET_SECONDS
        if self._writer is None:  # not a daemon: a process that ends has written its columns
            self._writer = threading.Thread(target=self._write_all, name="dt-disk-cache")
            self._writer.start()
        self._ready.notify_all()

    def forget(self, data_file: str) -> None:
        """Removes the columns of a file that no version of its table has any more."""
        if self._on:
            with self._ready:
                for key in [k for k in self._pending if k[0][0] == data_file]:
                    self._bytes -= self._pending.pop(key).nbytes
            self._files.forget(data_file)

    def flush(self) -> None:
        """Returns when all that waits is written."""
        with self._ready:
            self._flushing = True
            self._ready.notify_all()
            self._ready.wait_for(lambda: self._writer is None)
            self._flushing = False

    def describe(self) -> str:
        """What it takes of the disk, and how often it was of use."""
        if not self._on or not self._is_own():
            return "off"
        used, most = self._files.bytes() / (1 << 20), self.most_bytes / (1 << 20)
        return f"{used:,.1f} MB of {most:,.0f} MB, {count_of(self.hits, 'column')} read"

    # -- the writer --------------------------------------------------------------------------------

    def _write_all(self) -> None:
        import pyarrow as pa

        try:
            while (taken := self._take()) is not None:
                taken()
        except (OSError, pa.ArrowException) as e:
            self._end(e)
        finally:
            with self._ready:
                if self._writer is threading.current_thread():
                    self._writer = None
                self._ready.notify_all()

    def _take(self) -> Callable[[], None] | None:
        """What is to be written next, when it is time to."""
        with self._ready:
            while self._pending or self._bases:
                left = self._quiet_at - monotonic()
                if left <= 0 or self._flushing or self._bytes > _PENDING_BYTES // 2:
                    return self._take_now()
                self._ready.wait(left)
            self._writer = None
            return None

    def _take_now(self) -> Callable[[], None]:
        """Columns first: a base without them is none. The caller holds the lock."""
        if self._pending:
            key, values = self._pending.popitem(last=False)
            self._bytes -= values.nbytes
            return lambda: self._write(key, values)
        bases, self._bases = self._bases, {}
        return lambda: self._write_bases(bases)

    def _write(self, key: ColumnKey, values: CachedValues) -> None:
        self._prepare()
        if self._files.file_of(key).exists():
            return
        if values.nbytes > self._room:
            room = self._files.make_room(self.most_bytes, values.nbytes)
            self._room = min(room, max(_LOOKED_BYTES, values.nbytes))
        if values.nbytes <= self._room:
            with suppress(FileNotFoundError):  # the folder was removed
                self._room -= self._files.store(key, values)

    def _write_bases(self, bases: Mapping[str, int]) -> None:
        self._prepare()
        for table, version in bases.items():
            self._files.store_base(table, version)

    def _prepare(self) -> None:
        """Makes the folder, also one that was removed; looks through it once."""
        self._files.create()
        if not self._swept:
            self._files.sweep()
            self._swept = True

    def _end(self, problem: Exception) -> None:
        with self._ready:
            self._on = False
            self._pending.clear()
            self._bases.clear()
            self._bytes = 0
        told = getattr(problem, "strerror", None) or problem
        self.problem = (
            f"Columns are not cached on disk in {self.folder} ({told}). A new process reads them "
            "from the tables' files."
        )
        _log.warning("%s", self.problem)


def column_cache(most_bytes: int) -> DiskCache:
    """The cache in the user's cache folder (`XDG_CACHE_HOME`)."""
    return DiskCache(user_cache_path("dt_jupyter") / "columns", most_bytes)


def _length(values: CachedValues) -> int:
    return len(values.values) if isinstance(values, KeyIndex) else len(values)
