"""A Python process of its own on the Spark of the tests: it can be killed without a new JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from dt_jupyter.lake.write.failpoints import FAILPOINT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


def process(
    spark: SparkSession,
    module: str,
    *args: str,
    failpoint: str | None = None,
    stderr: int | IO[str] = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """Runs the module in another process that finds the session of the tests by `session`."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    parameters = gateway.gateway_parameters
    env = {**os.environ, PORT: str(parameters.port), SECRET: str(parameters.auth_token)}
    if failpoint:
        env[FAILPOINT] = failpoint
    return subprocess.Popen(
        [sys.executable, "-m", module, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=ROOT,
        env=env,
    )


def session() -> SparkSession:
    """A new session of the Spark that runs in the JVM which the environment names."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway = launch_gateway()
    jvm = gateway.jvm
    running = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    context = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
        running.sparkContext()
    )
    conf = SparkConf(_jconf=context.getConf())
    made = SparkContext(gateway=gateway, jsc=context, conf=conf)
    return SparkSession(made, running.newSession())
