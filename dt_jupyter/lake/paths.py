"""Paths of tables: as the operating system, and as Spark SQL, read them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.model import quote

TablePath: TypeAlias = str | os.PathLike[str]


def local(path: TablePath) -> Path:
    """An absolute local path; a `file:` URI will do, any other scheme raises NotSupported."""
    text = os.fspath(path)
    parts = urlsplit(text)
    if "://" not in text and parts.scheme != "file":
        return Path(os.path.abspath(text))
    if parts.scheme == "file" and parts.netloc in ("", "localhost"):
        return Path(os.path.abspath(unquote(parts.path)))
    raise NotSupported(f"{text} is not on a local disk", path=text)


def sql_table(path: TablePath) -> str:
    """The table at `path`, as Spark SQL names it."""
    return f"delta.{quote(str(local(path)))}"


def sql_string(text: str) -> str:
    """A string literal of Spark SQL, whatever it contains."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def data_file(table: Path, logged: str) -> str:
    """The file that a log's action names: relative to the table, or a URI of its own (a clone)."""
    return str(local(logged)) if ":/" in logged else os.path.join(table, logged)
