"""Each part of the engine, on whatever Spark, catalog and storage a run is for: `DT_TEST_SPARK` is
local, connect or cluster, `DT_TEST_CATALOG` is sqlite or postgresql, `DT_TEST_TABLES` is lake, hdfs
or s3, and `DT_TEST_LAKE` is disk, hdfs or s3."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dt_jupyter.dispatch.dispatcher import Desk
from dt_jupyter.engine import Engine
from dt_jupyter.lake import open_log
from dt_jupyter.lake.storage.mounts import list_all
from dt_jupyter.model import DTError
from dt_jupyter.spark import (
    JobPurpose,
    is_shared,
    purpose_of,
    runs_elsewhere,
    shared_disk,
)
from tests.experiments import AWAY
from tests.faults.test_refresh_faults import QUERY
from tests.spark.engine_lab import CATALOG, LAKE, TABLES, Lab, refused
from tests.spark.kinds_of_spark import KIND
from tests.spark.refresh.test_operators import QUERIES
from tests.spark.refresh.test_oracle_random import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.hdfs_server import HdfsServer
    from tests.spark.standalone import StandaloneCluster

pytestmark = [pytest.mark.nightly] if KIND == "local" else []
"""Where other tests have more of each part."""
OPERATORS = (
    "left_join_further", "not_in_nullable", "correlated_count", "scalar_aggregate", "except_all",
    "rollup", "deduplicated", "running", "lateral_outer", "collected", "literal",
)  # fmt: skip
"""One text of each class."""
SHARE = {"local": 1, "cluster": 4, "connect": 4}
"""Of which each fourth is tried, where each takes seconds."""
ITEMS = ("1, 'a'", "2, 'a'", "3, 'b'")
AFTER = [(1, 1, 5), (2, 2, 10)]
"""Of QUERY, with the rows that are not in it at first."""


@pytest.fixture
def shop(quick_lab: Lab) -> Lab:
    """A table, a dynamic table of two stages over it, and rows that are not in it yet."""
    quick_lab.table("item", "id INT, k STRING", *ITEMS)
    quick_lab.dynamic_table("d", QUERY)
    quick_lab.insert("item", "4, 'b'", "5, 'c'")
    return quick_lab


def test_the_catalog_is_where_the_run_says(shop: Lab) -> None:
    kept_in_file = shop.context.layout.catalog.exists()
    assert kept_in_file == (CATALOG == "sqlite")


def test_a_lake_that_not_each_machine_has_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files would be written to as many disks as there are, and the log name all of them."""
    if not runs_elsewhere(spark):
        assert KIND == "local"
        return
    assert is_shared(spark, tmp_path)
    if KIND == "cluster":  # where each process finds another folder there
        assert not is_shared(spark, Path("/proc/self/cwd"))
    text = shared_disk.text_of_path
    monkeypatch.setattr(shared_disk, "text_of_path", lambda path: f"{text(path)}-elsewhere")
    with refused("DT-5103") as found:
        Engine.connect(tmp_path / "lake", spark=spark, scheduler=False)
    assert "not each machine" in str(found[0])
    assert not list((tmp_path / "lake").rglob("probe-*"))


@pytest.mark.skipif(KIND != "connect", reason="Java reaches other storage")
def test_a_lake_on_other_storage_is_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with refused("DT-5103") as found:
        Engine.connect("hdfs://namenode:8020/lake", spark=spark, scheduler=False)
    assert "a client of Spark Connect" in str(found[0])


def test_each_operator_is_kept(quick_lab: Lab) -> None:
    lab, rng = quick_lab, random.Random(7)
    tables = Tables(lab, rng)
    tables.start()
    names = OPERATORS[:: SHARE[KIND]]
    for name in names:
        lab.dynamic_table(name, QUERIES[name])
    assert {lab.mode(name) for name in names} == {"INCREMENTAL"}
    tables.batch()
    taken = {name: lab.refresh(name) for name in names}
    assert set(taken.values()) <= {"INCREMENTAL", "NO_DATA"}, taken
    lab.verified(*names)


