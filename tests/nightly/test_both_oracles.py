"""The tests on Spark of every change once more, what they verify compared by `verify` and by its
rival both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ["--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder"]


def test_what_is_verified_is_right_by_both_oracles() -> None:
    options = ["-q", "--timeout=600", "-m", "not nightly", *SHARED]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/spark"],
        cwd=ROOT,
        env={**os.environ, "DT_TEST_ORACLES": "both"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
