"""Versions of a table stored as hard links: no VACUUM, log clean-up or DROP reaches them.

The copy is a separate Delta table, the log included, so it is read like any other; it takes
space only for what is deleted from the table later.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake.delta_log.actions import commit_name, read_actions
from dt_jupyter.lake.delta_log.active_files import LiveFiles, file_at, paths_of
from dt_jupyter.lake.delta_log.checkpoints import last_checkpoint
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.delta_log.version_checksum import checksum_name
from dt_jupyter.lake.errors import LakeError, VersionGone
from dt_jupyter.lake.paths import is_uri
from dt_jupyter.lake.storage.copied_log import CopiedLog

_BROUGHT = frozenset(("add", "cdc"))
_SIDECARS = "_sidecars"


@dataclass(frozen=True, slots=True)
class Mirror:
    """A copy of the versions `first` … `last` in `folder`: with `files` files of data."""

    folder: Path
    first: int
    last: int
    files: int


def mirror(log: TableLog, first: int, last: int, folder: Path) -> Mirror | None:
    """The versions `first` … `last` of a table linked into `folder`; None where the file system
    has no hard links between the two, as with the files of a copied log. VersionGone, or
    FileNotFoundError for a file that is gone, with nothing left behind."""
    if isinstance(log, CopiedLog):
        return None
    parts = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(parts, ignore_errors=True)
    try:
        files = needed(log, first, last)
        _link_all(log.path, parts, files)
        _link_log(log.path / "_delta_log", parts / "_delta_log", first, last)
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.rename(parts, folder)
    except (FileNotFoundError, LakeError):
        shutil.rmtree(parts, ignore_errors=True)
        raise
    except OSError:  # another file system, or one without links
        shutil.rmtree(parts, ignore_errors=True)
        return None
    return Mirror(folder, first, last, len(files))


def drop_mirror(folder: Path) -> None:
    """Removes a copy; what only it held is gone with it."""
    shutil.rmtree(folder, ignore_errors=True)


def needed(log: TableLog, first: int, last: int) -> set[str]:
    """The files of all the versions, and of the change feed between them, as `paths_of` names them.
    VersionGone where the log does not reach them."""
    found = {p for a in LiveFiles(log.path).at(first) for p in paths_of(a)}
    folder = log.path / "_delta_log"
    for version in range(first + 1, last + 1):
        try:
            for _, body in read_actions(folder / commit_name(version), _BROUGHT):
                found.update(paths_of(body))
        except FileNotFoundError as e:
            raise VersionGone(f"version {version} is not in the log", version=version) from e
    return found


def _link_all(table: Path, folder: Path, files: Iterable[str]) -> None:
    made: set[Path] = set()
    for name in files:
        if is_uri(name):  # outside of the table: a clone's, which no VACUUM of it deletes
            continue
        target = folder / name
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        os.link(file_at(table, name), target)


def _link_log(log: Path, folder: Path, first: int, last: int) -> None:
    """The newest checkpoint up to `first`, and the commits from there to `last`."""
    folder.mkdir(parents=True, exist_ok=True)
    start, parts = last_checkpoint(log, first)
    names = list(parts)
    for version in range(max(start, 0), last + 1):
        if version == start < first and not (log / commit_name(version)).exists():
            continue
        names.append(commit_name(version))
        checksum = checksum_name(version)
        names += [checksum] if (log / checksum).exists() else []
    for name in names:
        os.link(log / name, folder / name)
    if any(len(n.split(".")) == 4 for n in parts) and (log / _SIDECARS).is_dir():
        (folder / _SIDECARS).mkdir()
        for name in os.listdir(log / _SIDECARS):
            os.link(log / _SIDECARS / name, folder / _SIDECARS / name)
