"""Leases: one refresh of a dynamic table at a time, among threads, kernels and hosts.

A lease is for efficiency; what makes a lost one harmless is the dense sequence in the lake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, Integer, RowMapping, bindparam, cast, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import from_reason, to_record
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.owner import Owner, owner_columns, owner_of
from dt_jupyter.catalog.rows import BrokenRow, overwrite_row, queries_of, read_each
from dt_jupyter.catalog.values import Attempt, Lease
from dt_jupyter.model import (
    LakeEvent,
    Reason,
    RefreshState,
    RefreshTrigger,
    Timestamp,
    refresh_event,
)

Liveness = Callable[[Owner], bool]
LeaseTest = Callable[[RowMapping], bool]
_lease, _pin, _history = schema.lease, schema.pin, schema.history
_OF = _lease.c.dt_id == bindparam("of_dt")
_READ, _UPDATE = select(_lease).where(_OF), _lease.update().where(_OF)
_UNPIN = _pin.delete().where(_pin.c.attempt == bindparam("of_attempt"))

GONE = Reason("OWNER_GONE", "The process that ran this refresh ended, or stopped answering.")
DROPPED = Reason("DROPPED", "The dynamic table was dropped while this refresh ran.")
CLOSED = Reason("ENGINE_CLOSED", "The engine was closed while this refresh ran.")


_FREE: Mapping[str, None] = dict.fromkeys(
    ("attempt", "expires", "data_timestamp", "host", "pid", "uid", "started", "trigger_kind")
)


def read_lease(connection: Connection, dt_id: str) -> RowMapping | None:
    """To be called where the transaction may write: a lease that cannot be read is free then."""
    query = _READ.params(of_dt=dt_id)
    found, broken = read_each(connection, _lease, query, lambda row: row)
    for row in broken:
        free_broken(connection, row)
    if broken:
        return connection.execute(query).mappings().one_or_none()
    return found[0] if found else None


def read_leases(connection: Connection, ids: Sequence[str]) -> dict[str, RowMapping]:
    """As `read_lease`, of many, by the dynamic tables' ids."""
    held: dict[str, RowMapping] = {}
    for query in queries_of(select(_lease), _lease.c.dt_id, ids):
        found, broken = read_each(connection, _lease, query, lambda row: row)
        for lost in broken:
            free_broken(connection, lost)
        if broken:
            found = list(connection.execute(query).mappings())
        held |= {row["dt_id"]: row for row in found}
    return held


def free_broken(connection: Connection, row: BrokenRow) -> None:
    """Frees a lease that cannot be read: what makes a lost one harmless is the sequence. Attempts
    before are of a lower epoch."""
    epochs = select(func.coalesce(func.max(cast(_lease.c.epoch, Integer)), 0) + 1)
    overwrite_row(connection, _lease, row, epoch=epochs.scalar_subquery(), **_FREE)


def value_of(row: RowMapping) -> Lease:
    return Lease(
        row["dt_id"],
        owner_of(row),
        row["epoch"],
        row["attempt"],
        row["expires"],
        RefreshTrigger(row["trigger_kind"]),
        row["data_timestamp"],
        row["start_time"],
    )


def in_force(row: RowMapping, here: Owner, alive: Liveness, now: Timestamp) -> bool:
    """Whether the lease still keeps others out: not free, not run out, its process not gone."""
    if row["attempt"] is None or row["expires"] <= now:
        return False
    owner = owner_of(row)
    return owner.uid == here.uid or owner.host != here.host or alive(owner)


def take(
    connection: Connection, attempt: Attempt, owner: Owner, until: Timestamp, *, new: bool
) -> None:
    """Write the lease of `attempt`: a first row, or over a free or dead one."""
    values = {
        "epoch": attempt.epoch,
        "attempt": attempt.id,
        **owner_columns(owner),
        "expires": until,
        "trigger_kind": attempt.trigger,
        "data_timestamp": attempt.data_timestamp,
    }
    if new:
        connection.execute(_lease.insert(), {"dt_id": attempt.dt_id, **values})
    else:
        connection.execute(_UPDATE, {"of_dt": attempt.dt_id, **values})


def holds(row: RowMapping | None, attempt: Attempt) -> bool:
    """Whether the attempt has not been fenced."""
    return row is not None and (row["attempt"], row["epoch"]) == (attempt.id, attempt.epoch)


def free_lease(connection: Connection, dt_id: str, attempt_id: str) -> None:
    """Free the lease and the pins of an attempt; the epoch stays, for the next one to exceed."""
    connection.execute(_UPDATE, {"of_dt": dt_id, "attempt": None})
    connection.execute(_UNPIN, {"of_attempt": attempt_id})


def abandon(connection: Connection, row: RowMapping, why: Reason, now: Timestamp) -> str:
    """Fence the attempt that holds this lease: it is CANCELLED, and can finish nothing."""
    attempt: str = row["attempt"]
    executing = (_history.c.query_id == attempt, _history.c.state == RefreshState.EXECUTING)
    connection.execute(
        _history.update()
        .where(*executing)
        .values(state=RefreshState.CANCELLED, end_time=now, reason=from_reason(why))
    )
    _tell(connection, attempt, now)
    table = schema.dynamic_table
    connection.execute(
        table.update().where(table.c.id == row["dt_id"]).values(last_query_id=attempt)
    )
    free_lease(connection, row["dt_id"], attempt)
    return attempt


def _tell(connection: Connection, attempt: str, now: Timestamp) -> None:
    def ended(row: RowMapping) -> LakeEvent:
        return refresh_event(row["dt_id"], to_record(row), now)

    cancelled = (_history.c.query_id == attempt, _history.c.state == RefreshState.CANCELLED)
    for event in read_each(connection, _history, select(_history).where(*cancelled), ended)[0]:
        add_event(connection, event)


def abandon_of(connection: Connection, dt_id: str, why: Reason, now: Timestamp) -> None:
    """Fence whatever refreshes this dynamic table."""
    row = read_lease(connection, dt_id)
    if row is not None and row["attempt"] is not None:
        abandon(connection, row, why, now)
