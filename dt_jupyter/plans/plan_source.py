"""A source of a query, as the reader of its plan knows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlanSource:
    """The id of a source, its columns in order, and a hidden boolean column that tells which rows
    are public (None: all). `casts` are the types that columns are read as, by name."""

    source: str
    columns: tuple[str, ...]
    visible: str | None = None
    casts: tuple[tuple[str, str], ...] = ()
