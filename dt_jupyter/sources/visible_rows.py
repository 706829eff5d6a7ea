"""The rows of a table that people see."""

from __future__ import annotations

from collections.abc import Iterable

from dt_jupyter.model import HIDDEN, quote
from dt_jupyter.sql import VISIBLE


def public_rows(relation: str, columns: Iterable[str]) -> str:
    """What people see of a relation with these columns: without the hidden ones of a dynamic
    table, and the rows that it keeps out of sight."""
    known = tuple(columns)
    public = ", ".join(quote(c) for c in known if not c.startswith(HIDDEN))
    visible = f" WHERE {VISIBLE}" if VISIBLE in known else ""
    return f"(SELECT {public} FROM {relation}{visible})"
