"""Files of a log named by where they are, for a log that is not in the table; and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from dt_jupyter.lake.delta_log.active_files import vector_file, vector_name
from dt_jupyter.lake.paths import is_uri

_UNQUOTED = "/!$&'()*+,;=:@~"


def uri(path: Path) -> str:
    """As Hadoop writes a local path, which Delta compares as text: with one slash."""
    return f"file:{_encode(str(path))}"


def absolute_name(path: str, table: str) -> str:
    """A file that a log names, as a URI; `table` is the table's own. Paths in a log are encoded."""
    if is_uri(path):
        return path
    if path.startswith("/"):  # of the storage that the table is on
        parts = urlsplit(table)
        authority = f"//{parts.netloc}" if parts.netloc else ""
        return f"{parts.scheme}:{authority}{path}"
    return f"{table}/{path}"


def absolute_vector(vector: Mapping[str, Any], table: str) -> dict[str, Any]:
    """The descriptor of a deletion vector by the path of its file; one that is in the log itself
    as it is."""
    kind = vector.get("storageType", "u")
    if kind == "i":
        return dict(vector)
    text = vector["pathOrInlineDv"] if kind == "p" else _encode(vector_file(vector))
    return {**vector, "storageType": "p", "pathOrInlineDv": absolute_name(text, table)}


def relative_name(path: str, table: str) -> str:
    """The other way round: a file of the table by its name there, any other as it is."""
    return path.removeprefix(f"{table}/")


def relative_vector(vector: Mapping[str, Any], table: str) -> dict[str, Any]:
    """The descriptor as it was where its file is one of the table's."""
    text = str(vector["pathOrInlineDv"])
    if vector.get("storageType", "u") != "p" or not text.startswith(f"{table}/"):
        return dict(vector)
    named = vector_name(unquote(relative_name(text, table)))
    return {**vector, "storageType": "u", "pathOrInlineDv": named}


def _encode(path: str) -> str:
    return quote(path, safe=_UNQUOTED)


__all__ = ["absolute_name", "absolute_vector", "relative_name", "relative_vector", "uri"]
