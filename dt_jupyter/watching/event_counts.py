"""What this process did since it counts, by name: what a metric is made of."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from dt_jupyter.model import EventKind, LakeEvent

_COUNTED = (EventKind.REFRESH, EventKind.DELIVERY, EventKind.TASK_RUN)


@dataclass(frozen=True)
class CountedEvents:
    """`ends` by kind, name, state and action; `seconds` and `timed` by kind and name; `rows`
    by name and outcome."""

    ends: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    timed: Counter[tuple[str, str]] = field(default_factory=Counter)
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)


class EventCounts:
    """To be called with what was noted; threads may ask at any time."""

    def __init__(self) -> None:
        self._counts = CountedEvents()
        self._lock = threading.Lock()

    def __call__(self, events: Iterable[LakeEvent]) -> None:
        with self._lock:
            for event in events:
                if event.kind in _COUNTED:
                    _count(self._counts, event)

    def now(self) -> CountedEvents:
        """A copy."""
        with self._lock:
            c = self._counts
            return CountedEvents(
                Counter(c.ends), dict(c.seconds), Counter(c.timed), Counter(c.rows)
            )


def _count(counts: CountedEvents, event: LakeEvent) -> None:
    told, name = event.attributes, event.full_name
    counts.ends[event.kind.value, name, event.state, str(told.get("action", ""))] += 1
    key = (event.kind.value, name)
    if "seconds" in told:
        counts.timed[key] += 1
        counts.seconds[key] = counts.seconds.get(key, 0.0) + max(told["seconds"], 0.0)
    for field_name, what in (("inserted_rows", "inserted"), ("deleted_rows", "deleted")):
        if event.kind is EventKind.REFRESH and told.get(field_name):
            counts.rows[name, what] += told[field_name]


__all__ = ["CountedEvents", "EventCounts"]
