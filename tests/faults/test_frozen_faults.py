"""Processes killed while they create a dynamic table whose frozen rows come from another one.

After every kill there is the table with those rows, or it is made, or made again, with them.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dt_jupyter.lake.write.failpoints import FAILPOINT, POINTS
from tests.experiments import KILLED_IN_REFRESH
from tests.spark.engine_lab import Lab, without_check

pytestmark = [KILLED_IN_REFRESH, pytest.mark.slow, pytest.mark.nightly]
ROOT = Path(__file__).resolve().parents[2]
QUERY = "SELECT g, sum(v) AS s FROM src GROUP BY g"
FROZEN = f"DYNAMIC TABLE d FROZEN WHERE (g < 2) BACKFILL FROM past AS {QUERY}"
_RUN = (
    "import sys; from dt_jupyter.engine import Engine; "
    "e = Engine.connect(sys.argv[1], scheduler=False, memory='1g'); e.sql(sys.argv[2])"
)


@pytest.mark.parametrize(
    ("point", "replaced"), [*((p, False) for p in POINTS), ("after_write", True)]
)
def test_frozen_rows_are_all_there_or_none_is(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, point: str, replaced: bool
) -> None:
    without_check(monkeypatch)
    lab.table("src", "g INT, v BIGINT", "1, 10", "2, 20")
    lab.table("past", "g INT, s BIGINT", "1, -1", "0, -5", "2, -9")
    if replaced:
        lab.dynamic_table("d", QUERY)
    lab.engine.close()
    run = [sys.executable, "-c", _RUN, str(lab.folder), f"CREATE OR REPLACE {FROZEN}"]
    env = {**os.environ, FAILPOINT: f"{point}:1"}
    done = subprocess.run(
        run, check=False, capture_output=True, text=True, cwd=ROOT, env=env, timeout=300
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    lab.reopen()
    filled = [(0, -5), (1, -1), (2, 20)]
    if any(t.definition.frozen for t in lab.context.catalog.list()):
        record = lab.record("d")
        assert record.error is None, record.error
        assert lab.rows("d") == filled
    lab.sql(f"CREATE OR REPLACE {FROZEN}")
    assert lab.rows("d") == filled
    lab.sql("UPDATE src SET v = v + 1")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [*filled[:2], (2, 21)]
