"""Refreshes of one dynamic table over another that are killed, or stopped past their lease, one
after the other in one lake: at each point of each of their commits, and at random moments.

DT_JUPYTER_ROUNDS is how often all points are gone through, 0 (the default) is a few of them once.
DT_JUPYTER_SEED chooses the changes and the moments.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dt_jupyter.lake import open_log
from dt_jupyter.lake.write.failpoints import POINTS
from dt_jupyter.model import DTError, Timestamp
from tests.cases import nightly
from tests.experiments import KILLED_IN_REFRESH, STOPPED
from tests.faults.engine_worker import RACED, failure_code
from tests.faults.forked import Forked
from tests.spark.engine_lab import Lab, without_check

pytestmark = pytest.mark.slow
ROUNDS = int(os.environ.get("DT_JUPYTER_ROUNDS", "0"))
SEED = int(os.environ.get("DT_JUPYTER_SEED", "0"))
LIMIT = 1800 * max(1, ROUNDS)
"""Seconds: on HDFS the process that is killed and the next one take some seconds each."""
COMMITS = (1, 2, 3)
"""Of the upstream table, of the hidden state of the other, and of its rows."""
EVERYWHERE = tuple(f"{point}:{nth}" for nth in COMMITS for point in POINTS)
FEW = ("after_write:1", "before_write:2", "after_fsync:3")
BETWEEN = "between"
"""A random moment."""
LEASE = 1.5
SLEEP = 8 * LEASE
"""Seconds after which one that is stopped with a lock wakes, which is waited for for longer."""
GRACE = 60.0
"""Seconds within which the catalog's or a table's lock is free again."""


@dataclass
class Ordeal:
    """Sales by item, and over it, in two stages, how many numbers of sales so many items have;
    `other` processes that refresh both."""

    lab: Lab
    other: Forked
    chance: random.Random
    record: Callable[[str, object], None]
    seconds: float = 0.0
    """What a refresh of theirs takes."""
    ids: int = 0
    data_timestamp: Timestamp | None = None

    def start(self) -> None:
        self.lab.table("sale", "id INT, item STRING, n INT", "0, 'a', 1", "0, NULL, NULL")
        self.lab.dynamic_table(
            "by_item", "SELECT item, count(*) AS sales, sum(n) AS n FROM sale GROUP BY item"
        )
        self.lab.dynamic_table(
            "by_sales",
            "SELECT items, count(*) AS levels, sum(n) AS n FROM (SELECT sales, "
            "count(*) AS items, sum(n) AS n FROM by_item GROUP BY sales) GROUP BY items",
        )
        for _ in range(2):
            self.change()
            begun = time.monotonic()
            self.other.ask("by_sales")
            self.other.go()
            assert self.other.ended() == (0, ["INCREMENTAL"]), self.other.errors
            self.seconds = time.monotonic() - begun
        self.check()

    def change(self) -> None:
        """A few rows come, some are updated, some go; some are there twice."""
        rows = []
        for _ in range(self.chance.randint(1, 4)):
            self.ids += self.chance.randint(0, 1)
            item = self.chance.choice(("'a'", "'b'", "'c'", "'d'", "NULL"))
            rows.append(f"({self.ids}, {item}, {self.chance.choice((1, 2, 3, 'NULL'))})")
        script = [f"INSERT INTO sale VALUES {', '.join(rows)}"]
        some = f"id % 5 = {self.chance.randrange(5)}"
        if self.chance.random() < 0.4:
            script.append(f"UPDATE sale SET n = coalesce(n, 0) + 1 WHERE {some}")
        if self.chance.random() < 0.4:
            script.append(f"DELETE FROM sale WHERE {some} AND id > 0")
        self.lab.sql("; ".join(script))

    def kill_at(self, place: str) -> None:
        """Another process that refreshes dies there."""
        between = place == BETWEEN
        delay = self.chance.uniform(0, 1.2 * self.seconds) if between else None
        self.other.ask("by_sales", failpoint="" if between else place, delay=delay)
        self.other.go()
        status, told = self.other.ended()
        expected = (0, -signal.SIGKILL) if between else (-signal.SIGKILL,)
        assert status in expected, (place, told, self.other.errors)

    def stop_at_random(self) -> None:
        """Another process that refreshes is stopped until its lease has run out and others have
        gone on, and wakes."""
        delay = self.chance.uniform(0, self.seconds)
        self.other.ask("by_sales", delay=delay, pause=True, lease=LEASE)
        self.other.go()
        self.other.await_pause()
        self.go_on(wakes=self.other.go)
        status, told = self.other.ended()
        assert status == 0, (told, self.other.errors)
        self.record("told", told)

    def go_on(self, wakes: Callable[[], None] | None = None) -> None:
        """The next refresh is right, by changes alone, and nothing of the dead one is left. Who is
        stopped `wakes` after it, or in the middle of it where it waits for a lock of theirs."""
        begun, awake = time.monotonic(), threading.Event()

        def wake() -> None:
            if wakes is not None and not awake.is_set():
                awake.set()
                wakes()

        sleeper = threading.Timer(SLEEP, wake)
        sleeper.start()
        try:
            while (code := self._refresh()) is not None:
                assert code in RACED, code
                assert time.monotonic() - begun < GRACE, code
                time.sleep(0.05)
            self.record("recovery", round(time.monotonic() - begun, 3))
            self.check()
        finally:
            sleeper.cancel()
            sleeper.join()
        wake()

    def _refresh(self) -> str | None:
        """The code of what keeps it from refreshing."""
        try:
            record = self.lab.record("by_sales")
        except DTError as e:
            return e.code
        if record.error_code is None:
            assert record.action in ("INCREMENTAL", "NO_DATA"), (record.action, record.reason)
        return failure_code(record)

    def check(self) -> None:
        """Both tables are their queries, and catalog and logs say the same."""
        lab = self.lab
        lab.verified("by_item", "by_sales")
        for name in ("by_item", "by_sales"):
            table = lab.engine.table(name)
            log = open_log(lab.context.layout.public(table.id))
            found = [c.transactions.get(f"dt:{table.id}") for c in log.commits(0, log.version())]
            assert [n for n in found if n] == list(range(1, table.sequence + 1)), name
            assert table.version == log.version(), name
        frontier = lab.engine.table("by_sales").frontier
        assert frontier is not None
        before, self.data_timestamp = self.data_timestamp, frontier.data_timestamp
        assert before is None or before <= self.data_timestamp


@pytest.fixture
def ordeal(
    lab: Lab,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> Iterator[Ordeal]:
    without_check(monkeypatch)
    with Forked.on(lab.spark, lab.folder, tmp_path / "said") as other:
        made = Ordeal(lab, other, random.Random(SEED), record_property)
        made.start()
        yield made


@KILLED_IN_REFRESH
@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("places", [FEW, nightly(EVERYWHERE)], ids=["few", "everywhere"])
def test_whoever_comes_after_the_killed_goes_on(
    ordeal: Ordeal, places: tuple[str, ...], record_property: Callable[[str, object], None]
) -> None:
    cases = 0
    for place in (*places, BETWEEN) * max(1, ROUNDS):
        ordeal.change()
        ordeal.kill_at(place)
        if ordeal.chance.random() < 0.3:
            ordeal.change()
        if ordeal.chance.random() < 0.3:
            ordeal.lab.reopen()
        ordeal.go_on()
        cases += 1
    record_property("cases", cases)
    _require_clean(ordeal.lab)


@STOPPED
@pytest.mark.nightly
@pytest.mark.timeout(LIMIT)
def test_who_wakes_after_its_lease_overwrites_nothing(
    ordeal: Ordeal, record_property: Callable[[str, object], None]
) -> None:
    cases = 6 * max(1, ROUNDS)
    for _ in range(cases):
        ordeal.change()
        ordeal.stop_at_random()
        assert ordeal.lab.refresh("by_sales") in ("INCREMENTAL", "NO_DATA")
        ordeal.check()
    record_property("cases", cases)
    _require_clean(ordeal.lab)


def _require_clean(lab: Lab) -> None:
    """No lease, no pin, no attempt of anybody is left, and all that was read was consistent."""
    assert lab.context.catalog.running() == ()
    assert lab.context.catalog.pins() == ()
    for name in ("by_item", "by_sales"):
        assert lab.engine.history(name).filter("state = 'EXECUTING'").count() == 0
    lab.serializable()
