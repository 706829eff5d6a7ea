"""Whether the machines that Spark runs on have a folder of this one."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.path_texts import text_of_path
from dt_jupyter.spark.session_confs import confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASKS_OF_AN_EXECUTOR = 4
_TASKS_OF_A_SERVER = 4
_EACH_ALONE = {
    "spark.sql.files.maxPartitionBytes": "1",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.files.ignoreMissingFiles": "false",
}
"""A task for each file."""
_MISSED = ("[PATH_NOT_FOUND]", "[FAILED_READ_FILE.")


def runs_elsewhere(spark: SparkSession) -> bool:
    """Whether tasks may run in other processes than this one and its JVM."""
    return is_connect(spark) or not str(spark.sparkContext.master).startswith("local")


def is_shared(spark: SparkSession, folder: Path) -> bool:
    """Whether Spark finds there what this process writes, wherever its tasks run: by a job of a few
    tasks for each executor that it has, which read a file each."""
    probe = Path(tempfile.mkdtemp(prefix="probe-", dir=folder))
    probe.chmod(0o755)  # executors may run as another user
    try:
        for number in range(_count_tasks(spark)):
            (probe / str(number)).write_text("x")
        with confs(spark, _EACH_ALONE):
            spark.read.schema("value STRING").text(text_of_path(probe)).count()
    except (PySparkException, Py4JJavaError) as e:
        if not any(condition in str(e) for condition in _MISSED):
            raise
        return False
    finally:
        shutil.rmtree(probe)
    return True


def _count_tasks(spark: SparkSession) -> int:
    if is_connect(spark):
        return _TASKS_OF_A_SERVER
    context = spark.sparkContext
    assert context._jsc is not None
    executors = int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # without the driver
    return _TASKS_OF_AN_EXECUTOR * max(executors, 1)


__all__ = ["is_shared", "runs_elsewhere"]
