"""The fast lane: small changes written by delta-rs in milliseconds, behind gates.

Each gate stands for a silent wrong answer, or a cost, that was measured when writers were mixed;
what it refuses, Spark writes. The commit is a strict compare-and-swap on the version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.key_ranges import KeyRange, key_range, lookups
from dt_jupyter.lake.delta_log.metadata import DeltaType, Metadata
from dt_jupyter.lake.delta_log.snapshot_files import LiveFile, TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.types import (
    FLOATS,
    arrow_schema,
    contains,
    int96,
    is_inexact,
    leaves,
    stored_name,
)
from dt_jupyter.lake.write.clustering import statistics_columns
from dt_jupyter.lake.write.commit_values import Append, Change, CommitRequest, Merge, Overwrite
from dt_jupyter.model import count_of
from dt_jupyter.model.hidden import OP

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable, WriterProperties

NAME = "delta-rs"
_FEATURES = frozenset(
    ("appendOnly", "invariants", "changeDataFeed", "deletionVectors", "columnMapping",
     "timestampNtz", "variantType")
)  # fmt: skip
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


# -- gates ---------------------------------------------------------------------------------------


def refusal(log: TableLog, snapshot: TableSnapshot, change: Change, lane: FastLane) -> str | None:
    """Why the change is not for delta-rs; None: it is."""
    import pyarrow as pa

    rows = change.rows
    if not isinstance(rows, pa.Table):
        return "the rows are a Spark DataFrame"
    if rows.num_rows > lane.rows or rows.nbytes > lane.bytes:
        return f"{count_of(rows.num_rows, 'row')} of {rows.nbytes} bytes, which is too much"
    if isinstance(change, Overwrite) and change.new_schema:
        return "the schema changes"
    reason = table_refusal(log)
    if reason is None and isinstance(change, Merge) and as_append(change) is None:
        reason = _merge_refusal(log.metadata(), snapshot, change, lane)
    return reason


def table_refusal(log: TableLog) -> str | None:
    """Why delta-rs writes nothing to the table; None: it does."""
    unknown = log.protocol().features - _FEATURES
    if unknown:
        return f"the table has the feature {min(unknown)}"
    metadata = log.metadata()
    if metadata.partition_columns:
        return "the table is partitioned"
    if metadata.configuration.get("delta.enableRowTracking", "").lower() == "true":
        return "the table tracks rows"
    try:
        arrow_schema(metadata.fields)
    except NotSupported as e:
        return e.sentence
    exposed = _misread(metadata)
    if exposed:
        return f"the column {exposed} carries file statistics that delta-rs gets wrong"
    return None


def _misread(metadata: Metadata) -> str | None:
    """A column that Delta keeps statistics of and delta-rs gets wrong: it leaves NaN out of those
    of floats, and rounds those of long decimals."""
    listed = metadata.configuration.get("delta.dataSkippingStatsColumns")
    count = metadata.configuration.get("delta.dataSkippingNumIndexedCols")
    if listed is None and count == "0":
        return None
    indexed = None if listed is None else {_root(c) for c in statistics_columns(listed)}
    for field in metadata.fields:
        inexact = any(is_inexact(k) for _, k in leaves(field["type"], field["name"]))
        if inexact and (indexed is None or field["name"].lower() in indexed):
            return str(field["name"])
    return None


def _root(column: str) -> str:
    """The top-level column of an entry of dataSkippingStatsColumns."""
    name = column.strip()
    if name.startswith("`"):
        return name[1:].split("`", 1)[0].lower()
    return name.split(".", 1)[0].lower()


def _merge_refusal(
    metadata: Metadata, snapshot: TableSnapshot, change: Merge, lane: FastLane
) -> str | None:
    types = {f["name"].lower(): f["type"] for f in metadata.fields}
    for key in change.keys:
        kind = types[key.lower()]
        if not isinstance(kind, str) or (kind not in _KEYS and not kind.startswith("decimal")):
            return f"the key {key} is of type {kind if isinstance(kind, str) else kind['type']}"
    _one_lookup_per_key(change)
    files = touched_files(snapshot, change)
    size = sum(f.bytes for f in files)
    if size > lane.touched_bytes:
        return f"{size} bytes of files may be touched, more than {lane.touched_bytes}"
    if contains(metadata, frozenset(["timestamp"])):
        return int96(map(snapshot.on_disk, files))
    return None


def _one_lookup_per_key(change: Merge) -> None:
    """delta-rs applies only one of two changes to a row, silently; Spark raises."""
    rows = lookups(change.rows)
    keys = rows.select(list(change.keys))
    if keys.group_by(list(change.keys)).aggregate([]).num_rows != rows.num_rows:
        raise ValueError("two rows of the merge delete or replace the same key")


def touched_files(snapshot: TableSnapshot, change: Merge) -> list[LiveFile]:
    """The files whose range of the keys meets the merge's; delta-rs looks into all of them."""
    ranged = key_range(change, NAME)
    columns = () if ranged is None else (ranged.column,)
    files = snapshot.files(columns, live_rows=False)
    return files if ranged is None else [f for f in files if _meets(f, ranged)]


