"""The threads that deliver sinks in the background: one for each, so that a store that is down,
slow or half-open delays its own sink alone."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from dt_jupyter.catalog import Catalog
from dt_jupyter.delivery.deliver import FENCED, Deliveries, passes
from dt_jupyter.model import DeliveryTrigger, DTError, Sink, SinkState, Warehouse
from dt_jupyter.schedule import Supervisor, Worker, join_all

_log = logging.getLogger("dt_jupyter.sinks")
DOWNSTREAM_SECONDS = 5.0
"""How often the source of a sink with TARGET_LAG = DOWNSTREAM is checked."""
LOOK_SECONDS = 2.0
"""How often new sinks are looked for, and those that wait for a user."""
_FIRST_BACKOFF, _LONGEST_BACKOFF = 1.0, 60.0


def period_of(sink: Sink) -> float:
    """Seconds between two checks of the source: a quarter of the lag, so that most of it is left
    for the delivery."""
    lag = sink.target_lag.seconds
    return DOWNSTREAM_SECONDS if lag is None else min(max(lag / 4, 0.25), 60.0)


def backoff(failures: int, jitter: float) -> float:
    """Seconds to wait after `failures` failures in a row; `jitter` is from 0 to 1."""
    most = min(_FIRST_BACKOFF * 2.0 ** min(failures - 1, 16), _LONGEST_BACKOFF)
    return most * (0.5 + jitter / 2)


@dataclass
class _Worker:
    """A sink's thread, and what wakes it."""

    thread: Worker | None = None
    wake: threading.Event = field(default_factory=threading.Event)
    failures: int = 0


@dataclass
class SinkWorkers:
    """Between `start` and `stop` each sink is delivered within its lag."""

    catalog: Catalog
    deliveries: Deliveries
    spawn: Callable[[Callable[[], None], str], Worker]
    _workers: dict[str, _Worker] = field(default_factory=dict)

    @cached_property
    def _supervisor(self) -> Supervisor:
        return Supervisor(self._look, "dt-sinks", self.spawn)

    def start(self) -> None:
        """Once is enough."""
        self._supervisor.start()

    def stop(self, timeout: float = 30.0) -> None:
        """Deliveries that run are waited for, at most `timeout` seconds."""
        left = self._supervisor.stop(timeout)
        if left is None:
            return
        workers = list(self._workers.values())
        for worker in workers:
            worker.wake.set()
        join_all([w.thread for w in workers if w.thread is not None], left)
        self._workers.clear()
        try:
            self.deliveries.leave_all()
        except DTError as e:  # a lake that is gone does not prevent the stop
            _log.warning("the sinks are not left to others: %s", e)

    def nudge(self) -> None:
        """Something changed: a sink, or what one reads."""
        self._supervisor.nudge()
        for worker in list(self._workers.values()):
            if not worker.failures:
                worker.wake.set()

    # -- threads ----------------------------------------------------------------------------------

    def _look(self) -> float:
        try:
            self._start_missing()
        except DTError as e:  # a catalog that cannot be read now may be in a moment
            _log.warning("the sinks cannot be looked for: %s", e)
        return LOOK_SECONDS

    def _start_missing(self) -> None:
        for sink in self.catalog.sinks():
            worker = self._workers.setdefault(sink.id, _Worker())
            if worker.thread is None or not worker.thread.is_alive():
                worker.thread = self._begin(sink, worker)

    def _begin(self, sink: Sink, worker: _Worker) -> Worker:
        return self.spawn(lambda: self._work(sink.id, worker), f"dt-sink-{sink.id}")

    def _work(self, id_: str, worker: _Worker) -> None:
        """Until the sink is gone, or the engine stops."""
        while not self._supervisor.stopped:
            sink = next((s for s in self.catalog.sinks() if s.id == id_), None)
            if sink is None:
                self._workers.pop(id_, None)
                return
            wait = self._turn(sink, worker)
            worker.wake.wait(wait)
            worker.wake.clear()

    def _turn(self, sink: Sink, worker: _Worker) -> float:
        """Delivers where it is due; seconds until the next look."""
        if sink.state in (SinkState.SUSPENDED, SinkState.PAUSED):
            self.deliveries.close(sink)
            return LOOK_SECONDS
        warehouse = self._asleep(sink)
        if warehouse is not None and not warehouse.auto_resume:
            return LOOK_SECONDS
        if not self.deliveries.is_due(sink):
            return period_of(sink)
        if warehouse is not None:
            self.catalog.alter_warehouse(warehouse.name, suspended=False)
        try:
            self.deliveries.deliver(sink, DeliveryTrigger.SCHEDULED)
        except DTError as e:
            return self._after(e, sink, worker)
        worker.failures = 0
        return period_of(sink)

    def _asleep(self, sink: Sink) -> Warehouse | None:
        """Its warehouse, if that is suspended."""
        known = (w for w in self.catalog.warehouses() if w.name == sink.warehouse)
        return next((w for w in known if w.suspended), None)

    def _after(self, failure: DTError, sink: Sink, worker: _Worker) -> float:
        if failure.code == FENCED or not passes(failure):
            worker.failures = 0
            return LOOK_SECONDS
        worker.failures += 1
        _log.warning("sink %s is tried again: %s", sink.name, failure)
        wait = backoff(worker.failures, random.random())
        try:
            self.catalog.set_next_try(sink.id, self.deliveries.now().plus(wait))
        except DTError as e:  # the next look finds out what is wrong with the catalog
            _log.warning("the next try of sink %s is not recorded: %s", sink.name, e)
        return wait
