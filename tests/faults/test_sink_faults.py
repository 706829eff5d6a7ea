"""Processes killed while they deliver a sink, the first rows and later ones: the next process goes
on, and every sum is exact."""

from __future__ import annotations

import json
import signal
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cases import some
from tests.experiments import KILLED_ELSEWHERE
from tests.faults.attached import process
from tests.spark.engine_lab import Lab

pytestmark = [KILLED_ELSEWHERE, pytest.mark.slow]
CASES = [
    ("sqlite", "stored", 3),
    ("sqlite", "logged", 1),
    ("sqlite", "logged", 4),
    ("sqlite", "opened", 1),
    ("sqlite", "fenced", 1),
    ("sqlite", "prepared", 2),
    ("parquet", "sealed", 3),
    ("parquet", "logged", 2),
    ("parquet", "listed", 3),
    ("parquet", "applied", 4),
]


def killed(lab: Lab, statement: str, point: str, count: int) -> None:
    """Another process begins a statement, and dies in the middle of it."""
    other = process(
        lab.spark, "tests.faults.killed_sink", str(lab.folder), statement, point, str(count)
    )
    _, errors = other.communicate(timeout=180)
    assert other.returncode == -signal.SIGKILL, errors[-2000:]


def sums(folder: Path, store: str) -> list[tuple[object, ...]]:
    if store == "sqlite":
        with sqlite3.connect(folder / "app.db") as connection:
            return connection.execute("SELECT * FROM moves ORDER BY k").fetchall()
    target = folder / "files" / "moves"
    manifest = json.loads((target / "_manifest.json").read_text("utf-8"))
    rows = [
        row
        for name in manifest["files"].values()
        for row in pq.read_table(target / name).to_pylist()
    ]
    return sorted((row["k"], row["n"]) for row in rows)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("store", "point", "count"), some(1, CASES))
def test_whoever_comes_after_a_killed_one_goes_on(
    quick_lab: Lab, tmp_path: Path, store: str, point: str, count: int
) -> None:
    lab, folder = quick_lab, tmp_path
    url = f"sqlite://{folder}/app.db" if store == "sqlite" else f"file://{folder}/files"
    lab.sql("CREATE TABLE moves AS SELECT concat('k', id % 7) AS k, id AS n FROM range(40)")
    killed(
        lab,
        f"CREATE SINK s FROM TABLE moves INTO '{url}' KEY (k) REDUCE (n SUM)",
        point,
        count,
    )
    lab.sql("INSERT INTO moves SELECT concat('k', id % 9), 1000 * id FROM range(20)")
    killed(lab, "ALTER SINK s REFRESH", point, count)
    lab.sql("INSERT INTO moves SELECT concat('k', id % 9), 1000000 FROM range(20)")
    lab.sql("ALTER SINK s REFRESH")
    assert sums(folder, store) == lab.sql("SELECT k, sum(n) FROM moves GROUP BY k ORDER BY k")
    assert lab.sql("SELECT STATE FROM TABLE(SINK_HISTORY()) LIMIT 1") == [("SUCCEEDED",)]


STREAMS = [
    ("sqlite", "stored", 1, "TABLE moves"),
    ("sqlite", "logged", 1, "VIEW seen"),
    ("sqlite", "moved", 1, "TABLE moves"),
    ("sqlite", "prepared", 1, "VIEW seen"),
    ("parquet", "sealed", 1, "TABLE moves"),
    ("parquet", "logged", 1, "VIEW seen"),
    ("parquet", "applied", 1, "TABLE moves"),
    ("parquet", "moved", 1, "VIEW seen"),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("store", "point", "count", "on"), some(1, STREAMS))
def test_a_stream_stands_behind_what_is_delivered(
    quick_lab: Lab, tmp_path: Path, store: str, point: str, count: int, on: str
) -> None:
    """Killed in the middle of its first delivery and of a later one; then the sink is dropped, and
    what the stream holds is what came after."""
    lab, folder = quick_lab, tmp_path
    url = f"sqlite://{folder}/app.db" if store == "sqlite" else f"file://{folder}/files"
    lab.sql(
        "CREATE TABLE moves AS SELECT concat('k', id % 7) AS k, id AS n FROM range(40); "
        f"CREATE VIEW seen AS SELECT * FROM moves WHERE n >= 0; CREATE STREAM x ON {on}; "
        "INSERT INTO moves SELECT concat('k', id % 9), 1000 * id FROM range(20)"
    )
    into = f"INTO '{url}?table=moves' KEY (k) REDUCE (n SUM)"
    killed(lab, f"CREATE SINK s FROM STREAM x {into}", point, count)
    lab.sql("INSERT INTO moves SELECT concat('k', id % 9), 1000000 FROM range(20)")
    killed(lab, "ALTER SINK s REFRESH", point, count)
    lab.sql("INSERT INTO moves SELECT concat('k', id % 9), 1000000000 FROM range(20)")
    lab.sql("DROP SINK s")
    left = lab.sql("SELECT k, n FROM x")
    stored = {str(k): int(str(n)) for k, n in sums(folder, store)}
    for key, n in left:
        stored[key] = stored.get(key, 0) + n
    new = "SELECT k, sum(n) FROM moves WHERE n % 1000 = 0 AND n <> 0 GROUP BY k ORDER BY k"
    assert {k: n for k, n in sorted(stored.items()) if n} == dict(lab.sql(new))
    assert {n for _, n in left} >= {1000000000}
