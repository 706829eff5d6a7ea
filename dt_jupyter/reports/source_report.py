"""A table, view or stream that is not a dynamic table: its columns, size, versions and readers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from dt_jupyter.caches import text_cache
from dt_jupyter.lake import LakeError, TableLog, is_delta, spark_schema
from dt_jupyter.model import Name, Timestamp, error
from dt_jupyter.refresh import Refresher
from dt_jupyter.reports.report_values import GraphReport, NodeName, StageName

NEWEST_VERSIONS = 20
_Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SourceCommit:
    """A commit of a table: when it was, and what its writer calls it."""

    version: int
    time: Timestamp
    operation: str


@dataclass(frozen=True)
class SourceReport:
    """`kind` is table, view or stream; `columns` are (name, type), of a view none; `rows` and
    `versions` (newest first, 20 at most) are of a Delta table, `files` of one that is files.
    `readers` are the nodes that read it; `text` is what makes a view."""

    name: Name
    kind: str
    columns: _Columns = ()
    rows: int | None = None
    files: str | None = None
    place: str | None = None
    versions: tuple[SourceCommit, ...] = ()
    readers: tuple[NodeName, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class SourceReports:
    """Reads what the catalog and the logs know: no Spark job, and no analysis."""

    refresher: Refresher

    def one(self, name: Name, graph: GraphReport) -> SourceReport:
        """DT-1101 for a name that nothing has, or a dynamic table."""
        catalog = self.refresher.sources.catalog
        readers = _readers(name, graph)
        for view in catalog.views():
            if view.name == name:
                return SourceReport(name, "view", readers=readers, text=view.text)
        if any(stream.name == name for stream in catalog.streams()):
            return SourceReport(name, "stream", readers=readers)
        path = self._path(name) if catalog.get(name) is None else None
        if path is None:
            raise error("DT-1101", name=name, hint="It is not a table, view or stream of the lake.")
        return self._table(name, path, readers)

    def columns(self, path: str) -> _Columns:
        """Of a Delta table, as its log has them; none where that cannot be read."""
        try:
            if not is_delta(path):
                return ()
            return _columns(self.refresher.sources.logs[path].metadata().schema_string)
        except LakeError:
            return ()

    def _path(self, name: Name) -> str | None:
        """Of a table that the lake knows by name, or that a definition reads."""
        catalog = self.refresher.sources.catalog
        known = next((t.path for t in catalog.tables() if t.name == name), None)
        read = (s for table in catalog.list() for s in table.definition.sources)
        return known or next((s.path for s in read if s.name == name), None)

    def _table(self, name: Name, path: str, readers: tuple[NodeName, ...]) -> SourceReport:
        sources = self.refresher.sources
        found = SourceReport(
            name, "table", self.columns(path), place=sources.copies.place_of(path), readers=readers
        )
        try:
            files = sources.describe_source(path)
            log = sources.logs[path] if is_delta(path) else None
            rows = log.size().rows if log is not None else None
            versions = _versions(log) if log is not None else ()
        except LakeError:
            return found
        return SourceReport(
            name, "table", found.columns, rows, files, found.place, versions, readers
        )


@text_cache("shown columns", 4)
def _columns(schema_string: str) -> _Columns:
    fields = spark_schema(json.loads(schema_string)["fields"]).fields
    return tuple((field.name, field.dataType.simpleString()) for field in fields)


def _versions(log: TableLog) -> tuple[SourceCommit, ...]:
    newest = log.version()
    oldest = max(log.oldest(), newest - NEWEST_VERSIONS + 1)
    return tuple(
        SourceCommit(v, log.commit_time(v), log.operation(v)) for v in range(newest, oldest - 1, -1)
    )


def _readers(name: Name, graph: GraphReport) -> tuple[NodeName, ...]:
    """Below it in the graph; a hidden stage reads for its table."""
    below = (target for source, target in graph.edges if source == name)
    return tuple(dict.fromkeys(n.of if isinstance(n, StageName) else n for n in below))
