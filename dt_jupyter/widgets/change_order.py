"""The order in which changes are shown: by what identifies the rows, a row's old side first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dt_jupyter.wire import Column

MOST_KEYS = 3
"""Columns that stay in sight while the others are scrolled."""
_RANKS = {"DELETE": 0, "UPDATE": 1, "INSERT": 2}
Values = tuple[str | None, ...]


@dataclass(frozen=True)
class RowChange:
    """One row's change: INSERT, DELETE or UPDATE; `before` is None except for an update."""

    action: str
    row_id: str
    values: Values
    before: Values | None = None

    @property
    def changed(self) -> tuple[bool, ...]:
        if self.before is None:
            return (False,) * len(self.values)
        return tuple(old != new for old, new in zip(self.before, self.values, strict=True))


def changed_places(changes: Sequence[RowChange]) -> tuple[int, ...]:
    """Of the columns that the updates have changed."""
    moved = zip(*(change.changed for change in changes), strict=True)
    return tuple(i for i, some in enumerate(moved) if any(some))


def count_keys(changes: Sequence[RowChange]) -> int:
    """How many columns at the left identify the rows of one action, as far as no update has
    changed them: the fewest that do, else all of those."""
    width = len(changes[0].values) if changes else 0
    most = min((*changed_places(changes), width))
    unique = (n for n in range(1, most + 1) if _are_unique(changes, n))
    return next(unique, most)


def _are_unique(changes: Sequence[RowChange], columns: int) -> bool:
    sides = Counter((change.action, change.values[:columns]) for change in changes)
    return max(sides.values()) == 1


def sorted_changes(changes: Sequence[RowChange], columns: Sequence[Column]) -> list[RowChange]:
    """By key, and what was deleted before what was inserted; numbers by value."""
    keys = count_keys(changes)
    numeric = [is_number(column) for column in columns]

    def place(change: RowChange) -> tuple[object, ...]:
        cells = [_place(v, n) for v, n in zip(change.values, numeric, strict=True)]
        return (cells[:keys], _RANKS.get(change.action, 1), cells[keys:])

    return sorted(changes, key=place)


def _place(value: str | None, numeric: bool) -> tuple[int, float, str]:
    """NULL first, then numbers, NaN last, then texts."""
    if value is None:
        return (0, 0.0, "")
    number = _number(value) if numeric else math.nan
    return (2, 0.0, value) if math.isnan(number) else (1, number, value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


_NUMBERS = ("int", "bigint", "smallint", "tinyint", "long", "short", "byte", "float", "double",
            "decimal")  # fmt: skip


def is_number(column: Column) -> bool:
    kind = column.type.lower()
    return kind.startswith(_NUMBERS) and not kind.startswith("interval")
