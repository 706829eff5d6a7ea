"""One commit, exactly once: steps 3 to 6 of the refresh protocol, and recovery after a crash."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dt_jupyter.lake.delta_log.actions import CommitFacts
from dt_jupyter.lake.delta_log.commit_tags import mark_of
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.disk_lock import PATIENCE
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.paths import TablePath
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.storage.mounts import open_log
from dt_jupyter.lake.storage.questions import ask_again, ask_once
from dt_jupyter.lake.storage.table_place import TablePlace, table_place
from dt_jupyter.lake.write import writer_engine, writer_files, writer_rs, writer_spark
from dt_jupyter.lake.write.backing_table import enable_feed
from dt_jupyter.lake.write.clustering import recluster
from dt_jupyter.lake.write.commit_values import (
    Append,
    Change,
    CommitRequest,
    CommitStatistics,
    Committed,
    Lost,
    Merge,
    Overwrite,
)
from dt_jupyter.lake.write.failpoints import reach
from dt_jupyter.lake.write.local_rows import FastLane, as_append
from dt_jupyter.lake.write.locks import table_lock
from dt_jupyter.lake.write.writer_engine import EngineCommit
from dt_jupyter.spark import text_of_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("dt_jupyter.lake")
WriterChoice: TypeAlias = Literal["auto", "spark", "spark-files", "delta-rs", "engine"]


def commit(
    request: CommitRequest,
    change: Change,
    *,
    spark: SparkSession | None = None,
    writer: WriterChoice = "auto",
    lane: FastLane | None = None,
    log: TableLog | None = None,
    columns: KeptColumns | None = None,
    patience: float = PATIENCE,
) -> Committed | Lost:
    """Commit the change once, or say why not.

    Under the table's lock: the last sequence must be `sequence − 1`; one Delta commit carries
    data, sequence and metadata; it is read back, whatever the writer said, and made durable.
    `spark` is a session private to this call; `lane` bounds the fast lane; `log` and `columns` may
    be those that the caller keeps: by the columns a merge finds the rows that it changes. Raises
    the writer's own exception, with nothing committed and the attempt's files removed;
    NotSupported if the asked writer cannot do it; TableLocked.
    """
    with table_lock(request.folder, patience), ask_once():
        reach("lock_taken")
        kept = columns or KeptColumns()
        return _locked(request, change, spark, writer, lane or FastLane(), log, kept)


def _locked(
    request: CommitRequest,
    change: Change,
    spark: SparkSession | None,
    writer: WriterChoice,
    lane: FastLane,
    log: TableLog | None,
    columns: KeptColumns,
) -> Committed | Lost:
    log, place = log or open_log(request.folder), table_place(request.folder)
    base = log.version()
    lost = _requirements(request, log, base, repairs=isinstance(change, Overwrite))
    if lost is not None:
        return lost
    chosen = _choose(request, change, spark, writer, lane, log, base, columns)
    before = place.names()
    failure = _write(chosen)
    ask_again()
    reach("after_write")
    mine = _read_back(request, log, base)
    reach("after_readback")
    if not isinstance(mine, CommitFacts):
        _clean(log, place, base, before)
        if failure is not None and mine.code == "SKIPPED":
            raise failure
        return mine
    reach("before_fsync")
    by_engine = chosen.name in (writer_engine.NAME, writer_files.NAME)  # whose files are on disk
    place.settle(() if by_engine else place.names() - before, mine.version)
    reach("after_fsync")
    local = chosen.name != writer_spark.NAME
    if local:
        place.add_checksum(log, mine.version)
    if request.cluster_by is not None and spark is not None:
        _restore_layout(spark, log, request.cluster_by)
    if local and spark is not None:
        spark.catalog.refreshByPath(text_of_path(log.path))
    new = log.new_files(mine.version, mine.version)
    counts = statistics(mine, chosen.rows_before, sum(int(f["size"]) for f in new))
    return Committed(mine.version, counts, chosen.name, chosen.reason)


@dataclass(frozen=True)
class _Writing:
    """Who writes a change, and why; `rows_before`: what an overwrite replaces, where the log will
    not say."""

    name: str
    reason: str
    run: Callable[[], None]
    rows_before: int | None = None


def _choose(
    request: CommitRequest,
    change: Change,
    spark: SparkSession | None,
    writer: WriterChoice,
    lane: FastLane,
    log: TableLog,
    base: int,
    columns: KeptColumns,
) -> _Writing:
    """The engine, for rows of the driver or of Spark, else delta-rs, else Spark's Delta."""
    if writer in ("auto", writer_engine.NAME):
        planned = writer_engine.plan(log, base, change, lane, columns)
        if isinstance(planned, EngineCommit):
            run = partial(writer_engine.write, request, planned, log, base)
            return _Writing(writer_engine.NAME, "small", run)
        if writer != "auto":
            raise NotSupported(f"the engine does not write this: {planned}", path=str(log.path))
    if writer in ("auto", writer_files.NAME):
        found = writer_files.plan_files(log, base, change, columns)
        if not isinstance(found, str):
            run = partial(writer_files.write, request, found, log, base)
            return _Writing(writer_files.NAME, "the rows are a Spark DataFrame", run)
        if writer != "auto":
            raise NotSupported(f"its files are not written: {found}", path=str(log.path))
    snapshot, metadata = TableSnapshot(log.path, base), log.metadata()
    refusal = writer_rs.refusal(log, snapshot, change, lane) if writer != "spark" else "asked for"
    if refusal is not None and writer == "delta-rs":
        raise NotSupported(f"delta-rs does not write this: {refusal}", path=str(log.path))
    if refusal is not None and spark is None:
        raise NotSupported(f"a Spark session is needed: {refusal}", path=str(log.path))
    rows = log.size(base).rows if isinstance(change, Overwrite) else None
    if refusal is None or spark is None:
        run = partial(writer_rs.write, request, change, metadata, snapshot)
        return _Writing(writer_rs.NAME, "small", run, rows)
    run = partial(writer_spark.write, request, _simplest(change), metadata, spark)
    return _Writing(writer_spark.NAME, refusal, run, rows)


