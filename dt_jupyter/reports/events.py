"""What happens to the tables of a lake, sent to listeners: refreshes, deliveries, and changes of
the graph.

All is read from the catalog, so what another process does is reported in the same way. Without a
listener there is no thread, and a refresh does no more than it would.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dt_jupyter.catalog import Catalog, News
from dt_jupyter.failures import coded
from dt_jupyter.model import (
    DEFAULTS,
    Clock,
    Happened,
    Name,
    Progress,
    RefreshRecord,
    Timestamp,
    Tuning,
)

_log = logging.getLogger("dt_jupyter.events")


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened at `at`: to the dynamic table `name`, to a sink, to a task, or else to
    the graph.

    `record` is the refresh as it is then, `progress` how far it is while it runs.
    """

    happened: Happened
    at: Timestamp
    dt_id: str | None = None
    name: Name | None = None
    record: RefreshRecord | None = None
    progress: Progress | None = None
    sink_id: str | None = None
    task_id: str | None = None


Listener = Callable[[Event], None]
RunningRefreshes = Callable[[], Mapping[str, Callable[[], Progress]]]
"""The refreshes that run in this process, by query id, each with its progress."""


@coded("dt.events.")
class Events:
    """The events of one engine; threads may listen and stop at any time."""

    def __init__(
        self,
        catalog: Catalog,
        clock: Clock,
        running: RunningRefreshes = dict,
        tuning: Tuning = DEFAULTS,
    ) -> None:
        self._catalog, self._clock, self._running, self._tuning = catalog, clock, running, tuning
        self._listeners: list[Listener] = []
        self._closed: dict[Listener, Callable[[], None]] = {}
        self._lock = threading.Lock()
        self._watch: _Watch | None = None
        self._complained: set[int] = set()

    def listen(self, fn: Listener, closed: Callable[[], None] | None = None) -> Callable[[], None]:
        """`fn` is called with each event from now on, in a thread of the events' own, one after
        the other; what it raises is logged, once. `closed` is called when the engine is closed.
        Call the result to stop."""
        own = partial(fn)  # another value for each call
        with self._lock:
            if self._watch is None:
                tell = partial(self._tell, self._listeners)
                self._watch = _Watch(self._catalog, self._clock, self._running, tell, self._tuning)
                self._catalog.written = self._watch.wake
                self._watch.start()
            self._listeners.append(own)
            if closed is not None:
                self._closed[own] = closed
        return lambda: self._stop(own)

    def changed(self) -> None:
        """The visible part of the lake changes from now on, though the lake does not: for another
        role."""
        self._tell(self._listeners, Event(Happened.CHANGED, self._clock.now()))

    @property
    def heard(self) -> bool:
        """Whether there are listeners."""
        return bool(self._listeners)

    def close(self) -> None:
        """No listener is called any more."""
        with self._lock:
            told, self._closed = [*self._closed.values()], {}
            watch = self._end()
        if watch is not None:
            watch.join()
        for closed in told:
            closed()

    def _stop(self, own: Listener) -> None:
        with self._lock:
            if own in self._listeners:
                self._listeners.remove(own)
            self._closed.pop(own, None)
            if not self._listeners:
                self._end()

    def _end(self) -> _Watch | None:
        """A watch that is still reading has the old list: it reaches no later listener."""
        watch, self._watch = self._watch, None
        self._listeners.clear()
        self._listeners = []
        self._catalog.written = None
        if watch is not None:
            watch.stop()
        return watch

    def _tell(self, listeners: Sequence[Listener], event: Event) -> None:
        for fn in tuple(listeners):
            try:
                fn(event)
            except Exception:
                if id(fn) not in self._complained:
                    self._complained.add(id(fn))
                    _log.exception("a listener failed; its next failures are not logged")


class _Watch:
    """One thread that reads what is new, from its making on until `stop`."""

    def __init__(
        self,
        catalog: Catalog,
        clock: Clock,
        running: RunningRefreshes,
        tell: Listener,
        tuning: Tuning,
    ) -> None:
        self._catalog, self._clock, self._running, self._tell = catalog, clock, running, tell
        self._sample_seconds, self._poll_seconds = tuning.sample_seconds, tuning.poll_seconds
        self._woken, self._stopped = threading.Event(), False
        self._last = catalog.present()
        self._open = {r.query_id: (i, r) for i, r in self._last.records}
        self._sampled: dict[str, Progress] = {}
        self._thread = threading.Thread(target=self._run, name="dt-events", daemon=True)
        self.wake, self.start = self._woken.set, self._thread.start
        self.wake()  # what was written since `present`

    def stop(self) -> None:
        self._stopped = True
        self._woken.set()

    def join(self) -> None:
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        pulse = self._catalog.pulse()
        sampled = 0.0
        try:
            while True:
                woken = self._woken.wait(
                    self._sample_seconds if self._running() else self._poll_seconds
                )
                self._woken.clear()
                if self._stopped:
                    return
                try:
                    if pulse.beats() or woken:
                        self._read()
                    if time.monotonic() - sampled >= self._sample_seconds:
                        sampled = time.monotonic()
                        self._sample()
                except Exception:
                    if self._stopped:
                        return
                    _log.warning("what is new in the lake could not be read", exc_info=True)
        finally:
            pulse.close()

    def _read(self) -> None:
        found = self._catalog.news(self._last.ordinal, self._open.keys())
        before, self._last = (
            self._last,
            News(
                max(found.ordinal, self._last.ordinal),
                found.standing,
                (),
                found.sinks,
                found.tasks,
            ),
        )
        if found.standing != before.standing:
            self._tell(Event(Happened.CHANGED, self._clock.now()))
        for sink_id, standing in found.sinks.items():
            if before.sinks.get(sink_id, standing) != standing:
                self._tell(Event(Happened.ENDED, self._clock.now(), sink_id=sink_id))
        for task_id, standing in found.tasks.items():
            if before.tasks.get(task_id, standing) != standing:
                self._tell(Event(Happened.ENDED, self._clock.now(), task_id=task_id))
        for dt_id, record in found.records:
            self._refresh(dt_id, record)
        self._forget_purged({r.query_id for _, r in found.records})

    def _refresh(self, dt_id: str, record: RefreshRecord) -> None:
        known = record.query_id in self._open
        if record.state.final:
            self._open.pop(record.query_id, None)
            self._sampled.pop(record.query_id, None)
            at = record.end or self._clock.now()
            self._tell(Event(Happened.ENDED, at, dt_id, record.name, record))
        elif not known:
            self._open[record.query_id] = (dt_id, record)
            at = record.start or self._clock.now()
            self._tell(Event(Happened.STARTED, at, dt_id, record.name, record, Progress()))

    def _forget_purged(self, found: set[str]) -> None:
        """A table whose creation failed leaves no history."""
        for query_id in self._open.keys() - found:
            dt_id, record = self._open.pop(query_id)
            self._sampled.pop(query_id, None)
            self._tell(Event(Happened.ENDED, self._clock.now(), dt_id, record.name))

    def _sample(self) -> None:
        """Of the refreshes that run here, where they have moved."""
        for query_id, ask in self._running().items():
            if query_id not in self._open:
                continue
            progress = ask()
            if progress == self._sampled.get(query_id, Progress()):
                continue
            self._sampled[query_id] = progress
            dt_id, record = self._open[query_id]
            now = self._clock.now()
            self._tell(Event(Happened.PROGRESS, now, dt_id, record.name, record, progress))
