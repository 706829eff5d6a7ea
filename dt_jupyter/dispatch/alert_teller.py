"""The active alerts in the lake of an engine, sent again whenever they change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Alert, AlertKind, DTError, EventKind, LateCause, Timestamp

if TYPE_CHECKING:
    from dt_jupyter.engine import Context, Engine
    from dt_jupyter.wire import AlertRow, AlertsMessage

_log = logging.getLogger("dt_jupyter.alerts")


class AlertTeller:
    """While it is there alerts are looked for; of many at once there is one message."""

    def __init__(self, engine: Engine, tell: Callable[[dict[str, Any]], None]) -> None:
        self._engine, self._tell = engine, tell
        self._told: tuple[AlertRow, ...] | None = None
        self._known: tuple[Alert, ...] = ()
        self.stop = engine.context.alerts.tell(lambda _: self._hear())

    def _hear(self) -> None:
        """One of many that were raised or cleared at once: the message of the first has them."""
        if self._engine.context.alerts.standing() != self._known:
            self.look()

    def look(self) -> None:
        """Sends all active alerts if they have changed."""
        found = self._found()
        if found is not None and found.alerts != self._told:
            self._told = found.alerts
            self._tell(found.to_json())

    def greet(self, send: Callable[[dict[str, Any]], None]) -> None:
        """Sends them to a new listener; the others have them."""
        found = self._found()
        if found is not None:
            self._told = found.alerts if self._told is None else self._told
            send(found.to_json())

    def _found(self) -> AlertsMessage | None:
        try:
            self._known = self._engine.context.alerts.standing()
            return alerts_message(self._engine)
        except DTError as e:
            _log.warning("the alerts cannot be read: %s", e)
            return None


def alerts_message(engine: Engine) -> AlertsMessage:
    """Those that the session's role may see, as they were found last."""
    from dt_jupyter.engine import late_causes, seen_alerts
    from dt_jupyter.wire import AlertsMessage

    context, now = engine.context, engine.context.clock.now()
    seen = tuple(seen_alerts(context.alerts.standing(), context.access))
    grave = {alert.object_id for alert in seen if alert.kind is not AlertKind.LATE}
    told = [a for a in seen if a.kind is not AlertKind.LATE or a.object_id not in grave]
    of_tables = any(alert.of == EventKind.DYNAMIC_TABLE for alert in told)
    causes = late_causes(context) if of_tables else {}
    rows = (_row(context, alert, causes.get(alert.object_id), now) for alert in told)
    return AlertsMessage(tuple(rows), now.datetime)


def _row(context: Context, alert: Alert, cause: LateCause | None, now: Timestamp) -> AlertRow:
    from dt_jupyter.dispatch.late_rows import remedy_rows
    from dt_jupyter.reports import TaskName
    from dt_jupyter.wire import AlertRow

    name = TaskName(alert.name) if alert.of == EventKind.TASK else alert.name
    row = AlertRow(alert.kind, alert.of, str(name), alert.since.datetime, alert.code, alert.message)
    row = replace(row, remedies=remedy_rows(cause))
    if alert.kind is not AlertKind.LATE:
        return row
    since, why = _behind(context, alert, cause, now)
    behind = since.datetime if since is not None else None
    return replace(row, behind_since=behind, target=alert.target, cause=why)


def _behind(
    context: Context, alert: Alert, cause: LateCause | None, now: Timestamp
) -> tuple[Timestamp | None, str | None]:
    """What the lag of a table or sink counts from, and what keeps it."""
    from dt_jupyter.engine import seen_sink

    if alert.of != EventKind.SINK:
        table = context.catalog.by_id(alert.object_id)
        since = table.data_timestamp if table is not None else None
        return since, cause.sentence if cause is not None else None
    node = context.nodes.sink(alert.object_id, now)
    found = seen_sink(node.sink, context.access) if node is not None and node.sink else None
    return (found.behind_since, found.error) if found is not None else (None, None)


__all__ = ["AlertTeller", "alerts_message"]
