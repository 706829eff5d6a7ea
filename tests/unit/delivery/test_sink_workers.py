"""When a sink is looked at, and when it is tried again."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.delivery.sink_workers import (
    DOWNSTREAM_SECONDS,
    SinkWorkers,
    _Worker,
    backoff,
    period_of,
)
from dt_jupyter.model import DeliveryTrigger, DTError, Name, Sink, TargetLag, Timestamp, error

T = Timestamp(0)
SINK = Sink("id", Name("default", "s"), Name("default", "t"), "TABLE", "file:///x", Timestamp(0))


@pytest.mark.parametrize(
    ("lag", "seconds"),
    [(None, DOWNSTREAM_SECONDS), (0.5, 0.25), (20.0, 5.0), (86_400.0, 60.0)],
)
def test_a_look_leaves_most_of_the_lag_for_the_delivery(lag: float | None, seconds: float) -> None:
    assert period_of(replace(SINK, target_lag=TargetLag(lag))) == seconds


def test_when_it_is_tried_again_is_known_until_it_is() -> None:
    down: list[DTError] = [error("DT-6110", store="s", problem="refused")]

    def deliver(sink: Sink, trigger: DeliveryTrigger) -> None:
        if down:
            raise down.pop()

    deliveries: Any = SimpleNamespace(deliver=deliver, is_due=lambda _: True, now=lambda: T)
    catalog: Any = SimpleNamespace(warehouses=list)
    workers = SinkWorkers(catalog, deliveries, lambda work, name: pytest.fail("no thread"))
    worker = workers._workers.setdefault("id", _Worker())
    assert workers.next_try("id") is workers.next_try("other") is None
    wait = workers._turn(SINK, worker)
    assert workers.next_try("id") == T.plus(wait)
    workers._turn(SINK, worker)
    assert workers.next_try("id") is None


def test_it_is_tried_again_later_and_later_up_to_a_minute() -> None:
    waits = [backoff(failures, 1.0) for failures in range(1, 40)]
    assert waits[:3] == [1.0, 2.0, 4.0]
    assert waits == sorted(waits)
    assert waits[-1] == 60.0
    assert backoff(3, 0.0) == 2.0
