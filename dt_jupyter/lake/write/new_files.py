"""Rows as a new Parquet file of a table, and what its log tells of their values.

Source: Delta's protocol, "Per-file Statistics". A bound that is left out is unknown to readers, so
only those are told that are right for whoever compares them.
"""

from __future__ import annotations

import json
import time
import uuid
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.key_ranges import value_range
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.types import FLOATS, stored_name
from dt_jupyter.lake.write.clustering import STATISTICS, statistics_columns
from dt_jupyter.model import quote

if TYPE_CHECKING:
    import pyarrow as pa

_BOUNDED = frozenset(
    ("byte", "short", "integer", "long", "date", "timestamp", "timestamp_ntz", "string")
)
_CHARACTERS = 32
_LAST = "\U0010ffff"
_MILLISECOND = timedelta(milliseconds=1)
_CHANGES = "_change_data"
_GROUP_ROWS = 1 << 20


def write_file(table: Path, metadata: Metadata, rows: pa.Table) -> dict[str, Any]:
    """A data file of the rows, not yet synced; the action that adds it."""
    name = f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
    size = _write(table / name, rows, metadata)
    return {
        "path": name, "partitionValues": {}, "size": size,
        "modificationTime": int(time.time() * 1000), "dataChange": True,
        "stats": json.dumps(_statistics(rows, metadata), separators=(",", ":")),
    }  # fmt: skip


def write_changes(table: Path, metadata: Metadata, rows: pa.Table) -> dict[str, Any]:
    """A file of the change feed; the action that names it."""
    (table / _CHANGES).mkdir(exist_ok=True)
    name = f"{_CHANGES}/cdc-00000-{uuid.uuid4()}.c000.snappy.parquet"
    size = _write(table / name, rows, metadata)
    return {"path": name, "partitionValues": {}, "size": size, "dataChange": False}


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
    """The columns, as they are stored, of which the chunks of a file tell the bounds. Those of
    floats omit NaN, and Spark skips rows by them; nested ones cannot be named to each writer."""
    kinds = {stored_name(f): f["type"] for f in metadata.fields}
    return [n for n, kind in kinds.items() if isinstance(kind, str) and kind not in FLOATS]


# -- statistics ------------------------------------------------------------------------------------


def _statistics(rows: pa.Table, metadata: Metadata) -> dict[str, Any]:
    listed = statistics_columns(metadata.configuration.get(STATISTICS, ""))
    known = {c.lower() for c in listed}
    kinds = {f["name"]: f["type"] for f in metadata.fields}
    told = [n for n in kinds if n.lower() in known or quote(n).lower() in known]
    lowest: dict[str, Any] = {}
    highest: dict[str, Any] = {}
    for name in told:
        if kinds[name] in _BOUNDED and (found := value_range(rows[name])) is not None:
            low, high, _ = found
            lowest[name], upper = _least(low), _greatest(high)
            if upper is not None:
                highest[name] = upper
    return {
        "numRecords": rows.num_rows,
        "minValues": lowest,
        "maxValues": highest,
        "nullCount": {n: rows[n].null_count for n in told},
    }


def _least(value: Any) -> Any:
    """A bound from below, as the log has it."""
    if isinstance(value, datetime):
        return _millis(value)
    if isinstance(value, date):
        return value.isoformat()
    return value[:_CHARACTERS] if isinstance(value, str) else value


def _greatest(value: Any) -> Any:
    """A bound from above; None where none can be told."""
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
