"""All tests on Spark once more, what they verify compared by `verify` and by its rival both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "spark").glob("test_*.py"))
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_verified_is_right_by_both_oracles(part: int) -> None:
    own = [str(f) for i, f in enumerate(FILES) if i % PARTS == part]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--timeout=600", *own],
        cwd=ROOT, env={**os.environ, "DT_TEST_ORACLES": "both"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-20_000:]
