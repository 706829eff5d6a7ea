"""Kills at every named point of a commit, and two processes that race for one sequence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from dt_jupyter.lake import (
    Append,
    CommitRequest,
    Committed,
    KeptColumns,
    Lost,
    TableLog,
    backing_properties,
    commit,
    recover,
)
from dt_jupyter.lake.write.create_commit import write_first
from dt_jupyter.lake.write.failpoints import FAILPOINT, FILE_POINTS, POINTS
from tests.cases import nightly
from tests.experiments import KILLED_IN_REFRESH, STOPPED, TWO_PROCESSES
from tests.unit.delta_logs import read, rows, small_table

ROOT = Path(__file__).parents[2]


def start(
    path: Path, sequence: int, attempt: str, *more: str, die_at: str = ""
) -> subprocess.Popen[str]:
    """A process that commits; it kills itself at the point `die_at`."""
    command = [sys.executable, "-m", "tests.faults.lake_writer", str(path), str(sequence), attempt]
    environment = {k: v for k, v in os.environ.items() if k != FAILPOINT}
    if die_at:
        environment[FAILPOINT] = f"{die_at}:1"
    return subprocess.Popen(
        [*command, *more], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )


@KILLED_IN_REFRESH
@pytest.mark.parametrize("merge", [False, True], ids=["append", "merge"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(tmp_path: Path, point: str, merge: bool) -> None:
    log = small_table(tmp_path / "t")
    commit(CommitRequest(log.path, "dt:1", 1, "first"), Append(rows(1, 2)))
    more = ["2", "--merge"] if merge else ["3"]
    victim = start(log.path, 2, "victim", *more, die_at=point)
    victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL

    stood = POINTS.index(point) >= POINTS.index("after_write")
    changed = [(1, "n1"), (2, "u2")] if merge else [(1, "n1"), (2, "n2"), (3, "n3")]
    assert read(log.path) == (changed if stood else [(1, "n1"), (2, "n2")])
    found = recover(log.path, "dt:1")
    assert found is not None
    assert found.metadata is not None
    last = (found.sequence, found.metadata["attempt"], found.foreign)
    assert last == ((2, "victim", ()) if stood else (1, "first", ()))

    again = commit(CommitRequest(log.path, "dt:1", 2, "again"), Append(rows(3)), patience=1.0)
    assert isinstance(again, Lost if stood else Committed)
    after = commit(CommitRequest(log.path, "dt:1", 3, "next"), Append(rows(4)), patience=1.0)
    assert isinstance(after, Committed)


@KILLED_IN_REFRESH
@pytest.mark.parametrize("point", [*FILE_POINTS, *map(nightly, POINTS)])
def test_killed_while_spark_writes_the_rows(tmp_path: Path, point: str) -> None:
    """What it left is in no commit, and the next writer of the table takes it away."""
    log = backing_table(tmp_path / "t")
    commit(CommitRequest(log.path, "dt:1", 1, "first"), Append(rows(1, 2)))
    scratch = ["--spark", str(tmp_path / "spark")]
    victim = start(log.path, 2, "victim", "2", "3", "--merge", *scratch, die_at=point)
    victim.communicate(timeout=180)
    assert victim.returncode == -signal.SIGKILL
    stood = point in POINTS and POINTS.index(point) >= POINTS.index("after_write")
    changed = [(1, "n1"), (2, "u2"), (3, "u3")]
    assert live_rows(log) == (changed if stood else [(1, "n1"), (2, "n2")])
    if not stood:
        again = start(log.path, 2, "again", "2", "3", "--merge", *scratch)
        assert again.communicate(timeout=180)[0].split()[-1] == "Committed"
        assert live_rows(log) == changed
    assert not (log.path / "_dt_rows").exists()


def backing_table(path: Path) -> TableLog:
    """An empty table as those of dynamic tables are."""
    kinds = {"id": "long", "name": "string", "price": "double", "at": "timestamp"}
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in kinds.items()]
    schema = StructType.fromJson({"type": "struct", "fields": fields})
    write_first(path, fields, backing_properties(schema))
    return TableLog(path)


def live_rows(log: TableLog) -> list[tuple[int, str]]:
    """Of the newest version, without those that a deletion vector has taken."""
    columns = KeptColumns()
    rows = columns.rows(columns.files(log, log.version()), ["id", "name"])
    return sorted((row["id"], row["name"]) for row in rows.to_pylist())


@TWO_PROCESSES
@pytest.mark.nightly
def test_two_processes_race_for_each_of_ten_sequences(tmp_path: Path) -> None:
    log = small_table(tmp_path / "t")
    for sequence in range(1, 11):
        barrier = tmp_path / f"go {sequence}"
        more = ["--barrier", str(barrier)]
        racers = [
            start(log.path, sequence, f"racer {n}", str(10 * sequence + n), *more) for n in (1, 2)
        ]
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        barrier.touch()
        results = [racer.communicate(timeout=60)[0].strip() for racer in racers]
        assert sorted(results) == ["Committed", "Lost"]
        winner = results.index("Committed") + 1
        found = recover(log.path, "dt:1")
        assert found is not None
        assert found.metadata is not None
        assert (found.sequence, found.metadata["attempt"]) == (sequence, f"racer {winner}")
        assert (10 * sequence + winner) in {id_ for id_, _ in read(log.path)}
    assert len(read(log.path)) == 10
    assert len(list(log.path.glob("*.parquet"))) == 10


@STOPPED
def test_a_stopped_holder_of_the_lock_keeps_others_out(tmp_path: Path) -> None:
    """SIGSTOP does not free the lock, death does: no lease that runs out lets two writers in."""
    from dt_jupyter.lake import TableLocked
    from dt_jupyter.lake.write.locks import table_lock

    log = small_table(tmp_path / "t")
    code = (
        "import sys; from pathlib import Path; from dt_jupyter.lake.write.locks import table_lock\n"
        "with table_lock(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(log.path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGSTOP)
    with pytest.raises(TableLocked), table_lock(log.path, patience=0.2):
        pass
    holder.kill()
    holder.communicate(timeout=60)
    assert isinstance(commit(CommitRequest(log.path, "dt:1", 1, "a"), Append(rows(1))), Committed)
