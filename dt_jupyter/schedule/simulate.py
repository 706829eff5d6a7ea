"""A graph of dynamic tables under the scheduler's rules, on a clock that costs nothing.

What would happen in a day, given how long refreshes take: for tests, and for looking ahead.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from dt_jupyter.catalog import FAILURES_ALLOWED
from dt_jupyter.model import (
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.schedule.decisions import Skip, Start, decide, next_wake
from dt_jupyter.schedule.lag import SAMPLES, estimate_times
from dt_jupyter.schedule.periods import Period
from dt_jupyter.schedule.plan import planned
from dt_jupyter.schedule.state import Node, Slots, State, upstream_first

Takes = Callable[[str, Timestamp], float]
"""How many seconds the refresh of a dynamic table (by id) to a data timestamp lasts."""
RefreshTest = Callable[[str, Timestamp], bool]
_PLANNED_BY = frozenset(("target_lag", "suspended", "scheduler_enabled", "wait", "duration"))


@dataclass
class Simulation:
    """`log` is what happened, in order of its end; `now` moves only in `run`.

    `fails` says which refreshes fail, `unchanged` which find their sources unchanged (those run
    in a suspended warehouse too).
    """

    nodes: Iterable[Node]
    warehouses: tuple[Slots, ...]
    now: Timestamp
    takes: Takes
    fails: RefreshTest = lambda dt, t: False
    unchanged: RefreshTest = lambda dt, t: False
    log: list[RefreshRecord] = field(default_factory=list)
    periods: dict[str, Period] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._nodes = {node.id: node for node in upstream_first(self.nodes)}
        self._plan_is_old = True
        self._order = count()
        self._outcomes: dict[tuple[str, Timestamp], RefreshState] = {}
        self._ending: list[tuple[Timestamp, int, Start, Timestamp]] = []
        self._recent: dict[str, deque[RefreshRecord]] = {}

    def node(self, dt: str) -> Node:
        return self._nodes[dt]

    def set(self, dt: str, **changes: object) -> None:
        """Change a node, as ALTER, SUSPEND or RESUME do."""
        before = self._nodes[dt]
        self._nodes[dt] = replace(before, **changes)  # type: ignore[arg-type]
        if any(getattr(before, field) != changes[field] for field in changes.keys() & _PLANNED_BY):
            self._plan_is_old = True

    def run(self, until: Timestamp) -> None:
        """Advance to a moment; refreshes that run then still run after."""
        while True:
            state = self._settle()
            wake = next_wake(state, self.now)
            moments = [wake] if wake is not None else []
            moments += [self._ending[0][0]] if self._ending else []
            if not moments or min(moments) > until:
                self.jump(until)
                return
            self.now = min(moments)
            self._end_what_ends()

    def jump(self, to: Timestamp) -> None:
        """The clock moves without a decision: the machine slept, or the clock was set."""
        self.now = to
        self._end_what_ends()

    def _settle(self) -> State:
        """Decide and act until there is nothing more to do at this moment."""
        while True:
            state = State(tuple(self._nodes.values()), self.warehouses, self._outcome)
            if self._plan_is_old:
                state = planned(state, self.periods)
                self._nodes = {node.id: node for node in state.nodes}
                self.periods = {n.id: n.period for n in state.nodes if n.period is not None}
                self._plan_is_old = False
            acted = False
            for decision in decide(state, self.now):
                if isinstance(decision, Start):
                    acted = self._start(decision) or acted
                elif isinstance(decision, Skip):
                    self._skip(decision)
                    acted = True
            if not acted:
                return state

    def _outcome(self, dt: str, t: Timestamp) -> RefreshState | None:
        return self._outcomes.get((dt, t))

    def _start(self, start: Start) -> bool:
        dt, t = start.dt, start.data_timestamp
        if start.metadata_only and not self.unchanged(dt, t):
            self.set(dt, probed=t)
            return True
        end = self.now.plus(0.0 if self.unchanged(dt, t) else self.takes(dt, t))
        self.set(dt, running=t, since=self.now)
        heapq.heappush(self._ending, (end, next(self._order), start, self.now))
        self._end_what_ends()
        return True

    def _skip(self, skip: Skip) -> None:
        self.set(skip.dt, attempted=skip.data_timestamp)
        self._record(skip.dt, skip.data_timestamp, skip.state, self.now)

    def _end_what_ends(self) -> None:
        while self._ending and self._ending[0][0] <= self.now:
            _, _, start, began = heapq.heappop(self._ending)
            dt, t = start.dt, start.data_timestamp
            tried = self._nodes[dt].attempted  # a later tick, if one was skipped since
            self.set(dt, running=None, since=None, attempted=max(t, tried) if tried else t)
            if self.fails(dt, t):
                self._fail(dt)
                self._record(dt, t, RefreshState.FAILED, began)
            else:
                self.set(dt, data_timestamp=t, error_count=0)
                self._record(dt, t, RefreshState.SUCCEEDED, began)
                wait, duration = estimate_times(self._recent[dt])
                self.set(dt, wait=wait, duration=duration)

    def _fail(self, dt: str) -> None:
        count = self._nodes[dt].error_count + 1
        self.set(dt, error_count=count, suspended=count >= FAILURES_ALLOWED)

    def _record(self, dt: str, t: Timestamp, state: RefreshState, began: Timestamp) -> None:
        node = self._nodes[dt]
        self._outcomes[dt, t] = state
        record = RefreshRecord(
            name=Name("default", node.name),
            query_id=str(len(self.log)),
            state=state,
            trigger=RefreshTrigger.SCHEDULED,
            data_timestamp=t,
            action=RefreshAction.INCREMENTAL if state is RefreshState.SUCCEEDED else None,
            start=began,
            end=self.now,
            target_lag_seconds=node.target_lag,
            warehouse=node.warehouse,
        )
        self.log.append(record)
        self._recent.setdefault(dt, deque(maxlen=SAMPLES)).appendleft(record)
