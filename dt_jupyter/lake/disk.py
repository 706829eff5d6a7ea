"""Commits and their files on disk: put there, made durable, or removed again."""

from __future__ import annotations

import errno
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.actions import commit_name

_CHANGES = "_change_data"
_DATA = (".parquet", ".bin")
_NO_LINKS = frozenset((errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP))


def data_files(table: Path) -> frozenset[str]:
    """Data, change and deletion-vector files of a table, relative to it; with column mapping they
    are in folders of random names."""
    found: list[str] = []
    for folder, folders, names in os.walk(table):
        folders[:] = [f for f in folders if f == _CHANGES or not f.startswith(("_", "."))]
        inside = os.path.relpath(folder, table)
        prefix = "" if inside == "." else f"{inside}/"
        found += [prefix + n for n in names if n[0] not in "._" and n.endswith(_DATA)]
    return frozenset(found)


def list_files(table: Path) -> Iterator[tuple[str, int, float]]:
    """The files of a table's data: relative path, bytes, time of modification in seconds."""
    for folder, folders, names in os.walk(table):
        folders[:] = [f for f in folders if not _is_hidden(f)]
        for name in names:
            if name.startswith((".", "_")):
                continue
            file = Path(folder) / name
            with suppress(FileNotFoundError):
                found = file.stat()
                yield file.relative_to(table).as_posix(), found.st_size, found.st_mtime


def is_data(name: str) -> bool:
    """Whether a file, by its path in the table, is one of those that `list_files` lists."""
    *folders, file = name.split("/")
    return not file.startswith((".", "_")) and not any(map(_is_hidden, folders))


def _is_hidden(folder: str) -> bool:
    """Delta's rule: other folders that begin so are not partitions of the table."""
    return folder.startswith((".", "_")) and "=" not in folder and folder != _CHANGES


def make_durable(table: Path, files: Iterable[str], version: int) -> None:
    """fsync the files, the commit `version` and the folders; Delta's own writers do not."""
    log = table / "_delta_log"
    paths = [table / f for f in files]
    folders = dict.fromkeys([*(p.parent for p in paths), table, log])
    sync((*paths, log / commit_name(version), *folders))


def sync(paths: Iterable[Path]) -> None:
    """fsync files and folders."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_durable(path: Path, text: str) -> None:
    """A file of that text, which is on the disk."""
    path.write_text(text, "utf-8")
    sync([path])


def put_commit(
    table: Path, version: int, actions: Iterable[Mapping[str, Any]], millis: int | None = None
) -> None:
    """The commit `version` of a table, whole or not at all; `millis`: as of that time, which is
    that of its file. FileExistsError where there is one."""
    log = table / "_delta_log"
    draft = log / f".{version}.{uuid.uuid4().hex}.tmp"
    write_durable(draft, "".join(f"{json.dumps(a)}\n" for a in actions))
    if millis is not None:
        os.utime(draft, ns=(millis * 1_000_000, millis * 1_000_000))
    try:
        os.link(draft, log / commit_name(version))
    finally:
        draft.unlink()


def bring_file(source: Path, target: Path) -> None:
    """A file at its place in a table, also where another disk holds that; one that is there is
    left. FileNotFoundError."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with suppress(FileExistsError):
            os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        copy = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        shutil.copyfile(source, copy)
        os.replace(copy, target)


def link_files(table: Path, target: Path, names: Sequence[str]) -> None:
    """Files under their names in the other folder; copied where there are no hard links."""
    folders = dict.fromkeys((target / name).parent for name in names)
    for made in folders:
        made.mkdir(parents=True, exist_ok=True)
    for name in names:
        try:
            os.link(table / name, target / name)
        except OSError as e:
            if e.errno not in _NO_LINKS:
                raise
            shutil.copy2(table / name, target / name)
            sync([target / name])
    sync(folders)


def remove_files(table: Path, files: Iterable[str]) -> None:
    """With Hadoop's checksums; one that is gone is as good."""
    for name in files:
        file = table / name
        file.unlink(missing_ok=True)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
