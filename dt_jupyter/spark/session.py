"""Start a local Spark that knows Delta, or adopt the session that the user has."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import DTError, error
from dt_jupyter.spark.launch import (
    DELTA_CATALOG,
    Launch,
    discard_java_without_delta,
    has_java,
    is_own_java,
    knows_delta,
)
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.pools import Pool
from dt_jupyter.spark.session_confs import WHOLE_ROWS
from dt_jupyter.spark.session_life import bury_dead_context, session_end, settings_of
from dt_jupyter.spark.spare import SpareOrder, order_spare
from dt_jupyter.spark.standby import launch_session, prepare_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CONFS: Mapping[str, str] = {
    "spark.sql.extensions": EXTENSION,
    "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
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
    # Each hashed relation of a join has a separate page, by default of 16 to 64 MB: forty small
    # tables joined by their names would take a driver's whole memory.
    "spark.buffer.pageSize": "4m",
    # delta-rs misreads INT96 timestamps beyond 1677 to 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    **WHOLE_ROWS,
}
_SETTINGS = ", ".join(f"{key}={value}" for key, value in DELTA_CONFS.items())
_START_ANOTHER = (
    "Run spark.stop(), then %dt connect (in a script dt_jupyter.connect(…)): a session with Delta "
    "Lake is started for you. Or build it with delta.configure_spark_with_delta_pip(builder) and "
    f"{_SETTINGS}."
)
_OF_A_SERVER = f"Set {_SETTINGS} for the Spark Connect server, with the JARs of Delta Lake."
_OF_A_LAUNCHER = (
    "Python was started by Spark, whose JVM cannot be exchanged: start pyspark or spark-submit "
    f"with --packages io.delta:delta-spark_2.13:… and {_SETTINGS}; or start Python without Spark, "
    "and connect first."
)
SPARKS, DELTA = ("4.0", "4.1", "4.2"), "4.4"
"""The releases that are tested. Internal classes of both are used, which others need not have."""


def active_session() -> SparkSession | None:
    """The session of this process, classic or Connect, if there is one that is alive."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    bury_dead_context()
    found = SparkSession.getActiveSession()
    if found is not None and session_end(found) is None:
        return found
    # A thread that ran no query yet has no active session, though the process has one.
    return (
        None if SparkContext._active_spark_context is None else SparkSession.builder.getOrCreate()
    )


def require_delta(spark: SparkSession) -> SparkSession:
    """`spark` itself if it reads and writes Delta through its catalog, else DT-5106; DT-5124 for
    one that has ended, DT-5133 for a release that is not supported."""
    if (end := session_end(spark)) is not None:
        raise error("DT-5124", problem=end)
    if not _is_release_of(spark.version, *SPARKS):
        raise error("DT-5133", found=f"Spark {spark.version}")
    if (problem := _missing_conf(spark)) is not None:
        raise error("DT-5106", problem=problem, hint=_how_to_enable(spark))
    try:
        spark.sql("SHOW NAMESPACES")  # loads the catalog class; starts no job
    except Exception as failure:
        raise DTError(
            "DT-5106",
            {"problem": "its JARs do not have Delta Lake", "hint": _how_to_enable(spark)},
            details=str(failure),
        ) from None
    if not is_connect(spark) and not _is_release_of(found := _delta_version(spark), DELTA):
        raise error("DT-5133", found=f"Delta Lake {found}")
    return spark


def _delta_version(spark: Any) -> str:
    return str(spark._jvm.io.delta.package.VERSION())


def _is_release_of(version: str, *series: str) -> bool:
    return any(version == s or version.startswith(f"{s}.") for s in series)


def has_delta_confs(spark: SparkSession) -> bool:
    """Whether a session is set up for Delta; its JARs may be missing all the same."""
    return _missing_conf(spark) is None


def _missing_conf(spark: SparkSession) -> str | None:
    for key, value in DELTA_CONFS.items():
        if value not in (spark.conf.get(key, "") or ""):
            return f"{key} is not {value}"
    return None


def _how_to_enable(spark: SparkSession) -> str:
    if is_connect(spark):
        return _OF_A_SERVER
    return _START_ANOTHER if is_own_java() or knows_delta() else _OF_A_LAUNCHER


def replace_session(
    spark: SparkSession,
    warehouse_dir: Path,
    *,
    cores: int,
    memory: str,
    confs: Mapping[str, str] | None = None,
    pools: Sequence[Pool] = (),
) -> SparkSession:
    """A local session with Delta in the place of a classic one without, which is stopped; it has
    the settings of that one. Errors: as `local_session`, and DT-5106 where those settings, or a
    JVM that is not this process's own, leave no room for Delta."""
    settings = settings_of(spark)
    catalog = settings.pop("spark.sql.catalog.spark_catalog", DELTA_CATALOG)
    if catalog != DELTA_CATALOG or not (is_own_java() or knows_delta()):
        require_delta(spark)
    extensions = [name for name in settings.pop("spark.sql.extensions", "").split(",") if name]
    settings["spark.sql.extensions"] = ",".join(dict.fromkeys((*extensions, EXTENSION)))
    spark.stop()
    return local_session(
        warehouse_dir, cores=cores, memory=memory, confs={**(confs or {}), **settings}, pools=pools
    )


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
    (did not start, with the reason and the fix), DT-5106 (adopted, but not Delta-enabled; or the
    JVM that Python runs in has no Delta).
    """
    if (adopted := active_session()) is not None:
        return require_delta(adopted)
    if not discard_java_without_delta():
        problem = "its JARs do not have Delta Lake"
        raise error("DT-5106", problem=problem, hint=_OF_A_LAUNCHER)
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
    process has a session or has begun that already. A failure is raised by `local_session`."""
    if not has_java():
        prepare_java(Launch(_settings(app_name, cores, memory, confs), tuple(pools)))


def order_session(
    *,
    app_name: str = "dt_jupyter",
    cores: int,
    memory: str,
    confs: Mapping[str, str] | None = None,
    pools: Sequence[Pool] = (),
) -> SpareOrder | None:
    """What a spare Spark for `local_session` with these values is ordered with; None where the
    environment asks for none."""
    return order_spare(Launch(_settings(app_name, cores, memory, confs), tuple(pools)))


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
