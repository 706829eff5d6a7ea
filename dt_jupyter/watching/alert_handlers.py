"""Functions that are called for alerts: each in a separate thread, so that one that is slow, hangs
or raises delays only its own next call."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable

from dt_jupyter.model import Alert

AlertFunction = Callable[[Alert], object]
WAITING = 100
"""Of more alerts that wait for one function the oldest are left out."""
_log = logging.getLogger("dt_jupyter.alerts")


class AlertHandler:
    """One function, and the alerts that wait for it. Its thread ends where there is none, and is
    never waited for."""

    def __init__(self, fn: AlertFunction) -> None:
        self._fn = fn
        self._waiting: deque[Alert] = deque(maxlen=WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._complained = False

    def tell(self, alerts: Iterable[Alert]) -> None:
        """Returns at once."""
        with self._lock:
            for alert in alerts:
                if len(self._waiting) == WAITING:
                    _log.warning("an alert is left out, since %r is too slow", self._fn)
                self._waiting.append(alert)
            if self._waiting and self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dt-alert", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """It is not called any more; a running call is not waited for."""
        with self._lock:
            self._waiting.clear()

    def _run(self) -> None:
        while (alert := self._next()) is not None:
            try:
                self._fn(alert)
            except Exception:
                if not self._complained:
                    self._complained = True
                    _log.exception("%r failed; its next failures are not logged", self._fn)

    def _next(self) -> Alert | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None


__all__ = ["WAITING", "AlertFunction", "AlertHandler"]
