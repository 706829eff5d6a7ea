"""A server of Spark Connect in a process of its own, at a port that is free, and its clients."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
_ISOLATED = "spark.sql.artifact.isolation"
_CONFS = {
    "spark.plugins": _PLUGIN,
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    f"{_ISOLATED}.enabled": "true",
    f"{_ISOLATED}.alwaysApplyClassloader": "true",
    "spark.sql.shuffle.partitions": "1",
    # As a server of the user's has it, and not as the one that we start.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "true",
}
_OPENING = """
import faulthandler, json, sys
faulthandler.dump_traceback_later({seconds}, exit=True)  # says where it hangs, if it ever does
from pathlib import Path
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
facts = {{}}
{program}
Path(sys.argv[2]).write_text(json.dumps(facts))
"""


class ConnectServer:
    """Ends with `end`, or when this process does. Workers of functions are this Python."""

    def __init__(self, folder: Path, confs: Mapping[str, str] | None = None) -> None:
        self._run = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), json.dumps(confs or {})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._run.stdout is not None
        self.url = f"sc://127.0.0.1:{int(self._run.stdout.readline())}"

    def facts(self, folder: Path, program: str, *, seconds: int = 240) -> Any:
        """What a program gathers in `facts` as a client: it has `spark`, and `sys.argv[3]` is the
        folder. A process of its own, since one is either classic or of Connect."""
        answer = folder / "facts.json"
        file = folder / "client.py"
        file.write_text(_OPENING.format(seconds=seconds, program=program))
        given = [self.url, str(answer), str(folder / "lake")]
        run = subprocess.run(
            [sys.executable, str(file), *given],
            capture_output=True, text=True, timeout=seconds + 30, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stderr[-3000:]
        return json.loads(answer.read_text())

    def end(self) -> None:
        assert self._run.stdin is not None
        self._run.stdin.close()
        self._run.wait(60)


def serve(folder: Path, confs: Mapping[str, str]) -> None:
    """Starts a server, prints its port, and ends when standard input does."""
    from dt_jupyter.spark import local_session

    session: Any = local_session(
        folder, app_name="connect", cores=2, memory="2g", confs={**_CONFS, **confs}
    )
    name = "org.apache.spark.sql.connect.service.SparkConnectService$"
    service = getattr(getattr(session._jvm, name), "MODULE$")
    print(service.localPort(), flush=True)
    sys.stdin.read()
    session.stop()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), json.loads(sys.argv[2]))
