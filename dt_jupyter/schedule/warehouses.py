"""Which warehouses have been idle for long enough to be suspended: a pure function with reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dt_jupyter.model import Reason, Timestamp, Warehouse, count_of


@dataclass(frozen=True, slots=True)
class WarehouseUse:
    """A warehouse, how many run and wait in it, and when work last ended in it (None: never)."""

    warehouse: Warehouse
    running: int = 0
    queued: int = 0
    last: Timestamp | None = None

    @property
    def since(self) -> Timestamp:
        """From when on nothing has run in it."""
        known = (self.last, self.warehouse.resumed, self.warehouse.created)
        return max(t for t in known if t is not None)


def idle_warehouses(uses: Iterable[WarehouseUse], now: Timestamp) -> dict[str, Reason]:
    """By name: those to suspend at `now`. One in which something runs or waits is not idle."""
    found = {}
    for use in uses:
        allowed = use.warehouse.auto_suspend
        if not allowed or use.warehouse.suspended or use.running or use.queued:
            continue
        if now.since(use.since) >= allowed:
            sentence = f"Nothing ran in it for {count_of(allowed, 'second')}."
            found[use.warehouse.name] = Reason("AUTO_SUSPEND", sentence)
    return found
