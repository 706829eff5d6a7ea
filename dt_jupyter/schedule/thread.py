"""One thread that asks for the state, decides, and hands refreshes to workers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from dt_jupyter.model import Clock, Timestamp
from dt_jupyter.schedule.decisions import Decision, Skip, Start, Wait, decide, next_wake
from dt_jupyter.schedule.periods import Period
from dt_jupyter.schedule.plan import planned
from dt_jupyter.schedule.state import Node, State, upstream_first
from dt_jupyter.schedule.waves import Waves

LONGEST_BACK_OFF = 60.0
MANY = 8
"""If this number of tables is due at once, those without new data are searched first."""


class SchedulerPort(Protocol):
    """What the scheduler needs of the engine. Each method may raise; it is then reported."""

    def leads(self) -> bool:
        """Whether it is this scheduler, of all that run on the catalog, that starts refreshes."""

    def state(self) -> State:
        """The present state, periods aside."""

    def move_unchanged(self, dues: Sequence[tuple[str, Timestamp]]) -> frozenset[str]:
        """Refresh those (id, data timestamp; upstream first) whose sources have nothing new, which
        takes no slot of a warehouse: their ids."""

    def run(self, start: Start) -> None:
        """Do the refresh and record its outcome, failures too; called in a worker. A refresh that
        another process began first is not an error; a `metadata_only` one may do nothing."""

    def skip(self, skip: Skip) -> None:
        """Record the skip."""

    def wait(self, wait: Wait) -> None:
        """Record that it waits for a user's action; once for each time that it begins
        to."""

    def rest(self, decisions: Sequence[Decision]) -> None:
        """A round is over, in which this was decided: what is idle may be suspended."""

    def report(self, problem: Exception) -> None:
        """Something other than a refresh went wrong; the scheduler continues."""

    def cancel(self) -> None:
        """Make the scheduled refreshes that run end soon; called by `stop`."""


class Worker(Protocol):
    """What `spawn` gives back: a started thread."""

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool: ...


Spawn = Callable[[Callable[[], None], str], Worker]


def spawn_thread(work: Callable[[], None], name: str) -> Worker:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def _is_ready(decision: Decision) -> bool:
    """Whether it may begin, or would if its warehouse had a slot."""
    if isinstance(decision, Wait):
        return decision.reason.code == "CONCURRENCY_LIMIT"
    return isinstance(decision, Start) and not decision.resumes


def _with_readers(
    state: State, decisions: Sequence[Decision], ready: Mapping[str, Timestamp]
) -> dict[str, Timestamp]:
    """What is ready, and what would be once all of it has been refreshed, upstream first."""
    if not ready:
        return {}
    waits = (d for d in decisions if isinstance(d, Wait) and d.reason.code == "UPSTREAM_PENDING")
    pending = {wait.dt: wait.data_timestamp for wait in waits}
    due: dict[str, Timestamp] = {}
    at = {node.id: node.data_timestamp for node in state.nodes}
    warehouses = {slots.name for slots in state.warehouses}
    for node in upstream_first(state.nodes):
        t = ready.get(node.id)
        if t is None and node.id in pending and node.running is None:
            t = pending[node.id] if node.warehouse in warehouses else None
            if any(due.get(u, at.get(u, t)) != t for u in node.upstream):
                continue
        if t is not None:
            due[node.id] = t
    return due


class Scheduler:
    """Starts what `decide` says. It wakes at the next tick, when nudged, when a refresh ends, when
    a source of a prompt table commits, and every `poll` seconds, to see what other processes did to
    the catalog. `newest` gives the newest version of the log of a base table, for `Waves`.

    `spawn` makes worker threads (Spark wants its own kind of them). One process may have several
    schedulers on a catalog, and several processes one each: one leads, and leases separate what
    two do that both believe so.
    """

    def __init__(
        self,
        port: SchedulerPort,
        clock: Clock,
        *,
        spawn: Spawn = spawn_thread,
        poll: float = 5.0,
        newest: Callable[[str], int | None] = lambda log: None,
    ) -> None:
        self._port, self._clock, self._spawn, self._poll = port, clock, spawn, poll
        self._changed = threading.Condition()
        self._nudged = self._stopping = False
        self._thread: threading.Thread | None = None
        self._workers: dict[str, Worker] = {}
        self._running: dict[str, Timestamp] = {}
        self._attempted: dict[str, Timestamp] = {}
        self._probed: dict[str, Timestamp] = {}
        self._looked_at: dict[str, Timestamp] = {}
        self._periods: dict[str, Period] = {}
        self._waits: tuple[Wait, ...] = ()
        self._waves = Waves(newest)
        self._inside: set[int] = set()
        self._held: dict[str, tuple[str, Timestamp]] = {}

    @property
    def alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin; nothing if it runs already."""
        with self._changed:
            if self.alive:
                return
            self._stopping = False
            self._thread = threading.Thread(target=self._loop, name="dt-scheduler", daemon=True)
            self._thread.start()

    def stop(self, timeout: float = 30.0) -> bool:
        """Start nothing more, cancel what runs, and wait for it; whether all ended in time."""
        deadline = time.monotonic() + timeout
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            threads = [self._thread, *self._workers.values()]
        try:
            self._port.cancel()
        except Exception as problem:
            self._report(problem)
        ended = True
        for thread in threads:
            if thread is None or thread is threading.current_thread():
                continue
            thread.join(max(deadline - time.monotonic(), 0.0))
            ended = ended and not thread.is_alive()
        return ended

    def nudge(self) -> None:
        """Something changed: look again now. What a refresh of this scheduler has changed is seen
        when it has ended."""
        if threading.get_ident() in self._inside:
            return
        with self._changed:
            self._nudged = True
            self._changed.notify_all()

    def waits(self) -> tuple[Wait, ...]:
        """What the last round found waiting, and for what."""
        return self._waits

    def periods(self) -> dict[str, Period]:
        """By id: the periods in force, with their reasons."""
        with self._changed:
            return dict(self._periods)

    def _loop(self) -> None:
        failures = 0
        while True:
            with self._changed:
                if self._stopping:
                    return
                self._nudged = False
            try:
                pause = self._round()
                failures = 0
            except Exception as problem:
                failures += 1
                pause = min(2.0 ** (failures - 1), LONGEST_BACK_OFF)
                self._report(problem)
            self._rest(pause)

    def _rest(self, pause: float) -> None:
        """Until something changed, a source has committed, or the time is over."""
        until = time.monotonic() + pause
        while (left := until - time.monotonic()) > 0:
            step = min(left, self._waves.pause or left)
            with self._changed:
                if self._changed.wait_for(lambda: self._nudged or self._stopping, step):
                    return
            if self._waves.look():
                return

    def _round(self) -> float:
        """Decide once and act on it; the seconds until the next round."""
        leads = self._port.leads()
        self._waves.look()
        now = self._clock.now()  # before the state: what runs in it then ran at `now` or later
        seen = self._port.state()
        with self._changed:
            state = planned(self._remembered(seen, now), self._periods)
            self._periods = {n.id: n.period for n in state.nodes if n.period is not None}
        if not leads:
            self._waits = ()
            self._waves.end()
            return self._poll
        state = replace(state, nodes=self._waves.join(state.nodes, now))
        decisions = decide(state, now)
        if self._move_unchanged(state, decisions):
            return 0.0  # who reads them may be due now
        self._waits = tuple(d for d in decisions if isinstance(d, Wait))
        self._tell_held(decisions)
        names = {node.id: node.name for node in state.nodes}
        for decision in decisions:
            if isinstance(decision, Start):
                self._launch(decision, names[decision.dt])
            elif isinstance(decision, Skip):
                self._skip(decision)
        self._port.rest(decisions)
        if any(isinstance(decision, Skip) for decision in decisions):
            return 0.0  # who reads them may be skipped too
        wake = next_wake(state, now)
        return self._poll if wake is None else min(max(wake.since(now), 0.0), self._poll)

    def _move_unchanged(self, state: State, decisions: Sequence[Decision]) -> bool:
        """Where many are due, those without new data are done at once, and with them those
        that wait for nothing else. Each that is ready is checked once for a tick."""
        ready = {d.dt: d.data_timestamp for d in decisions if _is_ready(d)}
        ready = {dt: t for dt, t in ready.items() if self._looked_at.get(dt) != t}
        due = _with_readers(state, decisions, ready)
        if len(due) < MANY:
            return False
        self._looked_at.update(ready)
        try:
            moved = self._port.move_unchanged(list(due.items()))
        except Exception as problem:
            self._report(problem)
            return False
        left = due.keys() - moved
        followed = (n.id for n in state.nodes if left.isdisjoint(n.upstream))
        self._looked_at.update({dt: due[dt] for dt in followed if dt in due})
        return bool(moved)

    def _remembered(self, state: State, now: Timestamp) -> State:
        """The state with what the catalog does not know: refreshes handed out a moment ago, ticks
        tried by this scheduler whatever their outcome, probes of suspended warehouses."""
        suspended = {slots.name for slots in state.warehouses if slots.suspended}
        known = {node.id: node for node in state.nodes}
        for memory in (self._attempted, self._probed, self._looked_at, self._held):
            for gone in memory.keys() - known.keys():
                del memory[gone]
        for probed in tuple(self._probed):
            if known[probed].warehouse not in suspended:
                del self._probed[probed]
        return replace(state, nodes=tuple(self._with_memory(node, now) for node in state.nodes))

    def _with_memory(self, node: Node, now: Timestamp) -> Node:
        tried = self._attempted.get(node.id)
        attempted = max((t for t in (node.attempted, tried) if t is not None), default=None)
        probed = self._probed.get(node.id)
        if (attempted, probed) != (node.attempted, node.probed):
            node = replace(node, attempted=attempted, probed=probed)
        if node.running is not None or node.id not in self._running:
            return node
        # No lease yet, or no longer: another process may be doing it, so no tick is skipped for it.
        return replace(node, running=self._running[node.id], since=now)

    def _launch(self, start: Start, name: str) -> None:
        with self._changed:
            if self._stopping:
                return
            self._running[start.dt] = start.data_timestamp
            self._workers[start.dt] = self._spawn(lambda: self._work(start), f"dt-refresh-{name}")

    def _work(self, start: Start) -> None:
        self._inside.add(threading.get_ident())
        try:
            self._port.run(start)
        except Exception as problem:
            self._report(problem)
        finally:
            self._inside.discard(threading.get_ident())
            with self._changed:
                self._remember(self._probed if start.metadata_only else self._attempted, start)
                del self._running[start.dt]
                self._workers.pop(start.dt, None)
            self.nudge()

    def _skip(self, skip: Skip) -> None:
        with self._changed:
            self._remember(self._attempted, skip)
        try:
            self._port.skip(skip)
        except Exception as problem:
            self._report(problem)

    def _tell_held(self, decisions: Sequence[Decision]) -> None:
        """Reports what is held back, at each of its data timestamps, and again if it waits for
        something else than before. Looking at sources while a warehouse is suspended does not end
        the waiting."""
        for decision in decisions:
            if isinstance(decision, Wait):
                told = decision.reason.code, decision.data_timestamp
                if decision.is_held and self._held.get(decision.dt) != told:
                    self._held[decision.dt] = told
                    self._tell(decision)
            elif not (isinstance(decision, Start) and decision.metadata_only):
                self._held.pop(decision.dt, None)

    def _tell(self, wait: Wait) -> None:
        try:
            self._port.wait(wait)
        except Exception as problem:
            self._report(problem)

    @staticmethod
    def _remember(memory: dict[str, Timestamp], done: Start | Skip) -> None:
        """Its tick is done with; a later one may be already, skipped while this one ran."""
        before = memory.get(done.dt)
        t = done.data_timestamp
        memory[done.dt] = t if before is None else max(before, t)

    def _report(self, problem: Exception) -> None:
        try:
            self._port.report(problem)
        except Exception as second:  # what reports is broken too, and still it must be seen
            seen = (type(second), second, second.__traceback__, threading.current_thread())
            threading.excepthook(threading.ExceptHookArgs(seen))
