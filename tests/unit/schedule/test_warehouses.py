"""When a warehouse is suspended by itself: after so many seconds in which nothing ran or waited."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.model import Timestamp, Warehouse
from dt_jupyter.schedule import WarehouseUse, idle_warehouses

T0 = Timestamp(1_800_000_000_000_000)


def idle(now: float, **use: Any) -> dict[str, str]:
    """At `now` seconds after its creation; AUTO_SUSPEND = 60."""
    after, asleep = use.pop("after", 60), use.pop("asleep", False)
    made = Warehouse("w", 2, 1, asleep, T0, after, resumed=use.pop("resumed", None))
    found = idle_warehouses([WarehouseUse(made, **use)], T0.plus(now))
    return {name: reason.code for name, reason in found.items()}


@pytest.mark.parametrize(
    ("now", "use", "suspended"),
    [
        (59.9, {}, False),
        (60, {}, True),
        (10_000, {"after": 0}, False),
        (61, {"running": 1}, False),
        (61, {"queued": 1}, False),
        (61, {"asleep": True}, False),
        (61, {"last": T0.plus(2)}, False),
        (62, {"last": T0.plus(2)}, True),
        (90, {"last": T0.plus(2), "resumed": T0.plus(40)}, False),
    ],
)
def test_so_many_seconds_without_work_suspend_it(
    now: float, use: dict[str, Any], suspended: bool
) -> None:
    assert idle(now, **use) == ({"w": "AUTO_SUSPEND"} if suspended else {})
