"""What the scheduler decides on: frozen values, and how they follow from the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dt_jupyter.catalog import Catalog, Lease
from dt_jupyter.model import (
    DynamicTable,
    Name,
    RefreshState,
    SchedulingState,
    SourceKind,
    Timestamp,
    Warehouse,
)
from dt_jupyter.schedule.lag import estimate_times
from dt_jupyter.schedule.periods import Period

OutcomeAt = Callable[[str, Timestamp], RefreshState | None]
"""The outcome of a dynamic table (by id) at a data timestamp; None: not yet."""
ErrorAt = Callable[[str, Timestamp], str | None]
"""What the refresh of a dynamic table (by id) to a data timestamp failed with; None: nothing."""


def _no_error(dt_id: str, t: Timestamp) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Node:
    """A dynamic table as the scheduler sees it; lags, waits and durations in seconds.

    `attempted` is the newest tick that the scheduler is done with, whatever its outcome; `running`
    the data timestamp of the refresh that runs, whatever its trigger, and `since` its start;
    `wait` and `duration` are estimates from its history, None before there is one; `probed` is the
    tick at which its sources were found changed while its warehouse was suspended. `period` is
    filled by `planned`. `suspension` says why it is suspended. `logs` are the paths of the base
    tables that it reads, `prompt` the data timestamp of the wave that it is in.
    """

    id: str
    name: str
    upstream: tuple[str, ...]
    target_lag: float | None
    warehouse: str
    created: Timestamp
    data_timestamp: Timestamp | None = None
    attempted: Timestamp | None = None
    running: Timestamp | None = None
    since: Timestamp | None = None
    suspended: bool = False
    scheduler_enabled: bool = True
    error_count: int = 0
    wait: float | None = None
    duration: float | None = None
    probed: Timestamp | None = None
    period: Period | None = None
    suspension: str = ""
    logs: tuple[str, ...] = ()
    prompt: Timestamp | None = None

    @property
    def active(self) -> bool:
        """Whether the scheduler refreshes it at all."""
        return self.scheduler_enabled and not self.suspended

    @property
    def done(self) -> Timestamp:
        """Ticks up to here are no longer to be refreshed."""
        newest = self.created
        for timestamp in (self.data_timestamp, self.attempted, self.running):
            if timestamp is not None and timestamp > newest:
                newest = timestamp
        return newest

    @property
    def settled(self) -> Timestamp | None:
        """The newest data timestamp with a known outcome; None before the first."""
        if self.data_timestamp is None or self.attempted is None:
            return self.data_timestamp or self.attempted
        return max(self.data_timestamp, self.attempted)


@dataclass(frozen=True, slots=True)
class Slots:
    """A warehouse as the scheduler sees it: a number of refreshes at once."""

    name: str
    limit: int
    suspended: bool = False
    auto_resume: bool = False

    @property
    def rests(self) -> bool:
        """Whether work waits for a user to resume it."""
        return self.suspended and not self.auto_resume


def slots_of(warehouse: Warehouse) -> Slots:
    return Slots(
        warehouse.name, warehouse.max_concurrency, warehouse.suspended, warehouse.auto_resume
    )


@dataclass(frozen=True, slots=True)
class State:
    """All that a decision depends on, except for the time. `tasks` run in each warehouse next to
    refreshes."""

    nodes: tuple[Node, ...]
    warehouses: tuple[Slots, ...]
    outcome: OutcomeAt
    tasks: Mapping[str, int] = field(default_factory=dict)
    error: ErrorAt = _no_error

    def busy(self) -> Counter[str]:
        """How much runs in each warehouse."""
        refreshes = Counter(node.warehouse for node in self.nodes if node.running is not None)
        return refreshes + Counter(self.tasks)


def _in_order(nodes: tuple[Node, ...]) -> bool:
    later = {node.id for node in nodes}
    for node in nodes:
        if any(upstream in later for upstream in node.upstream):
            return False
        later.discard(node.id)
    return True


def upstream_first(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes such that each comes after those that it reads; a cycle's come last."""
    nodes = tuple(nodes)
    if _in_order(nodes):
        return nodes
    left = {node.id: node for node in nodes}
    waiting = {node.id: sum(u in left for u in set(node.upstream)) for node in nodes}
    readers: dict[str, list[str]] = {node.id: [] for node in nodes}
    for node in nodes:
        for upstream in set(node.upstream) & left.keys():
            readers[upstream].append(node.id)
    ready = [node.id for node in nodes if not waiting[node.id]]
    ordered = []
    for node_id in ready:  # grows as it is read
        ordered.append(left.pop(node_id))
        for reader in readers[node_id]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return (*ordered, *left.values())


