"""What a refresh finds when it looks: sources as they are now, versions, changes, and validity."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dt_jupyter.functions import functions_now, why_replaced
from dt_jupyter.ivm import Size
from dt_jupyter.lake import (
    ChangePlan,
    KeptColumns,
    LakeError,
    StorageFailed,
    TableLog,
    Unreadable,
    count_shown_rows,
    plan_changes,
    readable,
)
from dt_jupyter.model import (
    DynamicTable,
    Frontier,
    FunctionUse,
    Reason,
    RefreshMode,
    Source,
    SourceKind,
    Timestamp,
    ViewSource,
)
from dt_jupyter.sources import (
    Logs,
    Session,
    Sources,
    follow_lists,
    follow_names,
    note_early,
    resolve,
)


@dataclass(frozen=True)
class Look:
    """The state of a dynamic table's world at a data timestamp.

    `sources`, `views` and `functions` are as they are now; `plans` say how each source changed
    since the table's frontier (by id); `evolved` that the columns of a source may have changed, or,
    as `reworded` says, the text of a view; `invalid` why the stored rows may be wrong. `resolved`:
    the base tables whose versions at that time are not on record, which the refresh is to record.
    """

    frontier: Frontier
    sources: tuple[Source, ...]
    views: tuple[ViewSource, ...]
    functions: tuple[FunctionUse, ...]
    plans: Mapping[str, ChangePlan]
    evolved: bool
    invalid: Reason | None
    reworded: Reason | None = None
    resolved: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        return {s.table_id: str(s.name) for s in self.sources}


def look(
    sources: Sources,
    table: DynamicTable,
    t: Timestamp,
    *,
    classic: bool,
    session: Session | None = None,
    forecast: bool = False,
) -> Look:
    """Looks, without a Spark job, but that new files are read whose format is not Delta's: in a
    `session`; without one they make the source unreadable. A `forecast` for EXPLAIN records no
    version. Raises DT-2102, DT-2103, DT-2117, DT-1106, DT-4101, DT-1145 to DT-1147."""
    found = follow_names(sources, table)
    functions = functions_now(sources.catalog, table.definition.functions)
    now, invalid = found.sources, table.needs_reinit or found.replaced
    invalid = invalid or why_replaced(table.definition.functions, functions)
    if not forecast:
        sources.publications.await_end()
    waiting = follow_lists(sources, now, t, table.name, session)
    frontier, unrecorded = resolve(
        sources.catalog, sources.logs, now, t, table.name, forecast=forecast
    )
    if not forecast:
        note_early(sources.catalog, sources.logs, now, frontier, table.name, table.id)
    plans: dict[str, ChangePlan] = {}
    evolved = found.reworded is not None
    for source in now:
        if source.kind is SourceKind.FOREIGN:
            plans[source.table_id] = Unreadable("FOREIGN_SOURCE", "it has no versions")
            evolved = evolved or table.frontier is not None
        elif source.table_id in waiting:
            plans[source.table_id] = Unreadable("FILES_WAIT", "new files are not read yet")
        elif table.frontier is not None and source.table_id in table.frontier.versions:
            log = _log(sources, source)
            old, new = table.frontier.versions[source.table_id], frontier.versions[source.table_id]
            used = None if table.effective_mode is RefreshMode.FULL else source.columns
            plans[source.table_id] = plan_source(log, old, new, used, classic=classic, now=t)
            evolved = evolved or _evolved(log, old, new)
    at = (frontier, now, found.views, functions, plans, evolved, invalid, found.reworded)
    return Look(*at, resolved=unrecorded)


def rows_of(plan: ChangePlan) -> int | None:
    """The rows of a change, from the log; None where it does not have them."""
    return None if isinstance(plan, Unreadable) else plan.rows


def source_sizes(logs: Logs, seen: Look, columns: KeptColumns | None = None) -> dict[str, Size]:
    """The rows of each source (by id) and of its change, from the logs; with `columns`,
    those that it shows, which may take reading one of its columns."""
    found: dict[str, Size] = {}
    for source in seen.sources:
        plan = seen.plans.get(source.table_id)
        changed = rows_of(plan) if plan is not None else None
        if source.kind is SourceKind.FOREIGN:
            found[source.table_id] = Size(None, changed)
        elif source.path is not None:
            log = logs[source.path]
            rows = log.size().rows if columns is None else count_shown_rows(log, columns)
            found[source.table_id] = Size(rows, changed)
    return found


def _log(sources: Sources, source: Source) -> TableLog:
    assert source.path is not None
    return sources.logs[source.path]


def plan_source(
    log: TableLog,
    old: int,
    new: int,
    columns: Collection[str] | None,
    *,
    classic: bool,
    now: Timestamp | None = None,
) -> ChangePlan:
    """How a source's rows between the versions can be read; `columns` are the used ones (None: all
    of them); with `now` the files are looked for that a VACUUM up to then may have taken."""
    try:
        found = plan_changes(log, old, new, columns, file_diff=classic)
        return found if now is None else readable(log, found, now)
    except StorageFailed:  # it is there, and may be read the next time
        raise
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
