"""Commits that are dated ahead of the clock: another machine's clock is ahead, or this one's was
set back. Their rows are there, so they belong to the present: they count from the first data
timestamp, or reading, that was resolved while they were there, and from then on for everybody.
"""

from __future__ import annotations

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import TableLog
from dt_jupyter.model import Timestamp


def version_then(catalog: Catalog, table_id: str, log: TableLog, t: Timestamp) -> int | None:
    """The newest version at a past `t`: committed by then, or resolved by then; None where the
    table is younger."""
    found, newest = log.version_at(t), log.version()
    if found == newest:
        return found
    low, _ = catalog.resolved_around(table_id, t)
    known = [v for v in (found, low) if v is not None and v <= newest]
    return max(known, default=None)


def version_now(catalog: Catalog, table_id: str, log: TableLog, t: Timestamp) -> int | None:
    """As `version_then` for a `t` that is the present, or was when it was asked for: with what is
    dated ahead of the clock, up to what a later timestamp was resolved to."""
    newest = log.version()
    time = log.commit_time(newest)
    if time <= t or time <= catalog.clock.now():
        return version_then(catalog, table_id, log, t)
    _, high = catalog.resolved_around(table_id, t)
    return newest if high is None else max(high, log.version_at(t) or 0)
