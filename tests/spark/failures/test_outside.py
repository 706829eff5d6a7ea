"""What fails outside of a statement, for real: the disk, and the JVM."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.cli import main
from dt_jupyter.model import RefreshState
from dt_jupyter.refresh.protocol import Refresher
from tests.experiments import DISK_FULL, JAVA
from tests.spark.engine_lab import Lab, refused

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "DT-5121"),
        (ZeroDivisionError("who knows"), "DT-2105"),
    ],
)
def test_a_refresh_that_fails_in_any_way_is_told_by_its_record(
    shared_lab: Lab, monkeypatch: pytest.MonkeyPatch, failure: Exception, code: str
) -> None:
    name = f"d{code[-4:]}"
    shared_lab.table(f"{name}_src", "id INT", "1")
    shared_lab.dynamic_table(name, f"SELECT id FROM {name}_src")
    shared_lab.insert(f"{name}_src", "2")

    def fails(*_: Any, **__: Any) -> None:
        raise failure

    for method in ("_run", "_choose"):
        with monkeypatch.context() as broken:
            broken.setattr(Refresher, method, fails)
            record = shared_lab.record(name)
        assert (record.state, record.error_code) == (RefreshState.FAILED, code)
        assert str(failure.args[-1]) in (record.error or "")
        assert shared_lab.engine.records(name, 1)[0].error_code == code
    assert shared_lab.rows(name) == [(1,)]
    assert shared_lab.refresh(name) == "INCREMENTAL"
    shared_lab.verified(name)


@DISK_FULL
def test_a_disk_that_takes_no_more_has_its_code(shared_lab: Lab) -> None:
    """The JVM may write files of a kilobyte only: what it raises is what a full disk makes it."""
    shared_lab.table("bulk", "id BIGINT", "1")
    pid = shared_lab.spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        with refused("DT-5121") as found:
            shared_lab.sql("INSERT INTO bulk SELECT hash(id) FROM range(10000)")
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert found[0].query is not None
    assert "dt.vacuum()" in found[0].hint
    assert "File too large" in (found[0].details or "")
    shared_lab.sql("INSERT INTO bulk VALUES (2)")
    assert shared_lab.rows("bulk") == [(1,), (2,)]


def test_a_command_that_fails_says_its_code(
    shared_lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = str(shared_lab.folder)
    assert main([lake, "refresh", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("DT-1101: ")
    assert main([lake, "sql", "SELECT raise_error('No space left on device')"]) == 1
    assert capsys.readouterr().err.startswith("DT-1033: ")


DYING = """
import sys, dt_jupyter
from dt_jupyter.model import DTError
def told(call):
    try:
        call()
    except DTError as e:
        print(e.code, e.sentence, flush=True)
dt = dt_jupyter.connect(sys.argv[1], memory="512m")
dt.sql("CREATE TABLE t (id INT); INSERT INTO t VALUES (1)")
process = dt.spark.sparkContext._gateway.proc
frame = dt.sql("SELECT * FROM t")
def all_of_it():
    told(lambda: dt.sql("SELECT 1"))
    told(lambda: dt.sql("CREATE DYNAMIC TABLE d AS SELECT id FROM t"))
    told(lambda: dt.changes("t"))
    told(lambda: dt.replay("t").to_arrow())  # to open one needs no session
dt.spark.stop()
all_of_it()
process.kill()
process.wait()
all_of_it()
told(dt.close)
print("end")
"""


@JAVA
def test_a_session_that_was_stopped_and_a_jvm_that_is_gone_have_their_code(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    lines = run.stdout.splitlines()
    assert lines[-1:] == ["end"], run.stderr[-3000:]
    assert {line.partition(" ")[0] for line in lines[:-1]} == {"DT-5124"}
    assert [("stopped" in line, "JVM ended" in line) for line in lines[:8]] == [
        *[(True, False)] * 4,
        *[(False, True)] * 4,
    ]
