"""Processes killed while a schema takes another name.

After every kill all that the schema held has one of the names, none of it both or neither, and the
next refresh is NO_DATA.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dt_jupyter.lake.write.failpoints import FAILPOINT, SCHEMAS
from tests.experiments import KILLED_ELSEWHERE
from tests.spark.engine_lab import Lab, without_check

pytestmark = [KILLED_ELSEWHERE, pytest.mark.slow, pytest.mark.nightly]
ROOT = Path(__file__).resolve().parents[2]
_RUN = (
    "import sys; from dt_jupyter.engine import Engine; "
    "e = Engine.connect(sys.argv[1], scheduler=False, memory='1g'); e.sql(sys.argv[2])"
)


def killed(lab: Lab, statement: str, point: str) -> None:
    """The statement in another process, which dies at the point."""
    run = [sys.executable, "-c", _RUN, str(lab.folder), statement]
    env = {**os.environ, FAILPOINT: f"{point}:1"}
    done = subprocess.run(
        run, check=False, capture_output=True, text=True, cwd=ROOT, env=env, timeout=300
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]


@pytest.mark.parametrize("point", SCHEMAS)
def test_a_schema_has_one_name_or_the_other(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    without_check(monkeypatch)
    folder = lab.context.layout.tables
    for schema, value in (("a", 1), ("b", 2)):
        place = folder / f"{schema}.db" / "t"
        lab.sql(
            f"CREATE SCHEMA {schema};"
            f"CREATE TABLE {schema}.t (v INT) USING delta LOCATION '{place}';"
            f"INSERT INTO {schema}.t VALUES ({value});"
            f"CREATE TABLE {schema}.gone (v INT) USING delta LOCATION '{place}2';"
            f"INSERT INTO {schema}.gone VALUES ({value}); DROP TABLE {schema}.gone;"
            f"CREATE DYNAMIC TABLE {schema}.d AS SELECT v, count(*) AS n FROM {schema}.t GROUP BY v"
        )
    lab.engine.close()
    for schema in "ab":  # of this session: its tables lie in the lake
        lab.spark.sql(f"DROP DATABASE {schema} CASCADE")
    killed(lab, "ALTER SCHEMA a SWAP WITH b", point)
    lab.reopen()
    for schema in "ab":
        was = 1 if (schema == "a") == (point == "schemas_checked") else 2
        assert lab.rows(f"{schema}.t") == [(was,)]
        assert lab.rows(f"{schema}.d") == [(was, 1)]
        lab.sql(f"UNDROP TABLE {schema}.gone")
        assert lab.rows(f"{schema}.gone") == [(was,)]
        assert lab.refresh(f"{schema}.d") == "NO_DATA"
        lab.insert(f"{schema}.t", "9")
        assert lab.refresh(f"{schema}.d") == "INCREMENTAL"
        lab.verified(f"{schema}.d")
    for schema in "ab":
        lab.spark.sql(f"DROP DATABASE {schema} CASCADE")


def test_another_process_goes_on_under_the_new_names(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_check(monkeypatch)
    place = lab.context.layout.tables / "a.db" / "t"
    lab.sql(
        f"CREATE SCHEMA a; CREATE TABLE a.t (v INT) USING delta LOCATION '{place}';"
        "INSERT INTO a.t VALUES (1);"
        "CREATE DYNAMIC TABLE a.d AS SELECT v, count(*) AS n FROM a.t GROUP BY v;"
        "USE a; CREATE DYNAMIC TABLE e AS SELECT n FROM d; USE default"
    )
    run = [sys.executable, "-m", "tests.faults.engine_worker", str(lab.folder), "b.e", "1"]
    process = subprocess.Popen(
        run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    lab.sql("ALTER SCHEMA a RENAME TO b; INSERT INTO b.t VALUES (1), (2)")
    told, errors = process.communicate("\n", timeout=300)
    assert told == "INCREMENTAL\n", errors[-2000:]
    lab.verified("b.d", "b.e")
    lab.spark.sql("DROP DATABASE b CASCADE")