def test_a_life_in_all_four_actions(shop: Lab) -> None:
    assert shop.refresh("d") == "INCREMENTAL"
    assert shop.refresh("d") == "NO_DATA"
    shop.dynamic_table("whole", "SELECT k FROM item", "REFRESH_MODE = FULL")
    shop.dynamic_table("over", "SELECT sum(t) AS t FROM d")
    shop.insert("item", "6, 'c'")
    assert shop.refresh("whole") == "FULL"
    assert shop.refresh("over") == "INCREMENTAL"
    shop.sql("CREATE OR REPLACE TABLE item (id INT, k STRING); INSERT INTO item VALUES (9, 'z')")
    assert shop.refresh("d") == "REINITIALIZE"
    shop.verified("d", "whole", "over")
    shop.reopen()
    actions = [str(record.action) for record in shop.engine.records("d")]
    assert actions[0] == "REINITIALIZE"
    assert shop.rows("d") == [(1, 1, 9)]


def test_streams_transactions_and_tasks(shop: Lab) -> None:
    shop.table("sink", "id INT, k STRING")
    shop.table("counted", "n BIGINT")
    shop.sql("CREATE STREAM s ON TABLE item; INSERT INTO item VALUES (6, 'x'), (7, 'y')")
    held = shop.engine.sql("SELECT id FROM s ORDER BY id")
    shop.sql("""
        BEGIN;
        INSERT INTO sink SELECT id, k FROM s;
        INSERT INTO counted SELECT count(*) FROM s;
        COMMIT
    """)
    assert [tuple(r) for r in held.collect()] == [(6,), (7,)]  # as it was when it was asked for
    assert shop.rows("sink") == [(6, "x"), (7, "y")]
    assert shop.rows("counted") == [(2,)]
    assert shop.sql("SELECT * FROM s") == []
    shop.sql("DELETE FROM item WHERE id = 6; INSERT INTO item VALUES (8, 'z')")
    shop.sql("BEGIN; INSERT INTO sink SELECT id, k FROM s; ROLLBACK")
    assert sorted(shop.sql("SELECT id, `$ACTION` FROM s")) == [(6, "DELETE"), (8, "INSERT")]
    shop.sql("""
        CREATE TASK t WAREHOUSE = default AS
            INSERT INTO sink SELECT id, k FROM s WHERE `$ACTION` = 'INSERT';
        EXECUTE TASK t
    """)
    assert shop.rows("sink")[-1] == (8, "z")
    shop.serializable()


@pytest.mark.skipif(KIND != "cluster" or LAKE == "disk", reason="workers see the disk")
def test_a_table_on_a_disk_that_workers_do_not_see(shop: Lab, tmp_path: Path) -> None:
    shop.sql(f"CREATE TABLE here (id INT) USING delta LOCATION 'file:{tmp_path}/here'")
    shop.sql("CREATE STREAM s ON TABLE item; INSERT INTO item VALUES (6, 'x')")
    for code, begun in (("DT-3204", ""), ("DT-3207", "BEGIN;")):
        with refused(code) as found:
            shop.sql(f"{begun} INSERT INTO here SELECT id FROM s")
        assert "workers" in str(found[0])
    shop.sql("ROLLBACK")
    assert shop.sql("SELECT id FROM s") == [(6,)]
    shop.sql("DROP TABLE here")


def test_time_travel_changes_and_parameters(shop: Lab) -> None:
    """Frames are run after other statements, and twice."""
    before = shop.rows("item")
    shop.engine.pin("evidence", "item")
    shop.sql("DELETE FROM item WHERE id < 3")
    older = shop.engine.sql("SELECT * FROM item AT (VERSION => 2)")
    changed = shop.engine.changes("item", at=2)
    asked = shop.engine.sql("SELECT :n AS n, id FROM item WHERE id > :n", args={"n": 4})
    counted = changed.groupBy("`$ACTION`").count()
    shop.sql("SELECT 1 AS one")
    for _ in range(2):
        assert sorted(map(tuple, older.collect())) == before
        assert [tuple(r) for r in counted.collect()] == [("DELETE", 2)]
        assert [tuple(r) for r in asked.collect()] == [(4, 5)]
    assert [hold.name for hold in shop.engine.pins().holds] == ["evidence"]
    shop.engine.unpin("evidence")


@pytest.mark.parametrize("schema", ["snapshot_time", "current"])
def test_a_replay_in_either_schema(shop: Lab, schema: str) -> None:
    shop.sql("ALTER TABLE item ADD COLUMN more INT; DELETE FROM item")
    with shop.engine.replay("item", at=1, to="now", schema_mode=schema) as walk:
        steps = [(s.inserted, s.deleted) for s in walk]
        widths = {len(walk.frame(i).columns) for i in range(len(steps))}
        counts = [walk.frame(i).count() for i in range(len(steps))]
        (gone,) = {r["$ACTION"] for r in walk.changes(len(steps) - 1).collect()}
        kept = walk.to_arrow(len(steps) - 2)
    assert steps[-1] == (0, 5)
    assert (counts[-2:], gone, kept.num_rows) == ([5, 0], "DELETE", 5)
    assert widths == ({2, 3} if schema == "snapshot_time" else {3})


