"""The folder of a table in which Spark writes the files of a commit, before they are renamed into
the table. On other storage only their footers are read: no row comes to the driver."""

from __future__ import annotations

import os
import shutil
import struct
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dt_jupyter.lake.paths import FETCHED
from dt_jupyter.lake.storage.copied_log import drop_draft
from dt_jupyter.lake.storage.mounts import Mounted, find_place
from dt_jupyter.spark import text_of_path

if TYPE_CHECKING:
    import pyarrow.parquet as pq

FOLDER = "_dt_rows"
_TAIL = 1 << 16
"""Bytes that are read first: few footers have more."""
_END = struct.Struct("<I4s")
"""Behind a footer: its length, and what Parquet files end with."""
_THREADS = 8
LEFT_SECONDS = 86_400
"""No attempt writes its files for so long."""


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file that is in the table: its name there, and its bytes."""

    name: str
    size: int


class WrittenRows(Protocol):
    """`path` is the folder as Spark reads it. `in_place`: whether what Spark has written there
    stays; else it has yet to be synced."""

    path: str
    in_place: bool

    def prepare(self) -> None:
        """Removes what killed processes have left. Spark makes the folder later."""

    def drop(self) -> None:
        """The folder with all that is in it."""

    def take(self, part: str, prefix: str) -> Sequence[PlacedFile]:
        """The Parquet files of a folder in it, renamed into the table under names that begin with
        `prefix`; none where the folder is missing."""

    def read_footers(self, files: Sequence[PlacedFile]) -> Sequence[pq.FileMetaData]:
        """Of files that were taken."""


@contextmanager
def written_rows(table: Path) -> Iterator[WrittenRows]:
    """A folder that Spark makes, and that is removed at the end. The caller holds the table's
    lock."""
    found = find_place(table)
    made: WrittenRows = _DiskRows(table) if found is None else _RemoteRows(table, found)
    made.prepare()
    try:
        yield made
    finally:
        made.drop()


class _DiskRows:
    in_place = False

    def __init__(self, table: Path) -> None:
        self._table, self._folder = table, table / FOLDER
        self.path = text_of_path(self._folder)

    def prepare(self) -> None:
        self.drop()

    def drop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def take(self, part: str, prefix: str) -> Sequence[PlacedFile]:
        taken = []
        for number, file in enumerate(sorted((self._folder / part).glob("*.parquet"))):
            target = self._table / _new_name(prefix, number)
            target.parent.mkdir(exist_ok=True)
            file.rename(target)
            name = target.relative_to(self._table).as_posix()
            taken.append(PlacedFile(name, target.stat().st_size))
        return taken

    def read_footers(self, files: Sequence[PlacedFile]) -> Sequence[pq.FileMetaData]:
        import pyarrow.parquet as pq

        return [pq.read_metadata(self._table / file.name) for file in files]


class _RemoteRows:
    """Each attempt has its own folder: the table's lock need not reach other machines, whose
    attempts may still run. Those of this machine are noted in the folder of that name here."""

    in_place = True

    def __init__(self, table: Path, of: Mounted) -> None:
        self._drafts, self._storage, self._place = table / FETCHED, of.storage, of.place
        self._noted, self._top = table / FOLDER, f"{of.place}/{FOLDER}"
        self._name = uuid.uuid4().hex
        self.path = f"{self._top}/{self._name}"

    def prepare(self) -> None:
        self._noted.mkdir(exist_ok=True)
        before = (time.time() - LEFT_SECONDS) * 1000
        others = self._storage.list_folders(self._top)
        old = [folder.name for folder in others if 0 < folder.millis < before]
        for name in (*old, *os.listdir(self._noted)):
            self._drop(name)
        (self._noted / self._name).touch()

    def drop(self) -> None:
        self._drop(self._name)

    def _drop(self, name: str) -> None:
        self._storage.delete(f"{self._top}/{name}")
        (self._noted / name).unlink(missing_ok=True)

    def take(self, part: str, prefix: str) -> Sequence[PlacedFile]:
        folder = f"{self.path}/{part}"
        try:
            found = [f for f in self._storage.list(folder) if f.name.endswith(".parquet")]
        except FileNotFoundError:
            return []
        files = sorted(found, key=lambda file: file.name)
        taken = [PlacedFile(_new_name(prefix, n), file.size) for n, file in enumerate(files)]

        def move(number: int) -> None:
            source = f"{folder}/{files[number].name}"
            self._storage.move(source, f"{self._place}/{taken[number].name}")

        with ThreadPoolExecutor(_THREADS) as movers:
            list(movers.map(move, range(len(files))))
        return taken

    def read_footers(self, files: Sequence[PlacedFile]) -> Sequence[pq.FileMetaData]:
        self._drafts.mkdir(exist_ok=True)
        with ThreadPoolExecutor(_THREADS) as readers:
            return list(readers.map(self._read_footer, files))

    def _read_footer(self, file: PlacedFile) -> pq.FileMetaData:
        import pyarrow.parquet as pq

        draft = self._drafts / f".{uuid.uuid4().hex}.tmp"
        try:
            self._fetch_end(file, draft, _TAIL)
            if (needed := _footer_bytes(draft)) > _TAIL:
                self._fetch_end(file, draft, needed)
            return pq.read_metadata(draft)
        finally:
            drop_draft(draft)

    def _fetch_end(self, file: PlacedFile, target: Path, most: int) -> None:
        start = max(0, file.size - most)
        self._storage.fetch_end(f"{self._place}/{file.name}", start, target)


def _footer_bytes(file: Path) -> int:
    """From where it begins to the end of the file."""
    with file.open("rb") as opened:
        opened.seek(-_END.size, os.SEEK_END)
        length, _ = _END.unpack(opened.read())
    return int(length) + _END.size


def _new_name(prefix: str, number: int) -> str:
    return f"{prefix}-{number:05}-{uuid.uuid4()}.c000.snappy.parquet"


__all__ = ["PlacedFile", "WrittenRows", "written_rows"]
