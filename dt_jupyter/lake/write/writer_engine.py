"""The engine's own commits. Rows that go are marked in deletion vectors, those that come are one
new file: what a commit costs depends on the change, and not on the files that it touches.

Small files, and those with most rows deleted, are rewritten with the new rows, so
that a table has few files after any number of commits: each merges what is smaller than all before
it together. If the place of stored rows cannot be found from cached columns, another writer merges.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.active_files import vector_file
from dt_jupyter.lake.delta_log.deletion_vectors import write_places
from dt_jupyter.lake.delta_log.key_ranges import lookups
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import ConcurrentWrite, LakeError, NotSupported
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.narrowing import ranges_of
from dt_jupyter.lake.read.table_files import FileRows, VersionFile, VersionFiles
from dt_jupyter.lake.read.wanted_rows import WantedRows
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.lake.types import arrow_schema, fields_named
from dt_jupyter.lake.write.commit_values import Append, Change, CommitRequest, Merge, Overwrite
from dt_jupyter.lake.write.local_rows import (
    FastLane,
    as_append,
    conform_rows,
    feature_refusal,
    key_refusal,
    require_single_lookups,
    rows_refusal,
)
from dt_jupyter.lake.write.new_files import find_unbounded, write_changes, write_file
from dt_jupyter.model.hidden import OP, hidden

if TYPE_CHECKING:
    import pyarrow as pa

    from dt_jupyter.lake.delta_log.deletion_vectors import Places

NAME = "engine"
_FEATURES = frozenset(
    ("appendOnly", "invariants", "changeDataFeed", "deletionVectors", "timestampNtz",
     "clustering", "domainMetadata")
)  # fmt: skip
_APPENDS_ONLY = "delta.appendOnly"
_VECTORS = "delta.enableDeletionVectors"
_CHECKPOINTS = "delta.checkpointInterval"
_INTERVAL = 10
"""Delta's own, where a table does not say."""
_KIND = "_change_type"
_SMALL_ROWS = 10_000
"""A file of fewer rows is rewritten rather than marked, so that readers need no vector."""
_REWRITTEN_BYTES = 32 << 20
_MOSTLY = 0.5
_LOOKUP, _STORED = hidden("lookup"), hidden("stored")


@dataclass(frozen=True, kw_only=True)
class PlannedCommit:
    """What a commit does to the files of a table: those that go, as they were; those that stay,
    with all places whose rows are gone. `counts` are its metrics."""

    operation: str
    removed: Sequence[FileRows] = ()
    marked: Sequence[tuple[FileRows, Places]] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class EngineCommit(PlannedCommit):
    """One with the rows of its new file, and those of the change feed where the files do not show
    them."""

    came: pa.Table
    feed: pa.Table | None = None


# -- gates -----------------------------------------------------------------------------------------


def plan(
    log: TableLog, base: int, change: Change, lane: FastLane, columns: KeptColumns
) -> EngineCommit | str:
    """What the commit after version `base` is to do, or why it is not for this writer. ValueError
    where two changes of a merge are of one row, or rows have other columns than the table."""
    import pyarrow as pa

    refused = rows_refusal(change, lane) or files_refusal(log)
    if refused is not None:
        return refused
    metadata, plain = log.metadata(), as_append(change) or change
    if isinstance(plain, Merge):
        if reason := key_refusal(metadata, plain):
            return reason
        require_single_lookups(plain)
    rows = conform_rows(plain.rows, metadata, (OP,) if isinstance(plain, Merge) else ())
    if isinstance(plain, Append):
        return _plan_write(rows)
    try:
        files = columns.files(log, base, statistics=True)
        if isinstance(plain, Overwrite):
            return _plan_write(rows, list(columns.known.live(files)))
        return _plan_merge(rows, plain, metadata, files, columns)
    except NotSupported as e:
        return e.sentence
    except (LakeError, pa.ArrowException, OSError) as e:
        return f"its files are not read: {e}"


def _plan_write(rows: pa.Table, removed: Sequence[VersionFile] = ()) -> EngineCommit:
    counts = {"numOutputRows": rows.num_rows}
    return EngineCommit(operation="WRITE", came=rows, removed=removed, counts=counts)