def test_a_sink_and_a_name_in_quotes(shop: Lab, tmp_path: Path) -> None:
    shop.dynamic_table("`order`", "SELECT k, count(*) AS `n n` FROM item GROUP BY k")
    target = tmp_path / "app.db"
    sqlite3.connect(target).close()
    into = f"'sqlite://{target}?table=d' KEY (k) TARGET_LAG = '1 minute'"
    shop.sql(f"CREATE SINK out FROM DYNAMIC TABLE `order` INTO {into}")
    with sqlite3.connect(target) as connection:
        delivered = sorted(connection.execute("SELECT * FROM d"))
    assert delivered == [("a", 2), ("b", 2), ("c", 1)]


def test_the_scheduler_keeps_the_lag_and_the_panel_shows_it(shop: Lab) -> None:
    shop.sql("ALTER DYNAMIC TABLE d SET TARGET_LAG = '1 minute'")
    desk = Desk(lambda: shop.engine)
    shop.engine.start_scheduler()
    try:
        end = time.monotonic() + 120
        while shop.rows("d") != AFTER and time.monotonic() < end:
            shop.context.scheduling.nudge()
            time.sleep(0.2)
    finally:
        shop.engine.stop_scheduler()
    assert shop.rows("d") == AFTER
    shown: dict[str, Any] = desk.answer_json({"id": 1, "ask": "catalogue"})
    names = {item["name"] for item in shown["message"]["items"]}
    desk.close()
    assert {"d", "item"} <= names
    shop.verified("d")


def test_bad_input_has_its_code_and_changes_nothing(shop: Lab) -> None:
    before = shop.names()
    for code, script in {
        "DT-1101": "CREATE DYNAMIC TABLE e TARGET_LAG = '1 hour' AS SELECT * FROM nowhere",
        "DT-1109": "INSERT INTO d VALUES (1, 1, 1)",
        "DT-3201": "SELECT * FROM item CHANGES (INFORMATION => DEFAULT) AT (STREAM => 'none')",
    }.items():
        with refused(code):
            shop.engine.sql(script)
    shop.sql("INSERT INTO item VALUES (0, 'zero')")
    shop.dynamic_table("failing", "SELECT sum(1 DIV (id + 1)) AS s FROM item")
    shop.sql("INSERT INTO item VALUES (-1, 'minus')")
    record = shop.record("failing")
    assert isinstance(record.error, DTError | str)
    assert record.error_code is not None
    shop.sql("DROP DYNAMIC TABLE failing")
    assert shop.names()[0] == before[0]


@AWAY
@pytest.mark.skipif(KIND != "cluster", reason="no worker can be lost")
def test_a_worker_that_is_lost_in_the_middle_of_a_refresh(shop: Lab) -> None:
    from tests.spark.kinds_of_spark import clusters

    (cluster,) = clusters
    shop.tune(evaluated_rows=1)
    shop.dynamic_table(
        "slow", f"SELECT k, max({SLOW}) AS m FROM item GROUP BY k", "REFRESH_MODE = INCREMENTAL"
    )
    shop.sql("INSERT INTO item SELECT id, concat('k', id % 7) FROM range(400000)")
    ended = threading.Event()
    killing = threading.Thread(target=kill_in_a_stage, args=(shop, cluster, ended))
    killing.start()
    record = shop.record("slow")
    ended.set()
    killing.join()
    assert (record.action, record.error) == ("INCREMENTAL", None)
    assert cluster.workers[0].poll() is not None, "the refresh had no stage"
    cluster.add_worker("another")
    shop.insert("item", "6, 'c'")
    assert shop.refresh("slow") == "INCREMENTAL"
    shop.verified("slow")


