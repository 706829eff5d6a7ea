"""Which dynamic table to refresh to which data timestamp now: a pure function, with its reasons.

The rules are those of the DT paper, 3.3.3 and 5.2: nothing of one dynamic table runs twice at
once; a tick that finds it busy is skipped; a refresh to t begins only when everything upstream
has a version for exactly t; ticks that were missed collapse into the newest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from dt_jupyter.model import Reason, RefreshState, Timestamp, count_of
from dt_jupyter.schedule.obstacle import held_back
from dt_jupyter.schedule.periods import next_tick, tick
from dt_jupyter.schedule.state import Node, Slots, State, upstream_first


@dataclass(frozen=True, slots=True)
class Start:
    """Refresh `dt` (an id) to `data_timestamp`. With `metadata_only` its warehouse is suspended:
    refresh it only if its sources are unchanged, which costs nothing, else leave it. With
    `resumes` its warehouse is to be resumed for it."""

    dt: str
    data_timestamp: Timestamp
    reason: Reason
    metadata_only: bool = False
    resumes: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """Record that `dt` will not be refreshed to `data_timestamp`: SKIPPED or UPSTREAM_FAILED. Its
    next refresh covers the interval."""

    dt: str
    data_timestamp: Timestamp
    reason: Reason
    state: RefreshState


@dataclass(frozen=True, slots=True)
class Wait:
    """`dt` has a tick to do that cannot begin yet. `until`: its next tick, by which this one will
    have been done or given up."""

    dt: str
    until: Timestamp
    reason: Reason
    data_timestamp: Timestamp = field(default=Timestamp(0), compare=False)

    @property
    def is_held(self) -> bool:
        """Whether it waits for a user's action, and not for a refresh to end."""
        return self.reason.code in _HELD


_HELD = frozenset(
    ("UPSTREAM_SUSPENDED", "UPSTREAM_NOT_SCHEDULED", "WAREHOUSE_SUSPENDED", "WAREHOUSE_MISSING")
)
Decision = Start | Skip | Wait


class _Round:
    """A state at a moment, with what is asked of it again and again worked out once."""

    def __init__(self, state: State, now: Timestamp) -> None:
        self.state, self.now = state, now
        self.nodes = upstream_first(state.nodes)
        self.by_id = {node.id: node for node in self.nodes}
        self.done = {node.id: node.done for node in self.nodes}
        self.settled = {node.id: node.settled for node in self.nodes}
        self.held = held_back(self.nodes)
        self._ticks: dict[float, Timestamp] = {}

    def tick(self, period: float) -> Timestamp:
        if period not in self._ticks:
            self._ticks[period] = tick(period, self.now)
        return self._ticks[period]

    def wait(self, node: Node, code: str, sentence: str) -> Wait:
        assert node.period is not None  # else it has no tick to wait with
        period = node.period.seconds
        newest = self.tick(period)
        return Wait(node.id, newest.plus(period), Reason(code, sentence), newest)


def decide(state: State, now: Timestamp) -> tuple[Decision, ...]:
    """What to do at `now` with a state whose periods are `planned`. Starts come in the order in
    which they should get the slots of their warehouses: the largest lag first."""
    this = _Round(state, now)
    blocked: list[Decision] = []
    ready: list[tuple[Node, Timestamp]] = []
    for node, ticks, needed in _due(this):
        t, decision = _turn(node, ticks, needed, this)
        decision = decision or _busy(node, t, this)
        if decision is None:
            ready.append((node, t))
        else:
            blocked.append(decision)
    ready.sort(key=lambda pair: (pair[0].data_timestamp or Timestamp(0), pair[1], pair[0].name))
    return (*blocked, *_admitted(ready, this))


def next_wake(state: State, now: Timestamp) -> Timestamp | None:
    """The first tick after `now` of anything; None if nothing is scheduled."""
    periods = {node.period.seconds for node in state.nodes if node.period is not None}
    return next_tick(min(periods), now) if periods else None


_Ticks = set[Timestamp]


