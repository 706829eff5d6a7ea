"""What a refresh was, did and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, fields
from typing import Any

from dt_jupyter.model.frontier import Frontier
from dt_jupyter.model.names import Name
from dt_jupyter.model.plural import count_of
from dt_jupyter.model.states import (
    Reason,
    RefreshAction,
    RefreshState,
    RefreshTrigger,
    RefreshWay,
)
from dt_jupyter.model.time import Timestamp


@dataclass(frozen=True, slots=True)
class RefreshStatistics:
    """Counts of rows, files, bytes and Spark jobs; milliseconds; the writer: engine, delta-rs or
    spark.

    `source_rows` are those of the sources of an AUTO table (0: unknown); `cold` whether the
    milliseconds are those of a process that had just begun, and are little evidence; `way` where
    the rows were computed, None where it is not known.
    """

    compilation_ms: int = 0
    execution_ms: int = 0
    queued_ms: int = 0
    inserted_rows: int = 0
    deleted_rows: int = 0
    copied_rows: int = 0
    added_files: int = 0
    removed_files: int = 0
    rows_read: int = 0
    bytes_written: int = 0
    spark_jobs: int = 0
    writer: str | None = None
    changed_rows: int = 0
    source_rows: int = 0
    cold: bool = False
    way: RefreshWay | None = None

    def to_json(self) -> dict[str, Any]:
        """With the names of DYNAMIC_TABLE_REFRESH_HISTORY's STATISTICS, and ours after them."""
        return {
            "compilationTimeMs": self.compilation_ms,
            "executionTimeMs": self.execution_ms,
            "queuedTimeMs": self.queued_ms,
            "numInsertedRows": self.inserted_rows,
            "numDeletedRows": self.deleted_rows,
            "numCopiedRows": self.copied_rows,
            "numAddedPartitions": self.added_files,
            "numRemovedPartitions": self.removed_files,
            "numRowsRead": self.rows_read,
            "numBytesWritten": self.bytes_written,
            "numSparkJobs": self.spark_jobs,
            "writer": self.writer,
            "numChangedSourceRows": self.changed_rows,
            "numSourceRows": self.source_rows,
            "coldProcess": self.cold,
            "computedBy": None if self.way is None else self.way.value,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RefreshStatistics:
        found = {_NAMES[k]: v for k, v in value.items() if k in _NAMES}
        way = found.pop("way", None)
        return cls(**found, way=None if way is None else RefreshWay(way))


_NAMES = dict(
    zip(RefreshStatistics().to_json(), (f.name for f in fields(RefreshStatistics)), strict=True)
)
"""The fields, by their names in JSON."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far work is: Spark's jobs and tasks begun and done, rows written, and rows read from
    files."""

    jobs: int = 0
    jobs_done: int = 0
    tasks: int = 0
    tasks_done: int = 0
    rows: int = 0
    rows_read: int = 0

    @classmethod
    def sum_of(cls, parts: Iterable[Progress]) -> Progress:
        """Of all of them together."""
        return cls(*map(sum, zip(*map(astuple, parts), strict=True)))


@dataclass(frozen=True, slots=True)
class ActivityState:
    """The present state of a call that a user waits for, or of a step of one, after `seconds`. The
    progress is that of its steps too; on Spark Connect, which reports no jobs, it is zeros."""

    title: str
    seconds: float
    progress: Progress = Progress()
    steps: tuple[ActivityState, ...] = ()
    ended: bool = False

    @property
    def running_steps(self) -> tuple[str, ...]:
        """The titles of the step that it is in, of the step that this is in, and so on."""
        for step in reversed(self.steps):
            if not step.ended:
                return (step.title, *step.running_steps)
        return ()


def shorten(text: str, most: int = 80) -> str:
    """A statement in one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def progress_words(progress: Progress) -> str:
    """`1 of 2 jobs, 5 of 8 tasks, 1,200 rows written`; nothing before the first job."""
    parts = []
    if progress.jobs:
        parts.append(f"{progress.jobs_done} of {count_of(progress.jobs, 'job')}")
        parts.append(f"{progress.tasks_done} of {count_of(progress.tasks, 'task')}")
    read, written = progress.rows_read, progress.rows
    parts += [f"{count_of(read, 'row')} read"] if read else []
    parts += [f"{count_of(written, 'row')} written"] if written else []
    return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class RefreshRecord:
    """One refresh of one dynamic table, as the history keeps it.

    `query_id` is the attempt's id; `error` the catalogue's text of a failure; `upstream` the
    records of the upstream refreshes that this one asked for.
    """

    name: Name
    query_id: str
    state: RefreshState
    trigger: RefreshTrigger
    data_timestamp: Timestamp
    action: RefreshAction | None = None
    reason: Reason | None = None
    frontier: Frontier | None = None
    version: int | None = None
    statistics: RefreshStatistics = RefreshStatistics()
    start: Timestamp | None = None
    end: Timestamp | None = None
    completion_target: Timestamp | None = None
    target_lag_seconds: float | None = None
    warehouse: str | None = None
    changed_inputs: tuple[str, ...] = ()
    reinit_reason: str | None = None
    error_code: str | None = None
    error: str | None = None
    last_completed_dependency: str | None = None
    graph_valid_from: Timestamp | None = None
    upstream: tuple[RefreshRecord, ...] = field(default=())

    @property
    def duration(self) -> float | None:
        """Seconds from start to end."""
        return self.end.since(self.start) if self.start and self.end else None

    def __str__(self) -> str:
        action = f" {self.action}" if self.action else ""
        s = self.statistics
        rows = (
            f", {s.inserted_rows:,} inserted, {s.deleted_rows:,} deleted"
            if s.inserted_rows or s.deleted_rows
            else ""
        )
        took = f" in {self.duration:.2f} s" if self.duration is not None else ""
        why = f" ({self.error or self.reason})" if self.error or self.reason else ""
        return f"{self.name}: {self.state}{action} at {self.data_timestamp}{rows}{took}{why}"
