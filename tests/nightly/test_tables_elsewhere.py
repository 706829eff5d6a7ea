"""Each part of the engine, all operators over random rows, and processes that are killed, with the
tables, or the lake, on storage that is no disk, and the catalog in PostgreSQL."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = (
    "spark/anywhere", "spark/refresh/test_operators.py", "spark/refresh/test_oracle_random.py",
)  # fmt: skip
IN_A_LAKE = "spark/anywhere", "spark/refresh/test_oracle_random.py", "faults/test_many_kills.py"
KILLED = "faults/test_refresh_faults.py"
"""Of processes that are told nothing of a store but its address."""


@pytest.mark.parametrize(("storage", "files"), [("hdfs", (*FILES, KILLED)), ("s3", FILES)])
def test_each_part_with_its_tables_elsewhere(storage: str, files: tuple[str, ...]) -> None:
    require_passed(files, DT_TEST_TABLES=storage)


@pytest.mark.parametrize("storage", ["hdfs", "s3"])
def test_each_part_with_its_lake_elsewhere(storage: str) -> None:
    require_passed(IN_A_LAKE, DT_TEST_LAKE=storage)


def require_passed(files: Sequence[str], **told: str) -> None:
    options = ["-q", "--timeout=900", "-m", "nightly or not nightly"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(f"tests/{name}" for name in files)],
        cwd=ROOT,
        env={**os.environ, **told, "DT_TEST_CATALOG": "postgresql"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
