"""The alerts that stand in the lake of an engine, told anew whenever they are others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Alert, AlertKind, DTError, EventKind, Timestamp

if TYPE_CHECKING:
    from dt_jupyter.engine import Context, Engine
    from dt_jupyter.wire import AlertRow, AlertsMessage

_log = logging.getLogger("dt_jupyter.alerts")


class AlertTeller:
    """While it is there alerts are looked for; of many at once there is one message."""

    def __init__(self, engine: Engine, tell: Callable[[dict[str, Any]], None]) -> None:
        self._engine, self._tell = engine, tell
        self._told: tuple[AlertRow, ...] | None = None
        self.stop = engine.context.alerts.tell(lambda _: self.look())

    def look(self) -> None:
        """Tells all that stand, if they are others than before."""
        found = self._found()
        if found is not None and found.alerts != self._told:
            self._told = found.alerts
            self._tell(found.to_json())

    def greet(self, send: Callable[[dict[str, Any]], None]) -> None:
        """Tells one who has just come; the others know."""
        found = self._found()
        if found is not None:
            self._told = found.alerts if self._told is None else self._told
            send(found.to_json())

    def _found(self) -> AlertsMessage | None:
        try:
            return alerts_message(self._engine)
        except DTError as e:
            _log.warning("the alerts cannot be told: %s", e)
            return None


def alerts_message(engine: Engine) -> AlertsMessage:
    """Those that the session's role may see, as they were found last."""
    from dt_jupyter.engine import seen_alerts
    from dt_jupyter.wire import AlertsMessage

    context, now = engine.context, engine.context.clock.now()
    seen = tuple(seen_alerts(context.alerts.standing(), context.access))
    grave = {alert.object_id for alert in seen if alert.kind is not AlertKind.LATE}
    told = [a for a in seen if a.kind is not AlertKind.LATE or a.object_id not in grave]
    return AlertsMessage(tuple(_row(context, alert, now) for alert in told), now.datetime)


def _row(context: Context, alert: Alert, now: Timestamp) -> AlertRow:
    from dt_jupyter.reports import TaskName
    from dt_jupyter.wire import AlertRow

    name = TaskName(alert.name) if alert.of == EventKind.TASK else alert.name
    row = AlertRow(alert.kind, alert.of, str(name), alert.since.datetime, alert.code, alert.message)
    late = alert.kind is AlertKind.LATE
    return _late_row(context, alert, row, now) if late else row


def _late_row(context: Context, alert: Alert, row: AlertRow, now: Timestamp) -> AlertRow:
    """With what its lag counts from, and what keeps it."""
    from dt_jupyter.engine import seen_node

    nodes, id_ = context.nodes, alert.object_id
    found = nodes.sink(id_, now) if alert.of == EventKind.SINK else nodes.one(id_, {}, None, now)
    node = seen_node(found, context.access) if found is not None else None
    if node is None:
        return row
    if node.sink is not None:
        since, cause = node.sink.behind_since, node.sink.error
    else:
        since = node.table.data_timestamp if node.table is not None else None
        cause = node.obstacle or _wait(context, alert)
    behind = since.datetime if since is not None else None
    return replace(row, behind_since=behind, target=alert.target, cause=cause)


def _wait(context: Context, alert: Alert) -> str | None:
    """What its refresh waits for, or that it runs."""
    catalog, name = context.catalog, f"{alert.name}: "
    if any(lease.dt_id == alert.object_id for lease in catalog.running()):
        return "Its refresh runs."
    waits = context.scheduling.waits() if not context.access.bound else []
    return next((w.removeprefix(name) for w in waits if w.startswith(name)), None)


__all__ = ["AlertTeller", "alerts_message"]
