"""Looks for what needs attention, and calls the functions of this process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from dt_jupyter.catalog import TOO_MANY_FAILURES, Catalog
from dt_jupyter.failures import coded
from dt_jupyter.model import (
    Alert,
    AlertKind,
    DTError,
    EventKind,
    LakeEvent,
    Name,
    Reason,
    Sink,
    SinkState,
    Source,
    Stream,
    TableStanding,
    Task,
    Timestamp,
    alert_in,
    count_of,
    last_task_failure,
    lateness,
    table_alerts,
)
from dt_jupyter.schedule import awake_since, held_lags
from dt_jupyter.watching.alert_handlers import AlertFunction, AlertHandler

_LOOK_SECONDS = 2.0
"""How long after a change of the lake it is checked again, at the least."""
_LATE_SECONDS = 10.0
_STREAM_SECONDS = 60.0
_SINK_SECONDS = 10.0
_MOST = 1_000
_log = logging.getLogger("dt_jupyter.alerts")
StreamProblem = Callable[[Stream], str | None]
SeenAlert = Callable[[LakeEvent], LakeEvent | None]
BehindSince = Callable[[Sink, Timestamp], Timestamp | None]


@coded("dt.alerts.")
class AlertWatch:
    """The alerts of a lake, for one engine. `problem_of` says why a stream is stale, `seen` what
    the session's role may see of an event, `behind` since when a sink's store lacks something.

    Without a scheduler here, and without a function to call, there is no thread.
    """

    def __init__(
        self,
        catalog: Catalog,
        problem_of: StreamProblem,
        seen: SeenAlert,
        behind: BehindSince = lambda sink, now: None,
    ) -> None:
        self._catalog, self._problem_of, self._seen = catalog, problem_of, seen
        self._behind = behind
        self._handlers: list[AlertHandler] = []
        self._lock, self._looking = threading.Lock(), threading.Lock()
        self._wanted = False
        self._stopped: threading.Event | None = None
        self._told = 0
        self._stale: tuple[Timestamp, list[Alert]] | None = None
        self._lagging: tuple[Timestamp, dict[str, Timestamp]] | None = None

    # -- looking ----------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises and clears alerts, and calls the functions for what is new."""
        with self._looking:
            self._catalog.settle_alerts(self._found(self._catalog.clock.now()))
            self._tell_news()

    def standing(self) -> tuple[Alert, ...]:
        """The active alerts, oldest first."""
        return tuple(each.alert for each in self._catalog.standing_alerts())

    def _found(self, now: Timestamp) -> list[Alert]:
        catalog = self._catalog
        awake = awake_since(catalog.scheduler_runs(), now)
        found = table_alerts(self._standings(), now, awake)
        found += self._of_sinks(now, awake)
        for task in catalog.tasks():
            found += self._of_task(task, now)
        return [*found, *self._of_streams(now)]

    def _standings(self) -> list[TableStanding]:
        """Those that are DOWNSTREAM with what their readers ask for."""
        found = self._catalog.table_standings()
        if not any(table.downstream for table in found):
            return found
        held = held_lags(self._catalog.list())
        return [replace(t, target=held.get(t.id)) if t.downstream else t for t in found]

    def _of_sinks(self, now: Timestamp, awake: Timestamp | None) -> Iterator[Alert]:
        sinks = self._catalog.sinks()
        yield from (_paused(sink, now) for sink in sinks if sink.state is SinkState.PAUSED)
        yield from (_refused(sink, now) for sink in sinks if sink.dead_letters)
        timed = [s for s in sinks if s.state in _DELIVERING and s.target_lag.seconds is not None]
        since = self._lagging_since(timed, now) if awake is not None else {}
        for sink in timed:
            target = sink.target_lag.seconds
            why = lateness(since.get(sink.id), target, now, awake)
            if why is not None:
                made = _made(EventKind.SINK, sink.name, sink.id, now, AlertKind.LATE, why)
                yield replace(made, target=target)

    def _lagging_since(self, sinks: list[Sink], now: Timestamp) -> dict[str, Timestamp]:
        """By id, since when a store lacks something. The logs of their sources are read, which is
        not done all the time."""
        known = self._lagging
        if known is not None and now.since(known[0]) < _SINK_SECONDS:
            return known[1]
        behind = ((sink.id, self._behind(sink, now)) for sink in sinks)
        found = {id_: since for id_, since in behind if since is not None}
        self._lagging = (now, found)
        return found

    def _of_task(self, task: Task, now: Timestamp) -> list[Alert]:
        made = partial(_made, EventKind.TASK, task.name, task.id, now)
        if not task.started and (task.reason is None or task.reason.code != TOO_MANY_FAILURES):
            return []
        found = [] if task.started else [made(AlertKind.SUSPENDED, task.reason)]
        failure = last_task_failure(self._catalog.newest_task_runs(task.id))
        return found if failure is None else [*found, made(AlertKind.FAILED, failure)]

    def _of_streams(self, now: Timestamp) -> list[Alert]:
        """Their logs are read, which is not done all the time."""
        if self._stale is not None and now.since(self._stale[0]) < _STREAM_SECONDS:
            return self._stale[1]
        found = []
        for stream in self._catalog.streams():
            if (problem := self._problem_of(stream)) is not None:
                why = Reason("STALE", problem)
                found.append(_made(_STREAM, stream.name, stream.id, now, AlertKind.STALE, why))
        self._stale = (now, found)
        return found

    def look_at_logs(self) -> None:
        """The next look reads those of streams and sinks too."""
        self._stale = self._lagging = None

    # -- telling ----------------------------------------------------------------------------------

    def tell(self, fn: AlertFunction) -> Callable[[], None]:
        """`fn` is called with each alert that is raised or cleared from now on, by any process;
        call the result to stop."""
        handler = AlertHandler(fn)
        with self._lock:
            if not self._handlers:
                self._told = self._catalog.newest_event()
            self._handlers = [*self._handlers, handler]
            self._start()
        return lambda: self._leave(handler)

    def watch(self, wanted: bool) -> None:
        """Whether to look without subscribers: while a scheduler runs here."""
        with self._lock:
            self._wanted = wanted
            self._start() if wanted else self._end()

    @property
    def watched(self) -> bool:
        """Whether a thread looks."""
        return self._stopped is not None

    def close(self) -> None:
        with self._lock:
            handlers, self._handlers, self._wanted = self._handlers, [], False
            self._end()
        for handler in handlers:
            handler.close()

    def _leave(self, handler: AlertHandler) -> None:
        handler.close()
        with self._lock:
            self._handlers = [h for h in self._handlers if h is not handler]
            self._end()

    def _tell_news(self) -> None:
        handlers = self._handlers
        if not handlers:
            return
        newest = self._catalog.newest_event()
        news = self._catalog.events_after(self._told, _MOST) if newest > self._told else []
        self._told = newest
        seen = (self._seen(e) for _, e in reversed(news) if e.kind is EventKind.ALERT)
        alerts = [alert_in(event) for event in seen if event is not None]
        for handler in handlers:
            handler.tell(alerts)

    # -- the thread -------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._stopped is None:
            self._stopped = threading.Event()
            run = partial(self._run, self._stopped)
            threading.Thread(target=run, name="dt-alerts", daemon=True).start()

    def _end(self) -> None:
        if self._stopped is not None and not self._handlers and not self._wanted:
            self._stopped.set()
            self._stopped = None

    def _run(self, stopped: threading.Event) -> None:
        pulse, rounds = self._catalog.pulse(), 0
        try:
            while not stopped.wait(_LOOK_SECONDS):
                rounds += 1
                if not pulse.beats() and rounds * _LOOK_SECONDS < _LATE_SECONDS:
                    continue
                rounds = 0
                try:
                    self.check()
                except Exception:
                    if not stopped.is_set():
                        _log.warning("alerts could not be checked", exc_info=True)
        finally:
            pulse.close()