@pytest.mark.skipif(KIND == "connect", reason="Delta writes there")
def test_a_change_that_stays_in_spark_is_committed_by_the_engine(shop: Lab) -> None:
    """Wherever the lake is, in two jobs: no row and no file of the table comes to the driver."""
    shop.leave_process()
    shop.sql("INSERT INTO item SELECT id, concat('k', id % 9) FROM range(20000)")
    shop.dynamic_table("kept", "SELECT id, k FROM item", "CLUSTER BY (k)")
    for turn in range(2):
        shop.sql(f"DELETE FROM item WHERE id % 1000 = {turn}; INSERT INTO item VALUES (-1, 'new')")
        record = shop.record("kept")
        assert (record.action, record.statistics.writer) == ("INCREMENTAL", "spark-files")
        assert record.statistics.spark_jobs <= 6
    shop.verified("kept")
    shop.reopen()
    folder = shop.context.layout.public(shop.engine.table("kept").id)
    assert [name for name, _ in list_all(folder) if name.startswith("_dt_rows")] == []
    assert open_log(folder).size(shop.version("kept")).files == 3


@AWAY
@pytest.mark.nightly
@pytest.mark.skipif(KIND != "cluster", reason="no executor can be lost")
@pytest.mark.parametrize("written", [0, 1, 2])
def test_an_executor_that_is_killed_in_a_merge(shop: Lab, written: int) -> None:
    """As soon as so many of the jobs that write have ended and one, if any, is under way."""
    from tests.spark.kinds_of_spark import clusters

    (cluster,) = clusters
    shop.leave_process()
    shop.sql("INSERT INTO item SELECT id, concat('k', id % 9) FROM range(100000)")
    query = "SELECT id % 50000 AS g, count(*) AS n, max(k) AS m FROM item GROUP BY id % 50000"
    shop.dynamic_table("groups", query, "REFRESH_MODE = INCREMENTAL")
    shop.sql(
        "DELETE FROM item WHERE id % 10 = 3; INSERT INTO item SELECT id, 'n' FROM range(20000)"
    )
    ended, killed = threading.Event(), list[int]()
    killing = threading.Thread(target=kill_in_a_write, args=(shop, cluster, written, ended, killed))
    killing.start()
    record = shop.record("groups")
    ended.set()
    killing.join()
    assert (record.action, record.error) == ("INCREMENTAL", None)
    assert record.statistics.writer == "spark-files"
    assert killed, "no executor was killed before the refresh ended"
    shop.verified("groups")
    shop.insert("item", "6, 'c'")
    assert shop.refresh("groups") == "INCREMENTAL"
    shop.verified("groups")
    shop.serializable()


@AWAY
def test_storage_that_is_away_for_a_while(shop: Lab, other_storage: HdfsServer | None) -> None:
    if other_storage is None or "hdfs" not in (TABLES, LAKE):
        pytest.skip("a disk is not away, and the server of S3 forgets what it had")
    other_storage.serves.stop()
    try:
        record = shop.record("d")
        assert (record.action, record.error_code) == (None, "DT-2105")
    finally:
        other_storage.serves.start()
    end = time.monotonic() + 120
    while shop.record("d").error is not None and time.monotonic() < end:
        time.sleep(1)  # a NameNode has to hear of the blocks
    assert shop.rows("d") == AFTER
    shop.insert("item", "6, 'c'")
    assert shop.refresh("d") == "INCREMENTAL"
    shop.verified("d")
    shop.serializable()


SLOW = "sha2(repeat(k, 500 + id % 300), 512)"


def kill_in_a_stage(lab: Lab, cluster: StandaloneCluster, ended: threading.Event) -> None:
    """The first worker and its executors, as soon as a task runs."""
    tracker = lab.spark.sparkContext.statusTracker()
    while not ended.is_set():
        stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
        if any(s is not None and s.numActiveTasks for s in stages):
            cluster.kill(cluster.workers[0])
            return
        ended.wait(0.01)


def kill_in_a_write(
    lab: Lab,
    cluster: StandaloneCluster,
    written: int,
    ended: threading.Event,
    killed: list[int],
) -> None:
    """The executors of the first worker, once so many jobs that write have ended, or one runs."""
    context: Any = lab.spark.sparkContext._jsc.sc()
    first = int(context.dagScheduler().nextJobId())
    while not ended.is_set():
        status = list(written_jobs(context, first))
        if status and status.count("SUCCEEDED") >= written:
            killed += cluster.kill_executors(cluster.workers[0])
            return
        ended.wait(0.005)


def written_jobs(context: Any, first: int) -> Iterator[str]:
    """The states of the jobs from a number on that write, as far as the store knows of them."""
    jobs = context.statusStore().jobsList(None)
    for job in (jobs.apply(i) for i in range(jobs.size())):
        text = job.description()
        known = job.jobId() >= first and text.isDefined()
        if known and purpose_of(text.get()) is JobPurpose.WRITE:
            yield str(job.status())
