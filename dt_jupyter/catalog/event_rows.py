"""Stores events in the transaction in which they happen; they are published after its commit."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, storable
from dt_jupyter.model import EventKind, LakeEvent, Severity

EVENTS_KEPT = 50_000
"""Of more the oldest are deleted."""
NOTED = "dt_noted"
"""The execution option with the list of what a transaction has noted."""
_event = schema.event
_INSERT = _event.insert()
_TRIM = _event.delete().where(
    _event.c.ordinal <= select(func.max(_event.c.ordinal) - EVENTS_KEPT).scalar_subquery()
)


def add_event(connection: Connection, event: LakeEvent) -> None:
    """Store state changes (not DEBUG) and publish the event after commit."""
    connection.get_execution_options()[NOTED].append(event)
    if event.severity is not Severity.DEBUG:
        connection.execute(_INSERT, _values_of(event))
        connection.execute(_TRIM)


def to_event(row: RowMapping) -> LakeEvent:
    return LakeEvent(
        row["time"],
        EventKind(row["kind"]),
        Severity(row["severity"]),
        row["state"],
        row["schema_name"],
        row["object_name"],
        row["object_id"],
        row["code"],
        row["message"],
        json.loads(row["attributes"]),
    )


def _values_of(event: LakeEvent) -> dict[str, Any]:
    return {
        "time": event.at,
        "kind": event.kind.value,
        "severity": event.severity.value,
        "state": event.state,
        "schema_name": event.schema,
        "object_name": event.name,
        "object_id": event.object_id,
        "code": event.code,
        "message": storable(event.message),
        "attributes": dump(dict(event.attributes)),
    }


__all__ = ["EVENTS_KEPT", "NOTED", "add_event", "to_event"]
