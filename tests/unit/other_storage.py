"""Other storage than a disk, without Java: paths `mem://host/…` that are a folder's files."""

from __future__ import annotations

import os
import shutil
import uuid
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
    done before each call; one of `whole_seconds` tells no less of a file that it is asked for; one
    whose writers nothing `excludes` lets the later one of a commit win."""

    def __init__(self, folder: Path, *, whole_seconds: bool = False) -> None:
        self.folder, self.down, self.whole_seconds = folder, False, whole_seconds
        self.excludes = True
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

    def fetch_end(self, path: str, start: int, target: Path) -> None:
        self._count("fetch_end")
        with target.open("wb") as file:
            file.seek(start)
            file.write(self._at(path).read_bytes()[start:])

    def list_all(self, folder: str) -> list[RemoteFile]:
        self._count("list_all")
        at = self._at(folder)
        files = (p for p in at.rglob("*") if p.is_file())
        return [replace(_found(p), name=p.relative_to(at).as_posix()) for p in files]

    def list_folders(self, folder: str) -> list[RemoteFile]:
        self._count("list_folders")
        at = self._at(folder)
        return [_found(p) for p in at.iterdir() if p.is_dir()] if at.is_dir() else []

    def put(self, source: Path, path: str) -> None:
        self._count("put")
        self._at(path).parent.mkdir(parents=True, exist_ok=True)
        draft = self._at(path).with_name(f".{uuid.uuid4().hex}.tmp")
        shutil.copyfile(source, draft)
        draft.replace(self._at(path))

    def put_commit(self, path: str, text: str) -> None:
        self._count("put_commit")
        at = self._at(path)
        at.parent.mkdir(parents=True, exist_ok=True)
        draft = at.with_name(f".{uuid.uuid4().hex}.tmp")
        draft.write_text(text, "utf-8")
        if self.excludes:
            os.link(draft, at)
            draft.unlink()
        else:
            draft.replace(at)

    def keeps_apart(self, folder: str) -> bool:
        return self.excludes

    def copy(self, source: str, target: str) -> None:
        self._count("copy")
        self._at(target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._at(source), self._at(target))

    def make_folder(self, folder: str) -> None:
        self._count("make_folder")
        self._at(folder).mkdir(parents=True, exist_ok=True)

    def move(self, source: str, target: str) -> None:
        self._count("move")
        if self._at(target).exists():
            raise FileExistsError(target)
        self._at(target).parent.mkdir(parents=True, exist_ok=True)
        self._at(source).rename(self._at(target))

    def delete(self, path: str) -> None:
        self._count("delete")
        at = self._at(path)
        if at.is_dir():
            shutil.rmtree(at)
        else:
            at.unlink(missing_ok=True)

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
