"""One real Spark with Delta for the whole run, and a fresh folder for every test."""

from __future__ import annotations

import threading
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.model import quote
from dt_jupyter.sources import lakes_of_session
from dt_jupyter.spark import (
    forget_relation,
    is_connect,
    keeps_own_names,
    list_relations,
    schema_folders,
    set_warehouse,
    warehouse_of,
)
from tests.java_options import LONG_LIVED
from tests.spark.engine_lab import (
    CATALOG,
    LAKE,
    TABLES,
    Lab,
    quick,
    without_check,
)
from tests.spark.kinds_of_spark import session_of_kind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.connect_server import ConnectServer
    from tests.spark.hdfs_server import HdfsServer
    from tests.spark.s3_server import S3Server

FAST = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.databricks.delta.snapshotPartitions": "1",
    # One collector thread leaves the cores to the work, and what a statement leaves is collected
    # while it is young.
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Xmn1g {LONG_LIVED}",
}

_STARTED: list[SparkSession] = []
_OF_A_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@pytest.fixture(scope="session")
def other_storage() -> Iterator[HdfsServer | S3Server | None]:
    """Where this run has its tables, or its lakes, one for all tests of a process; None: on the
    disk."""
    from tests.spark.hdfs_server import HdfsServer
    from tests.spark.s3_server import S3Server

    wanted = {TABLES, LAKE} - {"lake", "disk"}
    server = {"hdfs": HdfsServer, "s3": S3Server}[wanted.pop()]() if wanted else None
    yield server
    if server is not None:
        server.end()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where users' homes of lakes on other storage are, which no worker of a cluster sees."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session")
def spark(
    tmp_path_factory: pytest.TempPathFactory,
    other_storage: HdfsServer | S3Server | None,
    homes: Path,
) -> Iterator[SparkSession]:
    """The session of this process: local[2], 3 GB, Delta-enabled, unless another kind is asked
    for."""
    confs = FAST if other_storage is None else {**FAST, **other_storage.confs}
    folder = tmp_path_factory.mktemp("warehouse")
    with session_of_kind(folder, confs, _stop, hidden=homes) as session:
        _STARTED.append(session)
        yield session
        _STARTED.clear()


def _stop(session: SparkSession) -> None:
    """Within a minute: Spark waits for ever for a queue of events whose thread is dead, as an
    event of a monster leaves it at times."""
    stopping = threading.Thread(target=session.stop, daemon=True)
    stopping.start()
    stopping.join(60)
    if stopping.is_alive():
        warnings.warn("Spark did not stop, and was killed", stacklevel=1)
        session.sparkContext._gateway.proc.kill()  # type: ignore[union-attr]


@pytest.fixture(scope="module", autouse=True)
def _confs_of_a_file() -> Iterator[None]:
    """What the tests of a file set in the session, and in their thread, ends with the file; so do
    an engine that one left open, as whoever is killed does, and the names that the session has."""
    yield
    lakes_of_session._of_application.clear()
    for session in _STARTED:
        session.sql("RESET")
        _forget_names(session)
        for name in () if is_connect(session) else _OF_A_GROUP:
            session.sparkContext.setLocalProperty(name, None)


def _forget_names(session: SparkSession) -> None:
    if not keeps_own_names(session):
        return
    session.sql("USE default")
    for name in list_relations(session):
        forget_relation(session, name)
    for schema in schema_folders(session):
        if schema != "default":
            session.sql(f"DROP SCHEMA {quote(schema)}")


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """One for all tests of a process: its start takes seconds."""
    pytest.importorskip("grpc")
    from tests.spark.connect_server import ConnectServer

    server = ConnectServer(tmp_path_factory.mktemp("connect"))
    yield server
    server.end()


@pytest.fixture
def lake_dir(tmp_path: Path) -> Path:
    """An empty folder for the tables of one test."""
    folder = tmp_path / "lake"
    folder.mkdir()
    return folder


@pytest.fixture
def quick_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """The session, and those that engines make of it, with the confs for little data."""
    with quick(spark, monkeypatch):
        yield spark


@pytest.fixture
def lab(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    lake_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    other_storage: HdfsServer | S3Server | None,
    homes: Path,
) -> Iterator[Lab]:
    """An engine on an empty lake, without a scheduler, on sessions for little data; where a test
    is marked `compiled`, on sessions that generate code as users' do."""
    if CATALOG == "postgresql":
        monkeypatch.setattr(Lab, "catalog_url", request.getfixturevalue("postgres").url)
    lake: Path | str = lake_dir
    if other_storage is not None and LAKE != "disk":
        lake = f"{other_storage.url}/{uuid.uuid4().hex}/lake"
        monkeypatch.setenv("XDG_CACHE_HOME", str(homes / uuid.uuid4().hex))
    elif other_storage is not None:
        monkeypatch.setattr(Lab, "tables_at", f"{other_storage.url}/{uuid.uuid4().hex}")
    if request.node.get_closest_marker("compiled") is None:
        request.getfixturevalue("quick_spark")
    made = Lab.open(spark, lake)
    before = warehouse_of(spark) if isinstance(lake, str) else None
    if before is not None:  # as in a session that was started for the lake
        set_warehouse(spark, made.context.layout.tables)
    yield made
    made.close()
    if before is not None:
        set_warehouse(spark, before)


@pytest.fixture
def quick_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A `lab` that creates without the check."""
    without_check(monkeypatch)
    return lab


@pytest.fixture(scope="module")
def shared_lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One `quick_lab` for a file whose tests only read what they share."""
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        without_check(patched)
        made = Lab.open(spark, tmp_path_factory.mktemp("lake"))
        yield made
        made.close()
