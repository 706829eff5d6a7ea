"""A source that lost a column which a definition uses: found behind the errors that come of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from pyspark.errors import PySparkException

from dt_jupyter.failures import as_error
from dt_jupyter.lake import LakeError, Metadata, TableLog, schema_change
from dt_jupyter.model import DTError, DynamicTable, Source, SourceKind, error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_Logs: TypeAlias = Callable[[str], TableLog]

_AFTER = frozenset({"DT-2105", "DT-1107", "DT-1102", "DT-1112", "DT-1103"})
"""What analysing a definition fails with when a name in it stands for nothing any more."""


def explained(e: DTError, table: DynamicTable, logs: _Logs) -> DTError:
    """DT-2116 in place of an error that a lost column is the reason of, else the error itself."""
    if e.code not in _AFTER:
        return e
    text = f"{e} {e.details or ''}"
    for source, then, now in _schemas(table, logs):
        column = next((c for c in _gone(source, then, now) if _names(text, c)), None)
        if column is not None:
            made = error(
                "DT-2116",
                column=column,
                source=source.name,
                name=table.name,
                hint=_hint(then, now, column),
            )
            return DTError(made.code, made.facts, e.query, e.span, e.details or str(e))
    return e


def find_lost_column(spark: SparkSession, table: DynamicTable, logs: _Logs) -> DTError | None:
    """DT-2116 where the query of a table means nothing any more, since a source lost a column
    since its frontier; analysed only where one lost any, in a session that is in its schema."""
    if not any(_gone(*found) for found in _schemas(table, logs)):
        return None
    try:
        spark.sql(table.definition.query).schema  # noqa: B018
    except PySparkException as e:
        found = explained(as_error(e, table.name), table, logs)
        return found if found.code == "DT-2116" else None
    return None


def _schemas(table: DynamicTable, logs: _Logs) -> Iterator[tuple[Source, Metadata, Metadata]]:
    """Each source with its schema at the frontier and its schema now. What is wrong with one that
    cannot be read is told by who reads it."""
    for source in table.definition.sources:
        then = table.frontier.versions.get(source.table_id) if table.frontier else None
        if source.path is None or source.kind is SourceKind.FOREIGN or then is None:
            continue
        with suppress(LakeError):
            log = logs(source.path)
            yield source, log.metadata(then), log.metadata()


def _gone(source: Source, then: Metadata, now: Metadata) -> list[str]:
    """The columns that the source had and has not; where it is known which are used, of those."""
    left = {c.lower() for c in now.columns}
    used = {c.lower() for c in source.columns}
    return [c for c in then.columns if c.lower() not in left and (not used or c.lower() in used)]


def _names(text: str, column: str) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(column)}(?![\w$])", text, re.IGNORECASE) is not None


def _hint(then: Metadata, now: Metadata, column: str) -> str:
    change = schema_change(then, now)
    renamed: Mapping[str, str] = dict(change.renamed) if change is not None else {}
    if column in renamed:
        return f"It was renamed to {renamed[column]}: change the query with CREATE OR ALTER."
    return "Add it again, or change the query with CREATE OR ALTER."