def files_refusal(log: TableLog) -> str | None:
    """Why the files of a table are not this package's to add and mark; None: they are."""
    if reason := feature_refusal(log, _FEATURES):
        return reason
    metadata = log.metadata()
    if "deletionVectors" not in log.protocol().features or not metadata.is_on(_VECTORS):
        return "the table has no deletion vectors"
    if not metadata.is_plain:
        return "the table has column mapping"
    if metadata.is_on(_APPENDS_ONLY) or any(f.get("nullable") is False for f in metadata.fields):
        return "the table has constraints"
    if column := find_unbounded(log):
        return f"the table is clustered by {column}, of which no bounds are written"
    return None


# -- merges ----------------------------------------------------------------------------------------


def _plan_merge(
    rows: pa.Table,
    change: Merge,
    metadata: Metadata,
    files: VersionFiles,
    columns: KeptColumns,
) -> EngineCommit | str:
    import pyarrow as pa
    import pyarrow.compute as pc

    looked_up = lookups(rows)
    known = {c.lower(): c for c in metadata.columns}
    keys = [known[k.lower()] for k in change.keys]
    told = change.whole and pc.all(pc.equal(looked_up[OP], "D")).as_py()
    names = keys if told or not metadata.feed else list(metadata.columns)
    if not columns.can_keep(arrow_schema(fields_named(metadata, names)), files):
        return "its columns are not kept"
    if files.has_other_times(metadata.columns):
        return "a file has times of another kind"
    if len({str(a["path"]) for a in files.actions}) < len(files.actions):
        return "a file is there twice"
    found = _find(looked_up, keys, names, files, metadata, columns)
    if found is None:
        return "a key has more than one row"
    if told:
        before = looked_up.drop_columns([OP]).take(pa.array(found.matched))
        found = replace(found, rows=before)
    deleted = pc.equal(found.operations, "D")
    gone = pc.sum(deleted).as_py() or 0
    came = rows.filter(pc.not_equal(rows[OP], "D")).drop_columns([OP])
    removed, marked, again = _divide(found.by_file, list(columns.known.live(files)), came.num_rows)
    copied = columns.rows_of(again, metadata, came.column_names)
    return EngineCommit(
        operation="MERGE",
        came=pa.concat_tables([came, copied]),
        removed=removed,
        marked=marked,
        feed=_feed(rows, found) if metadata.feed else None,
        counts={
            "numTargetRowsInserted": came.num_rows - (len(found.operations) - gone),
            "numTargetRowsUpdated": len(found.operations) - gone,
            "numTargetRowsDeleted": gone,
            "numTargetRowsCopied": copied.num_rows,
        },
    )


@dataclass(frozen=True)
class _Found:
    """The stored rows that a merge deletes or replaces, what it does to each of them, the places
    by file, and which lookups found one."""

    rows: pa.Table
    operations: pa.ChunkedArray
    by_file: Sequence[tuple[VersionFile, Places]]
    matched: Places


