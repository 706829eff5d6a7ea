"""Each part of the engine, and all operators over random rows, with the tables on storage that is
no disk, and the catalog in PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("anywhere", "refresh/test_operators.py", "refresh/test_oracle_random.py")


@pytest.mark.parametrize("storage", ["hdfs", "s3"])
def test_each_part_with_its_tables_elsewhere(storage: str) -> None:
    options = ["-q", "--timeout=900", "-m", "nightly or not nightly"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(f"tests/spark/{name}" for name in FILES)],
        cwd=ROOT,
        env={**os.environ, "DT_TEST_TABLES": storage, "DT_TEST_CATALOG": "postgresql"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
