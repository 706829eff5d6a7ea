"""A statement waits for what another one, here or in another process, holds for a short time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.lake import reach
from dt_jupyter.model import DTError
from dt_jupyter.spark import activity_step, check_cancelled

_PAUSE = 0.05


@dataclass
class LeaseWaits:
    """`seconds`: how long a statement waits at most. `require_open` raises once the engine is
    closed."""

    seconds: float
    require_open: Callable[[], None] = lambda: None

    def deadline(self, seconds: float | None = None) -> float:
        """The `time.monotonic` at which a statement that begins now ends its waiting; `seconds`:
        0 for NOWAIT, None for the engine's own."""
        return time.monotonic() + (self.seconds if seconds is None else seconds)

    def until(self, free: Callable[[], bool], text: str, problem: DTError, deadline: float) -> None:
        """Returns once `free()`; raises `problem` at the deadline, Cancelled where the statement
        is cancelled. `text`, for whom the statement waits, is the step that it is in."""
        if time.monotonic() >= deadline:
            raise problem
        with activity_step(text):
            while not free():
                reach("waits_for_lease")
                check_cancelled()
                if time.monotonic() >= deadline:
                    raise problem
                time.sleep(_PAUSE)
                self.require_open()
