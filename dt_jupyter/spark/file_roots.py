"""Which folders Spark reads of files that have no log: those that a pattern names, and those that a
session's catalog lists as partitions. No job is started."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCATION = re.compile(r"^\s*Location: (?:file:)?(.*)$", re.MULTILINE)


def match_paths(spark: SparkSession, pattern: str) -> tuple[str, ...]:
    """The local files and folders that a path with `*`, `?`, `[…]` or `{…}` names, sorted."""
    session: Any = spark
    path = _class(session, "org.apache.hadoop.fs.Path")("file", "", pattern)
    files = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    found = files.globStatus(path) or ()
    return tuple(sorted(str(s.getPath().toUri().getPath()) for s in found))


def partition_folders(spark: SparkSession, name: Name) -> tuple[frozenset[str], frozenset[str]]:
    """The partitions that the session's catalog has of a table: the folders that Spark gives them
    by their values, as `day=1/k=a`, and the paths where they are."""
    session: Any = spark
    catalog = session._jsparkSession.sessionState().catalog()
    option = _class(session, "scala.Option")
    identifier = _class(session, "org.apache.spark.sql.catalyst.TableIdentifier")
    of = identifier(name.table, option.apply(name.schema))
    told = catalog.listPartitions(of, option.empty()).mkString("\n")
    folders = spark.sql(f"SHOW PARTITIONS {name.sql}").collect()
    return frozenset(str(r[0]) for r in folders), frozenset(_LOCATION.findall(told))


def _class(session: Any, name: str) -> Any:
    from py4j.java_gateway import JavaClass

    return JavaClass(name, session._jvm._gateway_client)
