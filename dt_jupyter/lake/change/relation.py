"""A change as a relation of Spark SQL: the table's columns and a weight, +1 or −1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.change.change_plan import (
    Added,
    ChangePlan,
    Feed,
    FileDiff,
    Unchanged,
    Unreadable,
)
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.change.file_rows import feed_at_end, files_view
from dt_jupyter.lake.change.row_tracking import tracked_table
from dt_jupyter.lake.change.small_changes import Small, why_not_local, why_unknown
from dt_jupyter.lake.change.vector_rows import pairs_of
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.paths import sql_path, sql_table
from dt_jupyter.lake.read.arrow_snapshot import local_view
from dt_jupyter.lake.read.snapshot import snapshot_sql
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import TRACKED_ID, WEIGHT, hidden
from dt_jupyter.spark import confs, is_connect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from dt_jupyter.lake.read.kept_columns import KeptColumns

_COMMIT, _IMAGE = hidden("commit"), hidden("image")

_MODE = "spark.databricks.delta.changeDataFeed.defaultSchemaModeForColumnMappingTable"
_KIND_FIELD = {"name": "_change_type", "type": "string", "nullable": True, "metadata": {}}
_NEW = "('insert', 'update_postimage')"


@dataclass(frozen=True)
class Relation:
    """`sql` is a relation's text with the asked columns and `__dt_w`, not consolidated.

    `way`: local (Arrow), feed (Spark), files (Spark over chosen files) or empty, with
    the `reason` where a faster one was passed over; `arrow` holds the rows of a local one.
    """

    sql: str
    way: str
    reason: str
    rows: int | None
    views: tuple[str, ...] = ()
    arrow: pa.Table | None = None

    def __str__(self) -> str:
        return self.sql

    def drop(self, spark: SparkSession) -> None:
        """Drop the temporary views that it reads."""
        for view in self.views:
            spark.catalog.dropTempView(view)


def relation(
    spark: SparkSession,
    log: TableLog,
    plan: ChangePlan,
    columns: Sequence[str],
    *,
    view_prefix: str,
    small: Small | None = None,
    row_ids: bool = False,
    local_views: bool = True,
    kept: KeptColumns | None = None,
    by_files: bool = True,
) -> Relation:
    """The rows of a planned change, in the session `spark`; views are named after `view_prefix`.
    Without `local_views` the caller makes the one of rows that are read here. Unless it is read
    `by_files` a feed is Delta's table function, whose text means the same in every session.

    Raises LakeError for an Unreadable plan. `small` bounds what is read without Spark. With
    `row_ids` the relation has Delta's as `__dt_row_id` too; that reads whole files, since the
    feed has none.
    """
    match plan:
        case Unreadable(code, sentence):
            raise LakeError(f"{code}: {sentence}", plan=plan)
        case Unchanged():
            return _empty(log, columns, row_ids)
        case FileDiff() if not row_ids:
            return _files(spark, log, plan, columns, view_prefix, "the change data feed is off")
    small = small or Small()
    if row_ids:
        reason = _too_large_to_compare(log, plan, small) or why_unknown(log, plan, columns)
    else:
        reason = why_not_local(log, plan, columns, small)
    if reason is None:
        try:
            if row_ids:
                rows = tracked_table(log, plan.first, plan.last, columns)
            else:
                rows = feed_table(log, plan.first, plan.last, columns, kept)
        except NotSupported as e:
            reason = e.sentence
        except Exception as e:  # delta-rs raises this very class, among others; Spark reads it
            reason = f"it is not read without Spark: {e}"
        else:
            if rows.num_rows <= small.rows:
                view = f"{view_prefix}_local"
                if local_views:
                    local_view(spark, log, plan.last, rows, view)
                return _local(rows, view)
            reason = f"{rows.num_rows} records are more than {small.rows}"
    if isinstance(plan, FileDiff) or row_ids or (isinstance(plan, Added) and not plan.feed):
        return _files(spark, log, plan, columns, view_prefix, reason, row_ids=row_ids)
    found = _feed_files(spark, log, plan, columns, view_prefix, reason) if by_files else None
    return found or _feed(spark, log, plan, columns, view_prefix, reason)


def _empty(
    log: TableLog, columns: Sequence[str], row_ids: bool, version: int | None = None
) -> Relation:
    """Of the columns that the table has at the version; None: now."""
    source = sql_table(log.path) if version is None else snapshot_sql(log.path, version)
    tracked = f"0L AS {TRACKED_ID}, " if row_ids else ""
    names = f"{_names(columns)}, {tracked}1L AS {WEIGHT}"
    sql = f"(SELECT {names} FROM {source} WHERE false)"
    return Relation(sql, "empty", "nothing changed", 0)


# -- without Spark -------------------------------------------------------------------------------


def _too_large_to_compare(log: TableLog, plan: Added | Feed | FileDiff, small: Small) -> str | None:
    """By row ids the added and removed files are read, not those of the feed."""
    changes = log.file_changes(plan.first, plan.last)
    size = sum(int(f.get("size", 0)) for f in (*changes.added, *changes.removed))
    return f"{size} bytes are more than {small.bytes}" if size > small.bytes else None


def _local(rows: pa.Table, view: str) -> Relation:
    sql = f"(SELECT {_names(rows.column_names)} FROM {quote(view)})"
    return Relation(sql, "local", "small", rows.num_rows, (view,), rows)


# -- Spark ---------------------------------------------------------------------------------------


def _feed(
    spark: SparkSession,
    log: TableLog,
    plan: Added | Feed,
    columns: Sequence[str],
    prefix: str,
    reason: str,
) -> Relation:
    args = f"{sql_path(log.path)}, {plan.first}, {plan.last}"
    source, views = f"table_changes_by_path({args})", tuple[str, ...]()
    then, now = log.metadata(plan.last), log.metadata()
    if not _is_read_as_it_was(then, now):
        view = f"{prefix}_feed"
        if "none" in (then.mapping, now.mapping):
            rows = feed_at_end(spark, log.path, plan.first, plan.last)
        else:
            # With the columns of its last version, not of now: they may have been renamed.
            with confs(spark, {_MODE: "endVersion"}):
                rows = spark.sql(f"SELECT * FROM {source}")
        rows.createOrReplaceTempView(quote(view))
        source, views = quote(view), (view,)
    weight = f"CASE WHEN _change_type IN {_NEW} THEN 1L ELSE -1L END AS {WEIGHT}"
    sql = f"(SELECT {_names(columns)}, {weight} FROM {source})"
    return Relation(sql, "feed", reason, plan.rows, views)


def _is_read_as_it_was(then: Metadata, now: Metadata) -> bool:
    """Whether a feed that is read with the columns of now has those of then as they were."""
    if then.mapping != "none" or now.mapping != "none":
        return then.schema_string == now.schema_string
    known = {f["name"]: f["type"] for f in now.fields}
    stays = all(known.get(f["name"]) == f["type"] for f in then.fields)
    return stays and then.partition_columns == now.partition_columns


def _feed_files(
    spark: SparkSession,
    log: TableLog,
    plan: Added | Feed,
    columns: Sequence[str],
    prefix: str,
    reason: str,
) -> Relation | None:
    """The feed by the files that make it up: Delta's own function plans each of them again, a row
    at a time, whenever a statement reads it. None where the log does not show which rows of a file
    are meant, or the columns have other names in the files."""
    if is_connect(spark) or log.metadata(plan.last).mapping != "none":
        return None
    parts = _feed_parts(log, plan)
    if parts is None:
        return None
    names, selects, views = _names(columns), list[str](), list[str]()
    try:
        for name, weight, actions in parts:
            if actions:
                extra = [_KIND_FIELD] if name == "cdc" else []
                rows = files_view(spark, log, plan.last, actions, extra)
                views.append(f"{prefix}_{name}")
                rows.createOrReplaceTempView(quote(views[-1]))
                selects.append(f"SELECT {names}, {weight} AS {WEIGHT} FROM {quote(views[-1])}")
    except NotSupported:
        return None
    sql = f"({' UNION ALL '.join(selects)})"
    return Relation(sql, "feed", reason, plan.rows, tuple(views)) if selects else None


def _feed_parts(
    log: TableLog, plan: Added | Feed
) -> tuple[tuple[str, str, list[Mapping[str, Any]]], ...] | None:
    """The files of the feed, of rows that came, and of rows that went, each with the weight of its
    rows; None where a commit has changed which rows of a file are gone."""
    feed, came, went = (list[Mapping[str, Any]]() for _ in range(3))
    for _, files in log.files(plan.first, plan.last):
        changes = [body for kind, body in files if kind == "cdc"]
        pairs = [] if changes else pairs_of(files)
        if any(new is not None and old is not None for new, old in pairs):
            return None
        feed += changes
        came += [new for new, _ in pairs if new is not None]
        went += [old for _, old in pairs if old is not None]
    kind = f"CASE WHEN _change_type IN {_NEW} THEN 1L ELSE -1L END"
    return ("cdc", kind, feed), ("came", "1L", came), ("went", "-1L", went)


def feed_by_version(
    spark: SparkSession, log: TableLog, plan: Added | Feed, columns: Sequence[str], view_prefix: str
) -> Relation:
    """The change feed of all the commits of a plan, with `_commit_version` behind the columns."""
    return _feed(spark, log, plan, (*columns, "_commit_version"), view_prefix, "by version")


def _files(
    spark: SparkSession,
    log: TableLog,
    plan: Added | Feed | FileDiff,
    columns: Sequence[str],
    prefix: str,
    reason: str,
    *,
    row_ids: bool = False,
) -> Relation:
    changes = log.file_changes(plan.first, plan.last)
    parts, views = [], []
    names = _names((*columns, TRACKED_ID) if row_ids else columns)
    for sign, actions, name in ((1, changes.added, "added"), (-1, changes.removed, "removed")):
        if actions:
            view = f"{prefix}_{name}"
            rows = files_view(spark, log, plan.last, actions)
            if row_ids:
                rows = rows.selectExpr("*", f"_metadata.row_id AS {TRACKED_ID}")
            rows.createOrReplaceTempView(quote(view))
            views.append(view)
            parts.append(f"SELECT {names}, {sign}L AS {WEIGHT} FROM {quote(view)}")
    if not parts:
        return _empty(log, columns, row_ids, plan.last)
    sql = f"({' UNION ALL '.join(parts)})"
    return Relation(sql, "files", reason, plan.rows, tuple(views))


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(quote, columns))


# -- inserts alone ---------------------------------------------------------------------------------


def inserted(
    spark: SparkSession,
    log: TableLog,
    plan: ChangePlan,
    columns: Sequence[str],
    *,
    view_prefix: str,
    row_ids: bool = False,
) -> Relation:
    """The rows that the commits of the plan inserted, as they were then, weight +1; the new image
    of an updated row is not one of them. Without `row_ids` the plan only adds files: else the feed
    distinguishes inserts from updates."""
    if isinstance(plan, Unchanged | Unreadable) or not row_ids:
        return relation(spark, log, plan, columns, view_prefix=view_prefix, row_ids=row_ids)
    return _first_images(spark, log, plan, columns, view_prefix)


def _first_images(
    spark: SparkSession,
    log: TableLog,
    plan: Added | Feed | FileDiff,
    columns: Sequence[str],
    prefix: str,
) -> Relation:
    """By row tracking: ids that were given out within the interval, each with its first image."""
    files = log.new_files(plan.first, plan.last)
    if not files:
        return _empty(log, columns, row_ids=True, version=plan.last)
    view, least = f"{prefix}_first", min(int(f["baseRowId"]) for f in files)
    rows = files_view(spark, log, plan.last, files)
    rows = rows.selectExpr(
        "*", f"_metadata.row_id AS {TRACKED_ID}", f"_metadata.row_commit_version AS {_COMMIT}"
    )
    rows.createOrReplaceTempView(quote(view))
    first = f"ROW_NUMBER() OVER (PARTITION BY {TRACKED_ID} ORDER BY {_COMMIT}) AS {_IMAGE}"
    sql = (
        f"(SELECT {_names((*columns, TRACKED_ID))}, 1L AS {WEIGHT} FROM (SELECT *, {first} FROM"
        f" {quote(view)} WHERE {TRACKED_ID} >= {least}) WHERE {_IMAGE} = 1)"
    )
    return Relation(sql, "files", "row ids are requested", None, (view,))
