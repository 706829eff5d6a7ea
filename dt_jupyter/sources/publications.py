"""Transactions on record as committed whose tables are not all written yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import ask_again, reach
from dt_jupyter.model import error

SECONDS = 30.0
"""How long a reader waits for another process, which may be stopped, to write them."""
_PAUSE = 0.005


@dataclass
class Publications:
    """Who reads several tables at one time waits for these: all commits of a transaction are of
    one time, later than that at which it was put on record. `finish` writes those whose process
    is gone."""

    catalog: Catalog
    finish: Callable[[], None] = lambda: None

    def await_end(self) -> None:
        """Every transaction that was on record when this was called is in all of its tables.
        DT-2122 where another process does not get on with it."""
        waiting = self.catalog.publishing()
        if not waiting:
            return
        reach("awaits_publication")
        until = time.monotonic() + SECONDS
        while waiting := waiting & self._publishing_now():
            self.finish()
            if time.monotonic() > until:
                raise error("DT-2122", seconds=SECONDS)
            time.sleep(_PAUSE)
        ask_again()

    def _publishing_now(self) -> frozenset[str]:
        self.catalog.read_anew()
        return self.catalog.publishing()
