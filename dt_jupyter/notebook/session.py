"""The engine of a notebook: opened by the first magic that needs it, on the notebook's Spark."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dt_jupyter.dispatch import EventFeed, record_lake
from dt_jupyter.model import count_of
from dt_jupyter.notebook.ahead import SparkAhead
from dt_jupyter.notebook.errors import show_errors
from dt_jupyter.notebook.interrupts import CellJobs
from dt_jupyter.notebook.views import CellViews, is_live
from dt_jupyter.notebook.waiting import waiting
from dt_jupyter.notebook.workers import Workers

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from pyspark.sql import SparkSession

    from dt_jupyter.engine import Engine
    from dt_jupyter.model import DynamicTable, Name

LAKE = "lake"


class Notebook:
    """What the magics of one shell share. `engine` is None until something needs it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self._engine: Engine | None = None
        self._opened_here = False
        self._bound: dict[str, Any] = {}
        self.defined: dict[Name, DynamicTable] = {}
        """The dynamic tables that cells defined, as they left them."""
        self.jobs = CellJobs(shell)
        self.starting = False
        self.feed = EventFeed(lambda: self.engine, lambda: self.starting)
        self.workers = Workers()
        self.views = CellViews()
        self.ahead = SparkAhead(shell, self._has_spark)

    @property
    def engine(self) -> Engine | None:
        """The open engine, if there is one; starts nothing."""
        engine = self._engine
        return None if engine is None or engine.context.state.closed else engine

    def require(self) -> Engine:
        """The engine; connects with defaults where there is none, and says so in a line."""
        return self.engine or self.connect()

    def connect(
        self, lake: str | None = None, remote: str | None = None, catalog: str | None = None
    ) -> Engine:
        """Opens the engine on `lake` (None: the one used last, else `lake`), binds `dt` and
        `spark` where these names are free, and says so. The engine of another lake that was
        opened here before is closed; the same one is kept."""
        before = self.engine
        wanted = lake or (str(self._engine.lake) if self._engine else LAKE)
        from dt_jupyter.engine import (
            Engine,
            archive_classes,
            known_lake,
            lake_layout,
            require_catalog_url,
            start_session,
        )

        require_catalog_url(catalog)
        folder = known_lake(wanted)
        if before is not None and not remote and not catalog and before.lake == folder:
            print(f"Connected already: {_about(before)}")
            return before
        with (
            self._announce_start(),
            _own_interrupt_handler(),
            waiting(self.shell, "Starting Spark") as say,
        ):
            given = _remote(remote) if remote else self._spark()
            spark = given or start_session(wanted)
            say(f"Opening {folder}")
            lake_layout(wanted)  # one that cannot be made closes no other
            if before is not None and self._opened_here:
                before.close()
            engine = Engine.connect(wanted, spark=spark, catalog=catalog)
        self._take(engine, opened_here=True)
        if given is None and is_live(self.shell):
            archive_classes()
        taken = self._bind(engine)
        print(f"Connected: {_about(engine)}")
        if taken:
            print(f"The name {' and '.join(taken)} is yours and stays as it is.")
        return engine

    @contextmanager
    def _announce_start(self) -> Iterator[None]:
        """Who listens hears that an engine is being opened, and when that came to nothing."""
        self.starting = True
        self.feed.engine_changed()
        try:
            yield
        except BaseException:
            self.starting = False
            self.feed.engine_changed()
            raise
        self.starting = False

    def adopt(self, engine: Engine) -> None:
        """An engine that the user opened in a cell, and closes."""
        before = self.engine
        if before is not None and before is not engine and self._opened_here:
            before.close()
        self._take(engine, opened_here=False)

    def close(self) -> None:
        """Closes the engine if a magic opened it, and takes back the name that was given to it."""
        engine, self._engine = self.engine, None
        self.jobs.stop()
        self.ahead.stop()
        atexit.unregister(self.close)
        if engine is not None and self._opened_here:
            engine.close()
            if self.shell.user_ns.get("dt") is engine:
                del self.shell.user_ns["dt"]
        self.feed.close()

    def _take(self, engine: Engine, *, opened_here: bool) -> None:
        self._engine, self._opened_here = engine, opened_here
        show_errors(self.shell, self.jobs.cancel)  # Spark's errors have classes to catch now
        self.jobs.watch(engine.spark)
        atexit.unregister(self.close)
        if opened_here:
            atexit.register(self.close)
        record_lake(engine.lake)
        self.feed.engine_changed()

    def _spark(self) -> SparkSession | None:
        """The notebook's variable `spark`, if it holds a session."""
        found = self.shell.user_ns.get("spark")
        return found if type(found).__name__ == "SparkSession" else None

    def _has_spark(self) -> bool:
        """Whether there is a session, or a JVM that PySpark knows of; imports nothing."""
        from dt_jupyter.spark import has_java

        return has_java() or self.engine is not None or self._spark() is not None

    def _bind(self, engine: Engine) -> list[str]:
        """Which of the names `dt` and `spark` hold something else already; an engine that was
        closed is nothing any more."""
        names = self.shell.user_ns
        taken = []
        for name, value in (("dt", engine), ("spark", engine.spark)):
            held = names.get(name)
            closed = isinstance(held, type(engine)) and held.context.state.closed
            if name not in names or closed or held is self._bound.get(name):
                names[name] = self._bound[name] = value
            elif held is not value:
                taken.append(name)
        return taken


def _about(engine: Engine) -> str:
    status = engine.status()
    tables = count_of(status["dynamic_tables"], "dynamic table")
    return f"{status['lake']}, {tables}, Spark {status['spark']}, scheduler {status['scheduler']}."


def _remote(url: str) -> SparkSession:
    from pyspark.sql import SparkSession

    return SparkSession.builder.remote(url).getOrCreate()


@contextmanager
def _own_interrupt_handler() -> Iterator[None]:
    """PySpark's handler cancels the jobs of all threads, scheduled refreshes too: ours stays."""
    if threading.current_thread() is not threading.main_thread() or sys.platform == "win32":
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
