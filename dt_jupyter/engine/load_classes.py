"""Runs what most sessions run, once: the Java under it loads their classes, and writes an archive
of them.

    python -m dt_jupyter.engine.load_classes [ARCHIVE [OPTIONS]]     OPTIONS are Java's
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from dt_jupyter.engine.api import Engine
from dt_jupyter.engine.services import own_session
from dt_jupyter.spark import SWITCH

_SECONDS = 300


def run_usual() -> None:
    """In a separate session, which ends."""
    with tempfile.TemporaryDirectory() as folder:
        spark = own_session(folder, "1g")
        with Engine.connect(Path(folder), spark=spark, scheduler=False) as dt:
            dt.sql("CREATE TABLE item (id INT, v INT); INSERT INTO item VALUES (1, 1), (2, 2)")
            dt.sql(
                "CREATE DYNAMIC TABLE sums TARGET_LAG = '1 hour' AS"
                " SELECT i.v, count(*) AS n FROM item i JOIN item j ON i.id = j.id GROUP BY i.v"
            )
            dt.sql("INSERT INTO item VALUES (3, 2); UPDATE item SET v = 3 WHERE id = 1")
            dt.refresh("sums")
            dt.verify("sums")
        spark.stop()


def write_archive(archive: Path, options: str = "") -> None:
    """The archive, whole or not at all: not if this Java has no archive to extend."""
    unfinished = archive.with_suffix(".unfinished")
    os.environ[SWITCH] = "0"  # a Java that writes an archive serves no other process
    os.environ["SPARK_SUBMIT_OPTS"] = f'{options} "-XX:ArchiveClassesAtExit={unfinished}"'.strip()
    run_usual()
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=_SECONDS)
    if unfinished.exists():
        unfinished.replace(archive)


if __name__ == "__main__":
    if sys.argv[1:]:
        write_archive(Path(sys.argv[1]), *sys.argv[2:])
    else:
        run_usual()
