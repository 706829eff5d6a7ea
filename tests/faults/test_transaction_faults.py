"""Transactions of two processes, by their phases, and one whose JVM dies too: all or nothing, and
each change once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from dt_jupyter.lake.write.failpoints import FAILPOINT, hooked
from tests.experiments import KILLED_IN_CONSUMPTION, TWO_PROCESSES
from tests.faults.attached import ROOT, process
from tests.faults.transaction_worker import run
from tests.spark.engine_lab import Lab

pytestmark = pytest.mark.slow
MODULE = "tests.faults.transaction_worker"


@pytest.fixture
def till(lab: Lab) -> Lab:
    """Orders and payments, a stream on each, what orders add up to, and a list of payments."""
    lab.table("orders", "n BIGINT", "1")
    lab.table("payments", "n BIGINT", "2")
    lab.table("added", "n BIGINT", "0")
    lab.table("listed", "n BIGINT")
    for source in ("orders", "payments"):
        lab.sql(f"CREATE STREAM {source}_s ON TABLE {source} SHOW_INITIAL_ROWS = TRUE")
    return lab


def whole(lab: Lab) -> bool:
    """Whether all changes are in both tables, once."""
    (ordered,) = lab.sql("SELECT sum(n) FROM orders")
    return lab.rows("added") == [ordered] and lab.rows("listed") == lab.rows("payments")


def clean(lab: Lab) -> bool:
    """Whether nothing is staged any more, and no stream taken."""
    return not lab.left()


@TWO_PROCESSES
@pytest.mark.nightly
def test_two_processes_on_one_stream_by_phases(till: Lab) -> None:
    """Whoever takes a stream first has it to the end; a loser has changed nothing. For one that is
    on record as committed whoever reads waits, and is told so where it does not get on."""
    told: dict[str, str] = {}

    def other_runs(point: str) -> None:
        if point in told:
            return
        other = process(till.spark, MODULE, str(till.folder))
        out, errors = other.communicate("\n", timeout=300)
        assert other.returncode == 0, errors[-2000:]
        told[point] = out.split()[-1]

    for point in ("tx_intent_recorded", "tx_statement_staged", "tx_prepared"):
        till.insert("orders", "1")
        till.insert("payments", "2")
        with hooked(point, partial(other_runs, point)):
            mine = run(till.engine)
        assert mine == "done", "one that has read nothing yet reads what the other one left"
        assert whole(till), point
        assert clean(till), point
    till.serializable()
    assert told == {
        "tx_intent_recorded": "done",
        "tx_statement_staged": "DT-3203",
        "tx_prepared": "DT-2122",
    }


@KILLED_IN_CONSUMPTION
@pytest.mark.nightly
def test_a_whole_process_that_is_killed(till: Lab) -> None:
    """With its own JVM, between the two tables."""
    till.engine.close()
    env = {**os.environ, FAILPOINT: "tx_target_published:1"}
    other = subprocess.Popen(
        [sys.executable, "-m", MODULE, str(till.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=env,
    )
    _, errors = other.communicate("\n", timeout=300)
    assert other.returncode == -signal.SIGKILL, errors[-2000:]
    till.reopen()
    assert whole(till)
    assert clean(till)
    till.serializable()
