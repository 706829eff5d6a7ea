"""The files of a folder as Spark lists them, without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake.errors import TableGone

_COPYING = "._COPYING_"
_DEEPEST = 32


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file as it is now: bytes, and nanoseconds of its last modification."""

    size: int
    modified: int


def list_folder(root: Path, *, nested: bool) -> dict[str, DataFile]:
    """The files of `root` by their paths in it, those of its folders too where `nested`; of a
    `root` that is a file itself, that one, by the empty path. Hidden (`_x`, `.x`) and empty ones
    are none. Raises TableGone."""
    try:
        if root.is_file():
            found = _file(os.stat(root))
            return {"": found} if found is not None else {}
        return dict(_listed(str(root), "", nested, 0))
    except (FileNotFoundError, NotADirectoryError) as e:
        raise TableGone(f"there is no folder {root}", path=str(root)) from e


def list_roots(root: Path, parts: Iterable[str]) -> dict[tuple[str, str], DataFile]:
    """The files of these folders of `root`, and of their folders, each by its part and its path in
    it; a part may be a file, whose path is empty, and one that is gone has none."""
    found = dict[tuple[str, str], DataFile]()
    for part in parts:
        try:
            here = list_folder(root / part, nested=True)
        except TableGone:
            continue
        known = here.keys() - ({""} if is_hidden_file(part.rpartition("/")[2]) else set())
        found |= {(part, path): here[path] for path in known}
    return found


def _listed(folder: str, prefix: str, nested: bool, depth: int) -> Iterator[tuple[str, DataFile]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_hidden_file(entry.name):
                continue
            if entry.is_dir():
                if nested and depth < _DEEPEST:
                    yield from _listed(entry.path, f"{prefix}{entry.name}/", nested, depth + 1)
                continue
            try:
                found = _file(entry.stat())
            except FileNotFoundError:  # it went while the folder was listed
                continue
            if found is not None:
                yield prefix + entry.name, found


def _file(stat: os.stat_result) -> DataFile | None:
    return DataFile(stat.st_size, stat.st_mtime_ns) if stat.st_size else None


def is_hidden_file(name: str) -> bool:
    """What Spark takes for no data: a name of `_` is that of a partition where it has a value."""
    if name.startswith("_") and "=" not in name:
        return True
    return name.startswith(".") or name.endswith(_COPYING)


__all__ = ["DataFile", "list_folder", "list_roots"]
