"""Other storage than a disk, without Java: paths `mem://host/…` that are a folder's files."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from dt_jupyter.lake import StorageFailed
from dt_jupyter.lake.storage.remote_files import RemoteFile

PLACE = "mem://host"


class FolderStorage:
    """Answers as Hadoop does. `calls` are counted by method; while `down` it fails. `before` is
    done before each call; one of `whole_seconds` tells no less of a file that it is asked for."""

    def __init__(self, folder: Path, *, whole_seconds: bool = False) -> None:
        self.folder, self.down, self.whole_seconds = folder, False, whole_seconds
        self.calls: Counter[str] = Counter()
        self.before: Callable[[], None] = lambda: None

    def qualify(self, path: str) -> str:
        self._count("qualify")
        return path.rstrip("/")

    def uri(self, path: str) -> str:
        return quote(path, safe=":/=")

    def list(self, folder: str) -> list[RemoteFile]:
        self._count("list")
        return [_found(p) for p in self._at(folder).iterdir() if p.is_file()]

    def stat(self, path: str) -> RemoteFile | None:
        self._count("stat")
        try:
            found = _found(self._at(path))
        except FileNotFoundError:
            return None
        return replace(found, millis=found.millis // 1000 * 1000) if self.whole_seconds else found

    def fetch(self, path: str, target: Path) -> None:
        self._count("fetch")
        shutil.copyfile(self._at(path), target)

    def _count(self, call: str) -> None:
        self.before()
        if self.down:
            raise StorageFailed("the storage does not answer")
        self.calls[call] += 1

    def _at(self, path: str) -> Path:
        assert path.startswith(f"{PLACE}/"), path
        return self.folder / path.removeprefix(f"{PLACE}/")


def _found(file: Path) -> RemoteFile:
    told = file.stat()
    return RemoteFile(file.name, told.st_size, told.st_mtime_ns // 1_000_000)
