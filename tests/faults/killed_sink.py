"""A process that is killed while it delivers a sink:
`python -m tests.faults.killed_sink LAKE STATEMENT POINT COUNT` dies when it is past the point for
the COUNT-th time."""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from dt_jupyter.catalog import Catalog
from dt_jupyter.delivery import table_changes
from dt_jupyter.engine import Engine
from dt_jupyter.sinks.drivers.files import FilesStore
from dt_jupyter.sinks.drivers.sqlite import SqliteStore
from tests.faults.attached import session

CUT_ROWS = 5
POINTS: dict[str, tuple[type, str]] = {
    "logged": (Catalog, "commit_sink_task"),
    "opened": (Catalog, "open_sink_task"),
    "moved": (Catalog, "finish_delivery"),
    "fenced": (SqliteStore, "fence"),
    "prepared": (SqliteStore, "prepare"),
    "stored": (SqliteStore, "commit"),
    "sealed": (FilesStore, "seal"),
    "listed": (FilesStore, "_write_manifest"),
    "applied": (FilesStore, "apply"),
}
"""What each point is just behind."""


def die_behind(point: str, count: int) -> None:
    owner, name = POINTS[point]
    known: Callable[..., Any] = getattr(owner, name)
    left = [count]

    @functools.wraps(known)
    def dying(*args: Any, **kw: Any) -> Any:
        found = known(*args, **kw)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, dying)


def main() -> None:
    lake, statement, point, count = sys.argv[1:]
    table_changes.CUT_ROWS = CUT_ROWS
    engine = Engine.connect(lake, scheduler=False, spark=session())
    die_behind(point, int(count))
    engine.sql(statement)
    engine.close()


if __name__ == "__main__":
    main()
