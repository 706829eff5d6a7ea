"""The events of a notebook's engine as wire messages, for as many as listen."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dt_jupyter.dispatch.alert_teller import AlertTeller
from dt_jupyter.model import Happened, Name

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine
    from dt_jupyter.reports import Event, GraphNode
    from dt_jupyter.wire import HelloMessage

_log = logging.getLogger("dt_jupyter.events")
Send = Callable[[dict[str, Any]], None]


def hello(engine: Engine | None, *, starting: bool = False) -> HelloMessage:
    """What is said first; of an engine, or of none, or of one that is being opened."""
    from dt_jupyter.dispatch.lake_history import recent_lakes
    from dt_jupyter.wire import HelloMessage

    version: str = sys.modules["dt_jupyter"].__version__
    if engine is None:
        recent = () if starting else recent_lakes()
        return HelloMessage(version, starting=starting, recent=recent)
    running = engine.status()["scheduler"] == "running"
    return HelloMessage(version, str(engine.lake), running, starting)


class EventFeed:
    """Sends events to who listens, and a hello whenever the engine is replaced.

    `engine_of` gives the engine that is open, if there is one, and `starting` says whether one is
    being opened. Without a listener nothing listens to the engine either.
    """

    def __init__(
        self,
        engine_of: Callable[[], Engine | None],
        starting: Callable[[], bool] = lambda: False,
    ) -> None:
        self._engine_of, self._starting = engine_of, starting
        self._listeners: list[Send] = []
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._stop: Callable[[], None] | None = None
        self._held: dict[str, float] | None = None
        self._alerts: AlertTeller | None = None

    def listen(self, send: Send) -> Callable[[], None]:
        """`send` gets the JSON of each message from now on, a hello at once; call the result to
        stop. What it raises is logged, and it is not called again."""
        own = partial(send)
        engine = self._engine_of()
        send(self._hello(engine))
        with self._lock:
            self._listeners = [*self._listeners, own]
        self._attach()
        if self._engine_of() is not engine:
            self._send(own, self._hello(self._engine_of()))
        if (alerts := self._alerts) is not None:
            alerts.greet(partial(self._send, own))
        return lambda: self._leave(own)

    def engine_changed(self) -> None:
        """An engine was opened, or closed, or is being opened."""
        if not self._listeners:
            return
        self._attach()
        self._tell(self._hello(self._engine_of()))
        self._look_at_alerts()

    def close(self) -> None:
        """No subscriber gets a message any more."""
        with self._lock:
            self._listeners = []
        self._attach()

    def _hello(self, engine: Engine | None) -> dict[str, Any]:
        return hello(engine, starting=self._starting()).to_json()

    def _leave(self, own: Send) -> None:
        with self._lock:
            self._listeners = [s for s in self._listeners if s is not own]
        self._attach()

    def _attach(self) -> None:
        """Listens to the engine that is open, as long as there are listeners here."""
        with self._lock:
            wanted = self._engine_of() if self._listeners else None
            if wanted is self._engine:
                return
            stop, self._stop, self._engine, self._held = self._stop, None, wanted, None
            alerts, self._alerts = self._alerts, None
            if stop is not None and alerts is not None:
                stop()
                alerts.stop()
            if wanted is not None:
                self._stop = wanted.context.events.listen(
                    partial(self._heard, wanted), self.engine_changed
                )
                self._alerts = AlertTeller(wanted, self._tell)

    def _heard(self, engine: Engine, event: Event) -> None:
        from dt_jupyter.dispatch.static_messages import node_message
        from dt_jupyter.engine import seen_node
        from dt_jupyter.wire import EventMessage

        if engine is not self._engine:
            return
        if event.happened is Happened.CHANGED or self._held is None:
            self._held = engine.context.nodes.held()
            self._look_at_alerts()
        node = self._node(engine, event, self._held)
        if node is not None:
            node = seen_node(node, engine.context.access)
        if node is None and event.name is not None and not engine.context.access.sees(event.name):
            return
        name = node.name if node is not None else event.name
        seconds = event.record.duration if event.record is not None else None
        message = EventMessage(
            event.happened,
            event.at.datetime,
            str(name) if name is not None else None,
            node_message(node, engine.context.scheduling.periods()) if node is not None else None,
            seconds if event.happened is Happened.ENDED else None,
        )
        self._tell(message.to_json())
        if event.happened is Happened.ENDED and event.name is not None:
            self._tell_sinks(engine, event.name)

    @staticmethod
    def _node(engine: Engine, event: Event, held: dict[str, float]) -> GraphNode | None:
        """What the event is about, as it is now."""
        nodes, now = engine.context.nodes, engine.context.clock.now()
        if event.sink_id is not None:
            return nodes.sink(event.sink_id, now)
        if event.task_id is not None:
            return nodes.task(event.task_id, now)
        if event.dt_id is not None:
            return nodes.one(event.dt_id, held, event.progress, now)
        return None

    def _tell_sinks(self, engine: Engine, source: Name) -> None:
        """Those of a table that was refreshed are behind it from now on."""
        from dt_jupyter.dispatch.static_messages import node_message
        from dt_jupyter.engine import seen_node
        from dt_jupyter.wire import EventMessage

        now = engine.context.clock.now()
        for node in engine.context.nodes.sinks_of(source, now):
            seen = seen_node(node, engine.context.access)
            if seen is None:
                continue
            shown = node_message(seen, {})
            told = EventMessage(Happened.PROGRESS, now.datetime, str(node.name), shown)
            self._tell(told.to_json())

    def _look_at_alerts(self) -> None:
        """What was dropped or renamed, or is another role's, may be in them."""
        if (alerts := self._alerts) is not None:
            alerts.look()

    def _tell(self, message: dict[str, Any]) -> None:
        for send in self._listeners:
            self._send(send, message)

    def _send(self, send: Send, message: dict[str, Any]) -> None:
        try:
            send(message)
        except Exception:
            _log.exception("a view could not be updated; it gets no more messages")
            with self._lock:
                self._listeners = [s for s in self._listeners if s is not send]
