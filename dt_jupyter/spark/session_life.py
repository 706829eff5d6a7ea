"""Whether a session is still there, and whether anything depends on it."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.launch import forget_gateway
from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def session_end(spark: SparkSession) -> str | None:
    """How a session has ended; None for one that is there."""
    session: Any = spark
    if is_connect(spark):
        return "it was closed" if session.is_stopped else None
    return context_end(session.sparkContext)


def context_end(context: SparkContext) -> str | None:
    """How a Spark context has ended: stopped here or in Java, or its JVM has ended."""
    from py4j.protocol import Py4JError

    known: Any = context
    process = getattr(known._gateway, "proc", None)
    if process is not None and process.poll() is not None:
        return f"its JVM ended with exit code {process.returncode}"
    if known._jsc is None:
        return "it was stopped"
    try:
        return "it was stopped" if known._jsc.sc().isStopped() else None
    except (Py4JError, OSError):
        return "its JVM does not answer"


def bury_dead_context() -> None:
    """Forget a context that was stopped in Java, or whose JVM has ended; a new session can then be
    started."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None or context_end(context) is None:
        return
    # It tries to notify the JVM, which may be dead; the second call does what is left to do here.
    with warnings.catch_warnings(action="ignore"), suppress(OSError):
        context.stop()
    context.stop()
    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and process.poll() is not None:
        forget_gateway()


def is_unused(spark: SparkSession) -> bool:
    """Whether a classic session of this machine has run no job and has no table or view, so that
    another one can take its place."""
    session: Any = spark
    if is_connect(spark) or not session.sparkContext.master.startswith("local"):
        return False
    jobs = session.sparkContext._jsc.sc().dagScheduler().numTotalJobs()
    return not jobs and not spark.catalog.listTables()


_OF_A_RUN = (
    "spark.app.id",
    "spark.app.startTime",
    "spark.app.submitTime",
    "spark.driver.extraJavaOptions",
    "spark.driver.host",
    "spark.driver.port",
    "spark.executor.extraJavaOptions",
    "spark.executor.id",
    "spark.scheduler.allocation.file",
    "spark.sql.warehouse.dir",
    "spark.ui.showConsoleProgress",
)


def settings_of(spark: SparkSession) -> dict[str, str]:
    """What was set for a classic session, for another one in its place."""
    return {key: value for key, value in spark.conf.getAll.items() if key not in _OF_A_RUN}
