"""How a table's changes between two versions can be read, cheapest first: from the log alone."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dt_jupyter.lake.delta_log.actions import CommitFacts
from dt_jupyter.lake.delta_log.metadata import schema_change
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import VersionGone


@dataclass(frozen=True, slots=True)
class Unchanged:
    """No row came or went: the same version, OPTIMIZE, or metadata only."""

    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Added:
    """Files were only added by the commits first … last: their rows are the change.

    `feed`: whether the change data feed may be read over these commits.
    """

    first: int
    last: int
    rows: int | None
    bytes: int
    files: int
    feed: bool


@dataclass(frozen=True, slots=True)
class Feed:
    """The change data feed of first … last; `rows` as the metrics estimate them, `marked_bytes` of
    files in which a deletion vector says which rows they are."""

    first: int
    last: int
    rows: int | None
    bytes: int
    files: int
    marked_bytes: int = 0


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The rows of the files removed and added by first … last, both read (classic Spark)."""

    first: int
    last: int
    rows: int | None
    bytes: int
    files: int


LOST = "LOST"
"""The operation of a commit that replaces versions that cannot be read any more."""

FILES_CHANGED = "FILES CHANGED"
"""The operation of a version of a list of files in which one has changed, or is gone."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The interval cannot be read; `code` is one of VERSION_REGRESSED, LOG_GONE, SOURCE_REPLACED,
    COLUMN_CHANGED, PARTITIONING_CHANGED, FEED_OFF, FILES_GONE, FILES_CHANGED, VERSION_LOST."""

    code: str
    sentence: str


ChangePlan: TypeAlias = Unchanged | Added | Feed | FileDiff | Unreadable


def plan_changes(
    log: TableLog,
    after: int,
    upto: int,
    columns: Collection[str] | None = None,
    *,
    file_diff: bool = True,
    evolving: bool = False,
) -> ChangePlan:
    """The plan for (after, upto]; `columns` are those used (None: all of them), `file_diff` says
    whether the session can read chosen files (classic Spark). With `evolving` the interval is read
    in the types at its end, across columns that were widened and structs with other fields."""
    if after == upto:
        return Unchanged()
    if after > upto:
        return Unreadable("VERSION_REGRESSED", f"version {upto} is before version {after}")
    try:
        if after >= log.oldest() and log.operation(after) == LOST:
            return Unreadable("VERSION_LOST", f"version {after} was lost with its log")
        facts = log.commits(after, upto)
        reshaped = evolving and any(f.schema and f.schema.reshaped for f in facts)
        ends = schema_change(log.metadata(after), log.metadata(upto)) if reshaped else None
    except VersionGone as gone:
        return Unreadable("LOG_GONE", gone.sentence)
    # A field that one commit drops and another adds is not the one of its name before.
    replaced = _used(ends.replaced, columns) if ends else ()
    if replaced:
        return _column_changed(upto, replaced)
    return plan_from_facts(facts, columns, file_diff=file_diff, evolving=evolving)


def may_change(log: TableLog, after: int, upto: int, *, evolving: bool = False) -> bool:
    """Whether the plan for (after, upto] is not Unchanged; looked for from the newest
    commit on, since mostly that one decides."""
    if after == upto:
        return False
    try:
        if any(log.changes_data(v) for v in range(upto, after, -1)):
            return True
    except VersionGone:
        return True
    return not isinstance(plan_changes(log, after, upto, evolving=evolving), Unchanged)


def find_same_rows(log: TableLog, old: int, new: int, *, evolving: bool = False) -> int:
    """The last version up to `new` with the rows of an old one, whose files OPTIMIZE may have left
    to VACUUM; `old` where the log does not show it."""
    try:
        later = next((v - 1 for v in range(old + 1, new + 1) if log.changes_data(v)), new)
    except VersionGone:
        return old
    return old if may_change(log, old, later, evolving=evolving) else later


def feed_parts(log: TableLog, after: int, upto: int) -> list[Feed] | None:
    """The change data feed of (after, upto] in parts, across none of which Delta refuses to read
    it; None where it was off."""
    parts: list[list[CommitFacts]] = [[]]
    for f in log.commits(after, upto):
        if _breaks_feed(f):
            parts.append([])
        parts[-1].append(f)
    read = [_between_data(p) for p in parts]
    if not all(f.feed for p in read for f in p):
        return None
    return [Feed(p[0].version, p[-1].version, None, 0, 0) for p in read if p]


def _between_data(facts: Sequence[CommitFacts]) -> Sequence[CommitFacts]:
    """From the first commit with rows to the last one."""
    at = [i for i, f in enumerate(facts) if f.data_change]
    return facts[at[0] : at[-1] + 1] if at else ()


