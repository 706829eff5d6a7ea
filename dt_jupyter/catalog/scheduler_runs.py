"""When a scheduler ran, of any process: without one no target lag can be kept."""

from __future__ import annotations

import logging

from sqlalchemy import RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import SchedulerRun
from dt_jupyter.model import EventKind, standing_event

_run = schema.scheduler_run
_log = logging.getLogger("dt_jupyter.catalog")


class SchedulerRuns(Store):
    """A row for each time that a scheduler was started."""

    def record_scheduler(self, run: str, *, ended: bool = False) -> None:
        """The scheduler of that id runs now, or has just ended."""
        now = self.clock.now()
        values = {"seen": now, "ended": ended}
        with self._write() as connection:
            known = connection.execute(_run.update().where(_run.c.id == run).values(**values))
            if not known.rowcount:
                connection.execute(_run.insert().values(id=run, began=now, **values))
            if ended or not known.rowcount:
                state = "STOPPED" if ended else "STARTED"
                kind, host = EventKind.SCHEDULER, f"{self.owner.host}:{self.owner.pid}"
                add_event(connection, standing_event(kind, host, run, state, None, now))

    def scheduler_runs(self) -> list[SchedulerRun]:
        """Those that are not pruned, in the order of their begin."""
        with self._read() as connection:
            made, broken = read_each(connection, _run, select(_run), _value)
        for row in broken:
            _log.warning("a row of the scheduler's runs cannot be read: %s", row.problem)
        return sorted(made, key=lambda run: run.began)


def _value(row: RowMapping) -> SchedulerRun:
    return SchedulerRun(row["began"], row["seen"], bool(row["ended"]))
