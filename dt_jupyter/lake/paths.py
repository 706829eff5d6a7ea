"""Paths of tables: as the operating system, and as Spark SQL, read them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.model import quote
from dt_jupyter.spark import path_of_text, storage_of, text_of_path

TablePath: TypeAlias = str | os.PathLike[str]
FETCHED = "fetched"
"""The folder in that of a copied log."""
_ESCAPE = re.compile("%[0-9a-fA-F]{2}")


def local(path: TablePath) -> Path:
    """An absolute local path; a `file:` URI of this machine will do, of any other storage, and of
    another machine, raises NotSupported."""
    text = os.fspath(path)
    if storage_of(text) is not None:
        raise NotSupported(f"{text} is not on a local disk", path=text)
    parts = urlsplit(text)
    if parts.scheme != "file":
        return Path(os.path.abspath(text))
    if parts.netloc not in ("", "localhost"):
        raise NotSupported(f"{text} is on another machine", path=text)
    return Path(os.path.abspath(unquote(parts.path)))


def hadoop_path(text: str) -> Path:
    """A path as Spark reads it in a query: what follows `file:` is not a URI, and %20 is not a
    blank."""
    path = path_of_text(text)
    return local(text) if path == text else Path(os.path.abspath(path))


def find_escape(path: TablePath) -> str:
    """What is wrong with a path in which delta-rs takes a part for another character, and opens
    the table of another folder; "" where there is no such thing."""
    found = _ESCAPE.search(os.fspath(path))
    return f"{found.group()} in its name is read as another character" if found else ""


def require_openable(path: TablePath) -> None:
    """NotSupported for a table that delta-rs would take for that of another folder."""
    if problem := find_escape(path):
        raise NotSupported(f"{path}: {problem}; rename the folder", path=str(path))


def sql_table(path: TablePath) -> str:
    """The table at `path`, on this disk or any other storage, as Spark SQL names it."""
    text = os.fspath(path)
    return f"delta.{quote(text if storage_of(text) else text_of_path(local(path)))}"


def sql_path(path: TablePath) -> str:
    """A literal of Spark SQL of a path on this disk, or any other storage."""
    return sql_string(text_of_path(path))


def sql_string(text: str) -> str:
    """A string literal of Spark SQL, whatever it contains."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def is_uri(logged: str) -> bool:
    """Whether a log names a file by a URI: in another folder, or on other storage."""
    return ":/" in logged


def data_file(table: Path, logged: str) -> str:
    """The file that a log's action names: relative to the table, or a URI (a clone).
    NotSupported for one on other storage that was not fetched."""
    if not is_uri(logged):
        return os.path.join(table, logged)
    if storage_of(logged) is None:
        return str(local(logged))
    file = fetched_file(table, logged)
    if not os.path.exists(file):
        raise NotSupported(f"{logged} is not on a local disk", path=logged)
    return file


def fetched_file(table: Path, logged: str) -> str:
    """Where a file on other storage is on this disk, once it was fetched."""
    digest = hashlib.sha256(logged.encode()).hexdigest()[:32]
    return os.path.join(table, FETCHED, digest)
