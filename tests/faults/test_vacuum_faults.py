"""Delta's VACUUM without retention, from another process, at any moment: a replay goes on, and all
else gives the right rows or an error that says so; never others."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.errors import PySparkException

from dt_jupyter.model import DTError
from tests.faults.attached import process
from tests.faults.replay_worker import ordered
from tests.spark.engine_lab import Lab

pytestmark = [pytest.mark.faults, pytest.mark.slow]
ROUNDS = 4


@pytest.fixture
def item(lab: Lab) -> Lab:
    lab.table("item", "id INT, n INT", "1, 1", "2, 2", "3, 3")
    lab.sql("UPDATE item SET n = 7 WHERE id < 3; DELETE FROM item WHERE id = 3")
    lab.insert("item", "4, 4", "4, 4")
    return lab


def test_two_processes_find_the_same(item: Lab) -> None:
    worker = process(item.spark, "tests.faults.replay_worker", str(item.folder), "item")
    out, errors = worker.communicate(timeout=120)
    assert worker.returncode == 0, errors[-2000:]
    assert out.split() == ordered(item.engine, "item")
    assert len(set(out.split())) == 4


def test_what_a_killed_process_held_is_let_go(item: Lab) -> None:
    arguments = (str(item.folder), "item", "KILLED")
    worker = process(item.spark, "tests.faults.replay_worker", *arguments)
    out, errors = worker.communicate(timeout=120)
    assert worker.returncode == -signal.SIGKILL, errors[-2000:]
    folder = item.engine.layout.pins / out.strip()
    assert folder.is_dir()
    assert len(item.engine.pins()) == 0
    assert not folder.exists()


@contextmanager
def vacuums(lab: Lab, *tables: str) -> Iterator[None]:
    """VACUUM of the tables, all the time; at least once."""
    folders = [str(lab.engine.layout.tables / t) for t in tables]
    worker = process(lab.spark, "tests.faults.vacuum_worker", *folders)
    assert worker.stdin is not None
    assert worker.stdout is not None
    assert worker.stdout.readline().strip() == "ready"
    try:
        yield
    finally:
        out, errors = worker.communicate("\n", timeout=120)
    assert int(out) >= 1, errors[-2000:]


def test_any_moment(lab: Lab) -> None:
    lab.table("item", "id INT, n INT", "1, 1", "2, 2")
    lab.dynamic_table("total", "SELECT n, COUNT(*) AS many FROM item GROUP BY n")
    lab.sql("CREATE STREAM s ON TABLE item")
    expected = [Counter(lab.rows("item"))]
    for i in range(3):
        lab.sql(f"INSERT OVERWRITE item VALUES ({i}, {i}), (9, 9)")
        expected.append(Counter(lab.rows("item")))
    read = refreshed = 0
    with lab.engine.replay("item", at=1, to=4) as replay, vacuums(lab, "item"):
        for i in range(ROUNDS):
            lab.sql(f"INSERT OVERWRITE item VALUES ({i}, {i}), ({i + 1}, 7)")
            try:
                rows = lab.sql("SELECT id, n, $ACTION FROM s")
                net = Counter((r[0], r[1]) for r in rows if r[2] == "INSERT")
                net.subtract((r[0], r[1]) for r in rows if r[2] == "DELETE")
                now, then = Counter(lab.rows("item")), expected[0].copy()
                then.update(net)
                assert +then == now
                read += 1
            except DTError as e:
                if e.code not in ("DT-3202", "DT-1112"):
                    raise
            except PySparkException as e:
                if "FILE" not in (e.getCondition() or ""):
                    raise
            record = lab.record("total")
            if record.error is None:
                lab.verified("total")
                refreshed += 1
            else:
                assert record.error_code is not None
            for number, wanted in enumerate(expected):
                found = Counter(tuple(r) for r in replay.frame(number).collect())
                assert found == wanted
        assert [s.row_count for s in replay] == [c.total() for c in expected]
        with lab.engine.replay("item") as now_:
            assert now_[0].row_count == 2
