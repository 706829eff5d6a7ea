"""Paths as Spark writes them: URIs, and texts of Hadoop's."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GLOB = frozenset("*?[]{}\\")
"""What makes a path a pattern."""
_LOCAL = re.compile(r"\Afile:(?://(?:localhost)?/|/(?!/))", re.IGNORECASE)

_STORAGE = re.compile(r"\A([A-Za-z][A-Za-z0-9+.-]+):/")
"""A drive has one letter."""
_READ_AT: dict[str, str] = {}
_MOUNTS: dict[str, str] = {}
"""Folders of this disk by the places on other storage that they represent."""


def mount_place(folder: str | os.PathLike[str], place: str) -> None:
    """What the engine names by a path in `folder`, which is absolute, is for Spark at `place` on
    other storage, and what Spark says of that is translated to the path. For the whole process."""
    _MOUNTS[os.fspath(folder)] = place


def read_at(folder: str | os.PathLike[str], place: str) -> None:
    """What the engine names by the path of a folder Spark finds at `place` on other storage; what
    Spark says of the place keeps the place itself. For the whole process."""
    _READ_AT[os.fspath(folder)] = place


def find_mount(path: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The mounted folder that a path is in, and where on other storage the path is; None of a path
    that is in none."""
    text = os.fspath(path)
    for folder, place in _MOUNTS.items():
        if (rest := _rest(text, folder)) is not None:
            return folder, place + rest
    return None


def mounted_place(path: str | os.PathLike[str]) -> str | None:
    """Where on other storage a path of a mounted folder is; None of any other."""
    found = find_mount(path)
    return None if found is None else found[1]


def _path_at(place: str) -> str:
    """The path of a place in a mounted folder; any other as it is."""
    for folder, top in _MOUNTS.items():
        if (rest := _rest(place, top)) is not None:
            return folder + rest
    return place


def _rest(path: str, folder: str) -> str | None:
    """What of a path is behind the folder that it is in, or is; None of one that is elsewhere."""
    inside = path.startswith(folder) and path[len(folder) : len(folder) + 1] in ("", "/")
    return path[len(folder) :] if inside else None


def storage_of(path: str) -> str | None:
    """`s3a`, `hdfs`, …: the scheme of what is on no disk of this machine; None of a path."""
    found = _STORAGE.match(path)
    return None if found is None or found[1].lower() == "file" else found[1].lower()


def path_of_uri(uri: str) -> str:
    """A `file:` URI as a path, and one of a mounted place; any other of other storage as Hadoop
    writes it, in which `%20` is three characters; what is not a URI as it is."""
    parsed = urlparse(uri)
    if parsed.scheme == "file":
        return unquote(parsed.path)
    return _path_at(unquote(uri)) if storage_of(uri) else uri


def path_of_text(text: str) -> str:
    """A path as Hadoop writes or reads it, in which `%20` is three characters: DESCRIBE's
    `Location`, a path in a query. Without the scheme of the local disk; a path of what is mounted;
    any other as it is."""
    return _path_at(_LOCAL.sub("/", text))


def text_of_path(path: str | os.PathLike[str]) -> str:
    """An absolute path of this disk as Spark reads it, whatever file system paths without a scheme
    are of: the place that it is mounted for, or with `file:`; one of other storage as it is. It is
    not a URI: that Spark would encode once more."""
    text = os.fspath(path)
    if not text.startswith("/"):
        return text
    return mounted_place(text) or _READ_AT.get(text) or f"file:{text}"


def storage_at(path: str | os.PathLike[str]) -> str | None:
    """As `storage_of`; of a path in a mounted folder the storage that it is mounted for."""
    return storage_of(text_of_path(path))


def qualify_text(spark: SparkSession, text: str) -> str:
    """A path in a statement with the scheme of the storage that Spark finds it on; one of this disk
    as it is. Which a server of Connect finds is not known."""
    if is_connect(spark) or storage_of(text) or text.lower().startswith("file:"):
        return _path_at(text)
    session: Any = spark
    conf = session.sparkContext._jsc.hadoopConfiguration()
    if storage_of(str(conf.get("fs.defaultFS"))) is None:
        return text
    hadoop = session._jvm.org.apache.hadoop.fs
    made = hadoop.FileSystem.get(conf).makeQualified(hadoop.Path(text))
    return path_of_text(str(made.toString()))
