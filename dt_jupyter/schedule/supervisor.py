"""One thread that looks again and again: when it is nudged, and when its last look says so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from dt_jupyter.schedule.thread import Spawn, Worker


@dataclass
class Supervisor:
    """`look` gives the seconds until the next look is worth it; it raises nothing."""

    look: Callable[[], float]
    name: str
    spawn: Spawn
    _stopped: threading.Event = field(default_factory=threading.Event)
    _woken: threading.Event = field(default_factory=threading.Event)
    _thread: Worker | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was stopped, and not started again since."""
        return self._stopped.is_set()

    def start(self) -> None:
        """Once is enough."""
        if self._thread is None:
            self._stopped.clear()
            self._thread = self.spawn(self._loop, self.name)

    def stop(self, timeout: float) -> float | None:
        """Waits for it, at most `timeout` seconds; how many of them are left for what it began,
        None where it did not run."""
        thread, self._thread = self._thread, None
        if thread is None:
            return None
        until = monotonic() + timeout
        self._stopped.set()
        self.nudge()
        thread.join(timeout)
        return max(until - monotonic(), 0.0)

    def nudge(self) -> None:
        """Look again now."""
        self._woken.set()

    def _loop(self) -> None:
        while not self.stopped:
            self._woken.wait(self.look())
            self._woken.clear()


def join_all(workers: list[Worker], seconds: float) -> None:
    """Waits for all of them together so long at most."""
    until = monotonic() + seconds
    for worker in workers:
        worker.join(max(until - monotonic(), 0.0))


__all__ = ["Supervisor", "join_all"]
