"""Whether all files of a table's newest version are there, asked again and again at little cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dt_jupyter.caches import Cache, CacheMemory
from dt_jupyter.lake.delta_log.active_files import LiveFiles, paths_of
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import TableGone, VersionGone
from dt_jupyter.lake.storage.mounts import find_mounted
from dt_jupyter.lake.storage.questions import ask_again

_TICK_NANOS = 2_000_000_000
"""A file that comes or goes so soon after another one may leave the folder's time as it was."""

_MOST_BYTES = 64 << 20
"""Of lists that share no memory with other caches."""


@dataclass
class Contents:
    """Looks for the files of tables, once for each version; then one `stat` of a table's folder
    shows that none of them was added or removed. On other storage, where that shows nothing, each
    file is looked for once: reading one that is deleted later fails. Threads may share it."""

    now_nanos: Callable[[], int] = time.time_ns
    _whole: dict[Path, tuple[int, int]] = field(default_factory=dict)
    _there: dict[Path, frozenset[str]] = field(default_factory=dict)
    memory: CacheMemory = field(default_factory=lambda: CacheMemory(_MOST_BYTES))

    def __post_init__(self) -> None:
        self._live: Cache[Path, LiveFiles] = Cache(self.memory, "lists of files that are there")

    def lost(self, log: TableLog) -> str | None:
        """What is to be said of a file of the newest version that is gone, or of a table that is,
        or of its log's beginning; None: all are there."""
        try:
            return self._lost(log)
        except (TableGone, VersionGone) as e:
            return e.sentence

    def _lost(self, log: TableLog) -> str | None:
        version, there = log.version(), find_mounted(log.path)
        touched = os.stat(log.path).st_mtime_ns if there is None else 0
        if self._whole.get(log.path) == (version, touched):
            return None
        live = self._live.get(log.path) or LiveFiles(log.path)
        names = [name for action in live.at(version) for name in paths_of(action)]
        self._live.put(log.path, live, live.bytes)
        known = self._there.get(log.path, frozenset()) if there is not None else frozenset()
        gone = next((n for n in names if n not in known and not log.has_file(n)), None)
        if gone is not None:
            ask_again()  # someone else may have written, and vacuumed, since then
            return f"the file {gone} is missing" if log.version() == version else self._lost(log)
        seen = self.now_nanos() - touched > _TICK_NANOS and not any("/" in n for n in names)
        if seen or there is not None:
            self._whole[log.path] = version, touched
        if there is not None:
            self._there[log.path] = frozenset(names)
        return None
