"""Start a local Spark that knows Delta, or adopt the session that the user has."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.model import DTError, error
from dt_jupyter.spark.class_archive import archive_of, with_archive
from dt_jupyter.spark.failures import explain_start
from dt_jupyter.spark.java import find_java, launch_environment
from dt_jupyter.spark.pools import Pool, allocation_xml

if TYPE_CHECKING:
    from pyspark import SparkConf
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
    # A Python UDF that reads a file's columns hangs for ever (SPARK-58241, in 4.2.0).
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
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
    scratch = Path(tempfile.mkdtemp(prefix="dt_jupyter-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    settings = {
        **LOCAL_CONFS,
        "spark.app.name": app_name,
        "spark.master": f"local[{cores}]",
        "spark.driver.memory": memory,
        "spark.sql.warehouse.dir": str(warehouse_dir.resolve()),
        "spark.sql.shuffle.partitions": str(max(4, 2 * cores)),
        **_allocation(pools, scratch),
        **(confs or {}),
    }
    session = _start(settings, scratch)
    _say_errors_once()
    return require_delta(session)


def _say_errors_once() -> None:
    """PySpark prints each SQL error as a line of JSON with the JVM's trace, besides raising it."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _allocation(pools: Sequence[Pool], scratch: Path) -> dict[str, str]:
    file = scratch / "pools.xml"
    file.write_text(allocation_xml(pools))
    return {"spark.scheduler.allocation.file": file.as_uri()}


def _start(settings: Mapping[str, str], scratch: Path) -> SparkSession:
    java = find_java(os.environ)
    variables = launch_environment(java, os.environ, scratch)
    variables |= with_archive({**os.environ, **variables}, archive_of(java))
    # Workers of Python UDFs are this interpreter, not the first `python3` on the PATH.
    variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    # Java would look up the machine's own name, which need not resolve.
    variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    log = scratch / "spark.log"
    log.touch()
    with _environment(variables):
        try:
            return _launch(_with_delta(settings), log)
        except Exception as failure:
            _forget_gateway()
            raise explain_start(failure, log.read_text(errors="replace")) from None


def _with_delta(settings: Mapping[str, str]) -> SparkConf:
    """The settings with the JARs of the installed delta-spark, and any that the user named."""
    from delta import configure_spark_with_delta_pip
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    given = [name for name in settings.get("spark.jars.packages", "").split(",") if name]
    builder = SparkSession.Builder()
    for key, value in settings.items():
        builder.config(key, value)
    conf = SparkConf()
    for key, value in configure_spark_with_delta_pip(builder, given)._options.items():
        conf.set(key, str(value))
    return conf


def _launch(conf: SparkConf, log: Path) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    with log.open("ab") as sink:
        # A JVM that an earlier session of this process left behind is used again.
        gateway = SparkContext._gateway or launch_gateway(  # type: ignore[no-untyped-call]
            conf, popen_kwargs={"stdout": sink, "stderr": sink}
        )
    return SparkSession(SparkContext(conf=conf, gateway=gateway))


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
        _forget_gateway()


def _forget_gateway() -> None:
    """End a JVM without a context, so that the next start makes a new one."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None and SparkContext._active_spark_context is None:
        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        gateway.shutdown()
        if gateway.proc is not None:
            gateway.proc.stdin.close()  # the JVM ends when its standard input does


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
