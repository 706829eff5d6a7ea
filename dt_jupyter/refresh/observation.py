"""What a refresh finds when it looks: sources as they are now, versions, changes, and validity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dt_jupyter.ivm import Size
from dt_jupyter.lake import (
    ChangePlan,
    LakeError,
    TableGone,
    TableLog,
    Unreadable,
    is_delta,
    plan_changes,
    readable,
)
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Frontier,
    Reason,
    Source,
    SourceKind,
    Timestamp,
    ViewSource,
    error,
)
from dt_jupyter.sources import UNKNOWN, Logs, Sources, gone_is_named, resolve


@dataclass(frozen=True)
class Look:
    """The state of a dynamic table's world at a data timestamp.

    `sources` and `views` are as they are now; `plans` say how each source changed since the
    table's frontier (by id); `evolved` that a source's columns may be others; `invalid` why the
    stored rows may be wrong.
    """

    frontier: Frontier
    sources: tuple[Source, ...]
    views: tuple[ViewSource, ...]
    plans: Mapping[str, ChangePlan]
    evolved: bool
    invalid: Reason | None

    @property
    def names(self) -> dict[str, str]:
        return {s.table_id: str(s.name) for s in self.sources}


def look(
    sources: Sources, table: DynamicTable, t: Timestamp, *, classic: bool, forecast: bool = False
) -> Look:
    """Looks, without a Spark job; a `forecast` for EXPLAIN records nothing. Raises DT-2102,
    DT-2103, DT-4101."""
    now, invalid = _current(sources, table)
    views, changed_view = _views(sources, table)
    if table.needs_reinit is not None:
        invalid = table.needs_reinit
    elif changed_view is not None:
        invalid = changed_view
    if not forecast:
        sources.publications.await_end()
    frontier = resolve(sources.catalog, sources.logs, now, t, table.name, forecast=forecast)
    plans: dict[str, ChangePlan] = {}
    evolved = False
    for source in now:
        if source.kind is SourceKind.FOREIGN:
            plans[source.table_id] = Unreadable("FOREIGN_SOURCE", "it is not a Delta table")
            evolved = evolved or table.frontier is not None
        elif table.frontier is not None and source.table_id in table.frontier.versions:
            log = _log(sources, source)
            old, new = table.frontier.versions[source.table_id], frontier.versions[source.table_id]
            plans[source.table_id] = plan_source(log, old, new, source, classic=classic, now=t)
            evolved = evolved or _evolved(log, old, new)
    return Look(frontier, now, views, plans, evolved, invalid)


def rows_of(plan: ChangePlan) -> int | None:
    """The rows of a change, as the log tells them; None where it does not."""
    return None if isinstance(plan, Unreadable) else plan.rows


def source_sizes(logs: Logs, seen: Look) -> dict[str, Size]:
    """The rows of each source (by id) and of its change, as the logs tell them."""
    found: dict[str, Size] = {}
    for source in seen.sources:
        plan = seen.plans.get(source.table_id)
        changed = rows_of(plan) if plan is not None else None
        if source.kind is SourceKind.FOREIGN:
            found[source.table_id] = Size(None, changed)
        elif source.path is not None:
            found[source.table_id] = Size(logs[source.path].size().rows, changed)
    return found


def _log(sources: Sources, source: Source) -> TableLog:
    assert source.path is not None
    return sources.logs[source.path]


def plan_source(
    log: TableLog,
    old: int,
    new: int,
    source: Source,
    *,
    classic: bool,
    now: Timestamp | None = None,
) -> ChangePlan:
    """How the source's rows between the versions can be read; with `now` the files are looked for
    that a VACUUM up to then may have taken."""
    columns = source.columns or None
    try:
        found = plan_changes(log, old, new, columns, file_diff=classic)
        return found if now is None else readable(log, found, now)
    except LakeError as e:
        return Unreadable(e.code, str(e))


def _evolved(log: TableLog, old: int, new: int) -> bool:
    if old == new:
        return False
    try:
        return _columns(log, old) != _columns(log, new)
    except LakeError:
        return True


def _columns(log: TableLog, version: int) -> list[tuple[str, object]]:
    return [(f["name"], f["type"]) for f in log.metadata(version).fields]


def _current(sources: Sources, table: DynamicTable) -> tuple[tuple[Source, ...], Reason | None]:
    """The sources of a definition as they are now; a reason if one is another table."""
    now: list[Source] = []
    reason: Reason | None = None
    for source in table.definition.sources:
        found = _current_source(sources, table, source)
        if found.table_id != source.table_id:
            reason = Reason("SOURCE_REPLACED", f"{source.name} is a different table now")
        now.append(found)
    return tuple(now), reason


def _current_source(sources: Sources, table: DynamicTable, source: Source) -> Source:
    if source.name == UNKNOWN:
        return source
    if source.kind is SourceKind.DYNAMIC_TABLE:
        upstream = sources.catalog.by_id(source.table_id)
        if upstream is not None and upstream.dropped is None and upstream.name == source.name:
            return source
    if (
        source.kind is SourceKind.DELTA
        and source.path is not None
        and source.name.schema == "delta"
    ):
        with gone_is_named(source, table.name):
            return replace(source, table_id=sources.logs[source.path].table_id())
    try:
        found = sources.source(source.name, table.name)
    except DTError as e:
        raise error("DT-2102", source=source.name, name=table.name) from e
    except TableGone as e:
        raise error("DT-2102", source=source.name, name=table.name) from e
    if isinstance(found, ViewSource):
        raise error("DT-2102", source=f"{source.name} (now a view)", name=table.name)
    if _is_twin(sources, source, found):
        return source
    return replace(found, columns=source.columns)


def _is_twin(sources: Sources, source: Source, found: Source) -> bool:
    """Whether the session's table of that name is a copy, in another lake, of the one in this."""
    if source.path is None or found.path is None or found.table_id != source.table_id:
        return False
    holds = sources.catalog.root.holds
    return holds(source.path) and not holds(found.path) and is_delta(source.path)


def _views(sources: Sources, table: DynamicTable) -> tuple[tuple[ViewSource, ...], Reason | None]:
    views: list[ViewSource] = []
    reason: Reason | None = None
    for view in table.definition.views:
        try:
            found = sources.source(view.name, table.name)
        except DTError as e:
            raise error("DT-2102", source=view.name, name=table.name) from e
        if not isinstance(found, ViewSource):
            reason = Reason("VIEW_REPLACED", f"{view.name} is no longer a view")
        elif found.text != view.text:
            reason = Reason("VIEW_CHANGED", f"the view {view.name} was replaced")
        views.append(found if isinstance(found, ViewSource) else view)
    return tuple(views), reason
