"""Libraries are imported while Spark starts: with its archives on the path it takes longer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

IMPORTS = """
import json, sys, threading
from pathlib import Path

archives = {}

class Watch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in ("duckdb", "deltalake"):
            archives[name] = sum(entry.endswith(".jar") for entry in sys.path)

sys.meta_path.insert(0, Watch)
import dt_jupyter
from dt_jupyter.engine import own_spark
from dt_jupyter.spark import local_session

if sys.argv[2] == "theirs":
    local_session(Path(sys.argv[1]), memory="700m", **own_spark.OWN)
with dt_jupyter.connect(sys.argv[1], memory="700m", scheduler=False):
    for thread in threading.enumerate():
        if thread.name == "import of libraries":
            thread.join()
    print(json.dumps([archives, sum(entry.endswith(".jar") for entry in sys.path)]))
"""


@pytest.mark.parametrize("whose", ["ours", pytest.param("theirs", marks=pytest.mark.nightly)])
def test_what_a_first_refresh_imports_is_there_before_it(whose: str, tmp_path: Path) -> None:
    """Before Spark's archives are on the path of modules, where the session is ours."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, str(tmp_path / "lake"), whose],
        capture_output=True,
        text=True,
        check=True,
    )
    archives, at_the_end = json.loads(done.stdout.splitlines()[-1])
    assert at_the_end > 0
    then = 0 if whose == "ours" else at_the_end
    assert archives == {"duckdb": then, "deltalake": then}
