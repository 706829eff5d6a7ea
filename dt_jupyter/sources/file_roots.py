"""Which files of a place count: all of a folder, those that a pattern names, or those of the
partitions that a session's catalog lists."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake import DataFile, LakeError, TableGone, list_folder, list_roots
from dt_jupyter.model import Name
from dt_jupyter.spark import GLOB, is_connect, match_paths, partition_folders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOKS = 3
"""A partition may come between the two questions of one."""


class Roots(StrEnum):
    FOLDER = "folder"
    PATTERN = "pattern"
    CATALOG = "catalog"


def base_of(pattern: str) -> Path:
    """The deepest folder that all that a pattern names is in."""
    place = Path("/")
    for part in Path(pattern).parts[1:]:
        if GLOB & set(part):
            break
        place /= part
    return place


def has_braced_folders(pattern: str) -> bool:
    """Whether braces hold a slash: what is named then is at several depths, and may be named
    twice."""
    depth, escaped = 0, False
    for letter in pattern:
        if letter == "/" and depth > 0:
            return True
        if not escaped and letter in "{}":
            depth += 1 if letter == "{" else -1
        escaped = letter == "\\" and not escaped
    return False


def list_counted(
    spark: SparkSession, place: Path, location: str, roots: Roots, tracked: Name | None
) -> dict[str, DataFile]:
    """The files by their paths in `place`; of a folder those of all folders below, too. TableGone
    where there is nothing, LakeError where Spark reads others, or reads these otherwise."""
    if roots is Roots.FOLDER:
        return list_folder(place, nested=True)
    if tracked is not None:
        listed = list_roots(place, _tracked(spark, place, tracked))
        return {f"{part}/{path}": f for (part, path), f in listed.items() if "/" not in path}
    if is_connect(spark) and has_braced_folders(location):
        raise LakeError(f"over Spark Connect the folders of {location} are not known")
    named = match_paths(spark, location)
    if named is None:
        raise TableGone(f"there is nothing at {location}", path=location)
    found = dict[str, DataFile]()
    parts = [str(Path(p).relative_to(place)) for p in named]
    for (part, path), file in list_roots(place, parts).items():
        whole = f"{part}/{path}" if path else part
        if "=" in path.rpartition("/")[0]:
            raise LakeError(
                f"{whole} is in a folder of a partition, which {location} does not name"
            )
        if whole in found:
            raise LakeError(f"{location} names {whole} twice")
        if "/" not in path:
            found[whole] = file
    return found


def _tracked(spark: SparkSession, place: Path, name: Name) -> list[str]:
    if not spark.catalog.tableExists(name.sql):
        raise TableGone(f"there is no table {name}", path=str(place))
    for _ in range(_LOOKS):
        folders, paths = partition_folders(spark, name)
        elsewhere = sorted(paths ^ {f"{place}/{f}" for f in folders})
        if not elsewhere:
            return sorted(folders)
    raise LakeError(f"a partition of {name} is at {elsewhere[0]}")


__all__ = ["Roots", "base_of", "has_braced_folders", "list_counted"]
