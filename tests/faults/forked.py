"""Processes that are killed or stopped in the middle of their work, at little cost: `python -m
tests.faults.forked LAKE` has all modules loaded, forks for each process that is asked for, and
kills it when it is told to. They use the Spark of the tests.

A line of JSON asks for one: {"way", "failpoint", "delay", "pause", "times", "lease"}; the answer
`ready` comes when it stands before its first statement; a line `go` lets it; then comes {"status",
"told"}: with a `delay` (seconds) it is killed so long after `go`, at its failpoint it kills itself.
With `pause` it is stopped instead, which `paused` says, and goes on at the next line `go`. Its
`way` is one of consuming a stream, of which several `times` insert an event each, or the name of
what to refresh, with leases of `lease` seconds; with a `statement` that is run instead, and `told`
are the points of statements that it passed, a word for each.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dt_jupyter.engine import Engine
from dt_jupyter.lake.write.failpoints import FAILPOINT, STATEMENT_POINTS, hooked
from dt_jupyter.model import Tuning
from tests.faults.attached import process, session
from tests.faults.consumptions import CONSUMPTIONS
from tests.faults.engine_worker import rounds

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
    def on(cls, spark: SparkSession, lake: Path | str, said: Path) -> Iterator[Forked]:
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
        self,
        way: str,
        *,
        failpoint: str = "",
        delay: float | None = None,
        pause: bool = False,
        times: int = 1,
        lease: float = Tuning().lease_seconds,
        statement: str = "",
    ) -> None:
        """One process, that is ready when this returns."""
        asked = {"way": way, "failpoint": failpoint, "delay": delay, "pause": pause}
        asked["statement"] = statement
        self._say(json.dumps({**asked, "times": times, "lease": lease}))
        assert self._hear() == "ready", self.errors

    def go(self) -> None:
        self._say("go")

    def await_pause(self) -> None:
        """Until it is stopped."""
        assert self._hear() == "paused", self.errors

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
                os.kill(pid, signal.SIGSTOP if asked["pause"] else signal.SIGKILL)
            if asked["pause"]:
                print("paused", flush=True)
                sys.stdin.readline()
                os.kill(pid, signal.SIGCONT)
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            print(json.dumps({"status": code, "told": answers.read().split()}), flush=True)


def _child(asked: dict[str, Any], tell: int, wait: int) -> None:
    status = 1
    try:
        with os.fdopen(tell, "w", buffering=1) as answers, os.fdopen(wait) as allowed:
            _consume(asked, answers, allowed)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _consume(asked: dict[str, Any], answers: IO[str], allowed: IO[str]) -> None:
    tuning = Tuning(lease_seconds=asked["lease"])
    engine = Engine.connect(sys.argv[1], scheduler=False, spark=session(), tuning=tuning)
    answers.write("ready\n")
    if asked["failpoint"]:
        os.environ[FAILPOINT] = asked["failpoint"]
    allowed.readline()
    if asked["statement"]:
        answers.write(" ".join(_run(engine, asked["statement"])) + "\n")
        return
    consumption = CONSUMPTIONS.get(asked["way"])
    for i in range(asked["times"]):
        if asked["times"] > 1:
            engine.sql(f"INSERT INTO events VALUES ({FIRST + i})")
        if consumption is not None:
            answers.write(consumption.run(engine) + "\n")
        else:
            answers.write(rounds(engine, asked["way"], 1, None, 0)[0] + "\n")
    engine.close()


def _run(engine: Engine, statement: str) -> list[str]:
    """The points that it passed, as failpoints. One that begins with `apply` is a script for
    `dt.apply`."""
    passed: list[str] = []
    with ExitStack() as hooks:
        for name in STATEMENT_POINTS:
            hooks.enter_context(hooked(name, partial(passed.append, name)))
        if statement.startswith("apply:"):
            engine.apply(engine.plan(statement.removeprefix("apply:")))
        else:
            engine.sql(statement)
    return [f"{name}:{passed[: i + 1].count(name)}" for i, name in enumerate(passed)]


if __name__ == "__main__":
    main()
