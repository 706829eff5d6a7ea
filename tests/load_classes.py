"""Runs what most sessions run, once: the Java under it is told to write an archive of the classes
that it loaded, from which later ones start in two thirds of the time.

    python -m tests.load_classes ARCHIVE OPTIONS     as dev.py does, with those of its tests' Java
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from dt_jupyter.engine import Engine
from dt_jupyter.engine.services import lake_layout, own_session


def main(archive: Path, options: str) -> None:
    unfinished = archive.with_suffix(".unfinished")
    os.environ["SPARK_SUBMIT_OPTS"] = f'{options} "-XX:ArchiveClassesAtExit={unfinished}"'
    with tempfile.TemporaryDirectory() as folder:
        spark = own_session(lake_layout(folder), "1g")
        with Engine.connect(Path(folder), spark=spark, scheduler=False) as dt:
            dt.sql("CREATE TABLE item (id INT, v INT); INSERT INTO item VALUES (1, 1), (2, 2)")
            dt.sql(
                "CREATE DYNAMIC TABLE sums TARGET_LAG = '1 hour' AS"
                " SELECT i.v, count(*) AS n FROM item i JOIN item j ON i.id = j.id GROUP BY i.v"
            )
            dt.sql("INSERT INTO item VALUES (3, 2); UPDATE item SET v = 3 WHERE id = 1")
            dt.refresh("sums")
            dt.verify("sums")
        gateway = SparkContext._gateway
        spark.stop()
        assert gateway is not None
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(timeout=120)
    if unfinished.exists():  # not where this Java has no archive of its own to add to
        unfinished.replace(archive)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
