"""Spark is started in the background as soon as the extension is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from dt_jupyter.spark import SWITCH

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_SOON_SECONDS = 0.05


class SparkAhead:
    """Begins to start the Spark of a notebook after the cell that runs, and gives it up once the
    notebook has its own Spark. `has_spark` says whether it has one."""

    def __init__(self, shell: InteractiveShell, has_spark: Callable[[], bool]) -> None:
        self._shell = shell
        self._has_spark = has_spark
        self._begun = False

    def begin(self) -> None:
        loop = getattr(getattr(self._shell, "kernel", None), "io_loop", None)
        if loop is None or _is_off():
            return
        # In the loop, between cells: two threads that import PySpark would wait for each other.
        loop.call_later(_SOON_SECONDS, self._prepare)
        self._shell.events.register("post_run_cell", self._check)
        self._begun = True

    def hasten(self) -> None:
        """Begins at once, for a cell that is about to import the engine and to connect."""
        if not _is_off() and not self._has_spark():
            _prepare()

    def stop(self) -> None:
        if self._begun:
            self._begun = False
            self._shell.events.unregister("post_run_cell", self._check)
            _dismiss()

    def _prepare(self) -> None:
        if self._begun and not self._has_spark():
            _prepare()

    def _check(self, result: object) -> None:
        if self._has_spark():
            self.stop()


def _is_off() -> bool:
    return os.environ.get(SWITCH) == "0" or "SPARK_REMOTE" in os.environ


def _prepare() -> None:
    from dt_jupyter.engine import prepare_spark

    prepare_spark()


def _dismiss() -> None:
    if "pyspark" in sys.modules:
        from dt_jupyter.spark import dismiss

        dismiss()
