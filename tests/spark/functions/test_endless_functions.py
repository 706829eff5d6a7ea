"""A function that never ends is stopped: by an interrupt, by `cancel`, by the limit of a task; its
process is gone then, and the table is as it was."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.model import RefreshState
from tests.spark.engine.test_tasks import Clockwork, clockwork
from tests.spark.engine_lab import Lab
from tests.spark.spark.test_jobs import active_jobs

__all__ = ["clockwork"]
_PAUSE = threading.Event()
_SECONDS = 120


def waited(what: Callable[[], Any]) -> Any:
    """What is so in the end."""
    for _ in range(_SECONDS * 20):
        if found := what():
            return found
        _PAUSE.wait(0.05)
    raise AssertionError("it did not come to that")


class Endless:
    """A function that tells its process, and goes on for ever."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def plain(self) -> Callable[[str], str]:
        file = str(self.file)

        def endless(x: str) -> str:
            import os
            import time

            with open(file, "w") as told:
                told.write(f"{os.getpid()}\n")
            while True:
                time.sleep(0.01)

        return endless

    def pandas(self) -> Callable[[Any], Any]:
        file = str(self.file)

        def endless(x: Any) -> Any:
            import os

            with open(file, "w") as told:
                told.write(f"{os.getpid()}\n")
            while True:
                x = x + ""

        return endless

    def process(self) -> int | None:
        """The process in which it runs, once it does."""
        text = self.file.read_text() if self.file.exists() else ""
        return int(text) if text.endswith("\n") else None

    @contextmanager
    def running(self, act: Callable[[], Any]) -> Iterator[None]:
        """`act` is called once the function runs; its process is gone after the block."""
        found: list[int] = []

        def watch() -> None:
            found.append(waited(self.process))
            act()

        thread = threading.Thread(target=watch)
        thread.start()
        yield
        thread.join()
        assert waited(lambda: not _lives(found[0])), "the process of the function goes on"
        self.file.unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def interrupt() -> None:
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)


def prepared(lab: Lab, function: Any, kind: str) -> None:
    """A table `d` that calls the function in its next refresh."""
    lab.table("t", "id INT, x STRING", "1, 'a'")
    lab.engine.register_udf("endless", function, "string", kind=kind, immutable=True)
    lab.dynamic_table("d", "SELECT id, endless(x) AS v FROM t WHERE id > 1")
    lab.insert("t", "2, 'b'")


def as_it_was(lab: Lab) -> None:
    assert waited(lambda: not active_jobs(lab.spark))
    assert lab.rows("d") == []
    assert lab.engine.records("d")[0].state is RefreshState.CANCELLED
    lab.sql("DELETE FROM t WHERE id = 2")
    assert lab.refresh("d") in ("NO_DATA", "INCREMENTAL")
    lab.verified("d")


def test_an_interrupt_stops_it(quick_lab: Lab, tmp_path: Path) -> None:
    lab, endless = quick_lab, Endless(tmp_path / "process")
    prepared(lab, endless.plain(), "python")
    with endless.running(interrupt), pytest.raises(KeyboardInterrupt):
        lab.engine.refresh("d")
    as_it_was(lab)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["python", "pandas"])
def test_so_do_cancel_and_an_interrupt_of_a_statement(
    quick_lab: Lab, tmp_path: Path, kind: str
) -> None:
    lab, endless = quick_lab, Endless(tmp_path / "process")
    prepared(lab, endless.plain() if kind == "python" else endless.pandas(), kind)
    with endless.running(lambda: lab.engine.cancel("d")):
        lab.engine.start_refresh("d")
    for statement in (
        "INSERT INTO t SELECT 3, endless('x')",
        "ALTER DYNAMIC TABLE d REFRESH",
        "CREATE DYNAMIC TABLE no TARGET_LAG = '1 hour' AS SELECT endless(x) AS v FROM t",
    ):
        with endless.running(interrupt), pytest.raises(KeyboardInterrupt):
            lab.sql(statement)
    assert [str(t.name) for t in lab.context.catalog.list()] == ["d"]
    as_it_was(lab)


@pytest.mark.nightly
def test_so_does_the_limit_of_a_task(clockwork: Clockwork, tmp_path: Path) -> None:
    lab, endless = clockwork.lab, Endless(tmp_path / "process")
    prepared(lab, endless.plain(), "python")
    lab.sql(
        "CREATE TASK job SCHEDULE = '1 minute' USER_TASK_TIMEOUT_MS = 5000 "
        "AS ALTER DYNAMIC TABLE d REFRESH; ALTER TASK job RESUME"
    )
    with endless.running(lambda: None):
        assert clockwork.wait(60) == [("job", "FAILED", "DT-3308")]
    as_it_was(lab)
