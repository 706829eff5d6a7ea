"""The Spark that the tests of this folder run on: of this process, behind Spark Connect, or a
cluster whose workers are processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.spark import Pool, local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.standalone import StandaloneCluster

KIND = os.environ.get("DT_TEST_SPARK", "local")
"""`local`, `connect` or `cluster`."""
clusters: list[StandaloneCluster] = []
"""Those that are running, for tests that take something away from one."""
Stop = Callable[["SparkSession"], None]


@contextmanager
def session_of_kind(
    folder: Path,
    confs: Mapping[str, str],
    stop: Stop,
    kind: str = KIND,
    hidden: Path | None = None,
) -> Iterator[SparkSession]:
    """A session that knows Delta, with files in `folder`; `stop` ends one of this process. Workers
    of a cluster do not see what is in `hidden`."""
    if kind == "connect":
        with _remote(folder, confs) as remote:
            yield remote
        return
    with _master(folder, kind, hidden) as master:
        session = local_session(
            folder,
            app_name="tests",
            cores=2,
            memory="3g",
            confs={**confs, **master},
            pools=[Pool("heavy", weight=3)],
        )
        yield session
        stop(session)


@contextmanager
def _master(folder: Path, kind: str, hidden: Path | None) -> Iterator[Mapping[str, str]]:
    if kind == "local":
        yield {}
        return
    from tests.spark.standalone import StandaloneCluster

    cluster = StandaloneCluster(folder / "cluster", workers=2, hidden=hidden)
    clusters.append(cluster)
    try:
        yield cluster.confs
    finally:
        clusters.remove(cluster)
        cluster.end()


@contextmanager
def _remote(folder: Path, confs: Mapping[str, str]) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    from tests.spark.connect_server import ConnectServer

    server = ConnectServer(folder, confs)
    session = SparkSession.builder.remote(server.url).getOrCreate()
    yield session
    session.stop()
    server.end()
