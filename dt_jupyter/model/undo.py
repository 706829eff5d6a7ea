"""What a statement that fails has done is undone: every step, whatever the one before came to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from dt_jupyter.model.errors import DTError

UndoStep: TypeAlias = Callable[[], object]
_PLACE = "DT-51"
"""Errors of the lake's place, which may be away for a while."""
_log = logging.getLogger("dt_jupyter")


def undo(failure: BaseException, *steps: UndoStep) -> bool:
    """Runs the steps in order, what lasts (the catalog) first. The error of one that fails is added
    to `failure`, which stays what the user sees; the next one runs all the same. Whether none
    did."""
    whole = True
    for step in steps:
        try:
            step()
        except Exception as e:
            _log.warning("undoing what failed (%s): %s", failure, e)
            failure.add_note(f"Undoing it met another problem: {e}")
            whole = False
    return whole


def run_all(steps: Iterable[UndoStep]) -> None:
    """Runs the steps in order, each whatever the outcome of those before; raises the first
    failure."""
    failures: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as e:
            failures.append(e)
    if failures:
        raise failures[0]


@dataclass
class Leftovers:
    """What could not be undone when its statement failed, since the disk was full or the catalog's
    server away: it is tried again before the next statement of this engine."""

    _waiting: list[tuple[UndoStep, ...]] = field(default_factory=list)
    _finishing: threading.Lock = field(default_factory=threading.Lock)

    def undo(self, failure: BaseException, *steps: UndoStep) -> None:
        """As `undo`, of steps that may run again, and find what they are to undo by its id."""
        if not undo(failure, *steps):
            self._waiting.append(steps)

    def finish(self) -> None:
        """Runs what is left, in its order; what still cannot be done stays."""
        if not self._waiting:
            return
        with self._finishing:  # tasks run statements in separate threads
            while self._waiting:
                try:
                    for step in self._waiting[0]:
                        step()
                except Exception as e:
                    _log.warning("what a failed statement left is still there: %s", e)
                    if isinstance(e, DTError) and e.code.startswith(_PLACE):
                        return
                del self._waiting[0]


__all__ = ["Leftovers", "run_all", "undo"]
