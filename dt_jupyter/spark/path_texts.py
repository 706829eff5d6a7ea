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


def storage_of(path: str) -> str | None:
    """`s3a`, `hdfs`, …: the scheme of what is on no disk of this machine; None of a path."""
    found = _STORAGE.match(path)
    return None if found is None or found[1].lower() == "file" else found[1].lower()


def path_of_uri(uri: str) -> str:
    """A `file:` URI as a path; one of other storage as Hadoop writes it, in which `%20` is three
    characters; what is no URI as it is."""
    parsed = urlparse(uri)
    if parsed.scheme == "file":
        return unquote(parsed.path)
    return unquote(uri) if storage_of(uri) else uri


def path_of_text(text: str) -> str:
    """A path as Hadoop writes or reads it, in which `%20` is three characters: DESCRIBE's
    `Location`, a path in a query. Without the scheme of the local disk; any other as it is."""
    return _LOCAL.sub("/", text)


def text_of_path(path: str | os.PathLike[str]) -> str:
    """An absolute path of this disk as Spark reads it, whatever file system paths without a scheme
    are of; one of other storage as it is. It is no URI: that Spark would encode once more."""
    text = os.fspath(path)
    return f"file:{text}" if text.startswith("/") else text


def qualify_text(spark: SparkSession, text: str) -> str:
    """A path in a statement with the scheme of the storage that Spark finds it on; one of this disk
    as it is. Which a server of Connect finds is not known."""
    if is_connect(spark) or storage_of(text) or text.lower().startswith("file:"):
        return text
    session: Any = spark
    conf = session.sparkContext._jsc.hadoopConfiguration()
    if storage_of(str(conf.get("fs.defaultFS"))) is None:
        return text
    hadoop = session._jvm.org.apache.hadoop.fs
    made = hadoop.FileSystem.get(conf).makeQualified(hadoop.Path(text))
    return path_of_text(str(made.toString()))
