"""How fast replays read: so many bytes a second, so that whoever writes has the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Pace:
    """One for all replays of an engine. What was spent is paid by waiting, before more is read; no
    pause saves up for later."""

    bytes_per_second: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def spend(self, size: int) -> None:
        """Returns when so many bytes more may be read."""
        with self._lock:
            now = self.clock()
            self._free_at = max(self._free_at, now) + size / self.bytes_per_second
            wait = self._free_at - now
        if wait > 0:
            self.sleep(wait)
