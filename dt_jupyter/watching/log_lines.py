"""The log of the package as JSON lines, for whatever collects them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TextIO


class JsonLogFormatter(logging.Formatter):
    """One JSON object for each record: `time`, `level`, `logger`, `message`, the fields of an
    event, and the trace of an error."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_event_of(record),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def _event_of(record: logging.LogRecord) -> dict[str, object]:
    """The time when it happened replaces the time of logging; its message is in the sentence."""
    fields = dict(getattr(record, "dt_event", {}))
    fields.pop("message", None)
    return fields


def log_as_json(to: TextIO) -> Callable[[], None]:
    """From now on, of level INFO and above; call the result to stop."""
    logger, handler = logging.getLogger("dt_jupyter"), logging.StreamHandler(to)
    handler.setFormatter(JsonLogFormatter())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    def stop() -> None:
        logger.removeHandler(handler)
        logger.setLevel(level)

    return stop


__all__ = ["JsonLogFormatter", "log_as_json"]
