"""Delta's VACUUM without retention, from another process, at any moment: a replay goes on, and all
else gives the right rows or an error that says so; never others."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.errors import PySparkException

from dt_jupyter.model import DTError
from tests.experiments import KILLED_ELSEWHERE, VACUUM
from tests.faults.attached import process
from tests.faults.replay_worker import ordered
from tests.spark.engine_lab import Lab, refused

pytestmark = pytest.mark.slow
ROUNDS = int(os.environ.get("DT_JUPYTER_ROUNDS", "2"))


@pytest.mark.nightly
@KILLED_ELSEWHERE
def test_two_processes_find_the_same_and_a_killed_one_holds_nothing(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, n INT", "1, 1", "2, 2", "3, 3")
    lab.sql("UPDATE item SET n = 7 WHERE id < 3; DELETE FROM item WHERE id = 3")
    lab.insert("item", "4, 4", "4, 4")
    asked = (lab.spark, "tests.faults.replay_worker", str(lab.folder), "item")
    found = process(*asked)
    out, errors = found.communicate(timeout=120)
    assert found.returncode == 0, errors[-2000:]
    assert out.split() == ordered(lab.engine, "item")
    assert len(set(out.split())) == 4
    killed = process(*asked, "KILLED")
    out, errors = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, errors[-2000:]
    folder = lab.context.layout.pins / out.strip()
    assert folder.is_dir()
    assert len(lab.engine.pins()) == 0
    assert not folder.exists()


@contextmanager
def vacuum(worker: subprocess.Popen[str]) -> Iterator[None]:
    """A VACUUM that runs beside the block; no writer does, whose files it would take too."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write("\n")
    worker.stdin.flush()
    yield
    assert worker.stdout.readline().strip() == "done"


def net(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Rows and their `$ACTION` as what they add and take away."""
    found: Counter[tuple[Any, ...]] = Counter()
    for *values, action in rows:
        found[tuple(values)] += 1 if action == "INSERT" else -1
    return found


@VACUUM
def test_a_vacuum_at_any_moment(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, n INT", "1, 1", "2, 2")
    lab.dynamic_table("total", "SELECT n, COUNT(*) AS many FROM item GROUP BY n")
    lab.sql("CREATE STREAM s ON TABLE item")
    log = lab.context.sources.logs[str(lab.context.layout.tables / "item")]
    made = {log.version(): Counter(lab.rows("item"))}
    first = log.version()
    for i in range(2):
        lab.sql(f"INSERT OVERWRITE item VALUES ({i}, {i}), (9, 9)")
        made[log.version()] = Counter(lab.rows("item"))
    folder = str(lab.context.layout.tables / "item")
    worker = process(lab.spark, "tests.faults.vacuum_worker", folder)
    assert worker.stdout is not None
    assert worker.stdout.readline().strip() == "ready"
    with lab.engine.replay("item", at=first, to=log.version()) as replay:
        for i in range(ROUNDS):
            lab.sql(f"INSERT OVERWRITE item VALUES ({i}, {i}), ({i + 1}, 7)")
            now = Counter(lab.rows("item"))
            with vacuum(worker):
                try:
                    moved = net(lab.sql("SELECT id, n, $ACTION FROM s"))
                    moved.update(made[first])
                    assert +moved == now
                except DTError as e:
                    if e.code != "DT-3202":
                        raise
                except PySparkException as e:
                    if "FILE" not in (e.getCondition() or ""):
                        raise
                record = lab.record("total")
                assert record.error is None or record.error_code is not None
                for version, wanted in made.items():
                    rows = replay.frame(version - first).collect()
                    assert Counter(map(tuple, rows)) == wanted
            if record.error is None:
                lab.verified("total")
        assert [s.row_count for s in replay] == [c.total() for c in made.values()]
        past = "SELECT * FROM item AT (VERSION => {})"
        with refused("DT-4104"):
            lab.sql(past.format(first + 3))
        assert Counter(lab.sql(past.format(first + 1))) == made[first + 1]
    worker.communicate(timeout=60)
    assert worker.returncode == 0
