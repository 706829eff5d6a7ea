"""The engine at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dt_jupyter.caches import TEXT_MEMORY
from dt_jupyter.model import Right
from dt_jupyter.sources import find_early_commits, lost_error, lost_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dt_jupyter.catalog import Catalog
    from dt_jupyter.engine.context import Context
    from dt_jupyter.model import Sink, Task


_MEGABYTE = 1 << 20


def engine_status(context: Context) -> dict[str, Any]:
    """Lake, Spark, scheduler, warehouses, what runs, what waits for what, and how sinks and tasks
    do."""
    catalog, scheduling = context.catalog, context.scheduling
    return {
        "lake": str(context.layout.known_as),
        "catalog": catalog.place,
        "spark": context.spark.version,
        "scheduler": "running" if scheduling.running else "stopped",
        "leader": _leader(catalog),
        "role": context.state.role,
        "dynamic_tables": len([t for t in catalog.list() if context.access.sees(t.name)]),
        "warehouses": [
            w.name for w in catalog.warehouses() if context.access.sees_warehouse(w.name)
        ],
        "kept_columns": _kept_memory(context),
        "kept_by_kind": _kept_by_kind(context),
        "disk_cache": context.refresher.disk.describe(),
        "running": [lease.dt_id for lease in catalog.running()],
        "waiting": {} if context.access.bound else scheduling.waits(),
        "sinks": [
            _sink_line(sink) for sink in catalog.sinks() if context.access.monitors(sink.name)
        ],
        "tasks": [
            _task_line(context, task)
            for task in catalog.tasks()
            if context.access.may_task(Right.MONITOR, task.name)
        ],
        "problems": [] if context.access.bound else list(_problems(context)),
        "quarantine": [] if context.access.bound else [str(q) for q in catalog.quarantine.all()],
    }


def _problems(context: Context) -> Iterator[str]:
    catalog, logs = context.catalog, context.sources.logs
    yield from context.scheduling.port.problems
    if (problem := context.refresher.disk.problem) is not None:
        yield problem
    yield from _lost(context)
    yield from find_early_commits(
        catalog, logs, [s for t in catalog.list() for s in t.definition.sources]
    )


def _lost(context: Context) -> Iterator[str]:
    """The names of the lake that this session does not know any more."""
    for name in lost_names(context.sources):
        if (problem := lost_error(context.sources, name)) is not None:
            yield str(problem)


def _leader(catalog: Catalog) -> str | None:
    """Whose scheduler starts the refreshes; None where none runs."""
    found = catalog.leading_scheduler()
    if found is None:
        return None
    return "this process" if found[1].uid == catalog.owner.uid else str(found[1])


def _kept_memory(context: Context) -> str:
    """The memory that what is read of tables takes for the next refresh, and may take."""
    memory = context.refresher.small.columns.memory
    return f"{memory.bytes / _MEGABYTE:,.1f} MB of {memory.most_bytes / _MEGABYTE:,.0f} MB"


def _kept_by_kind(context: Context) -> dict[str, str]:
    """Of that memory, what takes it, the most first, and what texts of all engines take."""
    caches = [*context.refresher.small.columns.memory.caches, *TEXT_MEMORY.caches]
    caches.sort(key=lambda c: -c.bytes)
    return {c.kind: f"{c.bytes / _MEGABYTE:,.1f} MB" for c in caches if c.bytes}


def _task_line(context: Context, task: Task) -> str:
    """Its state, the outcome of its last run, and what keeps it from running."""
    last = context.catalog.last_task_runs().get(task.id)
    run = "" if last is None else f", last run {last.state} {last.code or ''}".rstrip()
    why = f": {task.reason}" if task.reason else ""
    return f"{task.name} {task.state}{run}{why}"


def _sink_line(sink: Sink) -> str:
    """Its state, and what keeps it from delivering."""
    told = ": ".join(filter(None, (f"{sink.name} {sink.state}", sink.code, sink.problem)))
    again = sink.next_try
    return f"{told} Tried again at {again}." if again is not None else told
