"""The engine at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context


def engine_status(context: Context) -> dict[str, Any]:
    """Lake, Spark, scheduler, warehouses, what runs, and what waits for what."""
    catalog, scheduling = context.catalog, context.scheduling
    return {
        "lake": str(context.layout.lake),
        "spark": context.spark.version,
        "scheduler": "running" if scheduling.running else "stopped",
        "dynamic_tables": len(catalog.list()),
        "warehouses": [w.name for w in catalog.warehouses()],
        "running": [lease.dt_id for lease in catalog.running()],
        "waiting": scheduling.waits(),
        "problems": list(scheduling.port.problems),
        "quarantine": [str(q) for q in catalog.quarantine.all()],
    }
