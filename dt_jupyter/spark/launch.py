"""Start the JVM of a local session, with a Java that is found and the archive of its classes."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.spark.class_archive import OPTIONS, archive_of, with_archive
from dt_jupyter.spark.java import find_java, launch_environment
from dt_jupyter.spark.pools import Pool, allocation_xml

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark import SparkConf

DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_LATE_OPTIMISER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
    " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000 -XX:MetaspaceSize=256m"
)
"""Ten times Java's defaults: in the first minutes its optimising compiler takes the cores from what
it compiles, and gains nothing. Loops over many rows reach it all the same. Loaded classes start no
garbage collection below 256 MB."""
_READ_BY_SPARK = ("JAVA_", "JDK_", "SPARK_", "PYSPARK_", "HADOOP_", "YARN_")


@dataclass(frozen=True)
class Launch:
    """What a JVM is started for: Spark's settings and its pools."""

    settings: Mapping[str, str]
    pools: tuple[Pool, ...]


@dataclass(frozen=True)
class JavaStart:
    """All that the start of a JVM needs; `log` is where it and Ivy print."""

    conf: SparkConf
    variables: Mapping[str, str]
    log: Path


def plan_start(launch: Launch) -> JavaStart:
    """Finds Java and the archive of its classes; starts nothing. DT-5104."""
    scratch = Path(tempfile.mkdtemp(prefix="dt_jupyter-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    pools = scratch / "pools.xml"
    pools.write_text(allocation_xml(launch.pools))
    log = scratch / "spark.log"
    log.touch()
    variables = java_variables(scratch, _LATE_OPTIMISER)
    # Workers of Python UDFs are this interpreter, not the first `python3` on the PATH.
    variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    settings = {**launch.settings, "spark.scheduler.allocation.file": pools.as_uri()}
    return JavaStart(_with_delta(settings), variables, log)


def java_variables(scratch: Path, options: str) -> dict[str, str]:
    """The variables with which Spark starts the Java that is found, with these options, which the
    user's override, and the archive of its classes. DT-5104."""
    java = find_java(os.environ)
    variables = launch_environment(java, os.environ, scratch)
    variables |= with_archive({**os.environ, **variables}, archive_of(java))
    given = variables.get(OPTIONS, os.environ.get(OPTIONS, ""))
    variables[OPTIONS] = f"{options} {given}".strip()  # the last one of two decides
    # Java would look up the machine's own name, which need not resolve.
    variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    return variables


def launch_java(start: JavaStart) -> JavaGateway:
    """A JVM without a context."""
    from pyspark.java_gateway import launch_gateway

    with start.log.open("ab") as sink, environment(start.variables):
        return launch_gateway(  # type: ignore[no-untyped-call]
            start.conf, popen_kwargs={"stdout": sink, "stderr": sink}
        )


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


def has_java() -> bool:
    """Whether PySpark has a JVM in this process, or is to use a given one."""
    pyspark = sys.modules.get("pyspark")
    started = pyspark is not None and pyspark.SparkContext._gateway is not None
    return started or "PYSPARK_GATEWAY_PORT" in os.environ


def is_own_java() -> bool:
    """Whether the JVM that PySpark has is a child of this process, so that another one can take
    its place. In a shell of Spark the JVM is the parent."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return gateway is None or getattr(gateway, "proc", None) is not None


def knows_delta() -> bool:
    """Whether the JVM that PySpark has can load Delta's catalog; it may have no session."""
    from py4j.java_gateway import JavaClass
    from pyspark import SparkContext

    found = getattr(SparkContext._jvm, DELTA_CATALOG)
    return isinstance(found, JavaClass)


def discard_java_without_delta() -> bool:
    """A JVM that an earlier session has left is ended if it does not have Delta's JARs, which are
    part of its start, or forgotten if it has ended; False where it cannot be ended."""
    if not is_own_java():
        return knows_delta()
    if not _is_running() or not knows_delta():
        forget_gateway()
    return True


def _is_running() -> bool:
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    return gateway is not None and gateway.proc.poll() is None


def read_environment() -> dict[str, str]:
    """The variables that decide which Java is started, and how."""
    return {k: v for k, v in os.environ.items() if k.startswith(_READ_BY_SPARK)}


def forget_gateway() -> None:
    """End a JVM without a context, so that the next start makes a new one."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None and SparkContext._active_spark_context is None:
        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        end_java(gateway)


def end_java(gateway: JavaGateway) -> None:
    """The JVM of a gateway ends."""
    gateway.shutdown()
    if gateway.proc is not None:
        gateway.proc.stdin.close()  # the JVM ends when its standard input does


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """With the variables; one that the block's time has given another value keeps that."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if os.environ.get(name) != variables[name]:
                continue
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
