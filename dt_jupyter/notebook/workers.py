"""Threads for the answers that take their time."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

_log = logging.getLogger("dt_jupyter.comms")
WORKERS = 3
IDLE_SECONDS = 30.0


class Workers:
    """Threads for slow work: at most a fixed number, made when they are needed, gone when they are
    not. They are daemons: a kernel that ends waits for none."""

    def __init__(self, most: int = WORKERS, idle: float = IDLE_SECONDS) -> None:
        self._most, self._idle = most, idle
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._free = self._count = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Runs it soon; what it raises is logged."""
        with self._lock:
            self._work.put(work)
            if self._free < self._work.qsize() and self._count < self._most:
                self._count += 1
                threading.Thread(target=self._run, name="dt-desk", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                self._free += 1
            try:
                work = self._work.get(timeout=self._idle)
            except queue.Empty:
                with self._lock:
                    self._free -= 1
                    if self._work.empty():
                        self._count -= 1
                        return
                continue
            with self._lock:
                self._free -= 1
            try:
                work()
            except Exception:
                _log.exception("an answer could not be given")
