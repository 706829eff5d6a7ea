"""Processes killed with their own Java in the middle of a refresh, and two that refresh one table.

After every kill: DVS (the contents are the query at the recorded data timestamp), AGREE (catalog
and log say the same), and the next refresh goes on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.lake.write.failpoints import FAILPOINT
from tests.experiments import KILLED_IN_REFRESH, TWO_PROCESSES
from tests.faults.engine_worker import rounds
from tests.spark.engine_lab import Lab, without_check

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
QUERY = (
    "SELECT n, count(*) AS c, sum(s) AS t FROM "
    "(SELECT k, count(*) AS n, sum(id) AS s FROM item GROUP BY k) GROUP BY n"
)


@pytest.fixture
def shop(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A table, a dynamic table of two stages over it, and rows that are not in it yet."""
    without_check(monkeypatch)
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'a'", "3, 'b'")
    lab.dynamic_table("d", QUERY)
    lab.insert("item", "4, 'b'", "5, 'c'")
    return lab


def worker(lab: Lab, *args: str, failpoint: str | None = None) -> subprocess.Popen[str]:
    env = {**os.environ, **({FAILPOINT: failpoint} if failpoint else {})}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.engine_worker", str(lab.folder), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=env,
    )


def commits(lab: Lab) -> list[int]:
    """The sequence number of each refresh in the public table's log, in order."""
    table = lab.engine.table("d")
    log = TableLog(lab.context.layout.public(table.id))
    found = [c.transactions.get(f"dt:{table.id}") for c in log.commits(0, log.version())]
    return [n for n in found if n is not None]


# The hidden stage commits first, the public table second, and after the first and before the
# second is one state; every point of one commit is test_lake_faults' to reach.
KILLS = ["after_fsync:2", "after_write:1", "before_write:1", "after_fsync:1", "after_write:2"]


@KILLED_IN_REFRESH
@pytest.mark.nightly
@pytest.mark.parametrize("failpoint", KILLS)
def test_a_refresh_that_is_killed_loses_and_doubles_nothing(shop: Lab, failpoint: str) -> None:
    shop.engine.close()
    process = worker(shop, "d", "1", failpoint=failpoint)
    _, errors = process.communicate("\n", timeout=300)
    assert process.returncode == -signal.SIGKILL, errors[-2000:]
    shop.reopen()
    table = shop.engine.table("d")
    assert table.version == shop.version("d")
    assert commits(shop) == list(range(1, table.sequence + 1))
    shop.verified("d")
    record = shop.record("d")
    assert record.error is None, record.error
    assert record.action in ("INCREMENTAL", "NO_DATA")
    shop.verified("d")
    assert shop.rows("d") == [(1, 1, 5), (2, 2, 10)]
    shop.insert("item", "6, 'c'")
    assert shop.refresh("d") == "INCREMENTAL"
    shop.verified("d")
    assert shop.rows("d") == [(2, 3, 21)]
    shop.serializable()


FUNCTIONS = "SELECT id, k, shout(k) AS v, stamp(k) AS w FROM item"
"""Each function has a stage of its own, and the public table is the third."""


@KILLED_IN_REFRESH
@pytest.mark.nightly
@pytest.mark.parametrize("failpoint", [*KILLS, "after_write:3"])
def test_one_that_calls_functions_and_is_killed_keeps_the_values_of_the_rows_that_are_there(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, failpoint: str
) -> None:
    def stamp(x: str) -> str:
        import uuid

        return f"{x} {uuid.uuid4().hex}"

    without_check(monkeypatch)
    lab.engine.register_udf("shout", lambda x: x.upper(), "string", immutable=True)
    lab.engine.register_udf("stamp", stamp, "string", on_change=True)
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'a'", "3, 'b'")
    lab.dynamic_table("d", FUNCTIONS)
    before = lab.rows("d")
    lab.sql("INSERT INTO item VALUES (4, 'b'), (5, 'c'); DELETE FROM item WHERE id = 1")
    lab.engine.close()
    process = worker(lab, "d", "1", failpoint=failpoint)
    _, errors = process.communicate("\n", timeout=300)
    assert process.returncode == -signal.SIGKILL, errors[-2000:]
    lab.reopen()
    assert lab.engine.verify("d").equal
    assert lab.record("d").error is None
    verdict = lab.engine.verify("d")
    assert verdict.equal, verdict
    after = lab.rows("d")
    assert [r[:3] for r in after] == [(2, "a", "A"), (3, "b", "B"), (4, "b", "B"), (5, "c", "C")]
    assert after[:2] == before[1:]
    assert len({r[3] for r in after}) == 4
    lab.insert("item", "6, 'c'")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d")[:4] == after
    assert lab.engine.verify("d").equal


LISTS = ["files_copied:1", "files_listed:1", "before_write:1", "after_fsync:1"]
"""Before and after the list of files has its version, and the table its own."""


@KILLED_IN_REFRESH
@pytest.mark.nightly
@pytest.mark.parametrize("failpoint", LISTS)
def test_a_refresh_over_files_that_is_killed_reads_each_file_once(
    lab: Lab, tmp_path: Path, failpoint: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.json").write_text('{"id": 1}\n{"id": 1}\n')
    lab.dynamic_table("d", f"SELECT id, count(*) AS c FROM json.`file:{folder}` GROUP BY id")
    (folder / "b.json").write_text('{"id": 1}\n{"id": 2}\n')
    lab.engine.close()
    process = worker(lab, "d", "1", failpoint=failpoint)
    _, errors = process.communicate("\n", timeout=300)
    assert process.returncode == -signal.SIGKILL, errors[-2000:]
    (folder / "c.json").write_text('{"id": 3}\n')
    lab.reopen()
    record = lab.record("d")
    assert (record.error, str(record.action)) == (None, "INCREMENTAL")
    assert lab.rows("d") == [(1, 3), (2, 1), (3, 1)]
    lab.verified("d")
    (lists,) = (f for f in lab.context.layout.files.iterdir() if f.is_dir())
    assert not [*lists.glob("batch/*/_open")], "what was never listed is gone"
    assert len([*lists.glob("batch/*")]) == (3 if failpoint != "files_copied:1" else 2)


@pytest.mark.nightly
@TWO_PROCESSES
@pytest.mark.compiled
def test_two_processes_that_refresh_one_table_have_one_winner_for_each_sequence(shop: Lab) -> None:
    process = worker(shop, "d", "4", "item")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready"
    process.stdin.write("\n")
    process.stdin.flush()
    mine = rounds(shop.engine, "d", 4, "item", 2000)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-2000:]
    theirs = out.split()
    assert len(theirs) == len(mine) == 4
    assert "INCREMENTAL" in {*theirs, *mine}
    record = shop.record("d")
    assert record.error is None, record.error
    table = shop.engine.table("d")
    assert commits(shop) == list(range(1, table.sequence + 1))
    assert table.version == shop.version("d")
    shop.verified("d")
    shop.serializable()
