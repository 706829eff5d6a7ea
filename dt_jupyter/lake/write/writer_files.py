"""Commits of rows that stay in Spark: two jobs, and the engine's own protocol.

One job finds the stored rows that a merge deletes or replaces, and says where they are by a bit for
each row of a file, so what comes to the driver does not grow with the change. The other one writes
the rows that come and those of the change feed. Delta's MERGE takes six to twelve jobs for that.
Stored rows stay in their files, marked as gone: compaction joins files that are small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dt_jupyter.lake.change.file_rows import files_view
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.log_replay import Action
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.table_files import FileRows
from dt_jupyter.lake.storage.written_rows import WrittenRows, written_rows
from dt_jupyter.lake.types import spark_schema
from dt_jupyter.lake.write.commit_values import Change, CommitRequest, Merge, Overwrite
from dt_jupyter.lake.write.failpoints import reach
from dt_jupyter.lake.write.local_rows import require_same_columns
from dt_jupyter.lake.write.new_files import CHANGE_FOLDER, describe_changes, describe_file
from dt_jupyter.lake.write.writer_engine import PlannedCommit, files_refusal, put_version
from dt_jupyter.lake.write.writer_spark import MICROS
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import OP, hidden
from dt_jupyter.spark import JobPurpose, confs, is_connect, note_purpose

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from dt_jupyter.lake.delta_log.deletion_vectors import Places

NAME = "spark-files"
FILE_CONFS: Mapping[str, str] = {
    **MICROS,
    # Other readers of the files know nothing of calendars and forms of before.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
"""How Spark writes Parquet files that others read."""
_ROWS_OF_FILE, _MOST_FILES = 1_000_000, 64
_BROADCAST_ROWS = 500_000
_BITMAP_ROWS = 32_768
"""Rows that one of Spark's bitmaps has a bit for."""
_KIND = "_change_type"
_ROWS, _CHANGES = "rows", "changes"
_FILE, _ROW, _BLOCK, _BITS, _COUNT, _PART = map(
    hidden, ("file", "row", "block", "bits", "count", "part")
)


@dataclass(frozen=True, kw_only=True)
class FilesCommit(PlannedCommit):
    """One whose rows Spark writes: `came` to new files, at most `most_files` where that is known,
    and `feed`, with their kinds, to the change feed. `held` is given back after the commit."""

    came: DataFrame
    feed: DataFrame | None = None
    most_files: int | None = None
    held: DataFrame | None = None


def plan_files(log: TableLog, base: int, change: Change, columns: KeptColumns) -> FilesCommit | str:
    """What the commit after version `base` is to do, or why Delta's own writer does it. A merge
    looks for its rows: one job. ValueError where the columns are not the table's."""
    refused = _rows_refusal(log, change) or files_refusal(log)
    if refused is not None:
        return refused
    note_purpose(change.rows.sparkSession, JobPurpose.WRITE)
    if not isinstance(change, Merge):
        return FilesCommit(operation="WRITE", came=_conform(change.rows, log.metadata()))
    try:
        return _plan_merge(log, base, change, columns)
    except NotSupported as e:
        return e.sentence


def _rows_refusal(log: TableLog, change: Change) -> str | None:
    import pyarrow as pa

    if isinstance(change.rows, pa.Table):
        return "the rows are in the driver's memory"
    if is_connect(change.rows.sparkSession):
        return "the session is of Spark Connect"
    if isinstance(change, Overwrite):
        return "all rows are replaced"
    return None


def _conform(rows: DataFrame, metadata: Metadata, *extra: str) -> DataFrame:
    """The rows with the table's columns, in its order and types. ValueError where one is missing
    or unknown."""
    from pyspark.sql import functions as f

    fields = spark_schema(metadata.fields)
    require_same_columns(fields.names, [c for c in rows.columns if c not in extra])
    columns = [f.col(quote(t.name)).cast(t.dataType).alias(t.name) for t in fields]
    return rows.select(*columns, *map(quote, extra))


# -- merges ----------------------------------------------------------------------------------------


