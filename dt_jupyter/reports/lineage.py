"""Columns through the graph: from which columns of tables each column is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from pyspark.errors import PySparkException

from dt_jupyter.definition import SparkAnswers, found_by, read_document_of
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import LakeError, is_delta
from dt_jupyter.model import DTError, DynamicTable, Name, RefreshMode, Source
from dt_jupyter.model.hidden import public_columns
from dt_jupyter.plans import column_flows
from dt_jupyter.refresh import Refresher


@dataclass(frozen=True, order=True)
class LineageEdge:
    """`target_column` of `target` is computed from `source_column` of `source`."""

    source: Name
    source_column: str
    target: Name
    target_column: str


@dataclass(frozen=True)
class Lineage:
    """Of the columns (name, type) of a table, through all that is up- and downstream of it; the
    edges of tables upstream come first. `unknown` are the dynamic tables whose definition is not
    understood."""

    name: Name
    columns: tuple[tuple[str, str], ...]
    edges: tuple[LineageEdge, ...]
    unknown: tuple[Name, ...] = ()


@dataclass
class Lineages:
    """Finds lineages, and keeps what it found of a definition."""

    refresher: Refresher
    _kept: dict[str, tuple[object, tuple[LineageEdge, ...] | None]] = field(default_factory=dict)

    def of(self, name: Name, columns: tuple[tuple[str, str], ...] = ()) -> Lineage:
        """Of a dynamic table, or of a table with these columns that dynamic tables read."""
        tables = {t.name: t for t in self.refresher.sources.catalog.list()}
        readers: dict[Name, list[Name]] = {}
        for table in tables.values():
            for source in table.definition.sources:
                readers.setdefault(source.name, []).append(table.name)
        above = _walk(
            name, lambda n: [s.name for s in tables[n].definition.sources] if n in tables else []
        )
        below = [n for n in _walk(name, lambda n: readers.get(n, [])) if n != name]
        edges: list[LineageEdge] = []
        unknown = []
        for each in [*reversed(above), *below]:
            if each not in tables:
                continue
            found = self._edges(tables[each], tables)
            edges += [e for e in found or () if e.source in above or e.source in below]
            unknown += [each] if found is None else []
        if name in tables:
            columns = tuple((n, t) for n, t, _ in tables[name].definition.columns)
        return Lineage(name, columns, tuple(dict.fromkeys(edges)), tuple(unknown))

    def _edges(
        self, table: DynamicTable, tables: Mapping[Name, DynamicTable]
    ) -> tuple[LineageEdge, ...] | None:
        """Those into one dynamic table; None where its definition is not understood."""
        definition = table.definition
        columns = {s.name: self._columns(s, tables) for s in definition.sources}
        signature = (definition, columns)
        known = self._kept.get(table.id)
        if known is None or known[0] != signature:
            known = (signature, self._found(table))
            self._kept[table.id] = known
        return known[1]

    def _found(self, table: DynamicTable) -> tuple[LineageEdge, ...] | None:
        definition = table.definition
        names = {s.table_id: s.name for s in definition.sources}
        try:
            document = self._document(table)
        except (Refused, DTError, LakeError, PySparkException):
            return None
        flows = column_flows(document)
        if flows is None or len(flows) != len(definition.columns):
            return None
        if any(source not in names for flow in flows for source, _ in flow):
            return None
        return tuple(
            LineageEdge(names[source], column, table.name, target)
            for (target, _, _), flow in zip(definition.columns, flows, strict=True)
            for source, column in sorted(flow)
        )

    def _document(self, table: DynamicTable) -> str:
        """That of the table's query over its sources as they are. It is stored only for a table
        that is FULL: the others have one of the session that they are refreshed in."""
        sources, reader = self.refresher.sources, self.refresher.definer.reader
        found = found_by(table.definition)
        schemas = reader.schemas(sources.spark, found, None)
        text = reader.text_of(table.definition, found)
        answers = SparkAnswers(partial(sources.catalog.stored_plan, table.id), any_session=True)
        document = read_document_of(sources.spark, text, schemas, answers)
        plan = answers.to_stored() if answers.problem else None
        if plan is not None and table.effective_mode is RefreshMode.FULL:
            sources.catalog.store_plan(table.id, plan)
        return document

    def _columns(self, source: Source, tables: Mapping[Name, DynamicTable]) -> tuple[str, ...]:
        """The public columns of a source as it is now."""
        table = tables.get(source.name)
        if table is not None:
            return tuple(n for n, _, _ in table.definition.columns)
        try:
            if source.path is not None and is_delta(source.path):
                names = self.refresher.sources.logs[source.path].metadata().columns
                return public_columns(names)
        except LakeError:
            pass
        return source.columns


def _walk(start: Name, following: Callable[[Name], Iterable[Name]]) -> list[Name]:
    """All that is reached from a name, itself first, each once, the near ones before the far."""
    found, queue = {start: None}, [start]
    for name in queue:
        for other in following(name):
            if other not in found:
                found[other] = None
                queue.append(other)
    return list(found)
