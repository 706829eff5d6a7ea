"""Interrupting a plain cell ends its Spark jobs too.

Ctrl-C during `df.collect()` leaves the job running and prints two traces of py4j. So the jobs of a
cell carry a tag by which they are cancelled, and py4j's account of the interrupt is left out.
"""

from __future__ import annotations

import logging
from typing import Any

_NOISE = ("KeyboardInterrupt while sending command", "Exception occurred while shutting down")
_LOGGERS = ("", "py4j.clientserver", "py4j.java_gateway")


class CellJobs:
    """Tags the jobs of each cell of a shell, where its Spark is a classic one."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._context: Any = None
        self._tag: str | None = None

    def watch(self, spark: Any) -> None:
        """From the next cell on, the jobs of `spark` that a cell starts are known by its tag."""
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            return  # its own handler of interrupts does this
        if self._context is None:
            self._shell.events.register("pre_run_cell", self._begin)
            for name in _LOGGERS:
                logging.getLogger(name).addFilter(_not_noise)
        self._context = spark.sparkContext

    def stop(self) -> None:
        if self._context is not None:
            self._remove_tag()
            self._context = None
            self._shell.events.unregister("pre_run_cell", self._begin)
            for name in _LOGGERS:
                logging.getLogger(name).removeFilter(_not_noise)

    def cancel(self) -> None:
        """Ends the jobs of the cell that runs, or ran last."""
        if self._alive() and self._tag is not None:
            self._context.cancelJobsWithTag(self._tag)

    def _begin(self, info: Any) -> None:
        if not self._alive():
            return
        self._remove_tag()
        self._tag = f"cell:{self._shell.execution_count}:{id(info)}"
        self._context.addJobTag(self._tag)

    def _remove_tag(self) -> None:
        """What runs after the last cell bears no tag of it."""
        if self._alive() and self._tag is not None:
            self._context.removeJobTag(self._tag)
        self._tag = None

    def _alive(self) -> bool:
        context = self._context
        return context is not None and context._jsc is not None


def _not_noise(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(_NOISE)
