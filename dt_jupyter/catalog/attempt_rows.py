"""The rows that a refresh reads and writes: its dynamic table's standing, its record, its pins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import from_frontier, from_record, name_in
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.rows import queries_of
from dt_jupyter.model import (
    Frontier,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Timestamp,
    error,
    refresh_event,
)

_table, _history, _version = schema.dynamic_table, schema.history, schema.dt_version
_pin = schema.pin
_STANDING = (
    _table.c.schema_name,
    _table.c.table_name,
    _table.c.target_lag_seconds,
    _table.c.warehouse,
    _table.c.sequence,
    _table.c.version,
    _table.c.data_timestamp,
    _table.c.frontier,
    _table.c.error_count,
    _table.c.needs_reinit,
    _table.c.dropped,
    _table.c.generation,
    _table.c.graph_valid_from,
    _table.c.last_tick,
    _table.c.definition,
)
_NEXT = (
    select(func.coalesce(func.max(_history.c.ordinal), 0) + 1)
    .where(_history.c.ordinal < schema.NO_ORDINAL)
    .scalar_subquery()
)
# Built once, without parameters: building a statement costs more than running it.
_ONE = _table.c.id == bindparam("of_dt")
_READ_STANDING = select(*_STANDING).where(_ONE)
_UPDATE = _table.update().where(_ONE)
_INSERT = _history.insert().values(ordinal=_NEXT)
_UNMAP = _version.delete().where(
    _version.c.dt_id == bindparam("of_dt"), _version.c.data_timestamp == bindparam("of_time")
)


def _never_before(later: RefreshState) -> list[RefreshState]:
    """The state of a row that cannot be read is unknown."""
    return [s for s in RefreshState if not (s is later or s.may_become(later))]


_IS = _history.c.query_id == bindparam("of_query")
_STATE = select(_history.c.state).where(_IS)
_REWRITE = {
    later: _history.update().where(_IS, _history.c.state.not_in(_never_before(later)))
    for later in RefreshState
}


def standing_after(
    record: RefreshRecord, row: RowMapping, frontier: Frontier, sequence: int, version: int | None
) -> dict[str, Any]:
    """What a success sets of the dynamic table's row."""
    return {
        "sequence": sequence,
        "version": version,
        "data_timestamp": frontier.data_timestamp,
        "frontier": from_frontier(frontier),
        "error_count": 0,
        "last_query_id": record.query_id,
        **newest_tick(record, row),
    }


def advance_standing(connection: Connection, dt_id: str, after: dict[str, Any]) -> None:
    """Set the standing; from now on there is a version for exactly its data timestamp."""
    advance_standings(connection, {dt_id: after})


def advance_standings(connection: Connection, moves: Mapping[str, dict[str, Any]]) -> None:
    """As `advance_standing`, of many by their ids, in a few statements."""
    connection.execute(_UPDATE, [{"of_dt": dt_id, **after} for dt_id, after in moves.items()])
    rows = [
        {"dt_id": dt_id, **{key: after[key] for key in ("data_timestamp", "version")}}
        for dt_id, after in moves.items()
        if after["version"] is not None
    ]
    if rows:  # one is there already only if the standing was set back
        at = [{"of_dt": row["dt_id"], "of_time": row["data_timestamp"]} for row in rows]
        connection.execute(_UNMAP, at)
        connection.execute(_version.insert(), rows)


def read_standing(connection: Connection, dt_id: str) -> RowMapping:
    row = connection.execute(_READ_STANDING, {"of_dt": dt_id}).mappings().one_or_none()
    if row is None or row["dropped"] is not None:
        raise error("DT-1101", name=dt_id if row is None else name_in(row), hint="It was dropped.")
    return row


def read_standings(connection: Connection, ids: Sequence[str]) -> dict[str, RowMapping]:
    """By id, of those that are there."""
    query = select(_table.c.id, *_STANDING).where(_table.c.dropped.is_(None))
    asked = queries_of(query, _table.c.id, ids)
    return {row["id"]: row for each in asked for row in connection.execute(each).mappings()}


def set_standing(connection: Connection, dt_id: str, **values: Any) -> None:
    connection.execute(_UPDATE, {"of_dt": dt_id, **values})


def newest_tick(record: RefreshRecord, row: RowMapping) -> dict[str, Timestamp]:
    """What a scheduled record says of the newest tick that is done with."""
    if record.trigger is not RefreshTrigger.SCHEDULED:
        return {}
    before = row["last_tick"]
    tick = record.data_timestamp
    return {"last_tick": tick if before is None else max(before, tick)}


def complete_record(
    record: RefreshRecord, row: RowMapping, now: Timestamp, started: Timestamp | None = None
) -> RefreshRecord:
    """The record with what the catalog knows and the caller left out."""
    lag = row["target_lag_seconds"]
    return replace(
        record,
        start=record.start or started or now,
        end=record.end or (now if record.state.final else None),
        target_lag_seconds=record.target_lag_seconds if record.target_lag_seconds else lag,
        warehouse=record.warehouse or row["warehouse"],
        graph_valid_from=record.graph_valid_from or row["graph_valid_from"],
    )


def insert_record(connection: Connection, dt_id: str, record: RefreshRecord) -> None:
    insert_records(connection, {dt_id: record})


def insert_records(connection: Connection, records: Mapping[str, RefreshRecord]) -> None:
    """One of each dynamic table, by their ids, in this order."""
    for record in records.values():
        assert RefreshState.SCHEDULED.may_become(record.state), record.state
    rows = [from_record(record) | {"dt_id": dt_id} for dt_id, record in records.items()]
    connection.execute(_INSERT, rows)
    for dt_id, record in records.items():
        _tell(connection, dt_id, record)


def rewrite_record(connection: Connection, dt_id: str, record: RefreshRecord) -> bool:
    """The row of an attempt as it ended; False if there is none."""
    of = {"of_query": record.query_id}
    if connection.execute(_REWRITE[record.state], from_record(record) | of).rowcount == 1:
        _tell(connection, dt_id, record)
        return True
    before = connection.execute(_STATE, of).scalar_one_or_none()
    assert before is None, f"{record.query_id} is {before}, and never {record.state}"
    return False


def _tell(connection: Connection, dt_id: str, record: RefreshRecord) -> None:
    if record.state.final and record.end is not None:
        add_event(connection, refresh_event(dt_id, record, record.end))


def add_pins(connection: Connection, attempt_id: str, pins: Iterable[tuple[str, int]]) -> None:
    known = select(_pin.c.table_id, _pin.c.version).where(_pin.c.attempt == attempt_id)
    wanted = set(pins)
    if not wanted:
        return
    new = wanted - {(table, version) for table, version in connection.execute(known)}
    for table, version in sorted(new):
        connection.execute(
            _pin.insert().values(attempt=attempt_id, table_id=table, version=version)
        )
