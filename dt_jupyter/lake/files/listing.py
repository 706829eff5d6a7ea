"""The files of a folder as Spark lists them, without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from dt_jupyter.lake.errors import LakeError, TableGone

_NULL = "__HIVE_DEFAULT_PARTITION__"
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


def partition_names(path: str) -> tuple[str, ...]:
    """The columns that the folders of a file's path give values of, as they are written."""
    return tuple(unquote(part.partition("=")[0]) for part in path.split("/")[:-1] if "=" in part)


def partition_values(path: str, columns: Sequence[str]) -> dict[str, str | None]:
    """The value of each partition column of a file, NULL as None. Raises LakeError where its
    folders are not those of the columns."""
    parts = [part.partition("=") for part in path.split("/")[:-1]]
    named = [unquote(name).lower() for name, equals, _ in parts if equals]
    if named != [c.lower() for c in columns] or len(named) != len(parts):
        wanted = "/".join(f"{c}=…" for c in columns) or "no folders"
        raise LakeError(f"{path} is not in the folders {wanted}", file=path)
    values = [unquote(value) for _, _, value in parts]
    return {c: None if v == _NULL else v for c, v in zip(columns, values, strict=True)}


__all__ = ["DataFile", "list_folder", "partition_names", "partition_values"]
