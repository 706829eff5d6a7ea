"""kill -9 of the process that delivers, with its recovery log in a catalog, again and again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sinks.killed_delivery import run
from tests.sinks.test_sqlite import SqliteSite
from tests.unit.sinks.lab import events, oracle, summed

ROOT = Path(__file__).resolve().parents[2]


def kill_at(folder: Path, at: int, *url: str) -> bool:
    """Whether it was killed; else it is done."""
    command = [sys.executable, "-m", "tests.sinks.killed_delivery", folder, str(at), *url]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.parametrize("steps", [(37, 5, 61), (23, 48, 90)])
def test_every_sum_is_exact_after_kills(tmp_path: Path, steps: tuple[int, ...]) -> None:
    """Three processes die at other points each; the fourth goes on to the end."""
    kills = sum(kill_at(tmp_path, at) for at in steps)
    assert kills >= 2
    run(tmp_path, 0)
    site = SqliteSite(tmp_path / "store.db")
    assert site.rows(summed()) == oracle(summed(), events(3, 9))


def test_the_points_are_all_of_the_messages(tmp_path: Path) -> None:
    assert run(tmp_path, 0) > 100
