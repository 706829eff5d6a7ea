"""Rows as a new Parquet file of a table, and the statistics of their values for the log.

Source: Delta's protocol, "Per-file Statistics". A bound that is left out is unknown to readers, so
only those are written that are right for every comparison.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dt_jupyter.lake.delta_log.key_ranges import logged_range, value_range
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.storage.written_rows import PlacedFile
from dt_jupyter.lake.types import FLOATS, stored_name
from dt_jupyter.lake.write.clustering import STATISTICS, statistics_columns
from dt_jupyter.model import quote

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BOUNDED = frozenset(
    ("byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz", "string")
)
_CHARACTERS = 32
_LAST = "\U0010ffff"
_MILLISECOND = timedelta(milliseconds=1)
CHANGE_FOLDER = "_change_data"
"""Of a table: the files of its change feed."""
_GROUP_ROWS = 1 << 20

_Range: TypeAlias = tuple[Any, Any]
"""The least and the greatest value, of a file in the log."""


def write_file(table: Path, metadata: Metadata, rows: pa.Table) -> dict[str, Any]:
    """A data file of the rows, not yet synced; the action that adds it."""
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    size = _write(table / name, rows, metadata)
    return {
        "path": name, "partitionValues": {}, "size": size,
        "modificationTime": int(time.time() * 1000), "dataChange": True,
        "stats": json.dumps(_statistics(rows, metadata), separators=(",", ":")),
    }  # fmt: skip


def describe_file(file: PlacedFile, footer: pq.FileMetaData, metadata: Metadata) -> dict[str, Any]:
    """The action that adds a data file, by what its footer says of it."""
    return {
        "path": file.name, "partitionValues": {}, "size": file.size,
        "modificationTime": int(time.time() * 1000), "dataChange": True,
        "stats": json.dumps(_file_statistics(footer, metadata), separators=(",", ":")),
    }  # fmt: skip


def write_changes(table: Path, metadata: Metadata, rows: pa.Table) -> dict[str, Any]:
    """A file of the change feed; the action that names it."""
    (table / CHANGE_FOLDER).mkdir(exist_ok=True)
    name = f"{CHANGE_FOLDER}/cdc-00000-{uuid.uuid4()}.c000.snappy.parquet"
    size = _write(table / name, rows, metadata)
    return describe_changes(PlacedFile(name, size))


def describe_changes(file: PlacedFile) -> dict[str, Any]:
    """The action that names a file of the change feed."""
    return {"path": file.name, "partitionValues": {}, "size": file.size, "dataChange": False}


def _write(path: Path, rows: pa.Table, metadata: Metadata) -> int:
    import pyarrow.parquet as pq

    pq.write_table(
        rows,
        path,
        row_group_size=_GROUP_ROWS,
        compression="snappy",
        write_statistics=bounded_columns(metadata),
        store_schema=False,
        store_decimal_as_integer=True,
    )
    return path.stat().st_size


def bounded_columns(metadata: Metadata) -> list[str]:
    """The columns, as they are stored, whose bounds the chunks of a file have. Those of
    floats omit NaN, and Spark skips rows by them; nested ones cannot be named to each writer."""
    kinds = {stored_name(f): f["type"] for f in metadata.fields}
    return [n for n, kind in kinds.items() if isinstance(kind, str) and kind not in FLOATS]


# -- statistics ------------------------------------------------------------------------------------


def _statistics(rows: pa.Table, metadata: Metadata) -> dict[str, Any]:
    kinds = _described_columns(metadata)
    found = {n: value_range(rows[n]) for n, kind in kinds.items() if kind in _BOUNDED}
    ranges = {n: (f[0], f[1]) if f else None for n, f in found.items()}
    nulls = {n: rows[n].null_count for n in kinds}
    return _as_logged(rows.num_rows, ranges, nulls)


def _file_statistics(file: pq.FileMetaData, metadata: Metadata) -> dict[str, Any]:
    """The same, where each row group of the file has its own."""
    kinds = _described_columns(metadata)
    places = {file.schema.column(i).path: i for i in range(len(file.schema))}
    ranges: dict[str, _Range | None] = {}
    nulls: dict[str, int] = {}
    for name in kinds:
        found = [
            file.row_group(g).column(places[name]).statistics
            for g in range(file.num_row_groups)
            if name in places
        ]
        if found and all(s is not None and s.has_null_count for s in found):
            nulls[name] = sum(s.null_count for s in found)
        if kinds[name] in _BOUNDED:
            ranges[name] = _joined_range(found)
    return _as_logged(file.num_rows, ranges, nulls)


def _joined_range(found: Sequence[pq.Statistics | None]) -> _Range | None:
    """None where a row group does not have it, or has no value."""
    told = [s for s in found if s is not None and s.has_min_max]
    if not told or len(told) < len(found):
        return None
    try:
        return logged_range(min(s.min for s in told), max(s.max for s in told))
    except (ValueError, OverflowError):  # a timestamp that Python's calendar does not hold
        return None


def find_unbounded(log: TableLog) -> str | None:
    """A column that a table without column mapping is clustered by, and whose bounds its files do
    not get. Delta's protocol requires them (clustered tables, writer requirements)."""
    kinds = _described_columns(log.metadata())
    for path in log.clustering():
        if len(path) > 1 or kinds.get(path[0]) not in _BOUNDED:
            return ".".join(path)
    return None


def _described_columns(metadata: Metadata) -> dict[str, Any]:
    """The columns whose statistics the log has, with their types."""
    listed = statistics_columns(metadata.configuration.get(STATISTICS, ""))
    known = {c.lower() for c in listed}
    kinds = {f["name"]: f["type"] for f in metadata.fields}
    return {n: t for n, t in kinds.items() if n.lower() in known or quote(n).lower() in known}


def _as_logged(
    rows: int, ranges: Mapping[str, _Range | None], nulls: Mapping[str, int]
) -> dict[str, Any]:
    lowest: dict[str, Any] = {}
    highest: dict[str, Any] = {}
    for name, found in ranges.items():
        if found is not None:
            lowest[name], upper = _least(found[0]), _greatest(found[1])
            if upper is not None:
                highest[name] = upper
    return {"numRecords": rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _least(value: Any) -> Any:
    """A bound from below, as the log has it."""
    if isinstance(value, datetime):
        return _millis(value)
    if isinstance(value, date):
        return value.isoformat()
    return value[:_CHARACTERS] if isinstance(value, str) else value


def _greatest(value: Any) -> Any:
    """A bound from above; None where there is none."""
    if isinstance(value, datetime):
        return _millis(value + _MILLISECOND)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and len(value) > _CHARACTERS:
        return value[:_CHARACTERS] + _LAST if value[_CHARACTERS] != _LAST else None
    return value


def _millis(value: datetime) -> str:
    """Cut to milliseconds, as Delta writes it."""
    zone = "" if value.tzinfo is None else "Z"
    plain = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return plain.isoformat(timespec="milliseconds") + zone
