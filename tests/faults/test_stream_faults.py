"""Processes killed while they consume a stream, and two that consume one: each change once.

DT_JUPYTER_ROUNDS is how often every way is killed at each of its points and at a random moment, and
two processes race; 0, the default, is once at one of them each, a transaction of SQL at some (at
all by night), and a race of one way. DT_JUPYTER_SEED chooses the moments.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dt_jupyter.lake import list_folders
from tests.cases import some
from tests.experiments import KILLED_IN_CONSUMPTION, TWO_PROCESSES
from tests.faults.consumptions import CONSUMPTIONS, UNDECIDED, counted
from tests.faults.forked import Forked
from tests.spark.engine_lab import Lab

pytestmark = pytest.mark.slow
ROUNDS = int(os.environ.get("DT_JUPYTER_ROUNDS", "0"))
SEED = int(os.environ.get("DT_JUPYTER_SEED", "0"))
LIMIT = 600 + 400 * ROUNDS
BETWEEN = "between"
"""A random moment."""
ONCE = {
    "insert": ["intent_written:1"],
    "overwrite": ["intent_recorded:1"],
    "merge": [BETWEEN],
    "update": ["intent_written:1"],
    "delete": ["intent_recorded:1"],
    "create table": ["intent_written:1"],
    "execute task": ["intent_written:1"],
    "task": ["intent_recorded:1", "intent_written:1"],
    "task of a block": ["tx_statement_staged:1", "tx_target_published:1"],
    "transaction": ["tx_statement_staged:1", "tx_target_published:1"],
    "dt.transaction": ["tx_prepared:1"],
    "dt.consume": ["tx_target_published:1"],
}
"""Where a way is killed if rounds are not asked for."""
RACES = 3
KEYED = "TBLPROPERTIES ('dt.primaryKey' = 'n')"


@dataclass
class Till:
    """Events, a stream on them, and what one way of consuming it keeps of them; processes to kill
    beside. `told` is all that was done."""

    lab: Lab
    forked: Forked
    way: str = ""
    events: int = 0
    seconds: float = 1.0
    told: list[str] = field(default_factory=list)

    def start(self, way: str) -> None:
        self.way = way
        self.lab.sql(f"CREATE TABLE events (n BIGINT) {KEYED}")
        self.lab.sql("CREATE STREAM s ON TABLE events SHOW_INITIAL_ROWS = TRUE")
        if CONSUMPTIONS[way].setup:
            self.lab.sql(CONSUMPTIONS[way].setup)
        self.happen()

    def happen(self) -> None:
        """Two events more."""
        self.lab.spark.sql(f"INSERT INTO events VALUES ({self.events}), ({self.events + 1})")
        self.events += 2

    def consume(self) -> str:
        """By the process of the tests; the time that it takes is kept."""
        begun = time.monotonic()
        found = CONSUMPTIONS[self.way].run(self.lab.engine)
        if found == "done":
            self.seconds = time.monotonic() - begun
        self.told.append(f"own: {found}")
        return found

    def other(self, failpoint: str = "", delay: float | None = None) -> int:
        """By another process, which is killed; its status. After a `delay` the process of the
        tests is there for the stream too."""
        self.forked.ask(self.way, failpoint=failpoint, delay=delay)
        self.forked.go()
        if delay is not None:
            self.consume()
        status, found = self.forked.ended()
        self.told.append(f"other ({failpoint or delay}): {status} {found}")
        return status

    def killed_at(self, failpoint: str) -> None:
        """Another process dies there, and has done nothing, or all of it."""
        before = counted(self.lab, self.way)
        assert self.other(failpoint) == -signal.SIGKILL, self.forked.errors
        self.lab.context.streams.recover()
        expected = before if failpoint in UNDECIDED else self.events
        assert counted(self.lab, self.way) == expected, (self.way, self.told)

    def agree(self) -> None:
        """What is left of the stream is taken, and each event is counted once."""
        assert self.consume() == "done", self.told
        assert counted(self.lab, self.way) == self.events, (self.way, self.told, self.forked.errors)
        self.lab.serializable()


def nothing_left(lab: Lab) -> bool:
    """Whether no stream is taken, and nothing staged; what Spark still writes for the dead is swept
    when it is done."""
    for _ in range(300):
        lab.context.streams.forward.sweep()
        if not list(list_folders(lab.context.layout.transactions)):
            break
        time.sleep(0.1)
    return not lab.left()


def kills(way: str, *, everywhere: bool) -> list[str]:
    """Where it is killed, one after the other."""
    known = [*CONSUMPTIONS[way].points, BETWEEN]
    return known * ROUNDS or (known if everywhere else ONCE[way])


@pytest.fixture
def till(lab: Lab, tmp_path: Path) -> Iterator[Till]:
    with Forked.on(lab.spark, lab.folder, tmp_path / "said") as forked:
        yield Till(lab, forked)


EACH_TIME = ("insert", "transaction")
WAYS = (*EACH_TIME, *(way for way in CONSUMPTIONS if way not in EACH_TIME))


@KILLED_IN_CONSUMPTION
@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize(
    ("way", "everywhere"),
    some(len(EACH_TIME), [*((way, False) for way in WAYS), ("transaction", True)]),
)
def test_a_consumer_that_is_killed_loses_and_doubles_nothing(
    till: Till, way: str, everywhere: bool, record_property: Callable[[str, object], None]
) -> None:
    """At each point and between them; Spark goes on, and may write what was given up."""
    chance = random.Random(f"{SEED} {way}")
    till.start(way)
    till.agree()
    died = 0
    for place in kills(way, everywhere=everywhere):
        till.happen()
        if place == BETWEEN:
            status = till.other(delay=chance.uniform(0, 1.2 * till.seconds))
            assert status in (0, -signal.SIGKILL), till.forked.errors
            died += status != 0
        else:
            till.killed_at(place)
            died += 1
        till.agree()
    record_property("kills", died)
    assert nothing_left(till.lab)


@TWO_PROCESSES
@pytest.mark.timeout(LIMIT)
@pytest.mark.parametrize("way", ["update", "insert", "transaction"][: 3 if ROUNDS else 1])
def test_two_processes_on_one_stream_give_each_change_once(
    till: Till, way: str, record_property: Callable[[str, object], None]
) -> None:
    races = RACES * max(ROUNDS, 1)
    till.start(way)
    till.forked.ask(way, times=races)
    till.forked.go()
    mine = []
    for _ in range(races):
        till.happen()
        mine.append(till.consume())
    status, theirs = till.forked.ended()
    assert status == 0, till.forked.errors
    assert len(theirs) == races
    till.events += races  # each time it has had an event of its own
    record_property("races", f"{races}: {mine}, {theirs}")
    till.agree()