def _restore_layout(spark: SparkSession, log: TableLog, columns: Sequence[str]) -> None:
    """What an overwrite of other columns took away: clustering, and the feed. The commit is valid:
    what fails here is logged, and tried again by the next one."""
    try:
        recluster(spark, log, columns)
        if not log.metadata().feed:
            enable_feed(spark, log.path)
            table_place(log.path).settle((), log.version())
    except Exception as e:
        _log.warning("the layout of %s could not be restored: %s", log.path, e)


def _requirements(
    request: CommitRequest, log: TableLog, base: int, *, repairs: bool
) -> Lost | None:
    """Why the commit may not be made. What `repairs` a log that was lost, or set back, continues
    from wherever that ends: it uses none of its rows."""
    last = log.last_transaction(request.app_id) or 0
    if last != request.sequence - 1 and not (repairs and last < request.sequence):
        sentence = f"the last sequence is {last}, not {request.sequence - 1}"
        return Lost("SEQUENCE_TAKEN", sentence, base)
    if request.expected_version is None:
        return None
    since = log.commits(request.expected_version, base)
    foreign = [f for f in since if f.data_change or f.schema]
    if foreign:
        sentence = f"version {foreign[0].version} was written since ({foreign[0].operation})"
        return Lost("FOREIGN_WRITE", sentence, base)
    return None


def _write(chosen: _Writing) -> Exception | None:
    """Run the writer; an exception is returned, since the commit may be valid all the same."""
    reach("before_write")
    try:
        chosen.run()
    except Exception as e:
        return e
    return None


def _simplest(change: Change) -> Change:
    """A merge that looks for nothing is an append."""
    return as_append(change) or change


def _read_back(request: CommitRequest, log: TableLog, base: int) -> CommitFacts | Lost:
    """The commit of this attempt, or who has the sequence instead."""
    newest = log.version()
    for facts in log.commits(base, newest):
        if facts.transactions.get(request.app_id) == request.sequence:
            if mark_of(facts.user_metadata).get("attempt") == request.attempt:
                return facts
            return Lost("FENCED", f"version {facts.version} holds the sequence", facts.version)
    return Lost("SKIPPED", f"no commit up to version {newest} holds the sequence", newest)


def _clean(log: TableLog, place: TablePlace, base: int, before: frozenset[str]) -> None:
    """Remove this attempt's files: those that are new and that no commit names."""
    named = {p for v in range(base + 1, log.version() + 1) for p in log.files_written(v)}
    place.delete(place.names() - before - named)


def statistics(
    facts: CommitFacts, rows_before: int | None = None, bytes_added: int | None = None
) -> CommitStatistics:
    """What the commit did, from its actions and metrics; `rows_before` are those that an
    overwrite replaced, which the log need not say; `bytes_added` those of new files, of which one
    that only got another deletion vector is none."""
    merged = _merged(facts.metrics)
    removed = facts.removed_rows if rows_before is None else rows_before
    return CommitStatistics(
        files_added=facts.added_files,
        files_removed=facts.removed_files,
        bytes_added=(facts.added_bytes if bytes_added is None else bytes_added) + facts.cdc_bytes,
        inserted=merged.get("inserted", facts.added_rows),
        updated=merged.get("updated", 0),
        deleted=merged.get("deleted", removed),
        copied=merged.get("copied", 0),
    )


def _merged(metrics: Mapping[str, str]) -> dict[str, int]:
    names = {
        "inserted": ("numTargetRowsInserted", "num_target_rows_inserted"),
        "updated": ("numTargetRowsUpdated", "num_target_rows_updated"),
        "deleted": ("numTargetRowsDeleted", "num_target_rows_deleted"),
        "copied": ("numTargetRowsCopied", "num_target_rows_copied"),
    }
    return {n: int(metrics[k]) for n, keys in names.items() for k in keys if k in metrics}


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a table's log says of an application: its last sequence, the commit that holds it and
    that commit's metadata (None where the log was cleaned), the table's id and newest version,
    and the versions after that commit in which others changed data or columns."""

    sequence: int
    version: int | None
    metadata: Mapping[str, Any] | None
    table_id: str
    newest: int
    foreign: tuple[int, ...]


def recover(path: TablePath | TableLog, app_id: str) -> Recovered | None:
    """The truth about the last commit of `app_id`; None: it never committed here."""
    log = path if isinstance(path, TableLog) else open_log(path)
    newest = log.version()
    sequence = log.last_transaction(app_id)
    if sequence is None:
        return None
    foreign: list[int] = []
    for version in range(newest, log.oldest() - 1, -1):
        if log.transactions_of(version).get(app_id) == sequence:
            (facts,) = log.commits(version - 1, version)
            found = mark_of(facts.user_metadata)
            return Recovered(
                sequence, version, found, log.table_id(), newest, tuple(reversed(foreign))
            )
        if log.changes_data(version) or log.commits(version - 1, version)[0].schema:
            foreign.append(version)
    return Recovered(sequence, None, None, log.table_id(), newest, tuple(reversed(foreign)))


__all__ = [
    "Append", "CommitRequest", "Committed", "Lost", "Merge", "Overwrite", "Recovered",
    "commit", "recover", "statistics",
]  # fmt: skip
