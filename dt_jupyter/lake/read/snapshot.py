"""A table as of a version, as Spark SQL reads it."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.lake.paths import TablePath, sql_table
from dt_jupyter.model import quote


def snapshot_sql(path: TablePath, version: int, columns: Sequence[str] | None = None) -> str:
    """``delta.`path` VERSION AS OF n``; with `columns`, a parenthesised SELECT of them."""
    if version < 0:
        raise ValueError("a version is not negative")
    source = f"{sql_table(path)} VERSION AS OF {version}"
    if columns is None:
        return source
    return f"(SELECT {', '.join(map(quote, columns))} FROM {source})"
