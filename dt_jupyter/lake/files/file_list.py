"""The recorded list of a source's files, version by version, and how it differs from what is there.

A version of the list is a commit of a Delta log: what it adds are links to the files, or their rows
copied as Parquet where Delta does not read the format itself. The commit says which files came.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.files.listing import DataFile

WHOLE_EVERY = 100
"""This number of versions after the last one, a version has the whole list."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file as it was recorded; `stored` is the link to it, or the folder of its copied rows, in
    the log's own folder."""

    file: DataFile
    stored: str


FileList = Mapping[str, Recorded]


@dataclass(frozen=True)
class ListChange:
    """Files that came, and those that have changed, each with what happened to it."""

    came: tuple[str, ...] = ()
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The sentence about the files that have changed; empty where there are none."""
        if not self.others:
            return ""
        path, what = next(iter(sorted(self.others.items())))
        more = len(self.others) - 1
        told = f"the file {path or 'itself'} {what}"
        return f"{told}, and {more} more changed or are gone" if more else told

    def __bool__(self) -> bool:
        return bool(self.came or self.others)


def compare_lists(recorded: FileList, now: Mapping[str, DataFile]) -> ListChange:
    """How the files now differ from those recorded."""
    came = tuple(sorted(now.keys() - recorded.keys()))
    others = dict.fromkeys(recorded.keys() - now.keys(), "is gone")
    for path in recorded.keys() & now.keys():
        old, new = recorded[path].file, now[path]
        if old != new:
            others[path] = "grew" if new.size > old.size else "was written again"
    return ListChange(came, others)


def note_of(came: FileList, gone: tuple[str, ...], *, whole: bool, reason: str) -> str:
    """What a commit says of the list: `came` is all of it where `whole`."""
    files = {p: [r.file.size, r.file.modified, r.stored] for p, r in came.items()}
    return json.dumps({"whole": whole, "came": files, "gone": gone, "reason": reason})


@dataclass
class ListReader:
    """Reads the list of one log, and keeps the last one; threads may share it."""

    log: TableLog
    _version: int = -1
    _list: dict[str, Recorded] = field(default_factory=dict)
    _id: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def at(self, version: int) -> FileList:
        """The list of a version. Raises TableGone, VersionGone."""
        with self._lock:
            id_ = self.log.table_id()
            if id_ != self._id or version < self._version:
                self._id, self._version, self._list = id_, -1, {}
            last_whole = version - version % WHOLE_EVERY
            if last_whole > self._version:
                self._version, self._list = last_whole - 1, {}
            for v in range(self._version + 1, version + 1):
                self._list = _advanced(self._list, self.log.user_metadata(v))
            self._version = version
            return MappingProxyType(dict(self._list))


def _advanced(known: dict[str, Recorded], note: str | None) -> dict[str, Recorded]:
    told = json.loads(note) if note else {}
    kept = {} if told.get("whole") else known
    for path in told.get("gone", ()):
        kept.pop(path, None)
    for path, (size, modified, stored) in told.get("came", {}).items():
        kept[path] = Recorded(DataFile(size, modified), stored)
    return kept


__all__ = ["FileList", "ListChange", "ListReader", "Recorded", "compare_lists", "note_of"]
