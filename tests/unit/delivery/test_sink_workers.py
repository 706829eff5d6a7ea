"""When a sink is looked at, and when it is tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dt_jupyter.delivery.sink_workers import DOWNSTREAM_SECONDS, backoff, period_of
from dt_jupyter.model import Name, Sink, TargetLag, Timestamp

SINK = Sink("id", Name("default", "s"), Name("default", "t"), "TABLE", "file:///x", Timestamp(0))


@pytest.mark.parametrize(
    ("lag", "seconds"),
    [(None, DOWNSTREAM_SECONDS), (0.5, 0.25), (20.0, 5.0), (86_400.0, 60.0)],
)
def test_a_look_leaves_most_of_the_lag_for_the_delivery(lag: float | None, seconds: float) -> None:
    assert period_of(replace(SINK, target_lag=TargetLag(lag))) == seconds


def test_it_is_tried_again_later_and_later_up_to_a_minute() -> None:
    waits = [backoff(failures, 1.0) for failures in range(1, 40)]
    assert waits[:3] == [1.0, 2.0, 4.0]
    assert waits == sorted(waits)
    assert waits[-1] == 60.0
    assert backoff(3, 0.0) == 2.0
