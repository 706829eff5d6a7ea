"""The lease of a running refresh, kept alive from a thread of its own."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from dt_jupyter.catalog import Owner
from dt_jupyter.refresh.heartbeat import heartbeats
from tests.unit.catalog_lab import HERE, MANUAL, Lab, at

THERE = Owner("host-a", 200, "uid-there", "2")


def test_whoever_loses_the_lease_is_told_once(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a")
    attempt = replace(lab.begin(10), ttl=0.03)
    told: list[None] = []
    lost = threading.Event()

    def when_lost() -> None:
        told.append(None)
        lost.set()

    with heartbeats(lab.catalog, attempt, when_lost):
        assert not lost.wait(0.2), "the lease is held"
        lab.dead.add(HERE.uid)
        lab.open(THERE).begin("id-a", MANUAL, at(20), "taker", 30)
        assert lost.wait(5)
    assert told == [None]


def test_a_lease_that_is_kept_tells_nobody(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.make("a")
    told: list[None] = []
    with heartbeats(lab.catalog, replace(lab.begin(10), ttl=0.03), lambda: told.append(None)):
        assert not threading.Event().wait(0.1)
    assert told == []
