"""Which version a commit dated ahead of the clock belongs to: the present, once, and for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.model import Timestamp
from dt_jupyter.sources.early_commits import version_now, version_then
from tests.unit.catalog_lab import START, Lab, at
from tests.unit.delta_logs import PROTOCOL, Written, info, metadata

HOUR = 3600


class World:
    """A table whose commits are dated in seconds after the start, and the catalog's clock."""

    def __init__(self, folder: Path, *seconds: float) -> None:
        self.lab = Lab(folder / "lake")
        self.written = Written(folder / "t")
        self.written.next = 0
        for i, second in enumerate(seconds):
            self.commit(second, *(() if i else (metadata(), PROTOCOL)))
        self.log = TableLog(folder / "t")

    def commit(self, second: float, *actions: object) -> None:
        self.written.commit(info(), *actions, millis=START // 1000 + round(second * 1000))

    def now(self, t: Timestamp) -> int | None:
        """As a refresh to `t` resolves it, and records that."""
        found = version_now(self.lab.catalog, "t", self.log, t)
        return self.lab.catalog.resolve(t, "t", lambda: found) if found is not None else None

    def then(self, t: Timestamp) -> int | None:
        return version_then(self.lab.catalog, "t", self.log, t)


def test_the_present_has_what_is_there_and_the_past_has_not(tmp_path: Path) -> None:
    world = World(tmp_path, -20, -10, HOUR)
    assert world.then(at(-1)) == 1
    assert world.now(at(0)) == 2
    assert world.then(at(-1)) == 1
    assert world.then(at(1)) == 2, "from then on for everybody"
    world.lab.wall.forward(2 * HOUR)
    assert world.then(at(1)) == 2
    assert world.then(at(-1)) == 1


def test_a_commit_after_t_that_the_clock_has_reached_is_of_later(tmp_path: Path) -> None:
    world = World(tmp_path, -20, -1)
    assert world.now(at(-5)) == 0
    assert world.now(at(0)) == 1


def test_a_table_all_of_which_is_ahead(tmp_path: Path) -> None:
    world = World(tmp_path, HOUR, HOUR + 1)
    assert world.then(at(0)) is None
    assert world.now(at(0)) == 1
    assert world.then(at(1)) == 1


@pytest.mark.parametrize("ahead", [HOUR, 400 * 24 * HOUR])
def test_versions_never_fall_with_time(tmp_path: Path, ahead: float) -> None:
    """Timestamps are resolved in any order, while commits come from two clocks."""
    world = World(tmp_path, -20, ahead)
    asked = [0.0, 3.0, 1.0, 5.0, 2.0, 4.0, 6.0]
    found: dict[float, int | None] = {}
    for i, t in enumerate(asked):
        found[t] = world.now(at(t))
        world.commit(ahead + 2 + i if i % 2 else t + 0.5)
        world.lab.wall.forward(1)
    versions = [found[t] for t in sorted(found)]
    assert versions == sorted(versions, key=lambda v: v or 0)
    for t in asked:
        assert world.now(at(t)) == found[t], "resolved once"
