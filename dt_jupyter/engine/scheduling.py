"""The engine as the scheduler sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.engine.upstream_refresh import Graph
from dt_jupyter.failures import UNFORESEEN, catalogued
from dt_jupyter.model import DTError, RefreshState, RefreshTrigger, Timestamp
from dt_jupyter.schedule import Skip, Start, State, StateReader, Wait, Worker
from dt_jupyter.spark import is_connect

_log = logging.getLogger("dt_jupyter.scheduler")
HISTORY_DAYS = 14
_HOUR = 3600.0
_RACED = ("DT-2104", "DT-2109", "DT-1101")


@dataclass
class EnginePort:
    """Runs what the scheduler starts; `problems` keeps the last ones for `%dt status`."""

    graph: Graph
    problems: list[str] = field(default_factory=list)
    _pruned: Timestamp | None = None

    def __post_init__(self) -> None:
        self._reader = StateReader(self.graph.refresher.sources.catalog)

    def state(self) -> State:
        catalog = self.graph.refresher.sources.catalog
        catalog.reap()
        self._prune()
        return self._reader.read()

    def _prune(self) -> None:
        """Every hour: a table with a lag of seconds has a row of history every few seconds."""
        now = self.graph.clock.now()
        if self._pruned is None or now.since(self._pruned) > _HOUR:
            self._pruned = now
            self.graph.refresher.sources.catalog.prune(now.plus(-HISTORY_DAYS * 24 * _HOUR))

    def run(self, start: Start) -> None:
        """One scheduled refresh; nothing where another process was faster."""
        try:
            self.graph.run(start.dt, start.data_timestamp, RefreshTrigger.SCHEDULED,
                           metadata_only=start.metadata_only)  # fmt: skip
        except DTError as e:
            if e.code not in _RACED:
                raise

    def skip(self, skip: Skip) -> None:
        catalog = self.graph.refresher.sources.catalog
        catalog.record_skip(skip.dt, skip.data_timestamp, RefreshState(skip.state), skip.reason)

    def wait(self, wait: Wait) -> None:
        catalog = self.graph.refresher.sources.catalog
        skipped = RefreshState.SKIPPED
        catalog.record_skip(wait.dt, wait.data_timestamp, skipped, wait.reason, over=False)

    def report(self, problem: Exception) -> None:
        told = catalogued(problem, "The scheduler")
        _log.warning("%s", told, exc_info=problem if told.code == UNFORESEEN else None)
        self.problems = [*self.problems[-9:], str(told)]

    def cancel(self) -> None:
        self.graph.refresher.cancel_all()


def spawner(spark: Any) -> Callable[[Callable[[], None], str], Worker]:
    """Starts workers that inherit the session's local properties."""

    def spawn(work: Callable[[], None], name: str) -> Worker:
        from pyspark import InheritableThread

        extra = {"session": spark} if is_connect(spark) else {}
        thread = InheritableThread(target=work, name=name, daemon=True, **extra)
        thread.start()
        return thread

    return spawn
