"""A table as of a version, as Spark SQL reads it."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.lake.delta_log.metadata import PLAIN_FEATURES
from dt_jupyter.lake.delta_log.table_log import TableLog
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


READ_FEATURES = PLAIN_FEATURES | {
    *("typeWidening", "typeWidening-preview", "vacuumProtocolCheck"),
    *("variantType", "variantType-preview"),
}
"""Of a table with no others the files in force are those that its log adds and never removes."""


def scan_refusal(log: TableLog, version: int) -> str | None:
    """Why Delta itself has to find the files of a version; None: the log reader does."""
    unknown = sorted(log.protocol(version).features - READ_FEATURES)
    return f"the table has the feature {unknown[0]}" if unknown else None