def _find(
    looked_up: pa.Table,
    keys: Sequence[str],
    names: Sequence[str],
    files: VersionFiles,
    metadata: Metadata,
    columns: KeptColumns,
) -> _Found | None:
    """Some columns of the rows; None where a key has several."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    best = max(keys, key=lambda k: pc.count_distinct(looked_up[k], mode="all").as_py())
    values = pc.unique(pc.drop_null(looked_up[best].combine_chunks()))
    ranges = ranges_of(metadata, looked_up.select(list(keys)))
    wanted = WantedRows(best, values, looked_up[best].null_count > 0, ranges)
    parts = list(columns.find(files, names, wanted))
    empty = arrow_schema(metadata.fields).empty_table().select(names)
    stored = pa.concat_tables([empty, *(p.values for p in parts)])
    pairs = _match(looked_up.select(list(keys)), stored.select(list(keys)))
    if pairs is None:
        return None
    asked, there = pairs
    starts = np.cumsum([0, *(len(p.places) for p in parts)])
    by_file: dict[str, tuple[VersionFile, list[Places]]] = {}
    for part, start in zip(parts, starts, strict=False):
        mine = there[(there >= start) & (there < start + len(part.places))] - start
        if len(mine):
            _, places = by_file.setdefault(_id(part.file), (part.file, []))
            places.append(part.places[mine])
    return _Found(
        stored.take(pa.array(there)),
        looked_up[OP].take(pa.array(asked)),
        [(file, np.concatenate(places)) for file, places in by_file.values()],
        asked,
    )


def _id(file: VersionFile) -> str:
    return str(file.action["path"])


def _match(asked: pa.Table, stored: pa.Table) -> tuple[Places, Places] | None:
    """The pairs of rows with equal keys, NULL equal to NULL, as indices of both; None where one
    of those that are requested has several."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    def numbered(rows: pa.Table, own: str, other: str) -> pa.Table:
        numbers = pa.array(np.arange(rows.num_rows, dtype=np.int64))
        empty = pa.nulls(rows.num_rows, pa.int64())
        return rows.append_column(own, numbers).append_column(other, empty)

    left = numbered(asked, _LOOKUP, _STORED)
    right = numbered(stored, _STORED, _LOOKUP).select(left.column_names)
    counted = [(_LOOKUP, "max"), (_STORED, "max"), (_STORED, "count")]
    both = pa.concat_tables([left, right]).group_by(asked.column_names).aggregate(counted)
    names = [f"{column}_{function}" for column, function in counted]
    met = both.filter(pc.and_(pc.is_valid(both[names[0]]), pc.greater(both[names[2]], 0)))
    if met.num_rows and pc.max(met[names[2]]).as_py() > 1:
        return None
    first, second = (met[n].to_numpy() for n in names[:2])
    return first, second


def _divide(
    touched: Sequence[tuple[VersionFile, Places]], live: Sequence[VersionFile], come: int
) -> tuple[list[VersionFile], list[tuple[VersionFile, Places]], list[VersionFile]]:
    """The files that go; those that stay, with all that is gone of them; and what is left of those
    that go, to be rewritten."""
    if not touched and not come:
        return [], [], []
    places = {_id(file): gone for file, gone in touched}
    removed: list[VersionFile] = []
    marked: list[tuple[VersionFile, Places]] = []
    again: list[VersionFile] = []
    total = come
    for file, rest in _by_rows(live, places):
        if _is_rewritten(file, rest, total):
            removed.append(file)
            if rest.live_rows:
                again.append(rest)
                total += rest.live_rows
        elif rest is not file:
            marked.append((file, rest.gone_places))
    return removed, marked, again


def _by_rows(
    live: Iterable[VersionFile], places: Mapping[str, Places]
) -> Iterator[tuple[VersionFile, VersionFile]]:
    """Each file as it is and as it will be, those with the fewest rows first."""
    pairs = [(f, f.without(places[_id(f)]) if _id(f) in places else f) for f in live]
    yield from sorted(pairs, key=lambda pair: pair[1].live_rows)


def _is_rewritten(file: VersionFile, rest: VersionFile, total: int) -> bool:
    """Whether a file's rows are rewritten, given `total` others."""
    rows = rest.live_rows
    if rows == 0:
        return True
    if int(file.action["size"]) > _REWRITTEN_BYTES:
        return False
    return rows <= max(total, _SMALL_ROWS) or rows < _MOSTLY * rest.stored_rows


