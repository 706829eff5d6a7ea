"""Subscribers of alerts, and which alerts they get."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.seen_events import seen_event
from dt_jupyter.model import Alert, alert_event, alert_in, error
from dt_jupyter.watching import AlertFunction, Webhook

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context


def alert_function(context: Context, handler: AlertFunction | str) -> AlertFunction:
    """What is called with an alert; DT-5130 for a text that is not an address, DT-5211 for an
    address where the engine is shared."""
    if isinstance(handler, str):
        if context.access.shared is not None:
            raise error("DT-5211", what="dt.on_alert of an address", problem="it writes outside")
        return Webhook(handler)
    return handler


def seen_alerts(alerts: Iterable[Alert], access: Access) -> tuple[Alert, ...]:
    """Those that the session's role may see, as it may see them."""
    told = ((a, seen_event(access, alert_event(a, a.since))) for a in alerts)
    return tuple(replace(alert_in(e), target=a.target) for a, e in told if e is not None)


__all__ = ["alert_function", "seen_alerts"]
