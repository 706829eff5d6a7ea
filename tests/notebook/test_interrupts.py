"""Ctrl-C in a real kernel: the Spark jobs end, one line says so, kernel and tables stay usable.

A thread in the kernel makes a file as soon as Spark runs a job of the cell under test; that file
is what the test waits for before it interrupts.
"""

from __future__ import annotations

import pytest

from tests.notebook.conftest import Kernel, Reply

WATCH = """
import pathlib, threading
def watch(name, tracker=spark.sparkContext.statusTracker(), pause=threading.Event()):
    while not tracker.getActiveJobsIds():
        pause.wait(0.02)
    pathlib.Path(name).touch()
def active(tracker=spark.sparkContext.statusTracker(), pause=threading.Event()):
    "The jobs that run, once those that were cancelled have had time to end."
    for _ in range(500):
        if not tracker.getActiveJobsIds():
            break
        pause.wait(0.02)
    return list(tracker.getActiveJobsIds())
threading.Thread(target=watch, args=({name!r},), daemon=True).start()
"""
ROWS = "(SELECT explode(sequence(1, 700)) AS e FROM seeds)"
SLOW = f"SELECT count(*) AS n FROM {ROWS} x CROSS JOIN {ROWS} y WHERE hash(x.e, y.e) > 7"
ENDLESS = SLOW.replace("700", "1000000")


@pytest.fixture(scope="module")
def slow(kernel: Kernel) -> Kernel:
    """A kernel with a dynamic table whose contents take a second to compute, from two rows; from
    nine they take twenty times as long."""
    kernel.run("%dt connect lake").ok  # noqa: B018
    kernel.run("%dt CREATE TABLE seeds (k BIGINT); INSERT INTO seeds VALUES (1), (2)").ok  # noqa: B018
    kernel.run(f"%%dynamic_table slow --refresh-mode full\n{SLOW}").ok  # noqa: B018
    return kernel


def interrupted(kernel: Kernel, source: str, mark: str) -> Reply:
    """Runs a cell and interrupts it while Spark is at work for it."""
    file = kernel.folder / mark
    kernel.run(WATCH.format(name=str(file))).ok  # noqa: B018
    reply = kernel.run(source, interrupt_when=file.exists)
    assert len(reply.told.splitlines()) <= 2, reply.told
    assert "Traceback" not in reply.text + reply.told
    assert kernel.value("active()") == "[]"
    return reply


def states(kernel: Kernel) -> str:
    return kernel.value("[str(r.state) for r in engine.records('slow') if r.trigger == 'MANUAL']")


def test_a_query_of_a_script(slow: Kernel) -> None:
    reply = interrupted(slow, f"%%dt\nINSERT INTO seeds VALUES (3);\n{ENDLESS}", "query")
    assert reply.error == "Interrupted"
    assert "INSERT seeds: 1 row" in reply.text or "nothing was changed" in reply.told


def test_a_creation_leaves_nothing(slow: Kernel) -> None:
    reply = interrupted(slow, f"%%dynamic_table never\n{ENDLESS}", "creation")
    assert reply.told == "Interrupted: never was not created, nothing was changed."
    assert slow.run("%dt SELECT * FROM never").error == "DTError"
    assert "never" not in slow.run("%dt SHOW DYNAMIC TABLES").ok.text


def test_a_refresh_is_cancelled_and_the_table_is_as_it_was(slow: Kernel) -> None:
    slow.run("engine = dt").ok  # noqa: B018
    before = slow.value("spark.table('slow').collect()")
    slow.run("%dt INSERT INTO seeds VALUES (4), (5), (6), (7), (8), (9)").ok  # noqa: B018
    reply = interrupted(slow, "%dt refresh slow", "refresh")
    assert "DT-2106: The refresh of slow was cancelled." in reply.told
    assert states(slow) == "['CANCELLED']"
    reply = interrupted(slow, "%dt ALTER DYNAMIC TABLE slow REFRESH", "alter")
    assert reply.told == "Interrupted: nothing was changed."
    reply = interrupted(slow, "engine.refresh('slow')", "method")
    assert reply.told == "Interrupted: the Spark jobs of this cell were cancelled."
    assert states(slow) == "['CANCELLED', 'CANCELLED', 'CANCELLED']"
    assert slow.value("spark.table('slow').collect()") == before
    assert (
        slow.value("engine.context.catalog.running(), engine.table('slow').error_count")
        == "((), 0)"
    )


def test_a_plain_cell(slow: Kernel) -> None:
    source = f"spark.sql('''{ENDLESS}''').collect()"
    reply = interrupted(slow, source, "plain")
    assert reply.told == "Interrupted: the Spark jobs of this cell were cancelled."


def test_after_all_that_the_table_refreshes_and_verifies(slow: Kernel) -> None:
    slow.run("%dt DELETE FROM seeds WHERE k > 2").ok  # noqa: B018
    reply = interrupted(slow, "%dt verify slow", "verify")
    assert reply.told == "Interrupted: nothing was changed."
    assert "SUCCEEDED" in slow.run("%dt refresh slow").ok.text
    assert "✓ slow equals its query" in slow.run("%dt verify slow").ok.text
