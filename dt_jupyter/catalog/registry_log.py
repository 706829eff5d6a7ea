"""What the catalog registers, written a second time: a file of JSON lines next to the catalog.

Each line is the current state of one object, or that it is gone, with the number of the change. The
file is behind the catalog for a moment at most; a catalog that is behind the file is an older one.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock

from dt_jupyter.catalog.codec import dump
from dt_jupyter.lake import sync

_FORMAT = 1
_PATIENCE = 30
_SLACK = 200
"""If there are this number of lines more than objects, the file is rewritten."""

RowKey = tuple[str, str]
"""Kind and key of an object; the key is JSON."""
RegistryRow = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """An object at change number `stamp`; `row` None: it is gone."""

    stamp: int
    kind: str
    key: str
    row: RegistryRow | None


@dataclass
class RegistryPicture:
    """All objects, by kind and key, after change number `stamp`."""

    stamp: int = 0
    rows: dict[RowKey, RegistryRow] = field(default_factory=dict)

    def take(self, entry: Entry) -> None:
        self.stamp = max(self.stamp, entry.stamp)
        if entry.row is None:
            self.rows.pop((entry.kind, entry.key), None)
        else:
            self.rows[entry.kind, entry.key] = entry.row


class RegistryLog:
    """The file; processes share it, and write it one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._end: tuple[int, int] | None = None  # the file's number, and up to where it was read
        self._picture, self._lines = RegistryPicture(), 0

    @property
    def stamp(self) -> int:
        """The number of the newest change that was read."""
        return self._picture.stamp

    def lock(self) -> FileLock:
        return FileLock(f"{self.path}.lock", timeout=_PATIENCE)

    def read(self) -> RegistryPicture | None:
        """What it says; None where there is no file. A line that a crash cut is ignored."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                number = found.st_ino
                if self._end is None or self._end[0] != number or self._end[1] > found.st_size:
                    self._end, self._picture, self._lines = (number, 0), RegistryPicture(), 0
                file.seek(self._end[1])
                text = file.read()
        except FileNotFoundError:
            self._end = None
            return None
        whole = text.rpartition(b"\n")[0]
        self._end = (number, self._end[1] + len(whole) + bool(whole))
        for line in whole.splitlines():
            self._take(line)
        return self._picture

    def append(self, entries: Iterable[Entry]) -> None:
        """The entries on the disk, in their order. The caller holds the lock, and has `read`."""
        lines = [_line(e) for e in entries]
        if not lines:
            return
        with self.path.open("ab") as file:
            torn = self._end is not None and file.tell() > self._end[1]
            file.write(("\n" if torn else "").encode() + "".join(lines).encode())
            file.flush()
            os.fsync(file.fileno())

    def write(self, picture: RegistryPicture) -> None:
        """Rewrites the file, whole or not at all. The caller holds the lock."""
        head = dump({"format": _FORMAT, "stamp": picture.stamp}) + "\n"
        lines = [_line(Entry(picture.stamp, *k, row)) for k, row in picture.rows.items()]
        draft = self.path.with_name(f".{self.path.name}.{uuid.uuid4().hex}.tmp")
        draft.write_text(head + "".join(lines), "utf-8")
        sync([draft])
        os.replace(draft, self.path)
        sync([self.path.parent])
        self._end = None

    @property
    def grown(self) -> bool:
        """Whether most of it is no longer so."""
        return self._lines > 2 * len(self._picture.rows) + _SLACK

    def _take(self, line: bytes) -> None:
        self._lines += 1
        try:
            value = json.loads(line)
            if "kind" in value:
                entry = Entry(int(value["stamp"]), value["kind"], value["key"], value["row"])
                self._picture.take(entry)
            else:
                self._picture.stamp = max(self._picture.stamp, int(value.get("stamp", 0)))
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # torn, or no line of ours


def _line(entry: Entry) -> str:
    value = {"stamp": entry.stamp, "kind": entry.kind, "key": entry.key, "row": entry.row}
    return dump(value) + "\n"
