"""Sinks and their deliveries as DataFrames: SHOW SINKS, DESCRIBE SINK and SINK_HISTORY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.information_schema import DATABASE, QUARANTINED
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.graph import seen_sink
from dt_jupyter.model import Clock, DeliveryRecord, Name, Named, RightsBook, Sink, Timestamp
from dt_jupyter.reports import SinkReport, SinkReports
from dt_jupyter.spark import rows_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SINKS_SCHEMA = (
    "CREATED_ON timestamp, NAME string, DATABASE_NAME string, SCHEMA_NAME string, "
    "SOURCE_TYPE string, SOURCE_NAME string, TARGET string, KEY string, DELTA_UPDATES boolean, "
    "REDUCTIONS string, TARGET_LAG string, WAREHOUSE string, PARTITIONS int, STATE string, "
    "STATE_CODE string, STATE_MESSAGE string, RETRIES bigint, SOURCE_VERSION bigint, "
    "DELIVERED_VERSION bigint, LAG_SEC double, LAST_DELIVERY timestamp, NEXT_TRY timestamp, "
    "COMMENT string, OWNER string, DEAD_LETTERS bigint"
)


def _time(t: Timestamp | None) -> datetime | None:
    return t.datetime if t else None


def _full(name: Name) -> str:
    return f"{DATABASE}.{name.schema}.{name.table}"


_HISTORY: tuple[tuple[str, str, Callable[[DeliveryRecord], object]], ...] = (
    ("NAME", "string", lambda r: r.name.table),
    ("SCHEMA_NAME", "string", lambda r: r.name.schema),
    ("DATABASE_NAME", "string", lambda r: DATABASE),
    ("QUALIFIED_NAME", "string", lambda r: _full(r.name)),
    ("STATE", "string", lambda r: r.state.value),
    ("STATE_CODE", "string", lambda r: r.code),
    ("STATE_MESSAGE", "string", lambda r: r.error),
    ("DELIVERY_ID", "string", lambda r: r.id),
    ("SOURCE_VERSION", "bigint", lambda r: r.version),
    ("DELIVERY_START_TIME", "timestamp", lambda r: _time(r.start)),
    ("DELIVERY_END_TIME", "timestamp", lambda r: _time(r.end)),
    ("DELIVERY_ACTION", "string", lambda r: r.action.value if r.action else None),
    ("DELIVERY_TRIGGER", "string", lambda r: r.trigger.value),
    ("TRANSACTIONS", "bigint", lambda r: r.counts.transactions),
    ("ROWS_READ", "bigint", lambda r: r.counts.read),
    ("ROWS_LOADED", "bigint", lambda r: r.counts.loaded),
    ("ROWS_STORED", "bigint", lambda r: r.counts.stored),
    ("ROWS_DELETED", "bigint", lambda r: r.counts.deleted),
    ("BYTES_STORED", "bigint", lambda r: r.counts.bytes),
    ("KEYS_DRIFTED", "bigint", lambda r: r.counts.drifted),
    ("RETRIES", "bigint", lambda r: r.retries),
    ("ROWS_REFUSED", "bigint", lambda r: r.counts.refused),
)
HISTORY_SCHEMA = ", ".join(f"{n} {t}" for n, t, _ in _HISTORY)


@dataclass(frozen=True)
class SinkTables:
    """Each method gives a DataFrame of the session; no secret is in one."""

    spark: SparkSession
    catalog: Catalog
    reports: SinkReports
    clock: Clock
    access: Access

    def shown(self, like: str | None = None) -> DataFrame:
        """SHOW SINKS: one row for each, its state, and why it does not deliver."""
        told = self.reports.all(self.clock.now(), like)
        book = self.access.book
        seen = [found for found in told if self.access.sees(found.sink.name)]
        rows = [self._row(seen_sink(found, self.access), book) for found in seen]
        return rows_frame(self.spark, [*rows, *self._broken(like)], SINKS_SCHEMA)

    def described(self, sink: Sink) -> DataFrame:
        """As SHOW SINKS, of one."""
        found = seen_sink(self.reports.one(sink, self.clock.now(), 1), self.access)
        return rows_frame(self.spark, [self._row(found, self.access.book)], SINKS_SCHEMA)

    def history(self, name: Name | None = None, limit: int | None = None) -> DataFrame:
        """SINK_HISTORY, newest first."""
        told = self.catalog.deliveries(name, limit)
        access = self.access
        records = [access.delivery_told(r) for r in told if access.monitors(r.name)]
        rows = (tuple(get(r) for _, _, get in _HISTORY) for r in records)
        return rows_frame(self.spark, rows, HISTORY_SCHEMA)

    def _broken(self, like: str | None) -> list[tuple[object, ...]]:
        if like is not None or self.access.bound:
            return []
        none: tuple[None, ...] = (None,) * 9
        return [
            (None, table, DATABASE, schema or "default", *none, QUARANTINED, None, q.problem,
             None, None, None, None, None, None, None, None, None)
            for q in self.catalog.quarantine.all()
            if q.kind == Named.SINK
            for schema, _, table in (q.name.rpartition("."),)
        ]  # fmt: skip

    @staticmethod
    def _row(found: SinkReport, book: RightsBook) -> tuple[object, ...]:
        sink, last = found.sink, found.last
        return (
            _time(sink.created), sink.name.table, DATABASE, sink.name.schema, sink.kind,
            _full(sink.source), found.address, ", ".join(sink.key) or None,
            sink.delta_updates, ", ".join(f"{c} {s}" for c, s in sink.reductions.items()) or None,
            str(sink.target_lag), sink.warehouse, sink.partitions, sink.state.value, sink.code,
            sink.problem, last.retries if last else 0, found.newest, found.version, found.lag,
            _time(last.end) if last else None, _time(found.next_try), sink.comment,
            book.owner_of(Named.SINK, sink.name), sink.dead_letters,
        )  # fmt: skip
