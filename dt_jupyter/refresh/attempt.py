"""The lease of a running refresh, kept alive by heartbeats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from dt_jupyter.catalog import Attempt, Catalog
from dt_jupyter.model import (
    Clock,
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
)
from dt_jupyter.refresh.choose import Choice
from dt_jupyter.refresh.look import Look

TTL_SECONDS = 60.0


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
        blank(attempt, name), action=choice.action, reason=choice.reason,
        changed_inputs=tuple(sorted(seen.names[s] for s in choice.changed)),
        reinit_reason=str(choice.reason) if again else None,
    )  # fmt: skip


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
