"""Processes killed while they consume a stream, and two that consume one: each change once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dt_jupyter.lake.points import FAILPOINT, INTENTS
from tests.faults.stream_worker import CONSUME, consume
from tests.spark.engine_lab import Lab

pytestmark = [pytest.mark.faults, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def till(lab: Lab) -> Lab:
    """A table of amounts, a stream on it, and the table that the amounts are added up from."""
    lab.table("events", "n BIGINT", "1", "2")
    lab.table("total", "n BIGINT")
    lab.sql("CREATE STREAM s ON TABLE events SHOW_INITIAL_ROWS = TRUE")
    return lab


def worker(
    lab: Lab, rounds: int, first: int, failpoint: str | None = None
) -> subprocess.Popen[str]:
    env = {**os.environ, **({FAILPOINT: failpoint} if failpoint else {})}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.stream_worker", str(lab.folder), str(rounds),
         str(first)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT, env=env,
    )  # fmt: skip


@pytest.mark.parametrize("failpoint", [f"{point}:{n}" for point in INTENTS for n in (1, 2)])
def test_a_consumer_that_is_killed_loses_and_doubles_nothing(till: Lab, failpoint: str) -> None:
    till.engine.close()
    process = worker(till, 3, 10, failpoint)
    _, errors = process.communicate("\n", timeout=300)
    assert process.returncode == -signal.SIGKILL, errors[-2000:]
    till.reopen()
    till.insert("events", "100")
    till.sql(CONSUME)
    assert till.rows("total") == till.rows("events")
    assert till.sql("SELECT * FROM s") == []


def test_two_processes_on_one_stream_give_each_change_once(till: Lab) -> None:
    process = worker(till, 4, 1000)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    process.stdin.write("\n")
    process.stdin.flush()
    mine = consume(till.engine, 4, 2000)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-2000:]
    assert len(out.split()) == len(mine) == 4
    till.sql(CONSUME)
    assert till.rows("total") == till.rows("events")
