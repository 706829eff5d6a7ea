"""A statement that meets a refresh waits for it: it joins one that read all that it must see, and
runs after any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dt_jupyter.catalog import Owner
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import DTError, RefreshTrigger
from dt_jupyter.sources import lease_waits
from dt_jupyter.spark import activity_step, current_activity
from tests.spark.engine_lab import Lab, refused

PATIENCE = 300.0
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Lab:
    """`e` reads `d`, which reads `item`."""
    shared_lab.table("item", "id INT", "1")
    shared_lab.dynamic_table("d", "SELECT id FROM item")
    shared_lab.dynamic_table("e", "SELECT count(*) AS n FROM d")
    return shared_lab


class Held:
    """A refresh of `d` in a thread, that stops before it writes until it is `let_go`."""

    def __init__(self, lab: Lab, pool: ThreadPoolExecutor, trigger: RefreshTrigger) -> None:
        self.lab, self.pool, self.trigger = lab, pool, trigger
        self.held, self.free, self.waits = (threading.Event() for _ in range(3))
        self.texts: list[str] = []
        self.while_waiting: Callable[[], object] = lambda: None
        self.when_free: Callable[[], object] = lambda: None

    def on_wait(self) -> None:
        self.waits.set()
        self.while_waiting()

    def stop_there(self) -> None:
        if not self.held.is_set():
            self.held.set()
            assert self.free.wait(PATIENCE)

    def begin(self) -> Future[Any]:
        table, now = self.lab.engine.table("d"), self.lab.context.clock.now()
        done = self.pool.submit(self.lab.context.graph.run, table.id, now, self.trigger)
        assert self.held.wait(PATIENCE)
        return done

    def wait_for(self, statement: Callable[[], Any]) -> Future[Any]:
        """The statement, which waits by now."""
        done = self.pool.submit(statement)
        done.add_done_callback(lambda _: self.waits.set())  # it did not wait
        assert self.waits.wait(PATIENCE)
        assert not done.done(), done.result()
        self.waits.clear()
        return done

    @contextmanager
    def show(self, text: str) -> Iterator[None]:
        with activity_step(text):
            shown = current_activity()
            assert shown is not None, "nobody sees for whom it waits"
            self.texts.append(shown.text)
            yield
        self.when_free()

    def let_go(self) -> None:
        self.free.set()


@contextmanager
def held_refresh(
    lab: Lab, trigger: RefreshTrigger = RefreshTrigger.SCHEDULED
) -> Iterator[tuple[Held, Future[Any]]]:
    lab.insert("item", "2")
    with ThreadPoolExecutor(3) as pool:
        held = Held(lab, pool, trigger)
        with (
            patch.object(lease_waits, "activity_step", held.show),
            hooked("before_write", held.stop_there),
            hooked("waits_for_lease", held.on_wait),
        ):
            try:
                yield held, held.begin()
            finally:
                held.let_go()


def ids(lab: Lab) -> list[int]:
    return [row[0] for row in lab.rows("d")]


def test_a_statement_runs_after_a_refresh_that_began_before_it(lab: Lab) -> None:
    before = len(ids(lab))
    with held_refresh(lab) as (held, running):
        lab.insert("item", "3")
        for refusal in (
            lambda: lab.engine.refresh("d", wait=0),
            lambda: lab.sql("ALTER DYNAMIC TABLE d REFRESH NOWAIT"),
            lambda: lab.sql("ALTER DYNAMIC TABLE e REFRESH FULL NOWAIT"),
        ):
            with refused("DT-2104"):
                refusal()
        assert not held.texts
        of_sql = held.wait_for(lambda: lab.sql("ALTER DYNAMIC TABLE d REFRESH"))
        of_reader = held.wait_for(lambda: lab.engine.refresh("e"))
        held.let_go()
        assert running.result().statistics.inserted_rows == 1
        assert of_sql.result()[0][0].endswith("d")
        assert of_reader.result().error is None
    assert len(ids(lab)) == before + 2
    assert lab.sql("SELECT n FROM e") == [(before + 2,)]
    owner = f"process {os.getpid()} on "
    assert f"Waiting for the scheduled refresh of d ({owner}" in held.texts[0]
    records = lab.context.catalog.history(lab.engine.table("d").name, 3)
    assert str(records[0].action) in ("INCREMENTAL", "NO_DATA")
    lab.verified("d", "e")


def test_a_refresh_that_read_all_is_joined(lab: Lab) -> None:
    joined: list[Any] = []

    def refresh_before_the_one_that_waits() -> None:
        if not joined:
            table, now = lab.engine.table("d"), lab.context.clock.now()
            joined.append(lab.context.graph.run(table.id, now, RefreshTrigger.SCHEDULED))

    with held_refresh(lab) as (held, running):
        lab.insert("item", "4")
        held.when_free = refresh_before_the_one_that_waits
        waiting = held.wait_for(lambda: lab.engine.refresh("d"))
        held.let_go()
        assert waiting.result().query_id == joined[0].query_id != running.result().query_id
    assert 4 in ids(lab)
    with held_refresh(lab) as (held, running):
        full = held.wait_for(lambda: lab.engine.refresh("d", full=True))
        held.let_go()
        assert str(full.result().action) == "FULL"
        assert full.result().query_id != running.result().query_id
    lab.verified("d")


def test_an_altered_definition_waits_for_the_refresh_of_the_one_before(lab: Lab) -> None:
    lab.insert("item", "7")
    with held_refresh(lab) as (held, running):
        made = held.wait_for(
            lambda: lab.sql("CREATE OR ALTER DYNAMIC TABLE d AS SELECT id FROM item WHERE id > 1")
        )
        held.let_go()
        made.result()
        assert running.result().error is None
    assert 7 in ids(lab)
    assert 1 not in ids(lab)
    lab.verified("d")


def test_an_interrupt_ends_the_waiting(lab: Lab) -> None:
    with held_refresh(lab) as (held, running):
        pressed: list[None] = []

        def press() -> None:
            if not pressed:
                pressed.append(None)
                os.kill(os.getpid(), signal.SIGINT)

        held.while_waiting = press
        with pytest.raises(KeyboardInterrupt):
            lab.sql("ALTER DYNAMIC TABLE d REFRESH")
        assert not running.done()
        held.let_go()
        assert running.result().error is None


HOLDER = """
import sys, uuid
from pathlib import Path
from dt_jupyter.catalog import Catalog, Owner, find_database
from dt_jupyter.model import Clock, RefreshTrigger
from dt_jupyter.sources import Layout
layout, clock = Layout(Path(sys.argv[1])), Clock()
database = find_database(layout.catalog, None, home=False)
owner = Owner.here(uuid.uuid4().hex)
catalog = Catalog(layout.catalog, clock, owner, lake=layout.lake, database=database)
catalog.begin(sys.argv[2], RefreshTrigger.MANUAL, clock.now(), uuid.uuid4().hex, 3600.0)
print("holds", flush=True)
sys.stdin.readline()
"""


def test_a_process_that_is_killed_is_waited_for_no_longer(lab: Lab) -> None:
    lab.insert("item", "6")
    command = [sys.executable, "-c", HOLDER, str(lab.folder), lab.engine.table("d").id]
    other = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "holds\n"

    def kill() -> None:
        other.kill()
        other.wait()

    with hooked("waits_for_lease", kill):
        assert lab.refresh("d") == "INCREMENTAL"
    assert 6 in ids(lab)


def test_a_lease_of_another_machine_is_waited_for_until_it_ends(lab: Lab) -> None:
    catalog, table = lab.context.catalog, lab.engine.table("d")
    own, catalog.owner = catalog.owner, Owner("elsewhere", 1, "uid-gone", "1")
    catalog.begin(table.id, RefreshTrigger.MANUAL, lab.context.clock.now(), "q-gone", ttl=0.2)
    catalog.owner = own
    waits: list[None] = []
    with hooked("waits_for_lease", lambda: waits.append(None)):
        assert lab.record("d").error is None
    assert waits
    with pytest.raises(DTError, match="DT-1003"):
        lab.engine.refresh("d", wait=-1)
