"""Commits that are dated ahead of the clock: another machine's clock is ahead, or this one's was
set back. Their rows are there, so they belong to the present: they count from the first data
timestamp, or reading, that was resolved while they were there, and from then on for all.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import LakeError, TableLog
from dt_jupyter.model import (
    EventKind,
    Frontier,
    Name,
    Reason,
    Severity,
    Source,
    SourceKind,
    Timestamp,
    standing_event,
)

if TYPE_CHECKING:
    from dt_jupyter.sources.source_names import Logs

EARLY = "EARLY_COMMIT"
"""The state of an event about such a commit, and the code of its reason."""


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
    """As `version_then` for a `t` that is the present, or was when it was requested: with what is
    dated ahead of the clock, up to what a later timestamp was resolved to."""
    newest = log.version()
    time = log.commit_time(newest)
    if time <= t or time <= catalog.clock.now():
        return version_then(catalog, table_id, log, t)
    _, high = catalog.resolved_around(table_id, t)
    return newest if high is None else max(high, log.version_at(t) or 0)


def describe_early(log: TableLog, version: int, name: Name, now: Timestamp) -> str | None:
    """That the commit of a version is dated ahead of the clock, as a sentence without its end; None
    where it is not."""
    ahead = log.commit_time(version).since(now)
    if ahead <= 0:
        return None
    told = f"{ahead / 60:,.0f} min" if ahead >= 60 else f"{ahead:,.1f} s"
    return f"Commit {version} of {name} is dated {told} ahead of this machine's clock"


def note_early(
    catalog: Catalog, logs: Logs, read: Iterable[Source], found: Frontier, of: Name, object_id: str
) -> None:
    """Reports once, as an event of the dynamic table that first reads it, of each commit dated
    ahead of the clock that its sources are read at."""
    now = catalog.clock.now()
    for source in read:
        if source.kind is not SourceKind.DELTA or source.path is None:
            continue
        version = found.versions[source.table_id]
        told = describe_early(logs[source.path], version, source.name, now)
        facts = {"source": str(source.name), "version": version}
        if told is None or any(e.attributes == facts for e in catalog.lake_events(of)):
            continue
        reason = Reason(EARLY, f"{told}: its rows count as of {found.data_timestamp}.")
        event = standing_event(EventKind.DYNAMIC_TABLE, of, object_id, EARLY, reason, now)
        catalog.note(replace(event, severity=Severity.WARN, attributes=facts))


def find_early_commits(catalog: Catalog, logs: Logs, read: Iterable[Source]) -> list[str]:
    """The newest commits that are dated ahead of the clock, as sentences; a table that cannot be
    read is a separate problem."""
    paths = {s.path: s.name for s in read if s.kind is SourceKind.DELTA and s.path is not None}
    now, found = catalog.clock.now(), []
    for path, name in paths.items():
        with suppress(LakeError):
            told = describe_early(logs[path], logs[path].version(), name, now)
            if told is not None:
                found.append(f"{told}: its rows count from the first refresh that finds it.")
    return found
