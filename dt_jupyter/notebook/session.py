"""The engine of a notebook: opened by the first magic that needs it, on the notebook's Spark."""

from __future__ import annotations

import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from dt_jupyter.dispatch import EventFeed, record_lake
from dt_jupyter.failures import is_frame
from dt_jupyter.model import count_of
from dt_jupyter.notebook.ahead import SparkAhead
from dt_jupyter.notebook.errors import show_errors
from dt_jupyter.notebook.interrupts import CellJobs
from dt_jupyter.notebook.views import CellViews, is_live
from dt_jupyter.notebook.workers import Workers

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell
    from pyspark.sql import SparkSession

    from dt_jupyter.engine import Engine
    from dt_jupyter.model import DynamicTable, Name

LAKE = "lake"
_REPLACED = (
    "Your Spark session had no Delta Lake and had run nothing: it was replaced by one with Delta "
    "Lake and the same settings."
)


class Notebook:
    """What the magics of one shell share. `engine` is None until something needs it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self._engine: Engine | None = None
        self._opened_here = False
        self._remote: str | None = None
        self._bound: dict[str, Any] = {}
        self.defined: dict[Name, DynamicTable] = {}
        """The dynamic tables that cells defined, as they left them."""
        self.jobs = CellJobs(shell)
        self.starting = False
        self.feed = EventFeed(lambda: self.engine, lambda: self.starting)
        self.workers = Workers()
        self.views = CellViews()
        self.ahead = SparkAhead(shell, self._has_spark)
        self.ends = ExitStack()
        """What ends with this."""

    @property
    def engine(self) -> Engine | None:
        """The open engine, if there is one; starts nothing."""
        engine = self._engine
        return None if engine is None or engine.context.state.closed else engine

    def require(self) -> Engine:
        """The engine; connects with defaults where there is none, and says so in a line."""
        return self._end_dead_engine() or self.connect()

    def connect(
        self, lake: str | None = None, remote: str | None = None, catalog: str | None = None
    ) -> Engine:
        """Opens the engine on `lake` (None: the one used last, else `lake`), binds `dt` and
        `spark` where these names are free, and says so. One that this process has open is used;
        that of another lake which a magic opened is closed, and so is one whose Spark session has
        ended."""
        wanted = lake or (str(self._engine.lake) if self._engine else LAKE)
        if not remote:
            self.ahead.hasten()
        from dt_jupyter.engine import find_engine, known_lake, require_catalog_url

        require_catalog_url(catalog)
        folder, before = known_lake(wanted), self._end_dead_engine()
        if before is None and self._engine is not None and self._engine.lake == folder:
            remote = remote or self._remote  # where it was before
        if not remote and not catalog:
            if before is not None and before.lake == folder:
                print(f"Connected already: {_about(before)}")
                return before
            if (found := find_engine(folder, {})) is not None:
                return self._use(found, before, opened_here=False)
        engine = self._open(wanted, before, remote, catalog)
        self._remote = remote
        return self._use(engine, None, opened_here=True)

    def _open(
        self, lake: str, before: Engine | None, remote: str | None, catalog: str | None
    ) -> Engine:
        from dt_jupyter.engine import connect_once, lake_layout, separate_names
        from dt_jupyter.spark import activity, require_delta

        with self._announce_start(), _own_interrupt_handler(), activity(f"Connecting to {lake}"):
            lake_layout(lake)  # one that cannot be made closes no other
            with activity("Starting Spark"):
                spark = require_delta(_remote_session(remote)) if remote else self._session(lake)
            self._leave(before)
            options = {} if catalog is None else {"catalog": catalog}
            return connect_once(lake, separate_names(lake, spark), **options)

    def _use(self, engine: Engine, before: Engine | None, *, opened_here: bool) -> Engine:
        """The magics are on `engine` from now on, and say so."""
        self._leave(before)
        self._take(engine, opened_here=opened_here)
        taken = self._bind(engine)
        print(f"Connected: {_about(engine)}")
        if taken:
            print(f"The name {' and '.join(taken)} is yours and stays as it is.")
        return engine

    def _end_dead_engine(self) -> Engine | None:
        """The engine, if there is one; one whose Spark session has ended is closed."""
        from dt_jupyter.spark import session_end

        engine = self.engine
        if engine is None or (end := session_end(engine.spark)) is None:
            return engine
        print(f"The Spark session of {engine.lake} has ended: {end}. Another one is started.")
        engine.close()
        return None

    def _leave(self, engine: Engine | None) -> None:
        """Closes an engine that a magic opened and nothing else holds."""
        if engine is None or engine.context.state.closed:
            return
        if self._opened_here and not engine.context.state.holders:
            engine.close()
            print(f"Closed: {engine.lake}.")
        else:
            print(f"{engine.lake} stays open; the magics leave it.")

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
        """An engine that a cell has opened, and closes: the magics use it if they have none."""
        before, loaded = self.engine, "dt" in self.shell.magics_manager.magics["line"]
        if before is engine:
            print(f"Connected already: {_about(engine)}")
        elif before is not None and self._end_dead_engine() is not None:
            if loaded:
                move = f"%dt connect {engine.lake} moves them."
                print(f"The magics stay on {before.lake}; {move}")
        else:
            self._take(engine, opened_here=False)
            if loaded:
                self.tell_lake()

    def tell_lake(self) -> None:
        """Says which lake the magics are on, if there is one."""
        if self.engine is not None:
            print(f"The magics use {_about(self.engine)}")

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
        self.ends.close()

    def _take(self, engine: Engine, *, opened_here: bool) -> None:
        self._engine, self._opened_here = engine, opened_here
        show_errors(self.shell, self.jobs.cancel)  # Spark's errors have classes to catch now
        self.jobs.watch(engine.spark)
        atexit.unregister(self.close)
        if opened_here:
            atexit.register(self.close)
        record_lake(engine.lake)
        self.feed.engine_changed()

    def _session(self, lake: str) -> SparkSession:
        """The notebook's session, or another in its place where it has no Delta and nothing
        depends on it; a new one where there is none. DT-5106."""
        from dt_jupyter.engine import archive_classes, replace_unused, start_session
        from dt_jupyter.spark import active_session, require_delta

        found = self._spark() or active_session()
        if found is None:
            started = start_session(lake)
            if is_live(self.shell):
                archive_classes()
            return started
        if not self._holds_frames() and (made := replace_unused(lake, found)) is not None:
            print(_REPLACED)
            return made
        return require_delta(found)

    def _spark(self) -> SparkSession | None:
        """The notebook's variable `spark`, if it holds a session that is alive."""
        found = self.shell.user_ns.get("spark")
        return found if _is_session(found) and not _has_ended(found) else None

    def _holds_frames(self) -> bool:
        """Whether a variable is a DataFrame or an RDD, which ends with its session."""
        held = self.shell.user_ns.values()
        return any(is_frame(v) or type(v).__name__ in ("RDD", "PipelinedRDD") for v in held)

    def _has_spark(self) -> bool:
        """Whether there is a session, or a JVM that PySpark knows of; imports nothing."""
        from dt_jupyter.spark import has_java

        return has_java() or self.engine is not None or self._spark() is not None

    def _bind(self, engine: Engine) -> list[str]:
        """Which of the names `dt` and `spark` hold something else already; an engine that was
        closed is nothing any more, nor is a session that has ended."""
        names = self.shell.user_ns
        taken = []
        for name, value in (("dt", engine), ("spark", engine.spark)):
            held = names.get(name)
            closed = isinstance(held, type(engine)) and held.context.state.closed
            ended = _is_session(held) and _has_ended(held)
            if name not in names or closed or ended or held is self._bound.get(name):
                names[name] = self._bound[name] = value
            elif held is not value:
                taken.append(name)
        return taken


def _is_session(value: object) -> bool:
    return type(value).__name__ == "SparkSession"


def _has_ended(spark: SparkSession) -> bool:
    from dt_jupyter.spark import session_end

    return session_end(spark) is not None


def _about(engine: Engine) -> str:
    status = engine.status()
    tables = count_of(status["dynamic_tables"], "dynamic table")
    return f"{status['lake']}, {tables}, Spark {status['spark']}, scheduler {status['scheduler']}."


def _remote_session(url: str) -> SparkSession:
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