def _meets(file: LiveFile, ranged: KeyRange) -> bool:
    low, high = file.lowest[ranged.column], file.highest[ranged.column]
    if low is None or high is None or type(low) is not type(ranged.low):
        return True
    inside = bool(low <= ranged.high and high >= ranged.low)
    return inside or (ranged.nulls and file.nulls[ranged.column] != 0)


def as_append(change: Change) -> Append | None:
    """The append that a merge of nothing but inserts is; None: it is not one."""
    import pyarrow as pa

    if not isinstance(change, Merge) or not isinstance(change.rows, pa.Table):
        return None
    return Append(change.rows.drop_columns([OP])) if not lookups(change.rows).num_rows else None


# -- writing -------------------------------------------------------------------------------------


def write(
    request: CommitRequest, change: Change, metadata: Metadata, snapshot: TableSnapshot
) -> None:
    """One commit right after the snapshot, or deltalake's CommitFailedError if another is there."""
    from deltalake import PostCommitHookProperties, write_deltalake

    table = snapshot.table
    change = as_append(change) or change
    options: dict[str, Any] = {
        "commit_properties": _commit_properties(request),
        "writer_properties": _writer_properties(metadata),
        # It would also delete the logs that have expired.
        "post_commithook_properties": PostCommitHookProperties(
            create_checkpoint=True, cleanup_expired_logs=False
        ),
    }
    if isinstance(change, Merge):
        _merge(table, change, _conformed(change.rows, metadata, (OP,)), options)
        return
    rows = _conformed(change.rows, metadata)
    if isinstance(change, Append):
        write_deltalake(table, rows, mode="append", **options)
    else:
        write_deltalake(table, rows, mode="overwrite", **options)


def _merge(table: DeltaTable, change: Merge, rows: pa.Table, options: Mapping[str, Any]) -> None:
    columns = [c for c in rows.column_names if c != OP]
    match_ = " AND ".join(f"(t.{_q(k)} IS NOT DISTINCT FROM s.{_q(k)})" for k in change.keys)
    ranged = key_range(change, NAME)
    bounds = f" AND {ranged.sql('t', _q)}" if ranged else ""
    values = {_q(c): f"s.{_q(c)}" for c in columns}
    merger = table.merge(
        rows,
        f"s.{OP} <> 'I' AND {match_}{bounds}",
        source_alias="s",
        target_alias="t",
        # Otherwise it derives a file filter of its own from the source's statistics.
        streamed_exec=True,
        **options,
    )
    (
        merger.when_matched_delete(f"s.{OP} = 'D'")
        .when_matched_update(values, f"s.{OP} <> 'D'")
        .when_not_matched_insert(values, f"s.{OP} <> 'D'")
        .execute()
    )


def _q(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _commit_properties(request: CommitRequest) -> CommitProperties:
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata={"userMetadata": request.user_metadata},
        app_transactions=[Transaction(request.app_id, request.sequence)],
        max_commit_retries=0,
    )


def _writer_properties(metadata: Metadata) -> WriterProperties:
    """No Parquet statistics of floats: they omit NaN, and Spark skips rows by them. A nested
    column cannot be named to delta-rs, so it is the plain ones that get theirs by name."""
    from deltalake import ColumnProperties, WriterProperties

    kept = ColumnProperties(statistics_enabled="CHUNK")
    named = {stored_name(f): kept for f in metadata.fields if _plain(f["type"])}
    return WriterProperties(
        compression="SNAPPY",
        default_column_properties=ColumnProperties(statistics_enabled="NONE"),
        column_properties=named or None,
    )


def _plain(type_: DeltaType) -> bool:
    return isinstance(type_, str) and type_ not in FLOATS


def _conformed(rows: pa.Table, metadata: Metadata, extra: Sequence[str] = ()) -> pa.Table:
    """The rows with the table's columns, in its order and types. Raises ValueError where one is
    missing or unknown, pyarrow's ArrowInvalid where a value does not fit."""
    import pyarrow as pa

    known = {c.lower(): c for c in rows.column_names}
    names = [f["name"] for f in metadata.fields]
    _same(names, [c for c in known if c not in extra])
    schema = arrow_schema(metadata.fields)
    for name in extra:
        schema = schema.append(pa.field(name, pa.string()))
    wanted = [known[n.lower()] for n in (*names, *extra)]
    return rows.select(wanted).rename_columns([*names, *extra]).cast(schema)


def _same(names: Iterable[str], given: Iterable[str]) -> None:
    a, b = {n.lower() for n in names}, set(given)
    if a != b:
        raise ValueError(f"the rows' columns are not the table's: {sorted(a ^ b)}")
