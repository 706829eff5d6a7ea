"""Replays keep to their limit beside refreshes, and to none where nobody is to notice them."""

from __future__ import annotations

import pytest

from tests.spark.engine_lab import Lab


def test_a_replay_waits_beside_refreshes_and_not_alone(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, waits = quick_lab, list[float]()
    lab.table("t", "id INT", "1", "2")
    lab.dynamic_table("d", "SELECT id FROM t")
    refresher, pace = lab.context.refresher, lab.context.travel.pace
    assert refresher.is_busy(60)
    monkeypatch.setattr(pace, "sleep", waits.append)
    monkeypatch.setattr(pace, "clock", iter(range(10_000)).__next__)
    pace.bytes_per_second = 1 / 50
    assert pace.busy()
    pace.await_turn(1)
    pace.await_turn(1)
    assert waits
    del waits[:]
    refresher._last_ended -= 60
    assert not pace.busy()
    pace.await_turn(100)
    pace.await_turn(100)
    assert waits == []
