"""What the scheduler would do with other settings of one dynamic table, or if it took longer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from dt_jupyter.model import RefreshAction, RefreshRecord, Timestamp, error
from dt_jupyter.schedule.lag import LagStatistics, lag_statistics
from dt_jupyter.schedule.plan import ASSUMED_DURATION, planned
from dt_jupyter.schedule.simulate import Simulation
from dt_jupyter.schedule.state import Node, Slots, State

MOST_PERIODS = 40
"""Of the dynamic table that is requested; fewer where those around it are refreshed more often."""
_MOST_TICKS = 200
_FEWEST_PERIODS = 3
_MOST_NODES = 50


@dataclass(frozen=True)
class Foretold:
    """From `start` to `end`: the refreshes of the one dynamic table, its period, how long it was
    taken to run, its lag's figures, and `load`: seconds of its warehouse's slots per second, of
    all that was simulated in it."""

    start: Timestamp
    end: Timestamp
    target: float | None
    period: float
    seconds: float
    records: tuple[RefreshRecord, ...]
    statistics: LagStatistics | None
    load: float


def foretell(
    state: State,
    dt: str,
    now: Timestamp,
    *,
    target_lag: float | None = None,
    seconds: float | None = None,
    interval: float | None = None,
    concurrency: int | None = None,
) -> Foretold:
    """The dynamic table `dt` (an id) from now on, with what is upstream and downstream of it, all
    of it fresh now, and its other settings as they are.

    `target_lag` and `seconds` (that its refresh lasts) replace its own; data arrives at the
    sources every `interval` seconds (None: before each tick); `concurrency` is its warehouse's.
    DT-1003 where it is never refreshed: DOWNSTREAM, and nothing reads it.
    """
    nodes = {n.id: _fresh(n, now) for n in _around(state.nodes, dt)}
    own = nodes[dt]
    own = nodes[dt] = replace(
        own,
        suspended=False,
        scheduler_enabled=True,
        target_lag=own.target_lag if target_lag is None else target_lag,
        duration=own.duration if seconds is None else seconds,
    )
    slots = tuple(
        replace(s, limit=concurrency or s.limit, suspended=False) if s.name == own.warehouse else s
        for s in state.warehouses
    )
    periods = _periods(nodes, slots)
    if dt not in periods:
        problem, hint = "nothing that is refreshed reads it", "Give a lag in seconds."
        raise error("DT-1003", option="TARGET_LAG", value="DOWNSTREAM", problem=problem, hint=hint)
    period = periods[dt]
    count = _affordable(periods, period)
    if count < _FEWEST_PERIODS:  # those around it are refreshed so much more often: without them
        nodes = {dt: replace(own, upstream=(), target_lag=own.target_lag or period)}
        period = _periods(nodes, slots)[dt]
        count = MOST_PERIODS
    end = now.plus(period * count)
    durations = {i: _assumed(n) for i, n in nodes.items()}

    def unchanged(each: str, t: Timestamp) -> bool:
        if interval is None:
            return False
        before = simulation.node(each).data_timestamp or now
        return int(t.since(now) / interval) <= int(before.since(now) / interval)

    simulation = Simulation(
        nodes.values(), slots, now, lambda d, t: durations[d], unchanged=unchanged
    )
    simulation.run(end)
    records = tuple(_told(r) for r in simulation.log if str(r.name.table) == own.name.lower())
    busy = sum(r.duration or 0.0 for r in simulation.log if r.warehouse == own.warehouse)
    target = own.target_lag
    return Foretold(
        now,
        end,
        target,
        period,
        durations[dt],
        records,
        lag_statistics(records, end, target),
        busy / end.since(now),
    )


def _fresh(node: Node, now: Timestamp) -> Node:
    return replace(
        node,
        created=now,
        data_timestamp=now,
        attempted=None,
        running=None,
        since=None,
        error_count=0,
        probed=None,
        period=None,
    )


def _assumed(node: Node) -> float:
    if node.duration is not None:
        return node.duration
    return (
        ASSUMED_DURATION if node.target_lag is None else min(ASSUMED_DURATION, node.target_lag / 8)
    )


def _told(record: RefreshRecord) -> RefreshRecord:
    """A refresh that took no time found nothing new."""
    if record.duration == 0.0 and record.action is not None:
        return replace(record, action=RefreshAction.NO_DATA)
    return record


def _around(nodes: Iterable[Node], dt: str) -> list[Node]:
    """All that is connected with a node; of too many only what is upstream of it."""
    by_id = {n.id: n for n in nodes}
    readers: dict[str, list[str]] = {}
    for node in by_id.values():
        for upstream in node.upstream:
            readers.setdefault(upstream, []).append(node.id)
    whole = _reached(by_id, dt, readers)
    kept = whole if len(whole) <= _MOST_NODES else _reached(by_id, dt, {})
    return [n for i, n in by_id.items() if i in kept]


def _reached(by_id: dict[str, Node], dt: str, readers: dict[str, list[str]]) -> set[str]:
    found, queue = {dt}, [dt]
    for one in queue:
        for other in (*by_id[one].upstream, *readers.get(one, ())):
            if other in by_id and other not in found:
                found.add(other)
                queue.append(other)
    return found


def _periods(nodes: dict[str, Node], slots: tuple[Slots, ...]) -> dict[str, float]:
    plan = planned(State(tuple(nodes.values()), slots, lambda dt, t: None), {})
    return {n.id: n.period.seconds for n in plan.nodes if n.period is not None}


def _affordable(periods: dict[str, float], period: float) -> int:
    """How many periods can be gone through, with all ticks in them."""
    return min(MOST_PERIODS, int(_MOST_TICKS / sum(period / p for p in periods.values())))
