"""Which folders Spark reads of files that have no log: those that a pattern names, and those that a
session's catalog lists as partitions. No job is started."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pyspark.errors import AnalysisException

from dt_jupyter.model import Name, quote
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.path_texts import path_of_text, text_of_path
from dt_jupyter.spark.sessions import private_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOCATION = re.compile(r"^\s*Location: (.*)$", re.MULTILINE)
_SCANNED = re.compile(r"Location: InMemoryFileIndex\(\d+ paths\)\[(.*?)\], PartitionFilters: ")
_WHOLE = {
    "spark.sql.maxMetadataStringLength": "1000000000",
    # Above this number of folders Spark lists them in a job.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000000",
}
_OWN = "dt_jupyter"


def match_paths(spark: SparkSession, pattern: str) -> tuple[str, ...] | None:
    """The local files and folders that a path with `*`, `?`, `[…]` or `{…}` names, sorted; None
    where it names nothing. Over Connect folders without a file are left out, and braces may hold
    no slash."""
    if is_connect(spark):
        return _match_on_server(spark, pattern)
    session: Any = spark
    path = _class(session, "org.apache.hadoop.fs.Path")("file", "", pattern)
    files = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    found = files.globStatus(path)
    return tuple(sorted(str(s.getPath().toUri().getPath()) for s in found)) if found else None


def _match_on_server(spark: SparkSession, pattern: str) -> tuple[str, ...] | None:
    """By the files that are below: as deep as the pattern is what it names. They are read with a
    schema that no cached DataFrame has, which would have no files."""
    with _listing(spark) as session:
        reader = session.read.format("text").schema(f"`{_OWN}` STRING")
        try:
            files = (
                reader.option("recursiveFileLookup", "true")
                .load(text_of_path(pattern))
                .inputFiles()
            )
        except AnalysisException as e:
            if e.getCondition() != "PATH_NOT_FOUND":
                raise
            return None
    depth = len(Path(pattern).parts)
    parts = (Path(unquote(urlsplit(file).path)).parts[:depth] for file in files)
    return tuple(sorted({str(Path(*p)) for p in parts}))


def partition_folders(spark: SparkSession, name: Name) -> tuple[frozenset[str], frozenset[str]]:
    """The partitions that the session's catalog has of a table: the folders that Spark gives them
    by their values, as `day=1/k=a`, and the paths where they are."""
    folders = frozenset(str(r[0]) for r in spark.sql(f"SHOW PARTITIONS {name.sql}").collect())
    if is_connect(spark):
        column = unquote(next(iter(folders), "").partition("=")[0])
        paths = _scanned_paths(spark, name, column) if folders else ()
        return folders, frozenset(map(path_of_text, paths))
    session: Any = spark
    catalog = session._jsparkSession.sessionState().catalog()
    option = _class(session, "scala.Option")
    identifier = _class(session, "org.apache.spark.sql.catalyst.TableIdentifier")
    of = identifier(name.table, option.apply(name.schema))
    told = catalog.listPartitions(of, option.empty()).mkString("\n")
    return folders, frozenset(map(path_of_text, _LOCATION.findall(told)))


def _scanned_paths(spark: SparkSession, name: Name, column: str) -> list[str]:
    """The paths of a scan as EXPLAIN prints them: for a filter by a partition's column Spark asks
    the catalog for them. An additional option keeps a cached table out of the plan."""
    kept = f"length(coalesce(CAST({quote(column)} AS STRING), '')) >= 0"
    with _listing(spark) as session:
        frame: Any = session.read.option(_OWN, "1").table(name.sql).where(kept)
        told = _SCANNED.findall(frame._explain_string())
    return [path for paths in told for path in re.split(r", (?=file:)", paths) if path]


@contextmanager
def _listing(spark: SparkSession) -> Iterator[SparkSession]:
    """A session next to the user's, which keeps its confs, for one question to a server."""
    session: Any = private_session(spark)
    try:
        for key, value in _WHOLE.items():
            session.conf.set(key, value)
        yield session
    finally:
        session.client.release_session()
        session.client.close()


def _class(session: Any, name: str) -> Any:
    from py4j.java_gateway import JavaClass

    return JavaClass(name, session._jvm._gateway_client)