def _due(this: _Round) -> list[tuple[Node, _Ticks, _Ticks]]:
    """Each node that has something to do, upstream first, with its ticks, and those among them
    that its consumers need: after a sleep an upstream with a short period would pass the tick of
    a long one by."""
    needed: dict[str, _Ticks] = {}
    due = []
    for node in reversed(this.nodes):
        if node.period is None or not node.active:
            continue
        done = this.done[node.id]
        theirs = {t for t in needed.get(node.id, ()) if t > done}
        own = node.prompt or this.tick(node.period.seconds)
        ticks = theirs | {t for t in (own, _reached(node, own, this)) if t is not None and t > done}
        if not ticks:
            continue
        due.append((node, ticks, theirs))
        for upstream in node.upstream:
            needed.setdefault(upstream, set()).update(theirs, {own} if own > done else ())
    due.reverse()
    return due


def _reached(node: Node, newest: Timestamp, this: _Round) -> Timestamp | None:
    """Its newest tick that all upstream is done with. In a chain that takes longer than a period
    the newest tick is always still under way further up; this is the one whose turn has come."""
    marks = [this.settled[u] for u in node.upstream if u in this.by_id]
    known = [mark for mark in marks if mark is not None]
    if not known or len(known) < len(marks):
        return None
    assert node.period is not None  # `_due` leaves out those without
    return min(tick(node.period.seconds, min(known)), newest)


def _turn(
    node: Node, ticks: _Ticks, needed: _Ticks, this: _Round
) -> tuple[Timestamp, Skip | Wait | None]:
    """The tick whose turn it is, and what upstream says to it (None: it may begin). The oldest
    goes first; one that no consumer needs is skipped when it is not available any more."""
    *older, newest = sorted(ticks)
    for t in older:
        decision = _upstream(node, t, this)
        lost = isinstance(decision, Skip) and decision.reason.code != _PASSED
        if decision is None or lost or t in needed:
            return t, decision
    return newest, _upstream(node, newest, this)


def _busy(node: Node, t: Timestamp, this: _Round) -> Skip | Wait | None:
    """A tick whose turn comes while a refresh runs is skipped: it came since that began, and its
    upstream is there. One that was there before (missed in a sleep, and after one that a consumer
    needs) still has its turn; and waiting for what is upstream is not being busy, or a chain that
    takes longer than a period would lose every other tick. In a wave nothing is skipped: it is over
    soon."""
    if node.running is None:
        return None
    if node.prompt is not None or (node.since is not None and t <= node.since):
        return this.wait(node, "BUSY", f"Its refresh to {node.running.words} is running.")
    sentence = f"Its refresh to {node.running.words} was still running at the tick {t.words}."
    return Skip(node.id, t, Reason("BUSY", sentence), RefreshState.SKIPPED)


_PASSED = "UPSTREAM_PASSED"
_LOST = {
    RefreshState.FAILED: RefreshState.UPSTREAM_FAILED,
    RefreshState.UPSTREAM_FAILED: RefreshState.UPSTREAM_FAILED,
    RefreshState.CANCELLED: RefreshState.UPSTREAM_FAILED,
    RefreshState.SKIPPED: RefreshState.SKIPPED,
}


def _upstream(node: Node, t: Timestamp, this: _Round) -> Skip | Wait | None:
    """None when all upstream has a version for exactly `t`. One that is gone from the catalog does
    not hold the refresh back: it fails then, and its error names what is missing."""
    found: list[Skip | Wait] = []
    for upstream_id in node.upstream:
        upstream = this.by_id.get(upstream_id)
        if upstream is None or upstream.data_timestamp == t:
            continue
        decision = _behind(node, upstream, t, this)
        if isinstance(decision, Skip) and decision.state is RefreshState.UPSTREAM_FAILED:
            return decision
        if decision is not None:
            found.append(decision)
    return min(found, key=lambda decision: isinstance(decision, Wait), default=None)


