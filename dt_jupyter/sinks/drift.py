"""Drift: rows that a store has otherwise than its source says, so changed by someone else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.sinks.changes import KIND, ChangeKind

if TYPE_CHECKING:
    import pyarrow as pa

    from dt_jupyter.sinks.binding import Binding

KeyValues = tuple[Any, ...]
Row = Mapping[str, Any]


def rows_before(binding: Binding, changes: pa.Table) -> dict[KeyValues, Row | None]:
    """What a store had of each key before some changes: the row that the first one deletes, None
    for a key that it inserts. A source's DELETE has all of the old row."""
    found: dict[KeyValues, Row | None] = {}
    for row in changes.to_pylist():
        kind = row.pop(KIND)
        found.setdefault(_key(binding, row), None if kind == ChangeKind.INSERT else row)
    return found


def find_drift(
    binding: Binding, before: Mapping[KeyValues, Row | None], loaded: pa.Table
) -> list[KeyValues]:
    """The keys that the store has otherwise than before the changes."""
    there = {_key(binding, row): row for row in loaded.to_pylist()}
    return [key for key, row in before.items() if not _same(there.get(key), row)]


def _key(binding: Binding, row: Row) -> KeyValues:
    return tuple(row[name] for name in binding.key)


def _same(left: Any, right: Any) -> bool:
    """Equal, all parts; NaN is NaN."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)
