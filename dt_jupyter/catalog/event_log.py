"""Logs the events that this process committed, by Python's logging."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from dt_jupyter.model import LakeEvent, Severity

EVENT_LOGGER = "dt_jupyter.event"
_log = logging.getLogger(EVENT_LOGGER)
_log.addHandler(logging.NullHandler())  # who has set up no logging is shown nothing
_LEVELS = {
    Severity.DEBUG: logging.DEBUG,
    Severity.INFO: logging.INFO,
    Severity.WARN: logging.WARNING,
    Severity.ERROR: logging.ERROR,
}


def log_events(events: Iterable[LakeEvent]) -> None:
    """Each with its fields as `record.dt_event`."""
    for event in events:
        level = _LEVELS[event.severity]
        if _log.isEnabledFor(level):
            _log.log(level, "%s", event, extra={"dt_event": event.to_json()})


__all__ = ["EVENT_LOGGER", "log_events"]