def _behind(node: Node, upstream: Node, t: Timestamp, this: _Round) -> Skip | Wait | None:
    done = this.done[upstream.id]
    if done >= t and upstream.running != t:  # else it cannot have an outcome yet
        outcome = this.state.outcome(upstream.id, t)
        if outcome is RefreshState.SUCCEEDED:
            return None
        if outcome in _LOST:
            sentence = _lost(upstream, outcome, t, this)
            return Skip(node.id, t, Reason(f"UPSTREAM_{outcome}", sentence), _LOST[outcome])
        if done > t:
            sentence = f"{upstream.name} has no version for {t.words}."
            return Skip(node.id, t, Reason(_PASSED, sentence), RefreshState.SKIPPED)
    held = this.held.get(node.id)
    if held is not None and (not upstream.active or upstream.id in this.held):
        return this.wait(node, held.code, held.sentence)
    sentence = f"{upstream.name} has not reached that tick yet."
    return replace(this.wait(node, "UPSTREAM_PENDING", sentence), data_timestamp=t)


def _lost(upstream: Node, outcome: RefreshState, t: Timestamp, this: _Round) -> str:
    """The reason for a downstream table: the outcome of the one that it reads, and of which one
    further up, with the error there."""
    root = _root(upstream, t, this)
    told = f"The refresh of {upstream.name} to {t.words} is {outcome}"
    if root.id != upstream.id:
        told += f", since that of {root.name} is {this.state.outcome(root.id, t)}"
    problem = this.state.error(root.id, t)
    return f"{told}: {problem}" if problem else f"{told}."


def _root(node: Node, t: Timestamp, this: _Round) -> Node:
    """The table furthest up of those through which a node has no version for `t`."""
    seen = {node.id}
    while True:
        above = [this.by_id[u] for u in node.upstream if u in this.by_id and u not in seen]
        lost = [u for u in above if this.state.outcome(u.id, t) in _LOST]
        if not lost:
            return node
        node = min(lost, key=lambda u: this.state.outcome(u.id, t) is RefreshState.SKIPPED)
        seen.add(node.id)


def _admitted(ready: list[tuple[Node, Timestamp]], this: _Round) -> list[Decision]:
    """Starts as far as the warehouses have slots; for the others, what they wait for."""
    warehouses = {slots.name: slots for slots in this.state.warehouses}
    taken = this.state.busy()
    decisions: list[Decision] = []
    for node, t in ready:
        decision = _admit(node, t, warehouses.get(node.warehouse), taken, this)
        if isinstance(decision, Start) and not decision.metadata_only:
            taken[node.warehouse] += 1
        decisions.append(decision)
    return decisions


def _admit(
    node: Node, t: Timestamp, warehouse: Slots | None, taken: Counter[str], this: _Round
) -> Decision:
    if warehouse is None:
        return this.wait(node, "WAREHOUSE_MISSING", f"There is no warehouse {node.warehouse}.")
    if warehouse.suspended:
        sentence = f"Warehouse {warehouse.name} is suspended"
        changed = node.probed is not None and node.probed >= t
        if not changed:
            reason = Reason("METADATA_ONLY", f"{sentence}, but sources are unchanged.")
            return Start(node.id, t, reason, metadata_only=True)
        if not warehouse.auto_resume:
            return this.wait(node, "WAREHOUSE_SUSPENDED", f"{sentence}, and sources changed.")
    if taken[warehouse.name] >= warehouse.limit:
        sentence = (
            f"Warehouse {warehouse.name} already runs {count_of(warehouse.limit, 'refresh')}."
        )
        return replace(this.wait(node, "CONCURRENCY_LIMIT", sentence), data_timestamp=t)
    if warehouse.suspended:
        sentence = f"Warehouse {warehouse.name} is resumed, since sources changed."
        return Start(node.id, t, Reason("AUTO_RESUME", sentence), resumes=True)
    if node.data_timestamp is None:
        return Start(node.id, t, Reason("FIRST_TICK", "It is initialised at its first tick."))
    return Start(node.id, t, Reason("TICK", f"Its data timestamp is {node.data_timestamp.words}."))
