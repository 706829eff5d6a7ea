"""Backing tables whose logs are broken: noticed when a lake is opened and before each refresh,
recreated by the next one."""

from __future__ import annotations

import uuid
from pathlib import Path

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import LogBroken, TableGone, cut, require_whole
from dt_jupyter.model import DynamicTable, Reason
from dt_jupyter.sources.folders import Layout
from dt_jupyter.sources.source_names import Logs

BROKEN, _LOST, STATE_BROKEN = "LOG_BROKEN", "LOG_LOST", "STATE_LOG_BROKEN"
_UNREADABLE = frozenset((BROKEN, _LOST))


def is_unreadable(table: DynamicTable) -> bool:
    """Whether its rows cannot be read before they are computed again."""
    return table.needs_reinit is not None and table.needs_reinit.code in _UNREADABLE


def is_to_mend(table: DynamicTable) -> bool:
    """Whether its own log, or that of its hidden state, is broken."""
    broken = table.needs_reinit is not None and table.needs_reinit.code == STATE_BROKEN
    return broken or is_unreadable(table)


def noticed(
    catalog: Catalog, logs: Logs, layout: Layout, table: DynamicTable, *, whole: bool = False
) -> DynamicTable:
    """The table, with the reason why it is computed again where its own log is broken; of what
    is gone recovery says so. `whole` reads the commits since the last checkpoint; without it, only
    what a refresh reads anyway."""
    if table.sequence == 0 or is_to_mend(table):
        return table
    paths = [(layout.public(table.id), BROKEN)]
    paths += [(layout.stage(table.id, s.ordinal), STATE_BROKEN) for s in catalog.stages(table.id)]
    for path, code in paths:
        problem = _problem(logs, path, whole=whole)
        if problem is not None:
            return catalog.update(table.id, needs_reinit=Reason(code, problem))
    return table


def _problem(logs: Logs, path: Path, *, whole: bool) -> str | None:
    log = logs[str(path)]
    try:
        if whole:
            require_whole(log)
        else:
            log.version()
            log.metadata()
    except LogBroken as e:
        return e.sentence
    except TableGone:
        return None
    return None


def mend(catalog: Catalog, layout: Layout, table: DynamicTable) -> None:
    """The logs of a table that is to be computed again, as far as they can be read; to be called
    by who holds its lease. What was remembered of its stages' versions counts no more."""
    paths = [layout.public(table.id)]
    paths += [layout.stage(table.id, s.ordinal) for s in catalog.stages(table.id)]
    for path in paths:
        cut(path, layout.broken / f"{table.id}.{path.name}.{uuid.uuid4().hex[:8]}")


__all__ = ["is_to_mend", "is_unreadable", "mend", "noticed"]
