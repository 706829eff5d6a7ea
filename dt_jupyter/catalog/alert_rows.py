"""Active alerts, the same for every process, and the rows that decide those of dynamic tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import name_in, storable, to_reason
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.task_runs import TaskRuns
from dt_jupyter.catalog.values import TOO_MANY_FAILURES
from dt_jupyter.model import (
    Alert,
    AlertKind,
    AlertMoves,
    Name,
    Reason,
    RefreshState,
    SchedulingState,
    StandingAlert,
    TableStanding,
    TaskRun,
    Timestamp,
    alert_event,
    decide_alerts,
)

_alert, _table, _history = schema.alert, schema.dynamic_table, schema.history
_run = schema.task_run
_RUNS = 16
"""A task's last outcome is searched in this number of its newest runs."""
_STANDINGS = (
    select(
        _table.c.id,
        _table.c.schema_name,
        _table.c.table_name,
        _table.c.data_timestamp,
        _table.c.target_lag_seconds,
        _table.c.scheduling,
        _table.c.scheduling_reason,
        _table.c.scheduler_enabled,
        _history.c.state.label("last_state"),
        _history.c.error_code,
        _history.c.error,
    )
    .outerjoin(_history, _history.c.query_id == _table.c.last_query_id)
    .where(_table.c.dropped.is_(None))
)


class AlertRows(TaskRuns):
    """An alert is raised, and cleared, by the first process that finds it."""

    def table_standings(self) -> list[TableStanding]:
        """Of all dynamic tables; those that cannot be read are left out."""
        with self._read() as connection:
            return read_each(connection, _table, _STANDINGS, _to_standing)[0]

    def newest_task_runs(self, task: str) -> list[TaskRun]:
        """The newest of a task, newest first."""
        order = (_run.c.number.desc(), _run.c.attempt.desc())
        query = select(_run).where(_run.c.task_id == task).order_by(*order).limit(_RUNS)
        with self._read() as connection:
            return self._runs(connection, query)

    def standing_alerts(self) -> list[StandingAlert]:
        """Those that were raised and not cleared, oldest first."""
        with self._read() as connection:
            return _standing(connection)

    def settle_alerts(self, found: Sequence[Alert]) -> AlertMoves:
        """Raises alerts that are found and not active, clears active ones that are not found;
        returns what this process changed. Writes nothing if nothing changes."""
        if decide_alerts(found, self.standing_alerts(), self.clock.now()).none:
            return AlertMoves()
        with self._write() as connection:
            now = self.clock.now()
            moves = decide_alerts(found, _standing(connection), now)
            for alert in moves.raised:
                connection.execute(_alert.insert().values(**_values_of(alert)))
                add_event(connection, alert_event(alert, now))
            for alert in moves.cleared:
                connection.execute(_alert.delete().where(_is(alert)))
                add_event(connection, alert_event(alert, now))
            for each in moves.quiet:
                here = _alert.update().where(_is(each.alert))
                connection.execute(here.values(calm=each.calm))
        return moves


def _is(alert: Alert) -> ColumnElement[bool]:
    kind, object_id = alert.key
    return and_(_alert.c.kind == kind, _alert.c.object_id == object_id)


def _standing(connection: Connection) -> list[StandingAlert]:
    return read_each(connection, _alert, select(_alert).order_by(_alert.c.raised), _to_alert)[0]


def _to_standing(row: RowMapping) -> TableStanding:
    reason = to_reason(row["scheduling_reason"])
    failed = row["last_state"] == RefreshState.FAILED
    return TableStanding(
        row["id"],
        name_in(row),
        row["data_timestamp"],
        row["target_lag_seconds"] if row["scheduler_enabled"] else None,
        SchedulingState(row["scheduling"]) is SchedulingState.SUSPENDED,
        reason is not None and reason.code == TOO_MANY_FAILURES,
        reason,
        Reason(row["error_code"] or "FAILED", row["error"] or "It failed.") if failed else None,
        bool(row["scheduler_enabled"]) and row["target_lag_seconds"] is None,
    )


def _values_of(alert: Alert) -> dict[str, Any]:
    return {
        "kind": alert.kind.value,
        "object_id": alert.object_id,
        "object_kind": alert.of,
        "schema_name": alert.name.schema,
        "object_name": alert.name.table,
        "raised": alert.since,
        "code": alert.code,
        "message": storable(alert.message),
        "target_seconds": alert.target,
        "calm": None,
    }


def _to_alert(row: RowMapping) -> StandingAlert:
    raised: Timestamp = row["raised"]
    alert = Alert(
        AlertKind(row["kind"]),
        row["object_kind"],
        Name(row["schema_name"], row["object_name"]),
        row["object_id"],
        raised,
        row["code"],
        row["message"],
        target=row["target_seconds"],
    )
    return StandingAlert(alert, row["calm"])
