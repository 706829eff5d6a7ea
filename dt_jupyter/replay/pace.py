"""How fast replays read: a number of bytes a second, so that writers have cores and disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.spark import check_cancelled

if TYPE_CHECKING:
    import pyarrow as pa

REFRESH_PAUSE_SECONDS = 10.0
"""A small refresh is done before the part that is being read: where one was a moment ago, the next
one is near."""
_STEP_SECONDS = 0.2


@dataclass
class Pace:
    """One for all replays of an engine. While other work is to be undisturbed (`busy`), a reader
    waits first, until the time of what was read before has passed; else no one waits, and nothing
    is to be paid. No pause saves up for later."""

    bytes_per_second: float
    busy: Callable[[], bool] = lambda: True
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def await_turn(self, size: int) -> None:
        """Returns when `size` bytes may be read. Raises `Cancelled` where the work of this thread
        is not wanted any more."""
        with self._lock:
            if not self.busy():
                self._free_at = self.clock()
                return
            turn = max(self._free_at, self.clock())
            self._free_at = turn + size / self.bytes_per_second
        while (left := turn - self.clock()) > 0:
            check_cancelled()
            if not self.busy():
                with self._lock:
                    self._free_at = self.clock()
                return
            self.sleep(min(left, _STEP_SECONDS))


def paid_batches(
    batches: Iterable[pa.RecordBatch], paid: int, await_turn: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """Batches; `paid` bytes of them were waited for already, as bytes of files: rows that are
    larger than their files wait for the rest."""
    for batch in batches:
        paid -= batch.nbytes
        if paid < 0:
            await_turn(-paid)
            paid = 0
        yield batch
