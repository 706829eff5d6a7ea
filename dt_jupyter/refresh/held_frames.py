"""Rows that a refresh computes once in Spark and reads several times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dt_jupyter.model.hidden import hidden
from dt_jupyter.spark import is_connect, leave_plan, read_cached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_WITH_PLANS = 3
"""The number of frames that keep their plans: one that reads others twice has a plan of twice
theirs, and so on, which Spark's listeners traverse and keep."""


@dataclass
class HeldFrames:
    """DataFrames that Spark caches, in memory and where that is short on its disks, until they are
    released. One that is lost with an executor is computed again: what it reads is pinned. Those
    whose reader comes later than any release are not `cached`."""

    cached: bool = True
    _frames: list[DataFrame] = field(default_factory=list)

    def hold(self, frame: DataFrame) -> str:
        """The view of a DataFrame that is cached when it is first read; the session's next refresh
        takes its name."""
        name = hidden(f"held_{len(self._frames)}")
        has_plan = self.cached and not is_connect(frame.sparkSession)
        if has_plan and len(self._frames) >= _WITH_PLANS:
            frame = leave_plan(frame)
        held = frame.persist() if self.cached else frame
        self._frames.append(held)
        (read_cached(held) if has_plan else held).createOrReplaceTempView(name)
        return name

    def release(self) -> None:
        """Gives the memory back. The views stay: a commit may still read them."""
        while self.cached and self._frames:
            self._frames.pop().unpersist()