def _plan_merge(log: TableLog, base: int, change: Merge, columns: KeptColumns) -> FilesCommit:
    from pyspark.sql import functions as f

    metadata = log.metadata()
    rows = _conform(change.rows, metadata, OP)
    counts = change.counts or _count_kinds(rows)
    inserted, replaced = counts.get("I", 0), counts.get("U", 0)
    known = {c.lower(): c for c in metadata.columns}
    keys = [known[k.lower()] for k in change.keys]
    live = _live_files(log, base, columns)
    asked = replaced + counts.get("D", 0)
    met = _met_rows(log, base, keys, rows, list(live.values()), asked)
    held = met.persist() if metadata.feed else None
    try:
        places, found = _find_places(met)
        updated = found.get("U", 0)
        if updated > replaced:
            raise NotSupported("a row to be replaced is there more than once")
        removed, marked = _divide(log, live, places, columns)
    except BaseException:
        met.unpersist()
        raise
    came = rows.where(f.col(OP) != "D")
    feed = None
    if held is not None:
        feed = _feed(held, came if updated == replaced else _with_kinds(came, held, keys))
    return FilesCommit(
        operation="MERGE",
        removed=removed,
        marked=marked,
        counts={
            "numTargetRowsInserted": inserted + replaced - updated,
            "numTargetRowsUpdated": updated,
            "numTargetRowsDeleted": found.get("D", 0),
            "numTargetRowsCopied": 0,
        },
        came=came.drop(OP),
        feed=feed,
        most_files=min(_MOST_FILES, 1 + (inserted + replaced) // _ROWS_OF_FILE),
        held=held,
    )


def _count_kinds(rows: DataFrame) -> Mapping[str, int]:
    return {r[0]: r[1] for r in rows.groupBy(OP).count().collect()}


def _live_files(log: TableLog, base: int, columns: KeptColumns) -> dict[str, Action]:
    """The files of a version by name, each with its statistics, because one that is marked is added
    to the log again. NotSupported where two have the same name."""
    actions = columns.known.list(log, base, statistics=True)
    found = {unquote(str(a["path"])).rsplit("/", 1)[-1]: a for a in actions}
    if len(found) < len(actions):
        raise NotSupported("a file is there twice")
    return found


def _met_rows(
    log: TableLog,
    base: int,
    keys: Sequence[str],
    rows: DataFrame,
    files: Sequence[Action],
    asked: int,
) -> DataFrame:
    """The stored rows that a merge deletes or replaces, with what it does to each, and where they
    are. Of a table without a change feed there are the places alone."""
    from pyspark.sql import functions as f

    metadata = log.metadata()
    names = list(metadata.columns) if metadata.feed else keys
    stored = files_view(rows.sparkSession, log, base, files).select(
        *map(quote, names),
        f.col("_metadata.file_name").alias(_FILE),
        f.col("_metadata.row_index").alias(_ROW),
    )
    wanted = rows.where(f.col(OP) != "I").select(*_key_columns(keys), OP)
    if asked <= _BROADCAST_ROWS:
        wanted = f.broadcast(wanted)
    kept = names if metadata.feed else []
    return stored.join(wanted, _same_keys(keys)).select(*map(quote, kept), OP, _FILE, _ROW)


def _key_columns(keys: Sequence[str]) -> list[Column]:
    """Keys under separate names."""
    from pyspark.sql import functions as f

    return [f.col(quote(k)).alias(hidden(f"key_{i}")) for i, k in enumerate(keys)]


def _same_keys(keys: Sequence[str]) -> Column:
    """That keys equal those under separate names, NULL equal to NULL."""
    from pyspark.sql import functions as f

    pairs = (f.col(quote(k)).eqNullSafe(f.col(hidden(f"key_{i}"))) for i, k in enumerate(keys))
    return reduce(lambda a, b: a & b, pairs)


def _find_places(met: DataFrame) -> tuple[dict[str, Places], dict[str, int]]:
    """By file the places of the rows that are gone, and how many there are of each kind."""
    import numpy as np
    from pyspark.sql import functions as f

    bit = f.bitmap_construct_agg(f.bitmap_bit_position(f.col(_ROW) + 1)).alias(_BITS)
    block = (f.bitmap_bucket_number(f.col(_ROW) + 1) - 1).alias(_BLOCK)
    told = met.groupBy(_FILE, OP, block).agg(bit, f.count(f.lit(1)).alias(_COUNT))
    found: dict[str, list[Places]] = {}
    counts: dict[str, int] = {}
    for name, kind, number, bits, count in told.collect():
        places = np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little"))
        found.setdefault(unquote(name), []).append(places + number * _BITMAP_ROWS)
        counts[kind] = counts.get(kind, 0) + count
    return {name: np.concatenate(parts) for name, parts in found.items()}, counts


def _divide(
    log: TableLog,
    live: Mapping[str, Action],
    places: Mapping[str, Places],
    columns: KeptColumns,
) -> tuple[list[FileRows], list[tuple[FileRows, Places]]]:
    """The files that have no row left, and those that stay with all places that are gone."""
    log.bring_vectors(live[name] for name in places)
    removed: list[FileRows] = []
    marked: list[tuple[FileRows, Places]] = []
    for name, gone in places.items():
        file = columns.known.rows_of_file(log.path, live[name])
        rest = file.without(gone)
        if rest.live_rows:
            marked.append((file, rest.gone_places))
        else:
            removed.append(file)
    return removed, marked


def _with_kinds(came: DataFrame, met: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows that come with I for each that replaces none."""
    from pyspark.sql import functions as f

    there = met.where(f.col(OP) == "U").select(*_key_columns(keys), f.lit(True).alias(_FILE))
    found = came.join(f.broadcast(there), _same_keys(keys), "left")
    kind = f.when(f.col(_FILE), f.col(OP)).otherwise("I")
    return found.withColumn(OP, kind).select(*map(quote, came.columns))


def _feed(met: DataFrame, came: DataFrame) -> DataFrame:
    """The change as the table's feed has it: rows before it, and after it."""
    from pyspark.sql import functions as f

    old = f.when(f.col(OP) == "D", "delete").otherwise("update_preimage")
    new = f.when(f.col(OP) == "I", "insert").otherwise("update_postimage")
    before, after = (
        rows.withColumn(_KIND, kind).drop(OP, _FILE, _ROW)
        for rows, kind in ((met, old), (came, new))
    )
    return before.unionAll(after)


# -- writing ---------------------------------------------------------------------------------------


def write(request: CommitRequest, planned: FilesCommit, log: TableLog, base: int) -> None:
    """The commit right after version `base`, whose files are there for good before it is. Raises as
    `put_version`, and what Spark and the storage raise."""
    metadata = log.metadata()
    try:
        with written_rows(log.path) as written:
            _write_rows(planned, written)
            files = written.take(f"{_PART}={_ROWS}", "part")
            footers = written.read_footers(files)
            changes = written.take(f"{_PART}={_CHANGES}", f"{CHANGE_FOLDER}/cdc")
        reach("files_written")
        added = [describe_file(*each, metadata) for each in zip(files, footers, strict=True)]
        fed = [describe_changes(file) for file in changes]
        put_version(request, planned, log, base, added, fed, in_place=written.in_place)
    finally:
        if planned.held is not None:
            planned.held.unpersist()


def _write_rows(planned: FilesCommit, written: WrittenRows) -> None:
    """One job: the rows of the table and of its feed, each kind in a separate folder."""
    from pyspark.sql import functions as f

    rows = planned.came.withColumn(_PART, f.lit(_ROWS))
    if planned.feed is not None:
        changes = planned.feed.withColumn(_PART, f.lit(_CHANGES))
        rows = rows.withColumn(_KIND, f.lit(None).cast("string")).select(*changes.columns)
        rows = rows.unionAll(changes)
    if planned.most_files is not None:
        rows = rows.coalesce(planned.most_files)
    with confs(rows.sparkSession, FILE_CONFS):
        rows.write.partitionBy(_PART).parquet(written.path)


__all__ = ["FILE_CONFS", "NAME", "FilesCommit", "plan_files", "write"]
