"""Columns through the graph: from which columns of tables each column is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dt_jupyter.ivm import Refused, flows
from dt_jupyter.lake import LakeError, is_delta
from dt_jupyter.model import DynamicTable, Name, Source
from dt_jupyter.model.hidden import hidden, public_columns
from dt_jupyter.refresh import Refresher
from dt_jupyter.sources import name_of, pinned
from dt_jupyter.sql import Table, View, bind, column_sources


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
            known = (signature, self._found(table, columns))
            self._kept[table.id] = known
        return known[1]

    def _found(
        self, table: DynamicTable, columns: Mapping[Name, tuple[str, ...]]
    ) -> tuple[LineageEdge, ...] | None:
        definition = table.definition
        names = {s.table_id: s.name for s in definition.sources}
        found: Sequence[frozenset[tuple[str, str]]] | None
        try:
            found = self._bound(table, columns)
        except (Refused, KeyError):
            found = self._parsed(table, columns)
        if found is None or len(found) != len(definition.columns):
            return None
        return tuple(
            LineageEdge(names[source], column, table.name, target)
            for (target, _, _), flow in zip(definition.columns, found, strict=True)
            for source, column in sorted(flow)
        )

    def _bound(
        self, table: DynamicTable, columns: Mapping[Name, tuple[str, ...]]
    ) -> list[frozenset[tuple[str, str]]]:
        definition = table.definition
        sources = {s.name: s for s in definition.sources}
        views = {v.name: v.text for v in definition.views}

        def resolve(parts: tuple[str, ...]) -> Table | View:
            name = name_of(parts, definition.current_schema)
            if name in views:
                return View(views[name])
            return Table(sources[name].table_id, columns[name])

        rel = bind(definition.bound, resolve, self.refresher.definer.scalars)
        found = flows(rel)
        return [found[c] for c in rel.columns]

    def _parsed(
        self, table: DynamicTable, columns: Mapping[Name, tuple[str, ...]]
    ) -> tuple[frozenset[tuple[str, str]], ...] | None:
        """By names alone, where the algebra has no form of the definition."""
        definition = table.definition
        views = {v.name: v.text for v in definition.views}
        plain = {s.name: hidden(f"lineage_{i}") for i, s in enumerate(definition.sources)}
        ids = {plain[s.name]: s.table_id for s in definition.sources}

        def named(parts: tuple[str, ...]) -> Name:
            return name_of(parts, definition.current_schema)

        try:
            text = pinned(
                definition.bound, lambda p: plain.get(named(p)), lambda p: views.get(named(p))
            )
            found = column_sources(text, {plain[n]: c for n, c in columns.items()})
        except Refused:
            return None
        if found is None:
            return None
        return tuple(frozenset((ids[t], c) for t, c in flow) for flow in found)

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
