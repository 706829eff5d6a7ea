"""The alerts that stand in the lake of an engine, told anew whenever they are others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Alert, DTError, EventKind

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine
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

    context = engine.context
    seen = seen_alerts(context.alerts.standing(), context.access)
    return AlertsMessage(tuple(map(_row, seen)), context.clock.now().datetime)


def _row(alert: Alert) -> AlertRow:
    from dt_jupyter.reports import TaskName
    from dt_jupyter.wire import AlertRow

    name = TaskName(alert.name) if alert.of == EventKind.TASK else alert.name
    since = alert.since.datetime
    return AlertRow(alert.kind, alert.of, str(name), since, alert.code, alert.message)


__all__ = ["AlertTeller", "alerts_message"]
