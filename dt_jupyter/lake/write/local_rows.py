"""Changes whose rows are all in the driver's memory: what the writers that take them ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.key_ranges import lookups
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.types import arrow_schema
from dt_jupyter.lake.write.commit_values import Append, Change, Merge, Overwrite
from dt_jupyter.model import count_of
from dt_jupyter.model.hidden import OP

if TYPE_CHECKING:
    import pyarrow as pa

_KEYS = frozenset(
    ("boolean", "byte", "short", "integer", "long", "string", "date", "timestamp",
     "timestamp_ntz", "binary")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FastLane:
    """Bounds of the fast lane: rows and bytes of the change, bytes of the files that a merge
    would look into (it copies those that it touches, whole)."""

    rows: int = 200_000
    bytes: int = 64 << 20
    touched_bytes: int = 32 << 20


def rows_refusal(change: Change, lane: FastLane) -> str | None:
    """Why a change is Spark's, whatever the table; None: it need not be."""
    import pyarrow as pa

    rows = change.rows
    if not isinstance(rows, pa.Table):
        return "the rows are a Spark DataFrame"
    if rows.num_rows > lane.rows or rows.nbytes > lane.bytes:
        return f"{count_of(rows.num_rows, 'row')} of {rows.nbytes} bytes, which is too much"
    if isinstance(change, Overwrite) and change.new_schema:
        return "the schema changes"
    return None


def feature_refusal(log: TableLog, features: frozenset[str]) -> str | None:
    """Why a table is Spark's for a writer that knows such features; None: it need not be."""
    if unknown := log.protocol().features - features:
        return f"the table has the feature {min(unknown)}"
    metadata = log.metadata()
    if metadata.partition_columns:
        return "the table is partitioned"
    try:
        arrow_schema(metadata.fields)
    except NotSupported as e:
        return e.sentence
    return None


def key_refusal(metadata: Metadata, change: Merge) -> str | None:
    """Why stored rows are not found by the keys of a merge outside Spark; None: they are."""
    types = {f["name"].lower(): f["type"] for f in metadata.fields}
    for key in change.keys:
        kind = types[key.lower()]
        if not isinstance(kind, str) or (kind not in _KEYS and not kind.startswith("decimal")):
            return f"the key {key} is of type {kind if isinstance(kind, str) else kind['type']}"
    return None


def require_single_lookups(change: Merge) -> None:
    """ValueError where two changes are of one row: delta-rs would silently apply one of them."""
    rows = lookups(change.rows)
    keys = rows.select(list(change.keys))
    if keys.group_by(list(change.keys)).aggregate([]).num_rows != rows.num_rows:
        raise ValueError("two rows of the merge delete or replace the same key")


def as_append(change: Change) -> Append | None:
    """The append that a merge of nothing but inserts is; None: it is not one."""
    import pyarrow as pa

    if not isinstance(change, Merge) or not isinstance(change.rows, pa.Table):
        return None
    return Append(change.rows.drop_columns([OP])) if not lookups(change.rows).num_rows else None


def conform_rows(rows: pa.Table, metadata: Metadata, extra: Sequence[str] = ()) -> pa.Table:
    """The rows with the table's columns, in its order and types. Raises ValueError where one is
    missing or unknown, pyarrow's ArrowInvalid where a value does not fit."""
    import pyarrow as pa

    known = {c.lower(): c for c in rows.column_names}
    names = [f["name"] for f in metadata.fields]
    require_same_columns(names, [c for c in known if c not in extra])
    schema = arrow_schema(metadata.fields)
    for name in extra:
        schema = schema.append(pa.field(name, pa.string()))
    wanted = [known[n.lower()] for n in (*names, *extra)]
    return rows.select(wanted).rename_columns([*names, *extra]).cast(schema)


def require_same_columns(names: Iterable[str], given: Iterable[str]) -> None:
    """ValueError where the columns of rows are not those of a table; names are case-insensitive."""
    a, b = ({n.lower() for n in each} for each in (names, given))
    if a != b:
        raise ValueError(f"the rows' columns are not the table's: {sorted(a ^ b)}")
