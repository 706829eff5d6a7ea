"""How far the jobs of a group are, from Spark's own store of their states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Progress
from dt_jupyter.spark.job_tags import tag_of
from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

_ENDED = ("SUCCEEDED", "FAILED")


@dataclass
class JobProgress:
    """Of one job group and those nested in it, asked again and again: jobs that ended are asked
    once more and never again. Spark Connect reports nothing: zeros there."""

    spark: SparkSession
    group: str
    _ended: dict[int, Progress] = field(default_factory=dict)

    def now(self) -> Progress:
        """Waits for nothing, so it may lag behind by some milliseconds."""
        if is_connect(self.spark):
            return Progress()
        context: Any = self.spark.sparkContext
        tracker = context.statusTracker()
        jobs = context._jsc.sc().statusTracker().getJobIdsForTag(tag_of(self.group))
        return Progress.sum_of(self._ended.get(job) or self._job(tracker, job) for job in jobs)

    def _job(self, tracker: StatusTracker, job: int) -> Progress:
        info = tracker.getJobInfo(job)
        done = info is not None and info.status in _ENDED
        stages = [self._stage(s) for s in info.stageIds] if info is not None else []
        found = Progress.sum_of([Progress(1, int(done)), *stages])
        if done:
            self._ended[job] = found
        return found

    def _stage(self, stage: int) -> Progress:
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
            return Progress()
        last = attempts.apply(attempts.size() - 1)
        if last.status().toString() == "SKIPPED":
            return Progress()
        tasks = (last.numTasks(), last.numCompleteTasks())
        return Progress(0, 0, *tasks, last.outputRecords(), last.inputRecords())


def scala_doubles(context: Any) -> Any:
    """An empty array of doubles: no quantiles are requested."""
    return context._gateway.new_array(context._jvm.double, 0)
