"""Reports about the graph of dynamic tables: values that any view can draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    DynamicTable,
    Name,
    Progress,
    Reason,
    RefreshRecord,
    RefreshState,
    Source,
    TargetLag,
    Timestamp,
    count_of,
)
from dt_jupyter.reports.sink_report import SinkReport
from dt_jupyter.reports.task_report import TaskReport
from dt_jupyter.schedule import (
    DAY_SECONDS,
    NO_READER,
    LagDays,
    LagStatistics,
    idle_times,
    lag_over_days,
    lag_statistics,
)


@dataclass(frozen=True, order=True)
class StageName:
    """A hidden stage of a dynamic table; its text is not a table's name, since it has blanks that
    are not quoted."""

    of: Name
    ordinal: int

    def __str__(self) -> str:
        return f"{self.of} stage {self.ordinal}"


@dataclass(frozen=True, order=True)
class TaskName:
    """A task as a node: it may be called as a table is, so its text has a blank that is not
    quoted."""

    of: Name

    def __str__(self) -> str:
        return f"task {self.of}"


NodeName = Name | StageName | TaskName


@dataclass(frozen=True)
class GraphNode:
    """A table, view, stream, sink, task, hidden stage or dynamic table; of the last, its standing,
    its last refresh, its lag in seconds now, the lag it is held to (DOWNSTREAM resolved), and how
    far the refresh is that runs. `problem` says why it is in quarantine, `standing` why it cannot
    continue, or what upstream of it prevents that. `files` says of what a source consists that
    is files of another format."""

    name: NodeName
    kind: str
    table: DynamicTable | None = None
    last: RefreshRecord | None = None
    lag: float | None = None
    effective_lag: float | None = None
    rows: int | None = None
    running: Progress | None = None
    problem: str | None = None
    sink: SinkReport | None = None
    task: TaskReport | None = None
    standing: Reason | None = None
    files: str | None = None

    @property
    def obstacle(self) -> str | None:
        """Why it is not fresh, in words: what it waits for, or what its last refresh met."""
        if self.problem is not None:
            return self.problem
        failure = self.last.error if self.last is not None else None
        if self.standing is not None and (failure is None or self.standing.code != NO_READER):
            return str(self.standing)
        if self.last is None or failure is not None:
            return failure
        lost = self.last.state in (RefreshState.UPSTREAM_FAILED, RefreshState.SKIPPED)
        return str(self.last.reason) if lost and self.last.reason is not None else None

    @property
    def held_back(self) -> str | None:
        """Why nothing refreshes it though nothing has failed: its lag grows until that changes."""
        state = self.last.state if self.last is not None else None
        failed = self.problem is not None or state in _FAILURES
        return self.standing.sentence if self.standing and not failed else None


_FAILURES = (RefreshState.FAILED, RefreshState.UPSTREAM_FAILED)


@dataclass(frozen=True)
class GraphReport:
    """All dynamic tables with what they read, the streams, sinks and tasks; `edges` go from
    upstream to downstream, through views and hidden stages."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[NodeName, NodeName], ...]
    as_of: Timestamp

    def __str__(self) -> str:
        lines = [f"{count_of(len(self.nodes), 'node')} at {self.as_of}"]
        for node in self.nodes:
            reads = ", ".join(str(a) for a, b in self.edges if b == node.name)
            lag = f", lag {node.lag:.1f} s" if node.lag is not None else ""
            told = f"  {node.name} ({node.kind}{lag})" + (f" ← {reads}" if reads else "")
            if node.sink is not None:
                told += f" → {node.sink.address}: {node.sink}"
            told += f": {node.task}" if node.task is not None else ""
            lines.append(told + (f" in quarantine: {node.problem}" if node.problem else ""))
        return "\n".join(lines)


@dataclass(frozen=True)
class LagReport:
    """The refreshes of one dynamic table, oldest first, and its lag's statistics. In the times of
    `idle` no scheduler ran."""

    name: Name
    target: TargetLag
    records: tuple[RefreshRecord, ...]
    statistics: LagStatistics | None
    as_of: Timestamp
    idle: tuple[tuple[Timestamp, Timestamp], ...] = ()

    def __str__(self) -> str:
        if self.statistics is None:
            return f"{self.name}: not refreshed yet"
        s = self.statistics
        ratio = s.time_within_target_lag_ratio
        within = f", within target {ratio:.1%} of the time" if ratio is not None else ""
        return (
            f"{self.name}: target {self.target}; lag mean {s.mean:.2f} s, "
            f"p95 {s.p95:.2f} s, max {s.maximum:.2f} s{within}"
        )


@dataclass(frozen=True)
class FrontierReport:
    """Which version of which source a dynamic table has read; `newest` are the versions that the
    sources have now (None: unknown), `data_timestamps` those that it can be read at, newest
    first."""

    name: Name
    data_timestamp: Timestamp | None
    version: int | None
    sources: tuple[tuple[Name, str, int | None], ...]
    newest: tuple[int | None, ...] = ()
    data_timestamps: tuple[Timestamp, ...] = ()

    def __str__(self) -> str:
        t = self.data_timestamp
        at = "is not initialised yet" if t is None else f"at {t.words} (version {self.version})"
        lines = [f"{self.name} {at}"]
        lines += [f"  {name} ({kind}): version {version}" for name, kind, version in self.sources]
        return "\n".join(lines)


def lag_report(catalog: Catalog, table: DynamicTable, now: Timestamp, limit: int) -> LagReport:
    records = tuple(reversed(catalog.history(table.name, limit)))
    target, idle = table.target_lag.seconds, idle_times(catalog.scheduler_runs(), now)
    statistics = lag_statistics(records, now, target, idle)
    return LagReport(table.name, table.target_lag, records, statistics, now, idle)


def read_lag_days(catalog: Catalog, table: DynamicTable, now: Timestamp, days: float) -> LagDays:
    commits = catalog.commits(table.id, now.plus(-days * DAY_SECONDS))
    idle = idle_times(catalog.scheduler_runs(), now)
    return lag_over_days(table.name, table.target_lag, commits, now, days, idle)


def frontier_report(
    table: DynamicTable, newest: Callable[[Source], int | None], times: tuple[Timestamp, ...]
) -> FrontierReport:
    versions = table.frontier.versions if table.frontier else {}
    sources = tuple(
        (s.name, s.kind.value, versions.get(s.table_id)) for s in table.definition.sources
    )
    found = tuple(newest(s) for s in table.definition.sources)
    return FrontierReport(table.name, table.data_timestamp, table.version, sources, found, times)
