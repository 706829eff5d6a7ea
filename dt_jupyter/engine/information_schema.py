"""The catalog as DataFrames: SHOW, DESCRIBE and the table functions, in Snowflake's columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog, Quarantined
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import (
    Clock,
    DynamicTable,
    Name,
    Named,
    Reason,
    RefreshMode,
    RefreshRecord,
    RightsBook,
    Source,
    Stream,
    Timestamp,
    plain,
)
from dt_jupyter.schedule import idle_times, lag_statistics, obstacles_in
from dt_jupyter.spark import rows_frame
from dt_jupyter.sql import matches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.replay import Step
    from dt_jupyter.streams import Streams

DATABASE = "spark_catalog"
QUARANTINED = "QUARANTINED"
"""The state of what cannot be used as it is."""
_LAG_RECORDS = 500


def _time(t: Timestamp | None) -> datetime | None:
    return t.datetime if t else None


_HISTORY: tuple[tuple[str, str, Callable[[RefreshRecord], object]], ...] = (
    ("NAME", "string", lambda r: r.name.table),
    ("SCHEMA_NAME", "string", lambda r: r.name.schema),
    ("DATABASE_NAME", "string", lambda r: DATABASE),
    ("QUALIFIED_NAME", "string", lambda r: f"{DATABASE}.{r.name.schema}.{r.name.table}"),
    ("STATE", "string", lambda r: r.state.value),
    ("STATE_CODE", "string", lambda r: r.error_code or (r.reason.code if r.reason else None)),
    ("STATE_MESSAGE", "string", lambda r: r.error or (r.reason.sentence if r.reason else None)),
    ("QUERY_ID", "string", lambda r: r.query_id),
    ("DATA_TIMESTAMP", "timestamp", lambda r: _time(r.data_timestamp)),
    ("REFRESH_START_TIME", "timestamp", lambda r: _time(r.start)),
    ("REFRESH_END_TIME", "timestamp", lambda r: _time(r.end)),
    ("COMPLETION_TARGET", "timestamp", lambda r: _time(_completion_target(r))),
    ("LAST_COMPLETED_DEPENDENCY", "string", lambda r: r.last_completed_dependency),
    ("STATISTICS", "string", lambda r: json.dumps(r.statistics.to_json())),
    ("REFRESH_ACTION", "string", lambda r: r.action.value if r.action else None),
    ("REFRESH_TRIGGER", "string", lambda r: r.trigger.value),
    ("TARGET_LAG_SEC", "double", lambda r: r.target_lag_seconds),
    ("GRAPH_HISTORY_VALID_FROM", "timestamp", lambda r: _time(r.graph_valid_from)),
    ("WAREHOUSE", "string", lambda r: r.warehouse),
    ("INPUTS_WITH_CHANGED_DATA", "string", lambda r: json.dumps(list(r.changed_inputs))),
    ("REINIT_REASON", "string", lambda r: r.reinit_reason),
)


def _completion_target(r: RefreshRecord) -> Timestamp | None:
    if r.completion_target or r.target_lag_seconds is None:
        return r.completion_target
    return r.data_timestamp.plus(r.target_lag_seconds)


_STREAMS = (
    "CREATED_ON timestamp, NAME string, DATABASE_NAME string, SCHEMA_NAME string, "
    "TABLE_NAME string, SOURCE_TYPE string, BASE_TABLES string, TYPE string, STALE boolean,"
    " MODE string, STALE_AFTER timestamp, INVALID_REASON string, COMMENT string, "
    "MAX_DATA_EXTENSION_TIME_IN_DAYS int, OWNER string"
)


def _stream_row(stream: Stream, known: Streams, book: RightsBook) -> tuple[object, ...]:
    bases, problem = known.standing(stream)
    return (
        _time(stream.created),
        stream.name.table,
        DATABASE,
        stream.name.schema,
        _qualified(stream.source),
        stream.kind.capitalize(),
        ", ".join(_qualified(base.name) for base in bases),
        "DELTA",
        problem is not None,
        stream.mode,
        _time(stream.kept_until),
        problem,
        stream.comment,
        stream.extension_days,
        book.owner_of(Named.STREAM, stream.name),
    )


@dataclass(frozen=True)
class CatalogTables:
    """Each method gives a DataFrame of the session, of what its role may see."""

    spark: SparkSession
    catalog: Catalog
    clock: Clock
    access: Access
    describe_source: Callable[[str | None], str | None]

    def frame(self, rows: Iterable[tuple[object, ...]], schema: str) -> DataFrame:
        return rows_frame(self.spark, rows, schema)

    def status(self, text: str) -> DataFrame:
        return self.frame([(text,)], "status string")

    def history(self, name: Name | None = None, limit: int | None = None) -> DataFrame:
        """DYNAMIC_TABLE_REFRESH_HISTORY, newest first."""
        schema = ", ".join(f"{n} {t}" for n, t, _ in _HISTORY)
        records = self.access.told(self.catalog.history(name, limit))
        return self.frame((tuple(get(r) for _, _, get in _HISTORY) for r in records), schema)

    def dynamic_tables(self, like: str | None = None) -> DataFrame:
        """DYNAMIC_TABLES and SHOW DYNAMIC TABLES: one row for each, with its lag's statistics."""
        now, waiting = self.clock.now(), obstacles_in(self.catalog)
        schema = (
            "NAME string, SCHEMA_NAME string, DATABASE_NAME string, QUALIFIED_NAME string, "
            "TARGET_LAG string, TARGET_LAG_SEC double, REFRESH_MODE string, "
            "REFRESH_MODE_REASON string, SCHEDULING_STATE string, SCHEDULING_STATE_REASON string, "
            "WAREHOUSE string, DATA_TIMESTAMP timestamp, MEAN_LAG_SEC double, "
            "MAXIMUM_LAG_SEC double, P95_LAG_SEC double, TIME_WITHIN_TARGET_LAG_RATIO double, "
            "LAST_COMPLETED_REFRESH_STATE string, ROWS_REFRESHED_VERSION bigint, "
            "CREATED_ON timestamp, COMMENT string, TEXT string, OWNER string"
        )
        book = self.access.book
        tables = [t for t in self.catalog.list(like) if self.access.sees(t.name)]
        broken = {q.name: q for q in self._quarantined(Named.DYNAMIC_TABLE)}
        rows = [
            (
                *self._row(t, now, waiting.get(t.id), broken.pop(str(t.name), None)),
                book.owner_of(Named.DYNAMIC_TABLE, t.name),
            )
            for t in tables
        ]
        if not self.access.bound:
            rows += [_told(q) for q in broken.values() if q.row and is_like(q.name, like)]
        return self.frame(rows, schema)

    def _quarantined(self, kind: Named) -> list[Quarantined]:
        return [q for q in self.catalog.quarantine.all() if q.kind == kind]

    def all_streams(self, like: str | None, known: Streams) -> DataFrame:
        """SHOW STREAMS: as `streams`, and those that cannot be read."""
        listed, book = self.catalog.streams(like), self.access.book
        rows = [_stream_row(s, known, book) for s in listed if self.access.sees(s.name)]
        self.catalog.streams()  # whatever the pattern: all that cannot be read are known then
        none: tuple[None, ...] = (None,) * 4
        broken = [
            (
                None,
                table,
                DATABASE,
                schema or "default",
                *none,
                True,
                None,
                None,
                q.problem,
                None,
                None,
                None,
            )
            for q in self._quarantined(Named.STREAM)
            if is_like(q.name, like) and not self.access.bound
            for schema, _, table in (q.name.rpartition("."),)
        ]
        return self.frame([*rows, *broken], _STREAMS)

    def streams(self, streams: Iterable[Stream], known: Streams) -> DataFrame:
        """SHOW STREAMS: one row for each, and whether it can still be read."""
        book = self.access.book
        return self.frame([_stream_row(stream, known, book) for stream in streams], _STREAMS)

    def replay(self, steps: Iterable[Step]) -> DataFrame:
        """The steps of a walk: one row for each."""
        schema = (
            "STEP int, TIME timestamp, VERSIONS map<string, bigint>, OPERATION string, "
            "ROW_COUNT bigint, INSERTED bigint, DELETED bigint, SCHEMA_CHANGE string, DIGEST string"
        )
        rows = (
            (
                s.number,
                _time(s.time),
                dict(s.versions),
                s.operation or None,
                s.row_count,
                s.inserted,
                s.deleted,
                s.schema_change or None,
                s.digest,
            )
            for s in steps
        )
        return self.frame(rows, schema)

    def _row(
        self,
        table: DynamicTable,
        now: Timestamp,
        waiting: Reason | None,
        broken: Quarantined | None,
    ) -> tuple[object, ...]:
        records = self.catalog.history(table.name, _LAG_RECORDS)
        idle = idle_times(self.catalog.scheduler_runs(), now)
        lag = lag_statistics(records, now, table.target_lag.seconds, idle)
        state, why = table.scheduling.value, table.scheduling_reason or waiting
        told = broken.problem if broken else str(why) if why else None
        name = table.name
        return (
            name.table, name.schema, DATABASE, f"{DATABASE}.{name.schema}.{name.table}",
            str(table.target_lag), table.target_lag.seconds, table.effective_mode.value,
            str(table.mode_reason), QUARANTINED if broken else state, told,
            table.warehouse, _time(table.data_timestamp),
            lag.mean if lag else None, lag.maximum if lag else None, lag.p95 if lag else None,
            lag.time_within_target_lag_ratio if lag else None,
            records[0].state.value if records else None, table.version,
            _time(table.created), table.comment, table.definition.query,
        )  # fmt: skip

    def graph_history(self) -> DataFrame:
        """DYNAMIC_TABLE_GRAPH_HISTORY: what each was, and read, from when to when."""
        schema = (
            "NAME string, SCHEMA_NAME string, DATABASE_NAME string, QUALIFIED_NAME string, "
            "INPUTS string, TARGET_LAG_SEC double, QUERY_TEXT string, VALID_FROM timestamp, "
            "VALID_TO timestamp, SCHEDULING_STATE string, WAREHOUSE string, ALTER_TRIGGER string"
        )
        rows = (
            (
                g.name.table,
                g.name.schema,
                DATABASE,
                f"{DATABASE}.{g.name.schema}.{g.name.table}",
                json.dumps([{"kind": k, "name": str(n)} for k, n in g.inputs]),
                g.target_lag.seconds,
                g.query,
                _time(g.valid_from),
                _time(g.valid_to),
                g.scheduling.value,
                g.warehouse,
                g.trigger,
            )
            for g in self.catalog.graph_history()
            if self.access.monitors(g.name)
        )
        return self.frame(rows, schema)

    def describe(self, name: Name) -> DataFrame:
        """DESCRIBE DYNAMIC TABLE: its columns, what it reads and which columns of it, and why it is
        not refreshed, where it is not."""
        table = self.catalog.require(name)
        schema = "name string, type string, kind string, comment string"
        rows = [(n, t, "COLUMN", c) for n, t, c in table.definition.columns]
        rows += [self._reads(source, table) for source in table.definition.sources]
        if table.definition.frozen is not None:
            rows.append((table.definition.frozen.where, "boolean", "FROZEN WHERE", None))
        rows += [(f":{n}", "literal", "PARAMETER", text) for n, text in table.definition.parameters]
        reason = table.scheduling_reason or obstacles_in(self.catalog).get(table.id)
        if reason is not None:
            rows.append((str(table.scheduling), reason.code, "STANDING", reason.sentence))
        return self.frame(rows, schema)

    def _reads(self, source: Source, table: DynamicTable) -> tuple[str, str, str, str]:
        """What a definition reads, and which columns of it."""
        if table.effective_mode is RefreshMode.FULL:
            columns = "every column"
        else:
            columns = ", ".join(map(plain, source.columns)) or "no column, the rows alone"
        kind = self.describe_source(source.path) or source.kind.value
        return str(source.name), kind, "READS", columns

    def warehouses(
        self, like: str | None = None, queued: Mapping[str, int] = MappingProxyType({})
    ) -> DataFrame:
        """SHOW WAREHOUSES; `queued` by name, as the scheduler of this process knows it."""
        schema = (
            "name string, state string, max_concurrency_level int, weight int, running int, "
            "queued int, auto_suspend int, auto_resume boolean, owner string, "
            "created_on timestamp, resumed_on timestamp"
        )
        book = self.access.book
        running = [self.catalog.by_id(lease.dt_id) for lease in self.catalog.running()]
        busy = Counter(t.warehouse.lower() for t in running if t)
        busy.update(self.catalog.running_tasks())
        rows = (
            (
                w.name,
                "SUSPENDED" if w.suspended else "STARTED",
                w.max_concurrency,
                w.weight,
                busy[w.name],
                queued.get(w.name, 0),
                w.auto_suspend,
                w.auto_resume,
                book.owner_of(Named.WAREHOUSE, w.name),
                _time(w.created),
                _time(w.resumed),
            )
            for w in self.catalog.warehouses()
            if matches(w.name, like) and self.access.sees_warehouse(w.name)
        )
        broken = (
            (q.name, f"{QUARANTINED}: {q.problem}", *((None,) * 9))
            for q in self._quarantined(Named.WAREHOUSE)
            if matches(q.name, like)
        )
        return self.frame((*rows, *broken), schema)


def _told(q: Quarantined) -> tuple[object, ...]:
    """The row of SHOW DYNAMIC TABLES of one that cannot be read."""
    schema, _, table = q.name.rpartition(".")
    full = f"{DATABASE}.{schema or 'default'}.{table}"
    none: tuple[None, ...] = (None,) * 12
    return (table, schema or "default", DATABASE, full, *none[:4], QUARANTINED, q.problem, *none)


def is_like(name: str, like: str | None) -> bool:
    return matches(name.rpartition(".")[2], like)


def _qualified(name: Name) -> str:
    return f"{DATABASE}.{name.schema}.{name.table}"
