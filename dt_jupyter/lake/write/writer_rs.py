"""The fast lane: small changes written by delta-rs in milliseconds, behind gates.

Each gate excludes a silent wrong answer, or a cost, that was measured when writers were mixed;
what it refuses, Spark writes. The commit is a strict compare-and-swap on the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.key_ranges import KeyRange, key_range
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.snapshot_files import LiveFile, TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.types import (
    contains,
    int96,
    is_inexact,
    leaves,
)
from dt_jupyter.lake.write.clustering import statistics_columns
from dt_jupyter.lake.write.commit_values import Append, Change, CommitRequest, Merge
from dt_jupyter.lake.write.local_rows import (
    FastLane,
    as_append,
    conform_rows,
    feature_refusal,
    key_refusal,
    require_single_lookups,
    rows_refusal,
)
from dt_jupyter.lake.write.new_files import bounded_columns
from dt_jupyter.model.hidden import OP
from dt_jupyter.spark import storage_at

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable, WriterProperties

NAME = "delta-rs"
_FEATURES = frozenset(
    ("appendOnly", "invariants", "changeDataFeed", "deletionVectors", "columnMapping",
     "timestampNtz", "variantType")
)  # fmt: skip


# -- gates ---------------------------------------------------------------------------------------


def refusal(log: TableLog, snapshot: TableSnapshot, change: Change, lane: FastLane) -> str | None:
    """Why the change is not for delta-rs; None: it is."""
    reason = rows_refusal(change, lane) or table_refusal(log)
    if reason is None and isinstance(change, Merge) and as_append(change) is None:
        reason = _merge_refusal(log.metadata(), snapshot, change, lane)
    return reason


def table_refusal(log: TableLog) -> str | None:
    """Why delta-rs writes nothing to the table; None: it does."""
    if reason := feature_refusal(log, _FEATURES):
        return reason
    if storage := storage_at(log.path):
        return f"the table is on {storage}"
    metadata = log.metadata()
    if metadata.is_on("delta.enableRowTracking"):
        return "the table tracks rows"
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
    if reason := key_refusal(metadata, change):
        return reason
    require_single_lookups(change)
    files = touched_files(snapshot, change)
    size = sum(f.bytes for f in files)
    if size > lane.touched_bytes:
        return f"{size} bytes of files may be touched, more than {lane.touched_bytes}"
    if contains(metadata, frozenset(["timestamp"])):
        return int96(map(snapshot.on_disk, files))
    return None


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
        _merge(table, change, conform_rows(change.rows, metadata, (OP,)), options)
        return
    rows = conform_rows(change.rows, metadata)
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
        # Otherwise it derives its own file filter from the source's statistics.
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
    named = dict.fromkeys(bounded_columns(metadata), kept)
    return WriterProperties(
        compression="SNAPPY",
        default_column_properties=ColumnProperties(statistics_enabled="NONE"),
        column_properties=named or None,
    )
