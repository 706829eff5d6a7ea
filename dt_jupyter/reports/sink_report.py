"""The present state of sinks: what they delivered last, and how far the store is behind the
source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.delivery import Deliveries, address_of, target_of
from dt_jupyter.lake import LakeError, TableLog, is_delta, may_change
from dt_jupyter.model import (
    DEFAULT_WAREHOUSE,
    DeliveryRecord,
    DTError,
    Name,
    Sink,
    Timestamp,
    count_of,
    plain,
)
from dt_jupyter.replay import whole
from dt_jupyter.sinks import shown_option, shown_url
from dt_jupyter.sources import Sources
from dt_jupyter.sql import literal

DELIVERIES = 20
"""Deliveries of a sink that are shown."""


@dataclass(frozen=True)
class SinkReport:
    """`scheme` and `address` are the store's, without user, options and secrets. `version` of the
    source is delivered, `newest` is there, None where it is unknown, or of several tables that a
    stream reads; `behind_since` is when the
    oldest change was committed that the store does not have, `lag` the seconds since then.
    `records` are the newest deliveries, newest first."""

    sink: Sink
    scheme: str
    address: str
    target: str
    version: int | None = None
    newest: int | None = None
    behind_since: Timestamp | None = None
    lag: float | None = None
    records: tuple[DeliveryRecord, ...] = ()
    next_try: Timestamp | None = None

    @property
    def last(self) -> DeliveryRecord | None:
        return self.records[0] if self.records else None

    @property
    def error(self) -> str | None:
        """Why it does not deliver."""
        told = (self.sink.code, self.sink.problem)
        return ": ".join(filter(None, told)) or None

    def __str__(self) -> str:
        tried = f", tried again at {self.next_try}" if self.next_try else ""
        problem = f": {self.error}" if self.error else ""
        lag = f", lag {self.lag:.1f} s" if self.lag is not None else ""
        letters = count_of(self.sink.dead_letters, "dead letter")
        refused = f", {letters}" if self.sink.dead_letters else ""
        return f"{self.sink.name} {self.sink.state}{lag}{refused}{problem}{tried}"


@dataclass(frozen=True)
class SinkReports:
    """From the catalog and the logs: no Spark job, no analysis, and no store is asked."""

    sources: Sources
    deliveries: Deliveries

    def all(self, now: Timestamp, like: str | None = None) -> list[SinkReport]:
        """By name; `like` as the catalog has it."""
        paths = self._paths()
        return [self._report(sink, paths, now, 1) for sink in self.sources.catalog.sinks(like)]

    def of_source(self, source: Name, now: Timestamp) -> list[SinkReport]:
        """Of those that deliver a table, or a stream that reads it."""
        catalog = self.sources.catalog
        ids = {t.table_id for t in catalog.tables() if t.name == source}
        read = [s for s in catalog.streams() if s.source == source or ids & s.frontier.keys()]
        names = {source, *(s.name for s in read)}
        sinks = [s for s in catalog.sinks() if s.source in names]
        return [self._report(s, self._paths(), now, 1) for s in sinks]

    def by_id(self, id_: str, now: Timestamp) -> SinkReport | None:
        """None where it is gone."""
        found = next((s for s in self.sources.catalog.sinks() if s.id == id_), None)
        return self.one(found, now, 1) if found is not None else None

    def one(self, sink: Sink, now: Timestamp, deliveries: int = DELIVERIES) -> SinkReport:
        """With a number of its deliveries."""
        return self._report(sink, self._paths(), now, deliveries)

    def _paths(self) -> dict[Name, str]:
        return {t.name: t.path for t in self.sources.catalog.tables()}

    def _report(
        self, sink: Sink, paths: Mapping[Name, str], now: Timestamp, deliveries: int
    ) -> SinkReport:
        address = address_of(sink)
        version, newest, since, lag = self._standing(sink, paths, now)
        records = self.sources.catalog.deliveries(sink.name, deliveries)
        return SinkReport(
            sink,
            address.scheme,
            str(address),
            target_of(sink),
            version,
            newest,
            since,
            lag,
            tuple(r for r in records if r.sink == sink.id),
            sink.next_try,
        )

    def behind_since(self, sink: Sink, now: Timestamp) -> Timestamp | None:
        """When the oldest change was committed that its store lacks; None where it lacks nothing,
        or it is not known."""
        return self._standing(sink, self._paths(), now)[2]

    def _standing(self, sink: Sink, paths: Mapping[Name, str], now: Timestamp) -> _Standing:
        version = newest = None
        try:
            delivered = self.deliveries.delivered_of(sink) or {}
            version = next(iter(delivered.values())) if len(delivered) == 1 else None
            if sink.from_stream:
                return self._of_stream(sink, delivered, now)
            log, newest = self._newest(sink, paths)
            return version, newest, *_behind(log, version, newest, now)
        except (DTError, LakeError):  # its delivery reports what is wrong with it
            return version, newest, None, None

    def _of_stream(self, sink: Sink, delivered: Mapping[str, int], now: Timestamp) -> _Standing:
        """Behind since the oldest change of a table that the stream reads."""
        stream = self.sources.catalog.stream(sink.source)
        if not delivered and not stream.initial:
            delivered = stream.frontier
        query, schema = whole(stream.source), stream.source.schema
        bases = self.deliveries.changes.base_tables(query, schema)
        logs = {b.table_id: self.sources.logs[b.path] for b in bases if b.path is not None}
        newest = {table: log.version() for table, log in logs.items()}
        found = [_behind(logs[t], delivered.get(t), newest[t], now) for t in logs]
        since = min((s for s, _ in found if s is not None), default=None)
        lags = [lag for _, lag in found if lag is not None]
        lag = max(lags, default=None) if len(lags) == len(found) else None
        if len(logs) != 1:
            return None, None, since, lag
        ((table, version),) = newest.items()
        return delivered.get(table), version, since, lag

    def _newest(self, sink: Sink, paths: Mapping[Name, str]) -> tuple[TableLog, int]:
        """The log of a source, and its newest version; DT-6151, DT-2101 where it has none."""
        table = self.sources.catalog.get(sink.source)
        path = paths.get(sink.source, "") if table is None else ""
        if not path or not is_delta(path):  # only the session knows where it is, if there is one
            at = self.deliveries.source_of(sink).look()
            return at.log, at.version
        log = self.sources.logs[path]
        return log, log.version()


_Standing = tuple[int | None, int | None, Timestamp | None, float | None]
"""What is delivered, the newest version, since when it is behind, and the seconds since then."""


def _behind(
    log: TableLog, version: int | None, newest: int, now: Timestamp
) -> tuple[Timestamp | None, float | None]:
    """Since when a store lacks something, and the seconds since then."""
    if version is None or version > newest:
        return None, None
    if not may_change(log, version, newest):
        return None, 0.0
    commits = log.commits(version, newest)
    since = next((c for c in commits if c.data_change), commits[0]).time
    return since, max(now.since(since), 0.0)


def sink_definition(sink: Sink) -> str:
    """The statement that makes a sink as it is; secrets are references in it, or hidden."""
    lag = sink.target_lag
    lines = [
        f"CREATE SINK {sink.name} FROM {sink.kind} {sink.source}",
        f"  INTO {literal(shown_url(sink.url))}",
    ]
    if sink.key:
        lines.append(f"  KEY ({', '.join(map(plain, sink.key))})")
    if sink.delta_updates:
        lines.append("  DELTA_UPDATES = TRUE")
    lines.append(f"  TARGET_LAG = {lag if lag.downstream else literal(str(lag))}")
    if sink.warehouse != DEFAULT_WAREHOUSE:
        lines.append(f"  WAREHOUSE = {plain(sink.warehouse)}")
    if sink.reductions:
        listed = (f"{plain(column)} {rule}" for column, rule in sink.reductions.items())
        lines.append(f"  REDUCE ({', '.join(listed)})")
    if sink.partitions > 1:
        lines.append(f"  PARTITIONS = {sink.partitions}")
    if sink.options:
        listed = (
            f"{plain(name)} = {literal(shown_option(name, value))}"
            for name, value in sink.options.items()
        )
        lines.append(f"  OPTIONS ({', '.join(listed)})")
    if sink.comment:
        lines.append(f"  COMMENT = {literal(sink.comment)}")
    return "\n".join(lines)
