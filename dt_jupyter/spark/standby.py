"""Start a session; its slow part can be started in the background before.

PySpark does not know of a JVM on standby until a session of ours takes it: a session that the user
makes gets its own JVM.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import DTError
from dt_jupyter.spark.failures import explain_start
from dt_jupyter.spark.launch import (
    JavaStart,
    Launch,
    end_java,
    environment,
    forget_gateway,
    launch_java,
    plan_start,
    read_environment,
)
from dt_jupyter.spark.path_texts import text_of_path
from dt_jupyter.spark.spare import (
    has_spare,
    keep_spare,
    order_spare,
    spare_seconds,
    take_spare,
)
from dt_jupyter.spark.warm_up import warm_up

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

_IDLE_SECONDS = 600.0
"""After which a JVM that no session took ends."""
_WAREHOUSE = "spark.sql.warehouse.dir"
_CONTEXT_DEFAULTS = {"spark.rdd.compress": "True", "spark.serializer.objectStreamReset": "100"}
"""What PySpark gives each context that it makes."""


class Standby:
    """One JVM with a Spark context, in the making or ready, for one session or none."""

    def __init__(self, launch: Launch) -> None:
        """Reads the environment and imports PySpark, in the calling thread; DT-5104."""
        self.launch = launch
        self.environment = read_environment()
        self.start = plan_start(launch)
        self._made = threading.Event()
        self._asked = threading.Event()
        """That a session waits for the JVM, or none will."""
        self._lock = threading.Lock()
        self._gateway: JavaGateway | None = None
        self._context: Any = None
        self._wanted = True

    def is_for(self, launch: Launch) -> bool:
        """Whether the same would be started now. While a JVM is being started, what is set for it
        alone is in the environment too."""
        now, for_it = read_environment(), self.start.variables
        names = {n for n in {*now, *self.environment} if n not in for_it or now.get(n) != for_it[n]}
        return self.launch == launch and all(now.get(n) == self.environment.get(n) for n in names)

    def begin(self) -> None:
        """Starts the JVM in a separate thread; it ends if it is not taken in time."""
        threading.Thread(target=self._make, name="dt-standby", daemon=True).start()
        timer = threading.Timer(_IDLE_SECONDS, self.end)
        timer.daemon = True
        timer.start()

    def _make(self) -> None:
        with suppress(Exception):  # the session that finds no JVM starts one, and raises what fails
            self._gateway = launch_java(self.start)
            self._context = make_context(self._gateway, self.start)
            self._warm_up()
        self._made.set()
        if not self._wanted:
            self.end()

    def _warm_up(self) -> None:
        """Runs statements until the JVM is wanted, where a spare is requested too; its context is
        then replaced by one in which nothing has happened."""
        if self._asked.is_set() or spare_seconds(os.environ) is None:
            return
        assert self._gateway is not None
        context, folder = self._context, self.start.log.parent / "warm_up"
        with suppress(Exception):
            warm_up(self._gateway, context, folder, self._asked.is_set)
        self._context = None  # without one it is not taken
        context.stop()
        self._context = make_context(self._gateway, self.start)

    def _hurry(self) -> None:
        """The statement that warms the JVM up is the last one, and its jobs end."""
        self._asked.set()
        context = self._context
        if context is not None and not self._made.is_set():
            with suppress(Exception):  # it may have been stopped
                context.sc().cancelAllJobs()

    def take(self) -> tuple[JavaGateway, Any] | None:
        """The JVM, as soon as it is there, and its context; None if it ended or did not start."""
        self._hurry()
        self._made.wait()
        with self._lock:
            gateway, self._gateway = self._gateway, None
        if gateway is None:
            return None
        if self._context is not None and gateway.proc.poll() is None:
            return gateway, self._context
        end_java(gateway)
        return None

    def end(self) -> None:
        """The JVM ends, at once or as soon as it has started, unless a session has taken it."""
        self._wanted = False
        self._hurry()
        if not self._made.is_set():
            return
        with self._lock:
            gateway, self._gateway = self._gateway, None
        if gateway is not None:
            end_java(gateway)


_of_this_process: list[Standby] = []


def prepare_java(launch: Launch) -> None:
    """A JVM for the session that `launch_session` will make of `launch` is started in the
    background, once for each process; not where another process keeps one for it."""
    if not _of_this_process and not has_spare(order_spare(launch)):
        with suppress(DTError):  # raised by the session that is requested
            _of_this_process.append(Standby(launch))
            _of_this_process[0].begin()


def dismiss() -> None:
    """The JVM on standby, if there is one, is not needed."""
    for standby in _of_this_process:
        standby.end()


def launch_session(launch: Launch, warehouse: Path) -> SparkSession:
    """A new session whose tables are in the warehouse, in the JVM on standby if it was started for
    the same, else in a spare one, else in a new one; DT-5104, DT-5105."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    taken = _take(launch)
    order = order_spare(launch)  # no JVM is being started: the environment is as it was
    if taken is None and SparkContext._gateway is None:
        taken = take_spare(order)
    start = taken[0] if taken else plan_start(launch)
    try:
        with environment(start.variables):
            if taken:
                gateway, context = taken[1:]
                context.sc().conf().set(_WAREHOUSE, text_of_path(warehouse))
            else:
                start.conf.set(_WAREHOUSE, text_of_path(warehouse))
                # A JVM that an earlier session of this process left behind is used again.
                gateway, context = SparkContext._gateway or launch_java(start), None
            session = SparkSession(SparkContext(conf=start.conf, gateway=gateway, jsc=context))
    except Exception as failure:
        forget_gateway()
        raise explain_start(failure, start.log.read_text(errors="replace")) from None
    keep_spare(order)
    return session


def _take(launch: Launch) -> tuple[JavaStart, JavaGateway, Any] | None:
    """What is on standby for this, as if it were started now."""
    from pyspark import SparkContext

    for standby in _of_this_process:
        wanted = standby.is_for(launch) and SparkContext._gateway is None
        if wanted and (taken := standby.take()):
            return (standby.start, *taken)
        standby.end()
    return None


def make_context(gateway: JavaGateway, start: JavaStart) -> Any:
    """A context as PySpark would make it, which PySpark has yet to hear of."""
    conf = gateway.jvm.SparkConf()
    for key, value in (*_CONTEXT_DEFAULTS.items(), *start.conf.getAll()):
        conf.set(key, value)
    return gateway.jvm.JavaSparkContext(conf)
