"""Refresh history: what every refresh did, newest first, of any length."""

from __future__ import annotations

import heapq
import json
import logging
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, or_, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import MEASURED, TIMED, to_measured, to_record, to_timed
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.model import Name, RefreshAction, RefreshRecord, RefreshState, Timestamp

_history, _table = schema.history, schema.dynamic_table
_LOOKED_THROUGH = 2_000
_MOST_COMMITS = 200_000
_MOST_WORKING = 20_000
_log = logging.getLogger("dt_jupyter.catalog")


def _newest(
    connection: Connection, dt_id: str | None, limit: int | None, *, quiet: bool = True
) -> list[RowMapping]:
    query = select(_history).order_by(_history.c.ordinal.desc()).limit(limit)
    if dt_id is not None:
        query = query.where(_history.c.dt_id == dt_id)
    if not quiet:
        action = _history.c.action
        query = query.where(or_(action.is_(None), action != RefreshAction.NO_DATA))
    return _readable(connection, query)


def _readable(connection: Connection, query: Select[Any]) -> list[RowMapping]:
    """Rows that are not refreshes are left out: they do not represent a running refresh."""
    made, broken = read_each(connection, _history, query, _checked)
    for row in broken:
        _log.warning("a row of the refresh history cannot be read: %s", row.problem)
    return made


def _commit(row: RowMapping) -> tuple[Timestamp, Timestamp]:
    return row["end_time"], row["data_timestamp"]


def _checked(row: RowMapping) -> RowMapping:
    to_record(row)
    return row


