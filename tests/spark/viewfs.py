"""Hadoop's viewfs, which stands for HDFS and object stores: a folder of this disk that Spark
reads by URLs, and the engine by a copy of its tables' logs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_hosts = count()


@contextmanager
def linked(spark: SparkSession, folder: Path) -> Iterator[str]:
    """The URL of `folder` to the session, while it runs."""
    context: Any = spark.sparkContext
    hadoop = context._jsc.hadoopConfiguration()
    # Hadoop keeps a file system by its host for ever: each folder has its own.
    host = f"far{next(_hosts)}"
    link = f"fs.viewfs.mounttable.{host}.link./data"
    hadoop.set(link, folder.as_uri())
    yield f"viewfs://{host}/data"
    hadoop.unset(link)