class StateReader:
    """The scheduler's state from the catalog, with estimates read again only where rows were added:
    a refresh that found nothing new says little of the next one that does."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._estimates: dict[str, tuple[int, float | None, float | None]] = {}
        self._by_name: dict[Name, str] = {}
        self._nodes: dict[str, tuple[DynamicTable, tuple[object, ...], Node]] = {}

    def read(self) -> State:
        with self._catalog.one_state():
            tables = self._catalog.list()
            ticks = self._catalog.last_ticks()
            running = {lease.dt_id: lease for lease in self._catalog.running()}
            by_name = {dt.name: dt.id for dt in tables}
            if by_name != self._by_name:
                self._by_name, self._nodes = by_name, {}
            nodes = [self._node(dt, ticks.get(dt.id), running.get(dt.id)) for dt in tables]
            self._nodes = {dt.id: self._nodes[dt.id] for dt in tables}
            return State(
                nodes=tuple(nodes),
                warehouses=tuple(map(slots_of, self._catalog.warehouses())),
                outcome=self._catalog.outcome_of,
                tasks=self._catalog.running_tasks(),
                error=self._catalog.error_at,
            )

    def _node(self, dt: DynamicTable, tick: Timestamp | None, lease: Lease | None) -> Node:
        """The same one as before where nothing of it has changed: most have not."""
        wait, duration = self._estimate(dt)
        running, since = (lease.data_timestamp, lease.started) if lease else (None, None)
        facts = (tick, running, since, wait, duration)
        known = self._nodes.get(dt.id)
        if known is not None and known[0] is dt and known[1] == facts:
            return known[2]
        node = node_of(
            dt,
            self._by_name,
            attempted=tick,
            running=running,
            since=since,
            wait=wait,
            duration=duration,
        )
        self._nodes[dt.id] = dt, facts, node
        return node

    def _estimate(self, dt: DynamicTable) -> tuple[float | None, float | None]:
        known = self._estimates.get(dt.id)
        if known is None or known[0] != dt.sequence:
            records = self._catalog.timings(dt.id) if dt.data_timestamp is not None else []
            known = (dt.sequence, *estimate_times(records))
            self._estimates[dt.id] = known
        return known[1], known[2]


def node_of(dt: DynamicTable, by_name: Mapping[Name, str], **known: Any) -> Node:
    """The node of a dynamic table, and what else is `known` of it. `by_name` has the ids of all
    live ones: an upstream is the table with its name now, so one that was dropped and recreated, or
    that took a table's name, is followed."""
    kind = SourceKind.DYNAMIC_TABLE
    sources = [s for s in dt.definition.sources if s.kind is kind or s.name in by_name]
    return Node(
        id=dt.id,
        name=str(dt.name),
        upstream=tuple(dict.fromkeys(by_name.get(s.name, s.table_id) for s in sources)),
        target_lag=dt.target_lag.seconds,
        warehouse=dt.warehouse.lower(),
        created=dt.created,
        data_timestamp=dt.data_timestamp,
        suspended=dt.scheduling is SchedulingState.SUSPENDED,
        scheduler_enabled=dt.scheduler_enabled,
        error_count=dt.error_count,
        suspension=dt.scheduling_reason.sentence if dt.scheduling_reason else "",
        logs=tuple(s.path for s in dt.definition.sources if s.kind is SourceKind.DELTA and s.path),
        **known,
    )
