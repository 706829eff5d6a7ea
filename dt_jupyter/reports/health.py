"""Health of the dynamic tables: how much of the time each was within its target lag, what its
refreshes cost, and why one is late now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    DynamicTable,
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
    of bytes written. `cause` says why it is not fresh now."""

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
    cause: str | None


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
    catalog: Catalog, nodes: Iterable[GraphNode], now: Timestamp, days: float
) -> HealthReport:
    """The health of the dynamic tables among `nodes`, from the history of the last `days`."""
    found = [_measure(catalog, node, node.table, now, days) for node in nodes if node.table]
    return HealthReport(days, tuple(sorted(found, key=_worst_first)))


def _measure(
    catalog: Catalog, node: GraphNode, table: DynamicTable, now: Timestamp, days: float
) -> TableHealth:
    total = read_lag_days(catalog, table, now, days).total
    records = catalog.working(table.id, now.plus(-days * DAY_SECONDS))
    done = [r for r in records if r.state is RefreshState.SUCCEEDED]
    return TableHealth(
        table.name,
        table.target_lag,
        total.within,
        node.lag,
        total.p95,
        refreshes=len(done),
        recomputed=sum(r.action in _RECOMPUTED for r in done),
        failed=sum(r.state is RefreshState.FAILED for r in records),
        seconds=sum(r.duration or 0.0 for r in records),
        rows=sum(r.statistics.inserted_rows + r.statistics.deleted_rows for r in done),
        bytes=sum(r.statistics.bytes_written for r in done),
        cause=node.obstacle,
    )


def _worst_first(table: TableHealth) -> tuple[float, int, str]:
    within = 1.0 if table.within is None else table.within
    return within, -table.failed, str(table.name)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"
