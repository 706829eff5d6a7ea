"""Processes that are killed while they consume a stream, at little cost: `python -m
tests.faults.forked LAKE` has all modules loaded, forks for each process that is asked for, and
kills it when it is told to. They use the Spark of the tests.

A line of JSON asks for one: {"way", "failpoint", "delay", "times"}; the answer `ready` comes when
it stands before its first statement; a line `go` lets it; then comes {"status", "told"}: with a
`delay` (seconds) it is killed so long after `go`, at its failpoint it kills itself. One that
consumes several `times` inserts an event each time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dt_jupyter.engine import Engine
from dt_jupyter.lake.write.failpoints import FAILPOINT
from tests.faults.attached import process, session
from tests.faults.consumptions import CONSUMPTIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = 1_000_000
"""The events of those that insert some, from here on."""


@dataclass
class Forked:
    """The host of such processes, as the tests see it; what they say on standard error goes to
    the file `said`."""

    host: subprocess.Popen[str]
    said: Path

    @classmethod
    @contextmanager
    def on(cls, spark: SparkSession, lake: Path) -> Iterator[Forked]:
        said = lake.with_name("said")
        with said.open("w") as errors:
            host = process(spark, "tests.faults.forked", str(lake), stderr=errors)
            made = cls(host, said)
            yield made
            assert host.stdin is not None
            host.stdin.close()
            assert host.wait(60) == 0, made.errors

    @property
    def errors(self) -> str:
        return self.said.read_text()[-3000:]

    def ask(
        self, way: str, *, failpoint: str = "", delay: float | None = None, times: int = 1
    ) -> None:
        """One process, that is ready when this returns."""
        self._say(json.dumps({"way": way, "failpoint": failpoint, "delay": delay, "times": times}))
        assert self._hear() == "ready", self.errors

    def go(self) -> None:
        self._say("go")

    def ended(self) -> tuple[int, list[str]]:
        """Its status (of a killed one −9) and what its consumptions came to."""
        found = json.loads(self._hear())
        return found["status"], found["told"]

    def _say(self, line: str) -> None:
        assert self.host.stdin is not None
        self.host.stdin.write(line + "\n")
        self.host.stdin.flush()

    def _hear(self) -> str:
        assert self.host.stdout is not None
        return self.host.stdout.readline().strip()


# -- the host --------------------------------------------------------------------------------------


def main() -> None:
    while line := sys.stdin.readline():
        asked = json.loads(line)
        told, tell = os.pipe()
        wait, let = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(told)
            os.close(let)
            _child(asked, tell, wait)
        os.close(tell)
        os.close(wait)
        with os.fdopen(told) as answers:
            print(answers.readline().strip(), flush=True)
            sys.stdin.readline()
            os.write(let, b"\n")
            os.close(let)
            if asked["delay"] is not None:
                select.select([], [], [], asked["delay"])
                os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            print(json.dumps({"status": code, "told": answers.read().split()}), flush=True)


def _child(asked: dict[str, Any], tell: int, wait: int) -> None:
    status = 1
    try:
        if asked["failpoint"]:
            os.environ[FAILPOINT] = asked["failpoint"]
        with os.fdopen(tell, "w", buffering=1) as answers, os.fdopen(wait) as allowed:
            _consume(asked, answers, allowed)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _consume(asked: dict[str, Any], answers: IO[str], allowed: IO[str]) -> None:
    engine = Engine.connect(sys.argv[1], scheduler=False, spark=session())
    answers.write("ready\n")
    allowed.readline()
    for i in range(asked["times"]):
        if asked["times"] > 1:
            engine.sql(f"INSERT INTO events VALUES ({FIRST + i})")
        answers.write(CONSUMPTIONS[asked["way"]].run(engine) + "\n")
    engine.close()


if __name__ == "__main__":
    main()