class History(Store):
    """Reading and pruning; `Attempts` writes."""

    def history(self, name: Name | None = None, limit: int | None = None) -> list[RefreshRecord]:
        """Newest first: of all, or of the dynamic tables that have or, dropped, had the name.
        `upstream` is left empty; `record` fills it."""
        with self._read() as connection:
            if name is None:
                return [to_record(row) for row in _newest(connection, None, limit)]
            ids = connection.execute(
                select(_table.c.id).where(
                    _table.c.schema_name == name.schema, _table.c.table_name == name.table
                )
            ).scalars()
            runs = [_newest(connection, dt_id, limit) for dt_id in ids.all()]
        merged = heapq.merge(*runs, key=lambda row: -int(row["ordinal"]))
        return [
            to_record(row)
            for row, _ in zip(merged, range(1 << 62 if limit is None else limit), strict=False)
        ]

    def record(self, query_id: str) -> RefreshRecord | None:
        """One refresh, with those upstream that it asked for."""
        with self._read() as connection:
            return self._record(connection, query_id)

    def recent(self, dt_id: str, limit: int = 32, *, quiet: bool = True) -> list[RefreshRecord]:
        """Newest first, of one dynamic table; without those that found nothing new unless
        `quiet`."""
        with self._read() as connection:
            return [to_record(row) for row in _newest(connection, dt_id, limit, quiet=quiet)]

    def timings(self, dt_id: str, limit: int = 32) -> list[RefreshRecord]:
        """As `recent`, of each when it was to run and when it ran, and no more."""
        query = (
            select(*(_history.c[name] for name in TIMED))
            .where(_history.c.dt_id == dt_id)
            .order_by(_history.c.ordinal.desc())
            .limit(limit)
        )
        with self._read() as connection:
            return read_each(connection, _history, query, to_timed)[0]

    def measured(self, dt_id: str, limit: int = 64) -> list[RefreshRecord]:
        """The newest refreshes that computed rows, newest first: those whose times say something,
        with those aside that found nothing to do since. It looks a bounded way back. Of each: what
        it was and its statistics, and no more, since every refresh reads them."""
        wanted = [_history.c[name] for name in MEASURED]
        newest = (
            select(*wanted, _history.c.ordinal)
            .where(_history.c.dt_id == dt_id)
            .order_by(_history.c.ordinal.desc())
            .limit(_LOOKED_THROUGH)
            .subquery()
        )
        query = (
            select(newest)
            .where(newest.c.state == RefreshState.SUCCEEDED)
            .where(newest.c.action != RefreshAction.NO_DATA)
            .order_by(newest.c.ordinal.desc())
            .limit(limit)
        )
        with self._read() as connection:
            return [to_measured(row) for row in connection.execute(query).mappings()]

    def working(self, dt_id: str, since: Timestamp) -> list[RefreshRecord]:
        """The refreshes of a dynamic table with a data timestamp since then that computed rows or
        failed, newest first; of very many the newest."""
        did = _history.c.action.is_distinct_from(RefreshAction.NO_DATA.value)
        ended = _history.c.state.in_((RefreshState.SUCCEEDED.value, RefreshState.FAILED.value))
        query = (
            select(_history)
            .where(_history.c.dt_id == dt_id, _history.c.data_timestamp >= since, did, ended)
            .order_by(_history.c.ordinal.desc())
            .limit(_MOST_WORKING)
        )
        with self._read() as connection:
            return [to_record(row) for row in _readable(connection, query)]

    def commits(self, dt_id: str, since: Timestamp) -> list[tuple[Timestamp, Timestamp]]:
        """The end and the data timestamp of the successful refreshes of a dynamic table since
        then, and of the last one before, oldest first; of very many the newest."""
        ours = (_history.c.dt_id == dt_id, _history.c.end_time.is_not(None))
        done = (*ours, _history.c.state == RefreshState.SUCCEEDED.value)
        newest = _history.c.data_timestamp.desc()
        query = select(_history).with_only_columns(_history.c.end_time, _history.c.data_timestamp)
        after = query.where(*done, _history.c.data_timestamp >= since)
        before = query.where(*done, _history.c.data_timestamp < since)
        with self._read() as connection:
            found = [
                read_each(connection, _history, each.order_by(newest).limit(most), _commit)[0]
                for each, most in ((after, _MOST_COMMITS), (before, 1))
            ]
        return [*reversed(found[0] + found[1])]

    def last(self) -> dict[str, RefreshRecord]:
        """By id: the last completed refresh of each live dynamic table that has one."""
        query = (
            select(_history)
            .join(_table, _table.c.last_query_id == _history.c.query_id)
            .where(_table.c.dropped.is_(None))
        )
        with self._read() as connection:
            rows = _readable(connection, query)
        return {row["dt_id"]: to_record(row) for row in rows}

    def last_ticks(self) -> dict[str, Timestamp]:
        """By id: the newest tick of each that the scheduler is done with, whatever its outcome."""
        query = select(_table.c.id, _table.c.last_tick).where(_table.c.last_tick.is_not(None))
        with self._read() as connection:
            rows = read_each(connection, _table, query, lambda row: (row["id"], row["last_tick"]))[
                0
            ]
        return dict(rows)

    def prune(self, before: Timestamp) -> int:
        """Delete what is older: history that ended, versions but the newest of each dynamic
        table, graph rows no longer in force, resolutions, runs of the scheduler, deliveries of
        sinks and runs of tasks that ended, dropped streams, events. Returns how many rows."""
        version, graph, resolved = schema.dt_version, schema.graph_history, schema.resolved
        run, delivery, of_task = schema.scheduler_run, schema.sink_history, schema.task_run
        newest = (
            select(version.c.dt_id, func.max(version.c.data_timestamp).label("kept"))
            .group_by(version.c.dt_id)
            .subquery()
        )
        is_newest = select(newest.c.dt_id).where(
            newest.c.dt_id == version.c.dt_id, newest.c.kept == version.c.data_timestamp
        )
        last = select(_table.c.last_query_id).where(_table.c.last_query_id.is_not(None))
        gone = schema.dropped_stream
        last_run = select(func.max(of_task.c.ordinal)).group_by(of_task.c.task_id)
        running = (RefreshState.EXECUTING, RefreshState.SCHEDULED)
        statements = (
            _history.delete().where(
                _history.c.data_timestamp < before,
                _history.c.state.not_in(running),
                _history.c.query_id.not_in(last),
            ),
            version.delete().where(version.c.data_timestamp < before, ~is_newest.exists()),
            graph.delete().where(graph.c.valid_to < before),
            resolved.delete().where(resolved.c.data_timestamp < before),
            run.delete().where(run.c.seen < before),
            delivery.delete().where(delivery.c.end_time < before),
            gone.delete().where(gone.c.dropped < before),
            schema.event.delete().where(schema.event.c.time < before),
            of_task.delete().where(of_task.c.end_time < before, of_task.c.ordinal.not_in(last_run)),
        )
        with self._write() as connection:
            return sum(connection.execute(statement).rowcount for statement in statements)

    def _record(self, connection: Connection, query_id: str) -> RefreshRecord | None:
        query = select(_history).where(_history.c.query_id == query_id)
        row = connection.execute(query).mappings().one_or_none()
        if row is None:
            return None
        found = (self._record(connection, earlier) for earlier in json.loads(row["upstream"]))
        return to_record(row, tuple(record for record in found if record is not None))
