"""What Spark does for a piece of work, split by what its jobs are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark import JobPurpose, purpose_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OTHER = "other"
"""Jobs for which no purpose was noted."""
PARTS = (*map(str, JobPurpose), OTHER)


@dataclass(frozen=True, slots=True)
class SparkWork:
    """Counts of jobs, of stages that ran and of their tasks; bytes that went through shuffles, that
    were read from files and written to files; seconds from the start of each job to its end."""

    jobs: float = 0
    stages: float = 0
    tasks: float = 0
    shuffled: float = 0
    read: float = 0
    written: float = 0
    seconds: float = 0.0

    def __add__(self, other: SparkWork) -> SparkWork:
        return SparkWork(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


Split = Mapping[str, SparkWork]
"""The work of each part that has any."""


class JobCounter:
    """Reads the jobs of a classic Spark context from its status store, each once."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        gateway = spark.sparkContext._gateway
        self._none = gateway.jvm.java.util.ArrayList()
        self._no_quantiles = gateway.new_array(gateway.jvm.double, 0)
        self._next = self._started()
        self._stages: set[int] = set()

    def _started(self) -> int:
        """How many jobs the context has started: the number of the next one."""
        return int(self._context.dagScheduler().nextJobId())

    def skip(self) -> None:
        """What was started so far belongs to no measurement."""
        self._next = self._started()

    def take(self) -> dict[str, SparkWork]:
        """The work since the last `take` or `skip`; of jobs that nobody waits for what is known."""
        self._context.listenerBus().waitUntilEmpty()
        found: dict[str, SparkWork] = {}
        jobs = self._context.statusStore().jobsList(None)
        for job in (jobs.apply(i) for i in range(jobs.size())):
            if job.jobId() < self._next:
                continue
            text = job.description()
            part = str(purpose_of(text.get() if text.isDefined() else None) or OTHER)
            found[part] = found.get(part, SparkWork()) + self._work_of(job)
        self.skip()
        return found

    def _work_of(self, job: Any) -> SparkWork:
        ids = job.stageIds()
        stages = [self._stage(int(ids.apply(i))) for i in range(ids.size())]
        return sum(stages, SparkWork(jobs=1, seconds=_seconds_of(job)))

    def _stage(self, stage: int) -> SparkWork:
        """Of all its attempts; nothing of one that a job before has run."""
        if stage in self._stages:
            return SparkWork()
        attempts = self._context.statusStore().stageData(
            stage, False, self._none, False, self._no_quantiles
        )
        ran = [attempts.apply(i) for i in range(attempts.size())]
        ran = [a for a in ran if str(a.status()) != "SKIPPED"]
        if ran:
            self._stages.add(stage)
        return sum(map(_work_of_attempt, ran), SparkWork(stages=bool(ran)))


def _seconds_of(job: Any) -> float:
    """From its start to its end; 0 of one that nobody waited for."""
    began, ended = job.submissionTime(), job.completionTime()
    if not (began.isDefined() and ended.isDefined()):
        return 0.0
    return float(ended.get().getTime() - began.get().getTime()) / 1000


def _work_of_attempt(attempt: Any) -> SparkWork:
    return SparkWork(
        tasks=attempt.numCompleteTasks(),
        shuffled=attempt.shuffleWriteBytes(),
        read=attempt.inputBytes(),
        written=attempt.outputBytes(),
    )


def total(split: Split) -> SparkWork:
    """All parts together."""
    return sum(split.values(), SparkWork())
