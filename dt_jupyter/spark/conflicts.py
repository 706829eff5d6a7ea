"""Two writers of one Delta table: what the loser raises, as an error of the catalogue.

Delta raises them typed where its Python package knows the session, as any of Spark's where it
was not, and as the JVM's own where a call went past both; delta-rs has its own error.
Source: Delta's `io.delta.exceptions`, and the error classes of its concurrency control.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dt_jupyter.model import DTError, error

_KINDS = {
    "CONCURRENT_APPEND": "rows were added that it should have read",
    "CONCURRENT_DELETE_READ": "rows that it had read were deleted",
    "CONCURRENT_DELETE_DELETE": "both deleted or changed the same rows",
    "CONCURRENT_TRANSACTION": "both wrote as the same application",
    "CONCURRENT_WRITE": "both wrote the same version",
    "METADATA_CHANGED": "the schema or the properties were changed",
    "PROTOCOL_CHANGED": "the table's features were changed",
}
"""Delta's error classes, without what comes before and after, and what they mean."""

_CODE = re.compile(r"\bDELTA_(" + "|".join(_KINDS) + r")\b")
_CLASS = re.compile(r"io\.delta\.exceptions\.(\w+?)(?:Exception)?\b")
_VERSION = re.compile(r"committed at version (\d+)")
_TABLE = re.compile(r"\b(?:to|from|in|of) table (?:delta\.)?(`[^`]+`|[\w.]+)")
_RUST = "CommitFailedError"
_NAMES = {kind.replace("_", "").lower(): kind for kind in _KINDS}


@dataclass(frozen=True, slots=True)
class WriteConflict:
    """Why a write lost; `table` and `version` are of the one that won (None: unknown)."""

    kind: str
    table: str | None
    version: int | None

    @property
    def sentence(self) -> str:
        """What happened, without a full stop."""
        at = f" in version {self.version}" if self.version is not None else ""
        return f"{_KINDS[self.kind]}{at}"


def find_conflict(e: BaseException | None) -> WriteConflict | None:
    """The conflict that an exception, or one of its causes, describes; None: it is another."""
    seen: set[int] = set()
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        text = f"{e}"
        kind = _kind(type(e).__name__, text)
        if kind is not None:
            table, version = _TABLE.search(text), _VERSION.search(text)
            name = table[1].strip("`") if table else None
            return WriteConflict(kind, name, int(version[1]) if version else None)
        e = e.__cause__
    return None


def conflict_error(e: BaseException, statement: str) -> DTError | None:
    """DT-1121 for a statement that lost against another writer; None for any other exception."""
    found = find_conflict(e)
    if found is None:
        return None
    made = error(
        "DT-1121", statement=statement, table=found.table or "its table", problem=found.sentence
    )
    return DTError(made.code, made.facts, details=str(e))


def _kind(name: str, text: str) -> str | None:
    if found := _CODE.search(text):
        return found[1]
    for word in (name.removesuffix("Exception"), *_CLASS.findall(text)):
        if known := _NAMES.get(word.lower()):
            return known
    concurrent = any("DeltaConcurrentModificationException" in x for x in (name, text))
    rust = name == _RUST and "version" in text.lower() and "exist" in text.lower()
    return "CONCURRENT_WRITE" if concurrent or rust else None
