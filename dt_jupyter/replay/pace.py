"""How fast replays read: so many bytes a second, so that whoever writes has cores and disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.spark import check_cancelled

if TYPE_CHECKING:
    import pyarrow as pa

_STEP_SECONDS = 0.2


@dataclass
class Pace:
    """One for all replays of an engine. Whoever reads waits first, until what was read before is
    paid for; no pause saves up for later."""

    bytes_per_second: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def await_turn(self, size: int) -> None:
        """Returns when so many bytes may be read. Raises `Cancelled` where the work of this thread
        is not wanted any more."""
        with self._lock:
            turn = max(self._free_at, self.clock())
            self._free_at = turn + size / self.bytes_per_second
        while (left := turn - self.clock()) > 0:
            check_cancelled()
            self.sleep(min(left, _STEP_SECONDS))


def paid_batches(
    batches: Iterable[pa.RecordBatch], paid: int, await_turn: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    """Batches of which `paid` bytes were waited for already, as bytes of files: rows that are
    larger than their files wait for the rest."""
    for batch in batches:
        paid -= batch.nbytes
        if paid < 0:
            await_turn(-paid)
            paid = 0
        yield batch
