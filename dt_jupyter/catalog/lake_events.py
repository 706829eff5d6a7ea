"""The event table of a lake: what happened in it, in all processes."""

from __future__ import annotations

import logging

from sqlalchemy import ColumnElement, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.event_rows import add_event, to_event
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.model import LakeEvent, Name

_event = schema.event
_log = logging.getLogger("dt_jupyter.catalog")


class LakeEvents(Store):
    """Reading what happened; who changes something writes it in the same transaction."""

    def note(self, event: LakeEvent) -> None:
        """Of what is in no other table of the catalog."""
        with self._write() as connection:
            add_event(connection, event)

    def lake_events(self, name: Name | None = None, limit: int | None = None) -> list[LakeEvent]:
        """Newest first: of all, or of whatever has or had the name."""
        where = []
        if name is not None:
            where = [_event.c.schema_name == name.schema, _event.c.object_name == name.table]
        return [event for _, event in self._events(where, limit)]

    def newest_event(self) -> int:
        """The ordinal of the newest event; 0 without any."""
        with self._read() as connection:
            return int(connection.scalar(select(func.max(_event.c.ordinal))) or 0)

    def events_after(self, ordinal: int, limit: int) -> list[tuple[int, LakeEvent]]:
        """The newest that came after, newest first, each with its ordinal."""
        return self._events([_event.c.ordinal > ordinal], limit)

    def _events(
        self, where: list[ColumnElement[bool]], limit: int | None
    ) -> list[tuple[int, LakeEvent]]:
        query = select(_event).where(*where).order_by(_event.c.ordinal.desc()).limit(limit)
        with self._read() as connection:
            made, broken = read_each(
                connection, _event, query, lambda row: (int(row["ordinal"]), to_event(row))
            )
        for row in broken:
            _log.warning("a row of the event table cannot be read: %s", row.problem)
        return made
