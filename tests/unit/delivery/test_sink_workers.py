"""When a sink is looked at, and when it is tried again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.catalog import Owner
from dt_jupyter.delivery.sink_workers import (
    DOWNSTREAM_SECONDS,
    SinkWorkers,
    _Worker,
    backoff,
    period_of,
)
from dt_jupyter.model import (
    DeliveryTrigger,
    DTError,
    Name,
    Sink,
    SinkState,
    TargetLag,
    Timestamp,
    error,
)
from tests.unit.catalog_lab import Lab

T = Timestamp(0)
SINK = Sink("id", Name("default", "s"), Name("default", "t"), "TABLE", "file:///x", Timestamp(0))


@pytest.mark.parametrize(
    ("lag", "seconds"),
    [(None, DOWNSTREAM_SECONDS), (0.5, 0.25), (20.0, 5.0), (86_400.0, 60.0)],
)
def test_a_look_leaves_most_of_the_lag_for_the_delivery(lag: float | None, seconds: float) -> None:
    assert period_of(replace(SINK, target_lag=TargetLag(lag))) == seconds


def test_every_process_knows_when_it_is_tried_again_until_it_is(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    down: list[DTError] = [error("DT-6110", store="s", problem="refused")]

    def deliver(sink: Sink, trigger: DeliveryTrigger) -> None:
        """Tells the catalog of it, as `Deliveries` does."""
        state = SinkState.RETRYING if down else SinkState.ACTIVE
        lab.catalog.set_sink_state(sink.id, state)
        if down:
            raise down.pop()

    deliveries: Any = SimpleNamespace(deliver=deliver, is_due=lambda _: True, now=lambda: T)
    workers = SinkWorkers(lab.catalog, deliveries, lambda work, name: pytest.fail("no thread"))
    lab.catalog.create_sink(SINK)
    other, worker = lab.open(Owner("host-b", 1, "uid-b", "1")), _Worker()
    wait = workers._turn(SINK, worker)
    assert other.sink(SINK.name).next_try == T.plus(wait)
    workers._turn(SINK, worker)
    assert other.sink(SINK.name).next_try is None
    lab.catalog.set_next_try(SINK.id, T)
    assert other.sink(SINK.name).next_try is None, "an active sink waits for no try"


def test_it_is_tried_again_later_and_later_up_to_a_minute() -> None:
    waits = [backoff(failures, 1.0) for failures in range(1, 40)]
    assert waits[:3] == [1.0, 2.0, 4.0]
    assert waits == sorted(waits)
    assert waits[-1] == 60.0
    assert backoff(3, 0.0) == 2.0
