"""How far the jobs of a group are, from Spark's own store of their states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Progress
from dt_jupyter.spark.metrics import scala_doubles
from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

_ENDED = ("SUCCEEDED", "FAILED")


@dataclass
class JobProgress:
    """Of one job group, asked again and again: jobs that ended are asked once more and never
    again. Spark Connect tells nothing: zeros there."""

    spark: SparkSession
    group: str
    _ended: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def now(self) -> Progress:
        """Waits for nothing, so it may lag behind by some milliseconds."""
        if is_connect(self.spark):
            return Progress()
        tracker = self.spark.sparkContext.statusTracker()
        jobs = tracker.getJobIdsForGroup(self.group)
        tasks = done = rows = 0
        for job in jobs:
            found = self._ended.get(job) or self._job(tracker, job)
            tasks, done, rows = tasks + found[0], done + found[1], rows + found[2]
        return Progress(len(jobs), len(self._ended), tasks, done, rows)

    def _job(self, tracker: StatusTracker, job: int) -> tuple[int, int, int]:
        """Tasks, tasks done and rows written of a job."""
        info = tracker.getJobInfo(job)
        stages = [self._stage(s) for s in info.stageIds] if info is not None else []
        found = (sum(s[0] for s in stages), sum(s[1] for s in stages), sum(s[2] for s in stages))
        if info is not None and info.status in _ENDED:
            self._ended[job] = found
        return found

    def _stage(self, stage: int) -> tuple[int, int, int]:
        """Of its newest attempt; nothing of a stage that was not needed."""
        context: Any = self.spark.sparkContext
        attempts = (
            context._jsc.sc()
            .statusStore()
            .stageData(
                stage, False, context._jvm.java.util.ArrayList(), False, scala_doubles(context)
            )
        )
        if not attempts.size():
            return 0, 0, 0
        last = attempts.apply(attempts.size() - 1)
        if last.status().toString() == "SKIPPED":
            return 0, 0, 0
        return last.numTasks(), last.numCompleteTasks(), last.outputRecords()
