"""Start a local Spark that knows Delta, or adopt the session that the user has."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.model import DTError, error
from dt_jupyter.spark.launch import Launch, forget_gateway, has_java
from dt_jupyter.spark.pools import Pool
from dt_jupyter.spark.session_confs import WHOLE_ROWS
from dt_jupyter.spark.standby import launch_session, prepare_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
DELTA_CONFS: Mapping[str, str] = {
    "spark.sql.extensions": EXTENSION,
    "spark.sql.catalog.spark_catalog": _CATALOG,
}
LOCAL_CONFS: Mapping[str, str] = {
    **DELTA_CONFS,
    # Derby admits one process: tables are registered by location, from our own catalog.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.scheduler.mode": "FAIR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Nothing listens outside this machine, and no host name has to resolve.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Delta's default of 50 tasks for each snapshot makes a small commit slow.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    # Each hashed relation of a join has a page of its own, by default of 16 to 64 MB: forty small
    # tables joined by their names would take a driver's whole memory.
    "spark.buffer.pageSize": "4m",
    # delta-rs misreads INT96 timestamps beyond 1677 to 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    **WHOLE_ROWS,
}
HOW_TO_ENABLE_DELTA = (
    "Stop it (spark.stop()) and connect again, then one is started for you; or build it with "
    "delta.configure_spark_with_delta_pip(builder) and "
    + ", ".join(f"{key}={value}" for key, value in DELTA_CONFS.items())
    + "."
)


def active_session() -> SparkSession | None:
    """The session of this process, classic or Connect, if there is one that is alive."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    _bury_dead_context()
    if (found := SparkSession.getActiveSession()) is not None:
        return found
    # A thread that ran no query yet has no active session, though the process has one.
    return (
        None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()
    )


def require_delta(spark: SparkSession) -> SparkSession:
    """`spark` itself if it reads and writes Delta through its catalog, else DT-5106."""
    for key, value in DELTA_CONFS.items():
        if value not in (spark.conf.get(key, "") or ""):
            raise error("DT-5106", problem=f"{key} is not {value}", hint=HOW_TO_ENABLE_DELTA)
    try:
        spark.sql("SHOW NAMESPACES")  # loads the catalog class; starts no job
    except Exception as failure:
        raise DTError(
            "DT-5106",
            {"problem": "its JARs do not have Delta Lake", "hint": HOW_TO_ENABLE_DELTA},
            details=str(failure),
        ) from None
    return spark


def local_session(
    warehouse_dir: Path,
    *,
    app_name: str = "dt_jupyter",
    cores: int,
    memory: str,
    confs: Mapping[str, str] | None = None,
    pools: Sequence[Pool] = (),
) -> SparkSession:
    """The active session if there is one (as it is, but Delta-enabled), else a new local one.

    `memory` is the driver's heap as Java writes it (`2g`); `confs` go over our own. What the JVM
    and Ivy print goes to a log file, not into the notebook. Errors: DT-5104 (no Java), DT-5105
    (did not start, with the reason and the fix), DT-5106 (adopted, but not Delta-enabled).
    """
    if (adopted := active_session()) is not None:
        return require_delta(adopted)
    launch = Launch(_settings(app_name, cores, memory, confs), tuple(pools))
    session = launch_session(launch, warehouse_dir.resolve())
    _say_errors_once()
    return require_delta(session)


def prepare_session(
    *,
    app_name: str = "dt_jupyter",
    cores: int,
    memory: str,
    confs: Mapping[str, str] | None = None,
    pools: Sequence[Pool] = (),
) -> None:
    """Start in the background what `local_session` with these values will need, unless this
    process has a session or has begun that already. What goes wrong is told by `local_session`."""
    if not has_java():
        prepare_java(Launch(_settings(app_name, cores, memory, confs), tuple(pools)))


def _settings(
    app_name: str, cores: int, memory: str, confs: Mapping[str, str] | None
) -> dict[str, str]:
    return {
        **LOCAL_CONFS,
        "spark.app.name": app_name,
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(max(4, 2 * cores)),
        **(confs or {}),
    }


def _say_errors_once() -> None:
    """PySpark prints each SQL error as a line of JSON with the JVM's trace, besides raising it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _bury_dead_context() -> None:
    """Forget a context whose JVM was killed or ended; a new session can then be started."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        return
    try:
        context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        # It tries to tell the JVM, which is dead; the second call does what is left to do here.
        with warnings.catch_warnings(action="ignore"), suppress(OSError):
            context.stop()
        context.stop()
        forget_gateway()
