"""Interrupting a plain cell ends its Spark jobs too, and they are seen while they run.

Ctrl-C during `df.collect()` leaves the job running and prints two traces of py4j. So the jobs of a
cell carry a tag by which they are cancelled, and py4j's account of the interrupt is left out.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dt_jupyter.spark import ACTIVITIES, Activity, JobProgress

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NOISE = ("KeyboardInterrupt while sending command", "Exception occurred while shutting down")
_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")


class CellJobs:
    """Tags the jobs of each cell of a shell, where its Spark is a classic one."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._spark: SparkSession | None = None
        self._tag: str | None = None
        self._shown: Activity | None = None

    def watch(self, spark: SparkSession) -> None:
        """From the next cell on, the jobs of `spark` that a cell starts are known by its tag."""
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            return  # its own handler of interrupts does this
        if self._spark is None:
            self._shell.events.register("pre_run_cell", self._begin)
            self._shell.events.register("post_run_cell", self._hide)
            for name in _LOGGERS:
                logging.getLogger(name).addFilter(_not_noise)
        self._spark = spark

    def stop(self) -> None:
        if self._spark is not None:
            self._hide()
            self._remove_tag()
            self._spark = None
            self._shell.events.unregister("pre_run_cell", self._begin)
            self._shell.events.unregister("post_run_cell", self._hide)
            for name in _LOGGERS:
                logging.getLogger(name).removeFilter(_not_noise)

    def cancel(self) -> None:
        """Ends the jobs of the cell that runs, or ran last."""
        context = self._living()
        if context is not None and self._tag is not None:
            context.cancelJobsWithTag(self._tag)

    def _begin(self, info: ExecutionInfo) -> None:
        context, spark = self._living(), self._spark
        if context is None or spark is None:
            return
        self._hide()
        self._remove_tag()
        self._tag = f"cell:{self._shell.execution_count}:{id(info)}"
        context.addJobTag(self._tag)
        jobs = JobProgress(spark, self._tag)
        self._shown = Activity("Spark jobs of this cell", in_main=True, beside=True, jobs=jobs)
        ACTIVITIES.begin(self._shown)

    def _hide(self, result: object = None) -> None:
        """The cell has ended, or the next one begins."""
        shown, self._shown = self._shown, None
        if shown is not None:
            ACTIVITIES.end(shown)

    def _remove_tag(self) -> None:
        """What runs after the last cell has no tag of it."""
        context = self._living()
        if context is not None and self._tag is not None:
            context.removeJobTag(self._tag)
        self._tag = None

    def _living(self) -> SparkContext | None:
        from dt_jupyter.spark import context_end

        if self._spark is None or context_end(context := self._spark.sparkContext) is not None:
            return None
        return context


def _not_noise(record: logging.LogRecord) -> bool:
    """A command that is sent while the interrupt closes its connection fails by that."""
    by_interrupt = record.exc_info is not None and was_interrupt(record.exc_info[1])
    return not (by_interrupt or str(record.msg).startswith(_NOISE))


def was_interrupt(failure: BaseException | None) -> bool:
    """Also where py4j has made a network error of the interrupt."""
    seen: set[int] = set()
    while failure is not None and id(failure) not in seen:
        if isinstance(failure, KeyboardInterrupt):
            return True
        seen.add(id(failure))
        context = None if failure.__suppress_context__ else failure.__context__
        failure = failure.__cause__ or context
    return False
