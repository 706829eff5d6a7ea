"""Where a walk stops: the versions, data timestamps or fixed steps of an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dt_jupyter.lake import TableLog
from dt_jupyter.model import Source, SourceKind, Timestamp, count_of, error
from dt_jupyter.replay.snapshots import Snapshots
from dt_jupyter.sources import Moment, Resolver

MOST_STOPS = 100_000


@dataclass(frozen=True)
class Stop:
    """A snapshot of a walk: the version of each table, by id, and the time that they are of."""

    time: Timestamp
    versions: dict[str, int]


def stops_between(
    snapshots: Snapshots,
    bases: Sequence[Source],
    start: Stop,
    end: Stop,
    every: float | None = None,
) -> tuple[Stop, ...]:
    """The stops from `start` to `end`, both included.

    With `every`, times at that distance in seconds. Else of a table alone each version, of a
    dynamic table alone each data timestamp, of a query each time at which one of its tables moved.
    DT-3101 for an end before its start, DT-1004 for more than MOST_STOPS.
    """
    if end.time < start.time or any(end.versions[t] < v for t, v in start.versions.items()):
        raise error("DT-3101", name=bases[0].name, start=start.time, end=end.time)
    if every is None and len(bases) == 1:
        (source,) = bases
        if source.kind is SourceKind.DYNAMIC_TABLE:
            return _by_data_timestamp(snapshots, source, start, end)
        return _by_version(snapshots.log(source), source.table_id, start, end)
    times = _steps(start.time, end.time, every) if every else _moves(snapshots, bases, start, end)
    _require_few(len(times))
    at = _resolving(snapshots, bases)
    found = [start]
    for t in times:
        if start.time < t < end.time:
            found.append(Stop(t, at(t)))
    return (*found, end) if end != start else (start,)


def _by_version(log: TableLog, table_id: str, start: Stop, end: Stop) -> tuple[Stop, ...]:
    first, last = start.versions[table_id], end.versions[table_id]
    _require_few(last - first)
    inner = (Stop(log.commit_time(v), {table_id: v}) for v in range(first + 1, last + 1))
    return (start, *inner)


def _by_data_timestamp(
    snapshots: Snapshots, source: Source, start: Stop, end: Stop
) -> tuple[Stop, ...]:
    known = snapshots.sources.catalog.versions(source.table_id, start.time, end.time)
    inner = [Stop(t, {source.table_id: v}) for t, v in known if start.time < t <= end.time]
    _require_few(len(inner))
    return (start, *inner)


def _moves(
    snapshots: Snapshots, bases: Sequence[Source], start: Stop, end: Stop
) -> list[Timestamp]:
    times: set[Timestamp] = set()
    for source in bases:
        if source.kind is SourceKind.DYNAMIC_TABLE:
            catalog = snapshots.sources.catalog
            times.update(t for t, _ in catalog.versions(source.table_id, start.time, end.time))
            continue
        log, first = snapshots.log(source), start.versions[source.table_id]
        _require_few(end.versions[source.table_id] - first)
        times.update(
            log.commit_time(v) for v in range(first + 1, end.versions[source.table_id] + 1)
        )
    return sorted(times)


def _steps(start: Timestamp, end: Timestamp, every: float) -> list[Timestamp]:
    if every <= 0:
        raise error(
            "DT-1003",
            option="every",
            value=every,
            problem="it is not positive",
            hint="Give the seconds between two snapshots.",
        )
    count = int(end.since(start) / every)
    _require_few(count)
    return [start.plus(every * i) for i in range(1, count + 1)]


def _resolving(
    snapshots: Snapshots, bases: Sequence[Source]
) -> Callable[[Timestamp], dict[str, int]]:
    resolver = Resolver(snapshots.sources.catalog, snapshots.now())
    pairs = [(s, snapshots.log(s)) for s in bases]
    return lambda t: {s.table_id: resolver.version(s, log, Moment(t)) for s, log in pairs}


def _require_few(count: int) -> None:
    if count > MOST_STOPS:
        raise error("DT-1004", what="long", size=count_of(count, "snapshot"), limit=MOST_STOPS)
