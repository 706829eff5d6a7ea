"""Health of the dynamic tables: how much of the time each was within its target lag, what its
refreshes cost, and why one is late now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    DynamicTable,
    LateCause,
    Name,
    RefreshAction,
    RefreshState,
    TargetLag,
    Timestamp,
    count_of,
)
from dt_jupyter.reports.report_values import GraphNode, read_lag_days
from dt_jupyter.schedule import DAY_SECONDS

_RECOMPUTED = (RefreshAction.FULL, RefreshAction.REINITIALIZE)


@dataclass(frozen=True)
class TableHealth:
    """A dynamic table over some days. `within` is the share of the time in which its lag was at
    most the target, None without a numeric target or before a scheduler has run; `lag` its lag
    now and `p95` the 95th percentile over the days, in seconds, None if unknown. `refreshes` counts
    those that changed rows, `recomputed` those of them that computed all rows, `failed` those that
    failed; `seconds`, `rows` and `bytes` are the totals of time, of rows inserted and deleted, and
    of bytes written. `days` is how much of the time it was there, `cause` says why it is not fresh
    now."""

    name: Name
    target: TargetLag
    within: float | None
    lag: float | None
    p95: float | None
    refreshes: int
    recomputed: int
    failed: int
    seconds: float
    rows: int
    bytes: int
    days: float
    cause: str | None = None


@dataclass(frozen=True)
class HealthReport:
    """The dynamic tables of a lake over the last `days`, those least within their target first."""

    days: float
    tables: tuple[TableHealth, ...]

    def __str__(self) -> str:
        if not self.tables:
            return "There are no dynamic tables."
        return "\n".join(
            f"{t.name}: {_percent(t.within)} within target, {count_of(t.refreshes, 'refresh')} "
            f"({t.recomputed:,} recomputed, {t.failed:,} failed), {t.seconds:,.1f} s"
            + (f"; {t.cause}" if t.cause else "")
            for t in self.tables
        )


def read_health(
    catalog: Catalog,
    nodes: Iterable[GraphNode],
    causes: Mapping[str, LateCause],
    now: Timestamp,
    days: float,
) -> HealthReport:
    """The health of the dynamic tables among `nodes`, from the history of the last `days`;
    `causes`, by id, say why one is late."""
    found = [
        replace(measure_table(catalog, node.table, now, days), cause=_cause(node, causes))
        for node in nodes
        if node.table
    ]
    return HealthReport(days, tuple(sorted(found, key=_worst_first)))


def measure_table(
    catalog: Catalog, table: DynamicTable, now: Timestamp, days: float
) -> TableHealth:
    """One table over the last `days`, or since it was created, where that is shorter."""
    total = read_lag_days(catalog, table, now, days).total
    records = catalog.working(table.id, now.plus(-days * DAY_SECONDS))
    done = [r for r in records if r.state is RefreshState.SUCCEEDED]
    return TableHealth(
        table.name,
        table.target_lag,
        total.within,
        now.since(table.data_timestamp) if table.data_timestamp is not None else None,
        total.p95,
        refreshes=len(done),
        recomputed=sum(r.action in _RECOMPUTED for r in done),
        failed=sum(r.state is RefreshState.FAILED for r in records),
        seconds=sum(r.duration or 0.0 for r in records),
        rows=sum(r.statistics.inserted_rows + r.statistics.deleted_rows for r in done),
        bytes=sum(r.statistics.bytes_written for r in done),
        days=min(days, now.since(table.created) / DAY_SECONDS),
    )


def _cause(node: GraphNode, causes: Mapping[str, LateCause]) -> str | None:
    """What its quarantine says, or why it is late."""
    found = causes.get(node.table.id) if node.table is not None else None
    return node.problem or (found.sentence if found is not None else None)


def _worst_first(table: TableHealth) -> tuple[float, int, str]:
    within = 1.0 if table.within is None else table.within
    return within, -table.failed, str(table.name)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"
