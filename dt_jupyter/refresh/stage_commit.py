"""One stage's change committed with its frontier, and what the commits of a refresh came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Attempt
from dt_jupyter.lake import (
    Change,
    CommitRequest,
    Committed,
    Lost,
    Overwrite,
    SmallTables,
    commit,
    restore_sequence,
)
from dt_jupyter.model import Definition, Frontier, RefreshStatistics, RefreshWay, error
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.gathered_rows import WHOLE
from dt_jupyter.sources import Sources
from dt_jupyter.spark import JobMetrics, count_jobs, is_connect, job_metrics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Target:
    """The backing table that a commit goes to, as number `sequence` of `app_id`; `version` is the
    one that the change stands on, None for a table that had none."""

    path: Path
    app_id: str
    sequence: int
    version: int | None
    cluster_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommitOrigin:
    """What a commit says of its refresh; `stages` are the versions of the hidden ones."""

    attempt: Attempt
    choice: Choice
    definition: Definition
    frontier: Frontier
    stages: Mapping[str, int | None] = field(default_factory=dict)


def commit_stage(
    spark: SparkSession,
    sources: Sources,
    target: Target,
    origin: CommitOrigin,
    change: Change,
    small: SmallTables | None = None,
) -> Committed:
    """One commit with its frontier; DT-2108 or DT-2113 where it lost.

    A change stands on the rows of the target's version; an overwrite on none, so it is also what
    repairs a table that something else wrote to.
    """
    attempt, expected = origin.attempt, target.version
    if isinstance(change, Overwrite):
        restore_sequence(target.path, target.app_id, target.sequence - 1, expected or 0)
        expected = None
    metadata = {
        "epoch": attempt.epoch,
        "data_ts": str(origin.frontier.data_timestamp),
        "frontier": origin.frontier.to_json(),
        "action": origin.choice.action.value,
        "reason": [origin.choice.reason.code, origin.choice.reason.sentence],
        "trigger": attempt.trigger.value,
        "stages": dict(origin.stages),
        "definition": sources.catalog.digest(origin.definition),
        "table": sources.catalog.registration(attempt.dt_id, origin.definition),
    }
    request = CommitRequest(
        target.path,
        target.app_id,
        target.sequence,
        attempt.id,
        metadata,
        expected,
        target.cluster_by,
    )
    lane = WHOLE if isinstance(change, Overwrite) else None
    log = sources.logs[str(target.path)]
    columns = None if small is None else small.columns
    done = commit(request, change, spark=spark, lane=lane, log=log, columns=columns)
    if isinstance(done, Lost):
        if done.code == "FOREIGN_WRITE":
            raise error("DT-2113", name=attempt.name, facts=done.sentence)
        raise error("DT-2108", name=attempt.name, sequence=target.sequence)
    return done


def refresh_statistics(
    spark: SparkSession,
    group: str,
    commits: Sequence[Committed],
    local_rows: int = 0,
    before_commit: JobMetrics | None = None,
) -> RefreshStatistics:
    """What a refresh did. `before_commit`: what was read for the change, where the commit
    itself reads too, or there is none."""
    metrics = before_commit or job_metrics(spark, group)
    last = commits[-1].statistics if commits else None
    rows_read = metrics.rows_read + local_rows
    if last is None:
        way = _way(spark, metrics.jobs)
        return RefreshStatistics(spark_jobs=metrics.jobs, rows_read=rows_read, way=way)
    jobs = metrics.jobs if before_commit is None else (count_jobs(spark, group) or 0)
    updated = last.updated or 0
    return RefreshStatistics(
        inserted_rows=(last.inserted or 0) + updated,
        deleted_rows=(last.deleted or 0) + updated,
        copied_rows=last.copied or 0,
        added_files=last.files_added,
        removed_files=last.files_removed,
        rows_read=rows_read,
        bytes_written=sum(c.statistics.bytes_added for c in commits),
        spark_jobs=jobs,
        writer=commits[-1].writer,
        way=_way(spark, jobs, *(c.writer for c in commits)),
    )


def _way(spark: SparkSession, jobs: int, *writers: str) -> RefreshWay | None:
    """Where the rows were computed. Spark Connect tells of no jobs: there its writer alone does."""
    if jobs or "spark" in writers:
        return RefreshWay.SPARK
    return None if is_connect(spark) else RefreshWay.PROCESS
