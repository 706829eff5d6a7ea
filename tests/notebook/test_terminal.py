"""`python -m dt_jupyter` as a process of its own, on a lake that outlives each of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import some

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
