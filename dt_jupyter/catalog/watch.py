"""What is new in the catalog, from any process: for those who show it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import to_record
from dt_jupyter.catalog.database import Pulse
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.schema import NO_ORDINAL, StoredBytes
from dt_jupyter.catalog.store import Store
from dt_jupyter.model import RefreshRecord, RefreshState

_history, _graph = schema.history, schema.graph_history
_OF_A_LEASE = select(schema.lease.c.attempt).where(schema.lease.c.attempt.is_not(None))
_RUNNING = (  # by their ids: the history has no index of states
    _history.c.query_id.in_(_OF_A_LEASE) & (_history.c.state == RefreshState.EXECUTING)
)
_NEWEST = select(func.max(_history.c.ordinal)).where(_history.c.ordinal < NO_ORDINAL)
_MOST = 500
"""Most refreshes that are reported at once: of more the oldest are left out."""


@dataclass(frozen=True, slots=True)
class News:
    """`ordinal` is the newest row of the history, `standing` a value that changes when the
    graph, a stream, a sink, a task, a warehouse, a table or a pin does; `records` are (dynamic
    table's id, refresh) in the order of their begin. `sinks` has by id a value that changes
    when the state of a sink does, or its last delivery; `tasks` of a task, or its last run."""

    ordinal: int
    standing: tuple[object, ...]
    records: tuple[tuple[str, RefreshRecord], ...] = ()
    sinks: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    tasks: Mapping[str, tuple[object, ...]] = field(default_factory=dict)


class Watch(Store):
    """Reading what is new since a moment."""

    def present(self) -> News:
        """The present state, with the refreshes that run."""
        with self._read() as connection:
            return self._news(connection, _RUNNING)

    def news(self, after: int, running: Collection[str]) -> News:
        """The refreshes that began after that row of the history, and those of `running` (their
        query ids) that are new or have ended."""
        again = _history.c.query_id.in_(list(running))
        with self._read() as connection:
            return self._news(connection, or_(_history.c.ordinal > after, again))

    def pulse(self) -> Pulse:
        """A value that changes whenever the catalog is written to."""
        return self._database.pulse(lambda: self._engine)

    def last_of(self, dt_id: str) -> RefreshRecord | None:
        """The last completed refresh of a dynamic table."""
        table = schema.dynamic_table
        query = (
            select(_history)
            .join(table, table.c.last_query_id == _history.c.query_id)
            .where(table.c.id == dt_id)
        )
        with self._read() as connection:
            found = read_each(connection, _history, query, to_record)[0]
        return found[0] if found else None

    @staticmethod
    def _news(connection: Connection, which: ColumnElement[bool]) -> News:
        query = select(_history).where(which).order_by(_history.c.ordinal.desc()).limit(_MOST)
        rows = read_each(connection, _history, query, lambda r: (str(r["dt_id"]), to_record(r)))[0]
        newest = connection.scalar(_NEWEST) or 0
        standing, sinks = _standing(connection), _sink_standings(connection)
        tasks = _task_standings(connection)
        return News(int(newest), standing, tuple(reversed(rows)), sinks, tasks)


def _standing(connection: Connection) -> tuple[object, ...]:
    stream, warehouse, hold = schema.stream.c, schema.warehouse, schema.hold.c
    base, view, sink = schema.base_table, schema.base_view, schema.sink.c
    task = schema.task.c
    queries = (
        _raws(func.max(_graph.c.valid_from), func.max(_graph.c.valid_to)),
        _raws(stream.id, stream.number, stream.schema_name, stream.stream_name),
        _raws(*warehouse.c),
        _raws(*base.c),
        _raws(view.c.schema_name, view.c.table_name, view.c.ordinal),
        _raws(sink.id, sink.source_name, sink.target_lag_seconds, sink.warehouse, sink.comment),
        _raws(task.id, task.schema_name, task.task_name, task.after, task.body, task.condition),
        _raws(hold.name).where(hold.name.is_not(None)).order_by(hold.name),
    )
    return tuple(tuple(tuple(row) for row in connection.execute(query)) for query in queries)


def _sink_standings(connection: Connection) -> dict[str, tuple[object, ...]]:
    """By the id of a sink, its state and what its last delivery came to."""
    sink, delivery = schema.sink, schema.sink_history
    last = (
        select(delivery.c.id)
        .where(
            delivery.c.schema_name == sink.c.schema_name, delivery.c.sink_name == sink.c.sink_name
        )
        .order_by(delivery.c.ordinal.desc())
        .limit(1)
        .correlate(sink)
        .scalar_subquery()
    )
    told = map(StoredBytes, (sink.c.state, sink.c.code, sink.c.problem))
    of_last = map(StoredBytes, (delivery.c.id, delivery.c.state, delivery.c.retries))
    rows = select(sink.c.id, *told, *of_last).outerjoin(delivery, delivery.c.id == last)
    return {str(id_): tuple(rest) for id_, *rest in connection.execute(rows)}


def _task_standings(connection: Connection) -> dict[str, tuple[object, ...]]:
    """By the id of a task, its state and what its last run came to."""
    task, run = schema.task, schema.task_run
    newest = select(func.max(run.c.ordinal)).where(run.c.task_id == task.c.id)
    last = newest.correlate(task).scalar_subquery()
    told = map(StoredBytes, (task.c.state, task.c.reason, task.c.schedule))
    of_last = map(StoredBytes, (run.c.id, run.c.state, run.c.code))
    rows = select(task.c.id, *told, *of_last).outerjoin(run, run.c.ordinal == last)
    return {str(id_): tuple(rest) for id_, *rest in connection.execute(rows)}


def _raws(*columns: ColumnElement[Any]) -> Any:
    """As they are stored: values to compare, whether they can be read or not."""
    return select(*map(StoredBytes, columns))
