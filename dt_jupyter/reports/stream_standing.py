"""The present state of streams: their offsets, what waits for them, whether they can still be
read."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.lake import LakeError, VersionGone, is_delta, may_change
from dt_jupyter.model import Name, Source, Stream, Timestamp
from dt_jupyter.streams import Streams, app_id


@dataclass(frozen=True)
class StreamReport:
    """`bases` are the tables that a stream reads in the end, `waiting` counts their commits since
    it was consumed (None: unknown), `reason` says why it is stale. `consumers` are the tables of
    the lake that single statements consumed it into, and the sink that delivers it."""

    stream: Stream
    bases: tuple[Name, ...]
    waiting: int | None
    has_data: bool | None
    stale_after: Timestamp
    reason: str | None
    consumers: tuple[Name, ...]


def stream_report(streams: Streams, stream: Stream) -> StreamReport:
    """From the catalog and the logs, and for its view from the session's catalog; no Spark job."""
    after = stream.kept_until
    consumers = _consumers(streams, stream)
    bases, reason = streams.standing(stream)
    if not bases:
        return StreamReport(stream, (), None, None, after, reason, consumers)
    waiting = [_waiting(streams, stream, b) for b in bases]
    known = None if None in waiting else sum(n or 0 for n in waiting)
    changed = None if known is None else stream.initial or known > 0
    names = tuple(b.name for b in bases)
    return StreamReport(stream, names, known, changed, after, reason, consumers)


def _waiting(streams: Streams, stream: Stream, base: Source) -> int | None:
    """The commits of a table that may hold changes for the stream."""
    old = stream.frontier.get(base.table_id)
    if old is None or base.path is None:
        return None
    log = streams.changes.sources.logs[base.path]
    try:
        new = log.version()
        if not may_change(log, old, new, evolving=True):
            return 0
        return sum(c.data_change for c in log.commits(old, new))
    except (VersionGone, LakeError):
        return None


def _consumers(streams: Streams, stream: Stream) -> tuple[Name, ...]:
    """By the marks that consumptions leave in the logs of the tables that are known by name."""
    mark = app_id([stream.id])
    found = []
    for table in streams.catalog.tables():
        try:
            if is_delta(table.path) and (
                streams.changes.sources.logs[table.path].last_transaction(mark) is not None
            ):
                found.append(table.name)
        except LakeError:
            continue
    found += [s.name for s in streams.catalog.sinks() if s.from_stream and s.source == stream.name]
    return tuple(found)
