"""By which column a table need be read least for some rows: a declared key, a date, whatever the
table happens to be ordered by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.key_ranges import KeyRange, value_range
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.snapshot_files import LiveFile
from dt_jupyter.lake.types import plain_type

if TYPE_CHECKING:
    import pyarrow as pa

_RANGED = frozenset({"byte", "short", "integer", "long", "date"})
_MOST = 0.5
"""Reading one more column costs less than half of the table does."""


def narrowest_range(
    files_of: Callable[..., Sequence[LiveFile]], metadata: Metadata, rows: pa.Table
) -> KeyRange | None:
    """What `rows` match and most of the table's bytes do not, by the bounds in its log; `files_of`
    lists its files with those of some columns. None where no column is that selective."""
    ranges = ranges_of(metadata, rows)
    if not ranges:
        return None
    files = files_of([r.column for r in ranges], live_rows=False)
    read = {r: _bytes_in(r, files) for r in ranges}
    least = min(ranges, key=read.__getitem__)
    return least if read[least] <= _MOST * sum(f.bytes for f in files) else None


def ranges_of(metadata: Metadata, rows: pa.Table | None) -> list[KeyRange]:
    """What `rows` match of each column with exact bounds."""
    if rows is None:
        return []
    names = {f["name"] for f in metadata.fields if plain_type(f) in _RANGED}
    return [r for c in rows.column_names if c in names and (r := _range_of(rows, c))]


def _range_of(rows: pa.Table, column: str) -> KeyRange | None:
    found = value_range(rows[column])
    return None if found is None else KeyRange(column, *found, "delta-rs")


def _bytes_in(range_: KeyRange, files: Iterable[LiveFile]) -> int:
    return sum(f.bytes for f in files if _may_hold(f, range_))


def _may_hold(file: LiveFile, range_: KeyRange) -> bool:
    low, high = file.lowest[range_.column], file.highest[range_.column]
    if range_.nulls and file.nulls[range_.column] != 0:
        return True
    if low is None or high is None:  # unknown, or all NULL
        return file.rows is None or file.nulls[range_.column] != file.rows
    return bool(low <= range_.high and high >= range_.low)