def plan_from_facts(
    facts: Sequence[CommitFacts],
    columns: Collection[str] | None = None,
    *,
    file_diff: bool = True,
    evolving: bool = False,
) -> ChangePlan:
    """`plan_changes` over the commits of the interval; pure."""
    refusal = _refusal(facts, columns, evolving)
    if refusal is not None:
        return refusal
    data = [f for f in facts if f.data_change]
    if not data:
        return Unchanged()
    first, last = data[0].version, _last(facts, data[-1], columns)
    read = [f for f in facts if first <= f.version <= last]
    feed = all(f.feed for f in read) and not any(_breaks_feed(f) for f in read[1:])
    bytes_, files = sum(map(_bytes, data)), sum(map(_files, data))
    if not feed and not file_diff:
        return Unreadable(
            "FEED_OFF", f"the change data feed does not cover versions {first} to {last}"
        )
    if all(f.only_adds for f in data):
        return Added(first, last, _total([f.added_rows for f in data]), bytes_, files, feed)
    if feed:
        marked = sum(f.marked_bytes for f in data if not f.cdc_files)
        rows_ = _total([feed_rows(f) for f in data])
        once = -(-marked // 2)  # a file was removed and added with its vector
        return Feed(first, last, rows_, bytes_ - marked, files, once)
    both = sum(f.added_bytes + f.removed_bytes for f in data)
    count = sum(f.added_files + f.removed_files for f in data)
    rows = [r for f in data for r in (f.added_rows, f.removed_rows)]
    return FileDiff(first, last, _total(rows), both, count)


def _refusal(
    facts: Sequence[CommitFacts], columns: Collection[str] | None, evolving: bool
) -> Unreadable | None:
    for f in facts:
        change = f.schema
        if f.operation == LOST:
            return Unreadable("VERSION_LOST", f"version {f.version} was lost with its log")
        if f.operation == FILES_CHANGED:
            return Unreadable("FILES_CHANGED", reason_told(f.user_metadata))
        if f.is_replace or (change and change.new_id):
            return Unreadable(
                "SOURCE_REPLACED", f"version {f.version} replaced the table ({f.operation})"
            )
        if change is None:
            continue
        touched = _used(change.lost if evolving else change.touched, columns)
        if touched:
            return _column_changed(f.version, touched)
        if change.partitioning:
            return Unreadable(
                "PARTITIONING_CHANGED", f"version {f.version} changed the partition columns"
            )
    return None


def _used(names: frozenset[str], columns: Collection[str] | None) -> frozenset[str]:
    return names if columns is None else names & {c.lower() for c in columns}


def _column_changed(version: int, names: Collection[str]) -> Unreadable:
    told = ", ".join(sorted(names))
    return Unreadable(
        "COLUMN_CHANGED", f"version {version} dropped, renamed or changed the type of {told}"
    )


def reason_told(note: str | None) -> str:
    """Why a version of a list of files does not continue the one before, as it says itself."""
    return str(json.loads(note or "{}").get("reason") or "its files changed")


def _last(facts: Sequence[CommitFacts], data: CommitFacts, columns: Collection[str] | None) -> int:
    """The last version to read: of the last data commit, or the end where columns came later, or
    got other types."""
    if data.metadata.schema_string == facts[-1].metadata.schema_string:
        return data.version
    then, now = (
        {f["name"].lower(): f["type"] for f in m.fields}
        for m in (data.metadata, facts[-1].metadata)
    )
    wanted = now if columns is None else {c.lower() for c in columns}
    same = all(then.get(c) == now.get(c) for c in wanted)
    return data.version if same else facts[-1].version


def _breaks_feed(f: CommitFacts) -> bool:
    """Delta refuses to read the feed across anything but added columns and fields."""
    change = f.schema
    return change is not None and bool(
        change.lost or change.widened or change.reshaped or change.mapping
    )


def _bytes(f: CommitFacts) -> int:
    return f.cdc_bytes if f.cdc_files else f.added_bytes + f.removed_bytes


def _files(f: CommitFacts) -> int:
    return f.cdc_files or f.added_files + f.removed_files


def _total(rows: Sequence[int | None]) -> int | None:
    known = [r for r in rows if r is not None]
    return sum(known) if len(known) == len(rows) else None


_METRICS = (
    {"numTargetRowsInserted": 1, "numTargetRowsUpdated": 2, "numTargetRowsDeleted": 1},
    {"num_target_rows_inserted": 1, "num_target_rows_updated": 2, "num_target_rows_deleted": 1},
    {"numUpdatedRows": 2},
    {"num_updated_rows": 2},
    {"numDeletedRows": 1, "numOutputRows": 1},
    {"num_deleted_rows": 1},
)


def feed_rows(f: CommitFacts) -> int | None:
    """The records that the feed holds for a commit, by its metrics; None: they do not have it."""
    if not f.cdc_files and (not f.deletion_vectors or f.loose_vectors):
        return _total([f.added_rows, f.removed_rows])
    for names in _METRICS:
        if next(iter(names)) in f.metrics:
            return sum(int(float(f.metrics.get(n, 0))) * times for n, times in names.items())
    return None
