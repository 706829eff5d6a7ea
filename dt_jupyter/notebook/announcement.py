"""What a cell changes of a table that is there, shown above what comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.notebook.display import show_below
from dt_jupyter.notebook.views import is_live
from dt_jupyter.notebook.waiting import Handle, empty_output

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from dt_jupyter.model import DynamicTable
    from dt_jupyter.reports import PlannedChange

_ELSEWHERE = "since this notebook defined it, it was changed elsewhere; that is undone by this cell"


class Announcement:
    """Its place in the cell is that where it is made; `left` is how this notebook left the table
    that the cell is about, `standing` how it is (None: it is not known, or not there)."""

    def __init__(
        self,
        shell: InteractiveShell,
        left: DynamicTable | None,
        standing: DynamicTable | None,
    ) -> None:
        self._place: Handle | None = empty_output() if is_live(shell) else None
        self._moved = left is not None and standing is not None and _asked(left) != _asked(standing)

    def __call__(self, change: PlannedChange) -> None:
        if change and self._moved:
            change = replace(change, costs=(_ELSEWHERE, *change.costs))
        if self._place is None:
            show_below(change)
        else:
            self._place.update(change)


def _asked(table: DynamicTable) -> tuple[object, ...]:
    """What its statements said of it, whatever its refreshes did."""
    return (table.id, table.definition.query, table.mode, table.target_lag, table.warehouse)
