"""Commits and their files on disk: put there, made durable, or removed again."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.actions import commit_name

_CHANGES = "_change_data"
_DATA = (".parquet", ".bin")


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


def remove_orphans(table: Path, files: Iterable[str]) -> tuple[str, ...]:
    """Remove what a failed attempt left behind (with Hadoop's checksums); what was removed."""
    removed = []
    for name in files:
        file = table / name
        with suppress(FileNotFoundError):
            file.unlink()
            removed.append(name)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return tuple(removed)
