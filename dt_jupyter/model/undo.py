"""What a statement that fails has done is undone: every step, whatever the one before came to."""

from __future__ import annotations

import logging
from collections.abc import Callable

_log = logging.getLogger("dt_jupyter")


def undo(failure: BaseException, *steps: Callable[[], object]) -> None:
    """Runs the steps in order, what lasts (the catalog) first. One that fails is told beside
    `failure`, which stays what the user sees; the next one runs all the same."""
    for step in steps:
        try:
            step()
        except Exception as e:
            _log.warning("undoing what failed (%s): %s", failure, e)
            failure.add_note(f"Undoing it met another problem: {e}")


__all__ = ["undo"]
