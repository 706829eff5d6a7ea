"""What tables did and cost over some days, as a page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model import DynamicTable
from dt_jupyter.reports import HealthReport, TableHealth, measure_table
from dt_jupyter.wire import HealthMessage, HealthRow

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine

COST_DAYS = 7.0


def health_rows(found: HealthReport) -> HealthMessage:
    """The worst first."""
    return HealthMessage(found.days, tuple(map(_row, found.tables)))


def cost_of(engine: Engine, table: DynamicTable) -> HealthRow:
    """Of one table over the last seven days."""
    context = engine.context
    return _row(measure_table(context.catalog, table, context.clock.now(), COST_DAYS))


def _row(table: TableHealth) -> HealthRow:
    return HealthRow(
        str(table.name),
        table.name.schema,
        table.target,
        table.within,
        table.lag,
        table.p95,
        table.refreshes,
        table.recomputed,
        table.failed,
        table.seconds,
        table.rows,
        table.bytes,
        table.days,
        table.cause,
    )
