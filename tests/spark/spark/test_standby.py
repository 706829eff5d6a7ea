"""A JVM that is started before a session is asked for: taken by a session of ours, or ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dt_jupyter.spark import prepare_session, spare, standby
from dt_jupyter.spark.launch import Launch
from dt_jupyter.spark.session import LOCAL_CONFS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORY = """
import json, os, sys
from pathlib import Path
from dt_jupyter.spark import local_session, prepare_session, standby
from dt_jupyter.spark.pools import Pool

what = dict(cores=1, memory="700m", confs={"spark.sql.sources.default": "delta"},
            pools=[Pool("heavy", weight=3)])
prepare_session(**what)
prepare_session(**what)
(begun,) = standby._of_this_process
while "SPARK_LOCAL_IP" not in os.environ:  # set for the JVM that is being started
    assert not begun._made.is_set()
spark = local_session(Path(sys.argv[1]), **what)
spark.sql("CREATE TABLE t AS SELECT 1 AS a")
context = spark.sparkContext
seen = context.accumulator(0)
context.parallelize([1, 2]).foreach(lambda n: seen.add(n))
pool = context._jsc.sc().getPoolForName("heavy").get()
print(json.dumps({
    "same": begun._context.sc().applicationId() == context.applicationId,
    "memory": context.getConf().get("spark.driver.memory"),
    "rows": spark.table("t").count(),
    "files": (Path(sys.argv[1]) / "t" / "_delta_log").is_dir(),
    "seen": seen.value,
    "weight": pool.weight(),
    "compressed": context.getConf().get("spark.rdd.compress"),
}))
"""


def test_a_session_takes_what_was_started_for_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STORY, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "same": True,
        "memory": "700m",
        "rows": 1,
        "files": True,
        "seen": 3,
        "weight": 3,
        "compressed": "True",
    }


WARM = """
import json, sys
from pathlib import Path
from dt_jupyter.spark import local_session, prepare_session, standby
what = dict(cores=1, memory="700m", confs={"spark.sql.sources.default": "delta"})
prepare_session(**what)
(begun,) = standby._of_this_process
begun._made.wait()
warmed = sorted(p.name for p in (begun.start.log.parent / "warm_up").iterdir())
spark = local_session(Path(sys.argv[1]), **what)
context = spark.sparkContext
print(json.dumps({
    "warmed": warmed,
    "same": begun._gateway is None and begun.start.log.exists(),
    "jobs": context._jsc.sc().dagScheduler().numTotalJobs(),
    "tables": [t.name for t in spark.catalog.listTables()],
    "warehouse": spark.conf.get("spark.sql.warehouse.dir").endswith(sys.argv[1]),
    "confs": sorted(k for k in spark.conf.getAll if "warm" in k),
    "rows": spark.sql("SELECT 1").count(),
}))
"""


@pytest.mark.nightly
def test_a_session_sees_nothing_of_what_warmed_its_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spare.SWITCH, "spare:60")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    found = told_by(WARM, tmp_path)
    spare.dismiss_spare()  # ordered for the next
    assert found == {
        "warmed": ["first", "second"],
        "same": True,
        "jobs": 0,
        "tables": [],
        "warehouse": True,
        "confs": [],
        "rows": 1,
    }


ORDER_SPARE = """
import json, time
from dt_jupyter.engine import order_spark
from dt_jupyter.spark import has_spare, keep_spare
keep_spare(order_spark(), 0.0)
until = time.monotonic() + 300
while not has_spare(order_spark()) and time.monotonic() < until:
    time.sleep(0.2)
print(json.dumps({"ready": has_spare(order_spark())}))
"""
TAKE_SPARE = """
import json, os, sys
from dt_jupyter.engine import prepare_spark, start_session
from dt_jupyter.spark import standby
from pyspark.sql import functions as f
prepare_spark()
begun = len(standby._of_this_process)
spark = start_session(sys.argv[1])
spark.sql("CREATE TABLE t AS SELECT 1 AS a")
process = spark.sparkContext._gateway.proc
print(json.dumps({
    "handed": type(process).__name__,
    "standby": begun,
    "rows": spark.table("t").count(),
    "udf": spark.table("t").select(f.udf(lambda a: a + 1, "int")("a")).first()[0],
    "folder": spark._jvm.System.getProperty("user.dir") == os.getcwd(),
    "tables": [t.name for t in spark.catalog.listTables()],
    "pid": process.pid,
}), flush=True)
os.kill(os.getpid(), 9)
"""


def told_by(story: str, folder: Path, *words: str, **variables: str) -> dict[str, Any]:
    """What a process of its own prints in its last line."""
    done = subprocess.run(
        [sys.executable, "-c", story, str(folder / "lake"), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.nightly
def test_a_spare_is_the_next_process_s_and_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {spare.SWITCH: "spare:120", "XDG_RUNTIME_DIR": str(tmp_path)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert told_by(ORDER_SPARE, tmp_path) == {"ready": True}
    found = told_by(TAKE_SPARE, tmp_path)
    pid = found.pop("pid")
    assert found == {
        "handed": "HandedProcess",
        "standby": 0,
        "rows": 1,
        "udf": 2,
        "folder": True,
        "tables": ["t"],
    }
    assert is_gone(pid)
    spare.dismiss_spare()  # the one that was ordered for the next


def test_nothing_is_started_beside_a_session_that_runs(spark: SparkSession) -> None:
    prepare_session(cores=1, memory="700m")
    assert standby._of_this_process == []


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Callable[[], standby.Standby]:
    """Begins to start a JVM as if this process had none."""
    known: list[standby.Standby] = []
    monkeypatch.setattr(standby, "_of_this_process", known)

    def begun() -> standby.Standby:
        standby.prepare_java(LAUNCH)
        return known[0]

    return begun


LAUNCH = Launch({**LOCAL_CONFS, "spark.master": "local[1]", "spark.driver.memory": "700m"}, ())


def is_gone(pid: int) -> bool:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.nightly
def test_one_that_was_started_otherwise_ends(
    begin: Callable[[], standby.Standby], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = begin()
    begun._made.wait()
    assert begun._gateway is not None
    pid = begun._gateway.proc.pid
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dchosen=later")
    assert standby._take(LAUNCH) is None
    assert is_gone(pid)


def test_one_that_nobody_wants_any_more_ends_when_it_is_there(
    begin: Callable[[], standby.Standby], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def launch(start: object) -> object:
        gateway = launch_java(start)  # type: ignore[arg-type]
        started.append(gateway.proc.pid)
        return gateway

    launch_java = standby.launch_java
    monkeypatch.setattr(standby, "launch_java", launch)
    monkeypatch.setattr(standby, "make_context", lambda *of: None)
    begun = begin()
    standby.dismiss()
    begun._made.wait()
    assert is_gone(started[0])
    assert begun.take() is None


def test_one_that_cannot_start_is_left_to_the_session(
    begin: Callable[[], standby.Standby], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:+NoSuchOption")
    begin()
    assert standby._take(LAUNCH) is None


def test_a_java_that_is_missing_is_told_by_the_session(
    begin: Callable[[], standby.Standby], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(environ: object) -> None:
        from dt_jupyter.model import error

        raise error("DT-5104")

    monkeypatch.setattr("dt_jupyter.spark.launch.find_java", missing)
    standby.prepare_java(LAUNCH)
    assert standby._of_this_process == []
