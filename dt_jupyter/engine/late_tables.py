"""Why dynamic tables are late, as the session's role may see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.model import (
    DynamicTable,
    LateCause,
    Lateness,
    Reason,
    Remedy,
    RemedyKind,
    Right,
)
from dt_jupyter.schedule import (
    LakeStanding,
    StateReader,
    awake_since,
    held_lags,
    late_cause,
    obstacles_in,
    planned,
)
from dt_jupyter.sql import qualified_name

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

_HELD_BACK = "A table upstream of it holds it back."


def late_causes(context: Context) -> Mapping[str, LateCause]:
    """By id, of all dynamic tables that something holds back, or that are late."""
    lake = _standing(context)
    found = ((dt_id, late_cause(dt_id, lake)) for dt_id in lake.names)
    return {dt_id: _seen(context, cause) for dt_id, cause in found if cause is not None}


def why_late(context: Context, table: DynamicTable) -> Lateness:
    """The lag of a dynamic table, and why it is late."""
    lake, t = _standing(context), table.data_timestamp
    cause = late_cause(table.id, lake)
    seen = _seen(context, cause) if cause is not None else None
    lag = lake.now.since(t) if t is not None else None
    return Lateness(table.name, lag, lake.targets.get(table.id), seen)


def _standing(context: Context) -> LakeStanding:
    catalog, now = context.catalog, context.clock.now()
    tables = catalog.list()
    return LakeStanding(
        planned(StateReader(catalog).read(), {}).nodes,
        {table.id: table.name for table in tables},
        held_lags(tables),
        _failures(context),
        obstacles_in(catalog),
        context.scheduling.waiting() if not context.access.bound else {},
        awake_since(catalog.scheduler_runs(), now) is not None,
        context.scheduling.session_end(),
        now,
    )


def _failures(context: Context) -> dict[str, Reason]:
    """What the last completed refreshes met, without what the role may not see."""
    access = context.access
    found = {t.id: (t.name, t.failure) for t in context.catalog.table_standings()}
    return {
        dt_id: Reason(failure.code, access.hidden_error(failure.code, need))
        if access.bound and (need := access.hides_errors(name)) is not None
        else failure
        for dt_id, (name, failure) in found.items()
        if failure is not None
    }


def _seen(context: Context, cause: LateCause) -> LateCause:
    """With the remedies that the role may use; without the name of what it does not see."""
    if cause.root is not None and not context.access.monitors(cause.root):
        return LateCause(cause.code, _HELD_BACK)
    able = tuple(r for r in cause.remedies if _may(context, r))
    return replace(cause, remedies=able)


def _may(context: Context, remedy: Remedy) -> bool:
    access = context.access
    match remedy.kind:
        case _ if not access.bound:
            return True
        case RemedyKind.START_SCHEDULER:
            return False
        case RemedyKind.RESUME_WAREHOUSE:
            return access.may_warehouse(Right.OPERATE, remedy.name)
        case RemedyKind.SHOW | RemedyKind.EXPLAIN:
            return access.monitors(qualified_name(remedy.name))
        case _:
            return access.may(Right.OPERATE, qualified_name(remedy.name))


__all__ = ["late_causes", "why_late"]
