"""How long a table keeps its past, as its properties say."""

from __future__ import annotations

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.model import DTError, error, parse_interval

DELETED_FILES, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
_DEFAULTS = {DELETED_FILES: "interval 7 days", LOG: "interval 30 days"}
"""Delta's own, of a table that says nothing."""


def retention(log: TableLog, property: str, name: object) -> float:
    """The seconds of one of the two. DT-4110 for what cannot be read: then it is unknown what the
    table was to keep."""
    text = log.properties().get(property, _DEFAULTS[property])
    try:
        seconds = parse_interval(text)
    except ValueError as e:
        raise _unreadable(name, property, text, str(e)) from None
    if seconds < 0:
        raise _unreadable(name, property, text, "it is negative")
    return seconds


def _unreadable(name: object, property: str, text: str, problem: str) -> DTError:
    return error("DT-4110", name=name, property=property, value=repr(text), problem=problem)
