"""What a definition reads, by the present meaning of its names: tables, views and dynamic tables
may have been dropped, replaced, renamed or swapped since it was made (DT paper, 4 and 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dt_jupyter.lake import TableGone, is_delta
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Name,
    Reason,
    Source,
    SourceKind,
    ViewSource,
    error,
)
from dt_jupyter.sources.frontiers import gone_is_named
from dt_jupyter.sources.source_names import UNKNOWN, Sources
from dt_jupyter.spark import FILE_FORMATS


@dataclass(frozen=True)
class NamesNow:
    """`replaced`: why the stored rows may be of other tables; `reworded`: that a view has another
    text over the same tables, which may mean the same."""

    sources: tuple[Source, ...]
    views: tuple[ViewSource, ...]
    replaced: Reason | None = None
    reworded: Reason | None = None


def follow_names(sources: Sources, table: DynamicTable) -> NamesNow:
    """The sources and views of a definition as they are now. Raises DT-2102 for a name that is
    nothing any more, DT-2117 for one that no dynamic table reads, DT-1106 for a circle."""
    sources, old = sources.lasting, table.definition
    names = {*(view.name for view in old.views), *(source.name for source in old.sources)}
    tables = sources.catalog.get_all(names)
    reason: Reason | None = None
    for view in old.views:
        reason = _view_moved(_find(sources, table, view.name, tables), view) or reason
    if reason is not None:
        return _find_anew(sources, table, reason)
    now: list[Source] = []
    for source in old.sources:
        found = _source_now(sources, table, source, tables)
        if isinstance(found, ViewSource):
            sentence = f"{source.name} is a view now"
            return _find_anew(sources, table, Reason("SOURCE_REPLACED", sentence))
        if found.table_id != source.table_id:
            reason = Reason("SOURCE_REPLACED", f"{source.name} is a different table now")
        now.append(found)
    return NamesNow(tuple(now), old.views, reason)


def upstream_now(sources: Sources, table: DynamicTable) -> tuple[DynamicTable, ...]:
    """The dynamic tables that a definition reads, through its views as they are now."""
    definition = table.definition
    if not definition.views:
        return sources.upstream(definition)
    try:
        found = follow_names(sources, table).sources
    except DTError:  # the refresh meets it too, and is where it is recorded
        return sources.upstream(definition)
    return sources.upstream(replace(definition, sources=found))


def _view_moved(found: Source | ViewSource, view: ViewSource) -> Reason | None:
    if not isinstance(found, ViewSource):
        return Reason("VIEW_REPLACED", f"{view.name} is no longer a view")
    if found.text != view.text:
        return Reason("VIEW_CHANGED", f"the view {view.name} was replaced")
    return None


def _find_anew(sources: Sources, table: DynamicTable, reason: Reason) -> NamesNow:
    """Where a view came, went or was replaced, other names may be read than before."""
    old = table.definition
    try:
        found = sources.of_query(old.query, old.current_schema, table.name)
        found = sources.with_lists(found)
    except DTError as e:
        raise _cannot_go_on(e, table) from e
    if path := sources.cycle(table.name, found):
        raise error("DT-1106", name=table.name, path=path)
    unknown = tuple(s for s in old.sources if s.name == UNKNOWN)
    tables, views = (*found.sources.values(), *unknown), tuple(found.views.values())
    columns = {s.table_id: s.columns for s in old.sources}
    if columns.keys() != {s.table_id for s in tables}:
        return NamesNow(tables, views, reason)
    kept = tuple(replace(s, columns=columns[s.table_id]) for s in tables)
    if reason.code == "VIEW_CHANGED":
        return NamesNow(kept, views, reworded=reason)
    return NamesNow(kept, views, reason)


def _find(
    sources: Sources, table: DynamicTable, name: Name, tables: Mapping[Name, DynamicTable]
) -> Source | ViewSource:
    try:
        return sources.source(name, table.name, tables=tables)
    except DTError as e:
        raise _cannot_go_on(e, table, name) from e
    except TableGone as e:
        raise error("DT-2102", source=name, name=table.name) from e


def _cannot_go_on(e: DTError, table: DynamicTable, name: Name | None = None) -> DTError:
    if e.code == "DT-1106":
        return e
    if e.code == "DT-1123":
        return error("DT-2117", source=e.facts["stream"], name=table.name, kind="stream")
    told = name or e.facts.get("name", table.name)
    return error("DT-2102", source=told, name=table.name)


def _source_now(
    sources: Sources, table: DynamicTable, source: Source, tables: Mapping[Name, DynamicTable]
) -> Source | ViewSource:
    if source.name == UNKNOWN:
        return source
    if source.kind is SourceKind.DYNAMIC_TABLE:
        upstream = tables.get(source.name)
        if upstream is not None and upstream.id == source.table_id:
            return source
    if (
        source.kind is SourceKind.DELTA
        and source.path is not None
        and (source.name.schema == "delta" or _is_path_of_files(sources, source))
    ):
        with gone_is_named(source, table.name):
            return replace(source, table_id=sources.logs[source.path].table_id())
    found = _find(sources, table, source.name, tables)
    if isinstance(found, ViewSource):
        return found
    found = sources.record_files(found)
    if _is_twin(sources, source, found):
        return source
    return replace(found, columns=source.columns)


def _is_path_of_files(sources: Sources, source: Source) -> bool:
    """Its columns stay those that were inferred once, whatever files have come since."""
    return source.name.schema in FILE_FORMATS and sources.file_source(source) is not None


def _is_twin(sources: Sources, source: Source, found: Source) -> bool:
    """Whether the session's table of that name is a copy, in another lake, of the one in this."""
    if source.path is None or found.path in (None, source.path):
        return False
    if found.table_id != source.table_id:
        return False
    holds = sources.catalog.root.holds
    return holds(source.path) and not holds(found.path) and is_delta(source.path)
