"""What a cell changes of a table that is there, shown above its output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.notebook.display import show_below

if TYPE_CHECKING:
    from dt_jupyter.model import DynamicTable
    from dt_jupyter.reports import PlannedChange

_ELSEWHERE = "since this notebook defined it, it was changed elsewhere; that is undone by this cell"


class Announcement:
    """`left` is how this notebook left the table that the cell is about, `standing` how it is
    (None: it is not known, or not there)."""

    def __init__(self, left: DynamicTable | None, standing: DynamicTable | None) -> None:
        self._moved = left is not None and standing is not None and _asked(left) != _asked(standing)

    def __call__(self, change: PlannedChange) -> None:
        if change and self._moved:
            change = replace(change, costs=(_ELSEWHERE, *change.costs))
        show_below(change)


def _asked(table: DynamicTable) -> tuple[object, ...]:
    """What its statements said of it, whatever its refreshes did."""
    return (table.id, table.definition.query, table.mode, table.target_lag, table.warehouse)
