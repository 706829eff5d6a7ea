"""The lease of a running refresh, kept alive by heartbeats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from dt_jupyter.catalog import Attempt, Catalog
from dt_jupyter.model import (
    Clock,
    DynamicTable,
    Frontier,
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.observation import Look


@contextmanager
def heartbeats(catalog: Catalog, attempt: Attempt, when_lost: Callable[[], None]) -> Iterator[None]:
    """Renews the lease every third of its length; `when_lost` is called once if it was lost."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(attempt.ttl / 3):
            if not catalog.heartbeat(attempt):
                when_lost()
                return

    thread = threading.Thread(target=beat, name=f"dt-heartbeat-{attempt.id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def blank(attempt: Attempt, name: Name) -> RefreshRecord:
    """The record of an attempt before anything is known."""
    return RefreshRecord(
        name, attempt.id, RefreshState.EXECUTING, attempt.trigger, attempt.data_timestamp
    )


def begun(attempt: Attempt, name: Name, seen: Look, choice: Choice) -> RefreshRecord:
    """The record of an attempt that takes this action."""
    again = choice.action is RefreshAction.REINITIALIZE
    return replace(
        blank(attempt, name),
        action=choice.action,
        reason=choice.reason,
        changed_inputs=tuple(sorted(seen.names[s] for s in choice.changed)),
        reinit_reason=str(choice.reason) if again else None,
    )


def no_data(
    table: DynamicTable,
    t: Timestamp,
    trigger: RefreshTrigger,
    query_id: str,
    seen: Look,
    choice: Choice,
) -> RefreshRecord:
    """The record of a refresh that had nothing to do."""
    return RefreshRecord(
        table.name,
        query_id,
        RefreshState.SUCCEEDED,
        trigger,
        t,
        choice.action,
        choice.reason,
        _keeping_stages(seen.frontier, table.frontier),
        table.version,
        warehouse=table.warehouse,
        target_lag_seconds=table.target_lag.seconds,
    )


def _keeping_stages(frontier: Frontier, before: Frontier | None) -> Frontier:
    """Nothing changed, so the hidden stages keep their versions."""
    if before is None:
        return frontier
    stages = {s: v for s, v in before.versions.items() if s.startswith("stage:")}
    versions = {**frontier.versions, **stages}
    return Frontier(frontier.data_timestamp, versions, before.stateless)


class Stopwatch:
    """Phases of a refresh in milliseconds, on the engine's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.now()

    def lap(self) -> int:
        """Milliseconds since the last lap."""
        now = self._clock.now()
        took, self._last = now.since(self._last), now
        return max(0, round(took * 1000))


NO_STATISTICS = RefreshStatistics()