def _feed(rows: pa.Table, found: _Found) -> pa.Table:
    """The change as the table's feed has it."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    old = pc.if_else(pc.equal(found.operations, "D"), "delete", "update_preimage")
    before = found.rows.append_column(_KIND, old)
    inserts = pc.equal(rows[OP], "I").to_numpy(zero_copy_only=False)
    replaces = np.zeros(rows.num_rows, np.bool_)
    replaces[np.flatnonzero(~inserts)[found.matched]] = True
    new = pc.if_else(pa.array(replaces), "update_postimage", "insert")
    after = rows.append_column(_KIND, new).filter(pc.not_equal(rows[OP], "D"))
    return pa.concat_tables([before, after.drop_columns([OP])])


# -- writing ---------------------------------------------------------------------------------------


def write(request: CommitRequest, planned: EngineCommit, log: TableLog, base: int) -> None:
    """The commit right after version `base`, whose files are on the disk before it is;
    ConcurrentWrite where another one is there."""
    table, metadata, feed = log.path, log.metadata(), planned.feed
    added = [write_file(table, metadata, planned.came)] if planned.came.num_rows else []
    changes = [write_changes(table, metadata, feed)] if feed is not None and feed.num_rows else []
    put_version(request, planned, log, base, added, changes)


def put_version(
    request: CommitRequest,
    planned: PlannedCommit,
    log: TableLog,
    base: int,
    added: Sequence[Mapping[str, Any]],
    changes: Sequence[Mapping[str, Any]],
    *,
    in_place: bool = False,
) -> None:
    """The commit right after version `base` with files that are written, on this disk unless they
    are `in_place` already: `added` are the actions of those with rows, `changes` of those of the
    change feed. Raises as `write`."""
    table, metadata, place = log.path, log.metadata(), table_place(log.path)
    now = int(time.time() * 1000)
    marked = _vectors(table, planned.marked)
    vectors = [_with_vector(file, vector) for file, vector in marked]
    gone = [*planned.removed, *(file for file, _ in planned.marked)]
    actions: list[Mapping[str, Any]] = [
        {"commitInfo": _info(request, planned, base, now)},
        {"txn": {"appId": request.app_id, "version": request.sequence, "lastUpdated": now}},
        *({"remove": _removed(file, now)} for file in gone),
        *({"add": action} for action in (*vectors, *added)),
        *({"cdc": action} for action in changes),
    ]
    written = [] if in_place else [action["path"] for action in (*added, *changes)]
    place.put(dict.fromkeys([*written, *(vector_file(vector) for _, vector in marked)]))
    try:
        place.put_commit(base + 1, actions)
    except FileExistsError as e:
        told = f"version {base + 1} of table {table} exists"
        raise ConcurrentWrite(told, path=str(table), version=base + 1) from e
    if not (base + 1) % int(metadata.configuration.get(_CHECKPOINTS, _INTERVAL)):
        place.add_checkpoint(log, base + 1)


def _vectors(
    table: Path, marked: Sequence[tuple[FileRows, Places]]
) -> list[tuple[FileRows, dict[str, Any]]]:
    """The files with their new vectors, which are in a file of the table, not yet put."""
    if not marked:
        return []
    told = write_places(table, [places for _, places in marked])
    return list(zip((f for f, _ in marked), told, strict=True))


def _with_vector(file: FileRows, vector: Mapping[str, Any]) -> dict[str, Any]:
    """The action that adds a file again; its bounds may be of rows that are gone."""
    known = {k: v for k, v in file.action.items() if v is not None}
    statistics = {**_statistics(file), "tightBounds": False}
    return {
        **known,
        "dataChange": True,
        "stats": json.dumps(statistics, separators=(",", ":")),
        "deletionVector": vector,
    }


def _removed(file: FileRows, millis: int) -> dict[str, Any]:
    action = file.action
    vector = action.get("deletionVector")
    return {
        "path": action["path"], "deletionTimestamp": millis, "dataChange": True,
        "extendedFileMetadata": True, "partitionValues": {}, "size": action["size"],
        "stats": json.dumps(_statistics(file), separators=(",", ":")),
        **({"deletionVector": vector} if vector else {}),
    }  # fmt: skip


def _statistics(file: FileRows) -> dict[str, Any]:
    """Those of the log, which need not have the number of rows."""
    return {"numRecords": file.stored_rows, **json.loads(file.action.get("stats") or "{}")}


def _info(request: CommitRequest, planned: PlannedCommit, base: int, millis: int) -> dict[str, Any]:
    merges, appends = planned.operation == "MERGE", not planned.removed
    mode = {"mode": "Append" if appends else "Overwrite", "partitionBy": "[]"}
    return {
        "timestamp": millis, "operation": planned.operation,
        "operationParameters": {} if merges else mode,
        "readVersion": base, "isolationLevel": "Serializable",
        "isBlindAppend": appends and not merges,
        "operationMetrics": {name: str(count) for name, count in planned.counts.items()},
        "engineInfo": "dt_jupyter", "txnId": str(uuid.uuid4()),
        "userMetadata": request.user_metadata,
    }  # fmt: skip
