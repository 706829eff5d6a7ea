"""`python -m dt_jupyter` as a process of its own, on a lake that outlives each of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cases import some
from tests.unit.watching.ports import free_port

CHECKOUT = Path(__file__).parents[2]
LIMIT_SECONDS = 300
SETUP = """
CREATE TABLE orders (id INT, price INT); INSERT INTO orders VALUES (1, 10), (2, 5);
CREATE DYNAMIC TABLE total TARGET_LAG = '1 day' AS
  SELECT price > 7 AS dear, sum(price) AS s FROM orders GROUP BY price > 7;
SELECT sum(s) AS s FROM total"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("terminal") / "lake"


def command(lake: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "dt_jupyter", str(lake), "--memory", "1g", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1"}


def run(lake: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(lake, *arguments),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def test_a_script_prints_what_each_statement_did(lake: Path) -> None:
    done = run(lake, "sql", SETUP)
    assert done.returncode == 0, done.stderr
    assert "CREATE TABLE orders: done" in done.stdout
    assert "Dynamic table total [AUTO → INCREMENTAL]" in done.stdout
    assert "15\n1 row · Snapshot (data time " in done.stdout


def test_an_error_is_a_few_lines_and_1(lake: Path) -> None:
    done = run(lake, "sql", "SELECT * FROM odrers")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines()[:3] == [
        "DT-1101: Table, view or dynamic table odrers does not exist.",
        "  1 | SELECT * FROM odrers",
        "    |               ^^^^^^",
    ]
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
def test_one_shot_commands(lake: Path) -> None:
    assert "total: SUCCEEDED NO_DATA" in run(lake, "refresh", "total").stdout


@pytest.mark.nightly
def test_a_verification(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    assert run(lake, "sql", SETUP).returncode == 0
    assert "total equals its query" in run(lake, "verify", "total").stdout


@pytest.mark.parametrize("number", some(1, [signal.SIGTERM, signal.SIGINT]))
def test_the_scheduler_runs_until_a_signal(lake: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        command(lake, "run"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith(f"The scheduler runs on {lake}"), line
        process.send_signal(number)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out.startswith("Stopping")
    assert "Traceback" not in err


@pytest.mark.nightly
def test_a_scheduler_that_is_watched(tmp_path: Path) -> None:
    """Its log is JSON lines and nothing else, and its metrics are served while it runs."""
    lake, port = tmp_path / "lake", free_port()
    setup = SETUP.replace("'1 day'", "'1 second'") + "; INSERT INTO orders VALUES (3, 20)"
    assert run(lake, "sql", setup).returncode == 0
    process = subprocess.Popen(
        command(lake, "run", "--log", "json", "--metrics-port", str(port)),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = []
        while not any(e.get("kind") == "REFRESH" for e in told):
            told.append(json.loads(process.stdout.readline()))
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
            families = {f.name: f for f in text_string_to_metric_families(answer.read().decode())}
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, err
    told += [json.loads(line) for line in out.splitlines()]
    assert [e["state"] for e in told if e.get("kind") == "SCHEDULER"] == ["STARTED", "STOPPED"]
    (refresh, *_) = [e for e in told if e.get("kind") == "REFRESH"]
    assert (refresh["name"], refresh["action"], refresh["inserted_rows"]) == (
        "total",
        "INCREMENTAL",
        1,
    )
    ended = families["dt_refreshes"].samples
    assert ("total", "INCREMENTAL") in {(s.labels["table"], s.labels["action"]) for s in ended}
