"""A source that lost a column which a definition uses: found behind the errors that it causes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.errors import PySparkException

from dt_jupyter.failures import as_error
from dt_jupyter.lake import LakeError, Metadata, schema_change
from dt_jupyter.model import DTError, DynamicTable, Name, Source, SourceKind, ViewSource, error
from dt_jupyter.sources import UNKNOWN, Sources

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AFTER = frozenset({"DT-2105", "DT-1107", "DT-1102", "DT-1112", "DT-1103"})
"""What analysing a definition fails with when a name in it does not resolve any more."""


_Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class _Lost:
    """A column, or a field of a struct by its path, that is not in a source any more."""

    path: _Path
    source: Name
    renamed: str | None = None

    def error(self, table: DynamicTable) -> DTError:
        hint = "Add it again, or change the query with CREATE OR ALTER."
        if self.renamed is not None:
            hint = f"It was renamed to {self.renamed}: change the query with CREATE OR ALTER."
        return error(
            "DT-2116", column=".".join(self.path), source=self.source, name=table.name, hint=hint
        )


def explained(e: DTError, table: DynamicTable, sources: Sources) -> DTError:
    """DT-2116 in place of an error that a lost column is the reason of, else the error itself."""
    if e.code not in _AFTER:
        return e
    text = f"{e} {e.details or ''}"
    lost = next((x for x in _lost(table, sources) if _names(text, x.path)), None)
    lost = lost or _lost_by_view(e, table, sources)
    if lost is None:
        return e
    made = lost.error(table)
    return DTError(made.code, made.facts, e.query, e.span, e.details or str(e))


def find_lost_column(spark: SparkSession, table: DynamicTable, sources: Sources) -> DTError | None:
    """DT-2116 where the query of a table means nothing any more, since a source lost a column
    since its frontier; analysed only where one lost any, in a session that is in its schema."""
    if next(_lost(table, sources), None) is None:
        return None
    try:
        spark.sql(table.definition.query).schema  # noqa: B018
    except PySparkException as e:
        found = explained(as_error(e, table.name), table, sources)
        return found if found.code == "DT-2116" else None
    return None


def _lost(table: DynamicTable, sources: Sources) -> Iterator[_Lost]:
    """What the sources had at the frontier and have not now; where it is known which columns are
    used, of those. What is wrong with one that cannot be read is reported by its reader."""
    for source in table.definition.sources:
        if source.kind is SourceKind.FOREIGN:
            continue
        with suppress(LakeError, DTError):
            now = _now(source, table, sources)
            if now is not None:
                yield from _gone(source, _then(source, table, sources), now)


def _now(source: Source, table: DynamicTable, sources: Sources) -> Metadata | None:
    """The columns of what has the name of a source."""
    found: Source | ViewSource = source
    if source.name != UNKNOWN and source.name.schema != "delta":
        found = sources.lasting.source(source.name, table.name)
    if isinstance(found, ViewSource) or found.path is None or found.kind is SourceKind.FOREIGN:
        return None
    return sources.logs[found.path].metadata()


def _then(source: Source, table: DynamicTable, sources: Sources) -> Metadata | None:
    """The columns of a source at the frontier; None where its log is another table's."""
    version = table.frontier.versions.get(source.table_id) if table.frontier else None
    if source.path is None or version is None:
        return None
    log = sources.logs[source.path]
    with suppress(LakeError):
        if source.kind is SourceKind.DYNAMIC_TABLE or log.table_id() == source.table_id:
            return log.metadata(version)
    return None


def _gone(source: Source, then: Metadata | None, now: Metadata) -> Iterator[_Lost]:
    left = {_folded(path) for path in _paths(now)}
    used = {c.lower() for c in source.columns}
    renamed = _renamed(then, now)
    for path in ((c,) for c in source.columns) if then is None else _paths(then):
        if _folded(path) not in left and (not used or path[0].lower() in used):
            yield _Lost(path, source.name, renamed.get(path[0]) if len(path) == 1 else None)


def _folded(path: _Path) -> _Path:
    return tuple(part.lower() for part in path)


def _paths(metadata: Metadata) -> Iterator[_Path]:
    """The columns, and the fields of those that are structs."""
    for field in metadata.fields:
        yield from _fields(field, ())


def _fields(field: Mapping[str, Any], above: _Path) -> Iterator[_Path]:
    path = (*above, field["name"])
    yield path
    kind = field["type"]
    while isinstance(kind, dict) and kind["type"] == "array":
        kind = kind["elementType"]
    if isinstance(kind, dict) and kind["type"] == "struct":
        for inner in kind["fields"]:
            yield from _fields(inner, path)


def _renamed(then: Metadata | None, now: Metadata) -> Mapping[str, str]:
    change = schema_change(then, now) if then is not None else None
    return dict(change.renamed) if change is not None else {}


def _names(text: str, path: _Path) -> bool:
    return re.search(rf"(?<![\w$]){re.escape(path[-1])}(?![\w$])", text, re.I) is not None


def _lost_by_view(e: DTError, table: DynamicTable, sources: Sources) -> _Lost | None:
    """A query that was understood, and names a column that is gone since a view was replaced:
    the view had it."""
    column = _unresolved(e)
    if column is None:
        return None
    for view in table.definition.views:
        with suppress(LakeError, DTError):
            found = sources.lasting.source(view.name, table.name)
            if found != view:
                return _Lost((column,), view.name)
    return None


_UNRESOLVED = re.compile(r"with name (?:`[^`]+`\.)*`([^`]+)` cannot be resolved")


def _unresolved(e: DTError) -> str | None:
    """The column that the query names in vain, as the catalogue or Spark has it."""
    if e.code == "DT-1102":
        return str(e.facts["name"]).rpartition(".")[2]
    found = _UNRESOLVED.search(f"{e} {e.details or ''}")
    return found[1] if found else None