_STREAM = "STREAM"
_DELIVERING = (SinkState.ACTIVE, SinkState.RETRYING)


def _made(
    of: str, name: Name, object_id: str, now: Timestamp, kind: AlertKind, why: Reason | None
) -> Alert:
    code, message = (why.code, why.sentence) if why else (None, None)
    return Alert(kind, str(of), name, object_id, now, code, message)


def _paused(sink: Sink, now: Timestamp) -> Alert:
    why = Reason(sink.code or "PAUSED", sink.problem or "It is paused.")
    return _made(EventKind.SINK, sink.name, sink.id, now, AlertKind.FAILED, why)


def _refused(sink: Sink, now: Timestamp) -> Alert:
    rows = count_of(sink.dead_letters, "row")
    why = Reason("DEAD_LETTERS", f"Its store refuses {rows}; ALTER SINK … RETRY DEAD LETTERS.")
    return _made(EventKind.SINK, sink.name, sink.id, now, AlertKind.REFUSED, why)


def stream_problem(
    standing: Callable[[Stream], tuple[tuple[Source, ...], str | None]],
) -> StreamProblem:
    """One that cannot even be read has no problem to report."""

    def problem(stream: Stream) -> str | None:
        try:
            return standing(stream)[1]
        except DTError as e:
            return e.sentence

    return problem


__all__ = ["AlertWatch", "stream_problem"]
