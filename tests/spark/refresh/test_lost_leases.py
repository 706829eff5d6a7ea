"""A refresh whose lease another one took: it is cancelled, and leaves nothing behind."""

from __future__ import annotations

import threading

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import Clock
from dt_jupyter.refresh.execute import Outcome, Stages
from tests.spark.engine_lab import Lab

HOUR = 3_600_000_000


def another_host(lab: Lab) -> Catalog:
    """It sees the same catalog an hour later, so every lease has run out."""
    late = Clock(lambda: lab.context.clock.now().micros + HOUR)
    layout = lab.context.layout
    return Catalog(layout.catalog, late, Owner("elsewhere", 1, "another"), lake=layout.lake)


def test_a_refresh_whose_lease_is_lost_is_cancelled(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = quick_lab
    lab.tune(lease_seconds=0.3)
    lab.table("src", "id INT, v INT", "1, 1")
    lab.dynamic_table("dt", "SELECT id, v + 1 AS v FROM src")
    lab.insert("src", "2, 2")
    before = lab.engine.table("dt")
    work, cancelled = Stages.run, threading.Event()

    def taken_over(self: Stages) -> Outcome:
        assert another_host(lab).reap() == (self.context.attempt.id,)
        for _ in range(200):
            if self.context.flag.is_set:
                cancelled.set()
                break
            threading.Event().wait(0.05)
        return work(self)

    monkeypatch.setattr(Stages, "run", taken_over)
    record = lab.record("dt")
    assert cancelled.is_set(), "the work was told"
    assert (record.state, record.error_code) == ("CANCELLED", "DT-2108")
    assert lab.engine.table("dt").version == before.version
    assert lab.rows("dt") == [(1, 2)]
    (newest, *_) = lab.context.catalog.history(before.name)
    assert (newest.state, newest.reason and newest.reason.code) == ("CANCELLED", "OWNER_GONE")
    monkeypatch.undo()
    assert lab.refresh("dt") == "INCREMENTAL"
    assert lab.rows("dt") == [(1, 2), (2, 3)]
