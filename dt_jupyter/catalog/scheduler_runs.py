"""When a scheduler ran, of any process: without one no target lag can be kept."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.owner import Owner, owner_columns, owner_of
from dt_jupyter.catalog.rows import BrokenRow, read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import SchedulerRun
from dt_jupyter.model import EventKind, standing_event

LEAD_SECONDS = 30.0
"""Two heartbeats of a scheduler: one that has not been heard of for so long leads no more."""
_run = schema.scheduler_run
_log = logging.getLogger("dt_jupyter.catalog")


class SchedulerRuns(Store):
    """A row for each time that a scheduler was started. Of those that run one leads: it alone
    starts refreshes."""

    def record_scheduler(self, run: str, *, ended: bool = False) -> bool:
        """The scheduler of that id runs now, or has just ended; whether it leads, which it does
        where no other one does any more."""
        now = self.clock.now()
        until = self._lease_time().plus(LEAD_SECONDS)
        with self._write() as connection:
            leads = not ended and self._leader(connection, but=run) is None
            if leads:
                connection.execute(_run.update().where(_run.c.id != run).values(leads=False))
            values = {"seen": now, "ended": ended, "leads": leads, "expires": until}
            known = connection.execute(_run.update().where(_run.c.id == run).values(**values))
            if not known.rowcount:
                owner = owner_columns(self.owner)
                connection.execute(_run.insert().values(id=run, began=now, **owner, **values))
            if ended or not known.rowcount:
                state = "STOPPED" if ended else "STARTED"
                kind, host = EventKind.SCHEDULER, f"{self.owner.host}:{self.owner.pid}"
                add_event(connection, standing_event(kind, host, run, state, None, now))
        return leads

    def leading_scheduler(self) -> tuple[str, Owner] | None:
        """The run that leads, and whose it is; None if there is none any more."""
        with self._read() as connection:
            return self._leader(connection)

    def _leader(self, connection: Connection, but: str = "") -> tuple[str, Owner] | None:
        query = select(_run).where(_run.c.leads, _run.c.id != but, _run.c.ended.is_(False))
        rows, broken = read_each(connection, _run, query, lambda row: row)
        _warn_of(broken)
        return next(((r["id"], owner_of(r)) for r in rows if self._leads_on(r, but)), None)

    def _leads_on(self, row: RowMapping, but: str) -> bool:
        """A process on this host leads as long as it is there and is not held up; of one engine the
        newest run."""
        owner = owner_of(row)
        if owner.uid == self.owner.uid and but:
            return False
        gone = owner.host == self.owner.host and not self._alive(owner)
        return not gone and row["expires"] > self._lease_time()

    def scheduler_runs(self) -> list[SchedulerRun]:
        """Those that are not pruned, in the order of their begin."""
        with self._read() as connection:
            made, broken = read_each(connection, _run, select(_run), _value)
        _warn_of(broken)
        return sorted(made, key=lambda run: run.began)


def _warn_of(broken: Iterable[BrokenRow]) -> None:
    for row in broken:
        _log.warning("a row of the scheduler's runs cannot be read: %s", row.problem)


def _value(row: RowMapping) -> SchedulerRun:
    return SchedulerRun(row["began"], row["seen"], bool(row["ended"]))
