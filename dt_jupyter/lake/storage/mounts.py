"""Folders of this disk that represent a lake's on other storage: what is in them is of two kinds.

A table there is known by a copy of its log in the folder; what a commit writes is written there
first, and put where the table is. So code that reads a log, or names a table by its path, works
as on a disk, and Spark gets the place (`text_of_path`).
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from dt_jupyter.lake.delta_log.table_log import TableLog, has_log, version_of
from dt_jupyter.lake.disk import write_durable
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.paths import TablePath, local
from dt_jupyter.lake.storage.copied_log import CopiedLog, drop_draft
from dt_jupyter.lake.storage.remote_files import RemoteStorage
from dt_jupyter.lake.write.failpoints import reach
from dt_jupyter.spark import find_mount, mount_place, storage_of

Lock: TypeAlias = Callable[[str, float], AbstractContextManager[None]]


@dataclass(frozen=True)
class Mounted:
    """What a path represents: `place` on `storage`; `lock` holds the lock of a place among all that
    write there, for a patience in seconds, where the storage needs one."""

    storage: RemoteStorage
    place: str
    most_fetched: int
    lock: Lock | None = None


_mounts: dict[str, Mounted] = {}
"""By their folders; which paths are in one, `spark` knows, that names them."""
_copies: dict[str, Mounted] = {}
"""Of tables on other storage that are in no mounted folder, by those of their copied logs."""


def mount(folder: Path, storage: RemoteStorage, place: str, most_fetched: int) -> None:
    """From now on, for this process, `folder` represents `place`; of its files those of at most
    `most_fetched` bytes are fetched to be read. It replaces a mount of that folder."""
    _mounts[str(folder)] = Mounted(storage, place, most_fetched)
    mount_place(folder, place)


def know_place(
    folder: Path, storage: RemoteStorage, place: str, most_fetched: int, lock: Lock | None
) -> None:
    """A folder of this disk has the copy of the log of the table at a place: a commit to
    that table is put there."""
    _copies[str(folder)] = Mounted(storage, place, most_fetched, lock)


def find_place(path: TablePath) -> Mounted | None:
    """As `find_mounted`, and where the table is whose log is copied there."""
    return find_mounted(path) or _copies.get(os.fspath(path))


def lock_writers(folder: Path, lock: Lock) -> None:
    """Who writes a table in a mounted folder holds that lock from now on."""
    _mounts[str(folder)] = replace(_mounts[str(folder)], lock=lock)


def find_mounted(path: TablePath) -> Mounted | None:
    """None for a path that is of this disk."""
    found = find_mount(path)
    return None if found is None else replace(_mounts[found[0]], place=found[1])


def open_log(path: TablePath) -> TableLog:
    """The log of the table at a path of this disk, or at the place that it represents."""
    found = find_mounted(path)
    if found is None:
        return TableLog(path)
    return CopiedLog(local(path), found.storage, found.place, most_fetched=found.most_fetched)


def is_delta(path: TablePath) -> bool:
    """Whether a Delta log with at least one commit or checkpoint is at a path of this disk, or
    at the place that it represents. StorageFailed."""
    if storage_of(os.fspath(path)):
        return False
    found = find_mounted(path)
    if found is None:
        return has_log(path)
    known = _newest_copied(local(path))
    if known and found.storage.stat(f"{found.place}/_delta_log/{known}") is not None:
        return True
    try:
        names = [f.name for f in found.storage.list(f"{found.place}/_delta_log")]
    except FileNotFoundError:
        return False
    return any(version_of(n) is not None or ".checkpoint" in n for n in names)


def _newest_copied(table: Path) -> str:
    """The name of the newest commit that the copy has; "" where there is none."""
    try:
        names = os.listdir(table / "_delta_log")
    except FileNotFoundError:
        return ""
    return max((n for n in names if version_of(n) is not None), default="")


# -- folders ---------------------------------------------------------------------------------------


def folder_exists(path: Path) -> bool:
    """Whether there is anything at a path, or at the place that it represents."""
    found = find_mounted(path)
    return path.exists() if found is None else found.storage.stat(found.place) is not None


def list_folders(path: Path) -> Iterator[tuple[Path, float]]:
    """The folders in a folder, each with its time in seconds; none where there is no folder."""
    found = find_mounted(path)
    if found is not None:
        for folder in found.storage.list_folders(found.place):
            yield path / folder.name, folder.millis / 1000
    elif path.is_dir():
        for entry in path.iterdir():
            if entry.is_dir():
                yield entry, entry.stat().st_mtime


def list_all(path: Path) -> Iterator[tuple[str, int]]:
    """The files in a folder and in those in it, by their paths from there, with their bytes; none
    where there is no folder."""
    found = find_mounted(path)
    if found is not None:
        for file in found.storage.list_all(found.place):
            yield file.name, file.size
    else:
        for here in path.rglob("*"):
            if here.is_file():
                yield here.relative_to(path).as_posix(), here.stat().st_size


def remove_folder(path: Path) -> None:
    """With all that is in it; one that is gone is as good."""
    if (found := find_mounted(path)) is not None:
        found.storage.delete(found.place)
    shutil.rmtree(path, ignore_errors=True)


def write_text(file: Path, text: str) -> None:
    """A file of that text, which is there for good when this returns; in a folder that is made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_durable(file, text)
    if (found := find_mounted(file)) is not None:
        found.storage.put(file, found.place)


def read_text(file: Path) -> str:
    """FileNotFoundError."""
    if (found := find_mounted(file)) is None:
        return file.read_text("utf-8")
    draft = file.with_name(f".{file.name}.{uuid.uuid4().hex}.tmp")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        found.storage.fetch(found.place, draft)
        return draft.read_text("utf-8")
    finally:
        drop_draft(draft)


def move_folder(source: Path, target: Path) -> None:
    """Or a file, to a path that is free, of the same disk or storage. FileExistsError,
    FileNotFoundError."""
    of, to = find_mounted(source), find_mounted(target)
    if of is None and to is None:
        _move_here(source, target)
    elif of is None or to is None:
        raise NotSupported(f"{source} is on another storage than {target}", path=str(source))
    else:
        of.storage.move(of.place, to.place)
        shutil.rmtree(source, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)  # copies of logs, which are recreated
    reach("folder_moved")


def _move_here(source: Path, target: Path) -> None:
    if target.exists():
        raise FileExistsError(f"{target} exists")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(source, target)
    except OSError as e:
        if target.exists():
            raise FileExistsError(f"{target} exists") from e
        shutil.move(source, target)  # to another file system


__all__ = [
    "Lock",
    "find_mounted",
    "find_place",
    "folder_exists",
    "is_delta",
    "know_place",
    "list_all",
    "list_folders",
    "lock_writers",
    "mount",
    "move_folder",
    "open_log",
    "read_text",
    "remove_folder",
    "write_text",
]
