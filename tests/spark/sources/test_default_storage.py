"""A session whose paths without a scheme lead to HDFS, as Hadoop's configuration of a cluster has
it: the lake stays on the disk, and what a statement names so is found where Spark finds it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.spark.engine_lab import Lab, refused
from tests.spark.kinds_of_spark import KIND
from tests.spark.viewfs import linked

pytestmark = pytest.mark.skipif(KIND != "local", reason="Hadoop is configured by its Java objects")
DEFAULT = "fs.defaultFS"


@dataclass
class Cluster:
    """A lab whose session finds `/data/…` in `folder`, and no other path without a scheme."""

    lab: Lab
    folder: Path


@pytest.fixture
def cluster(quick_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    lab, folder = quick_lab, tmp_path / "elsewhere"
    folder.mkdir()
    spark: Any = lab.spark
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    monkeypatch.setattr(Lab, "tables_at", f"file:{lab.context.layout.tables}")
    before = hadoop.get(DEFAULT)
    with linked(lab.spark, folder) as url:
        hadoop.set(DEFAULT, url.removesuffix("/data"))
        lab.reopen()
        yield Cluster(lab, folder)
        lab.engine.close()
        hadoop.set(DEFAULT, before)


def test_the_lake_stays_on_the_disk(cluster: Cluster, tmp_path: Path) -> None:
    lab = cluster.lab
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'b'")
    lab.dynamic_table("counted", "SELECT k, count(*) AS n FROM item GROUP BY k")
    lab.dynamic_table("over", "SELECT max(n) AS most FROM counted")
    lab.dynamic_table("all_anew", "SELECT k FROM item", "REFRESH_MODE = FULL")
    lab.sql("CREATE STREAM news ON TABLE item")
    lab.table("got", "id INT")
    lab.spark.sql("CACHE TABLE counted")
    lab.insert("item", "3, 'a'")
    lab.sql("DELETE FROM item WHERE id = 2")
    found = [lab.refresh(name) for name in ("counted", "over", "all_anew")]
    assert found == ["INCREMENTAL", "INCREMENTAL", "FULL"]
    lab.verified("counted", "over", "all_anew")
    assert [tuple(row) for row in lab.spark.table("counted").collect()] == [("a", 2)]
    lab.sql("INSERT INTO got SELECT id FROM news WHERE id = 3")
    assert lab.rows("got") == [(3,)]
    lab.sql("BEGIN; UPDATE item SET k = 'c' WHERE id = 1; INSERT INTO got VALUES (9); COMMIT")
    assert lab.refresh("counted") == "INCREMENTAL"
    assert lab.sql("SELECT count(*) FROM item CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1)")
    assert lab.sql("SELECT k FROM counted AT (VERSION => 1)") != []
    lab.sql("CREATE DYNAMIC TABLE twin CLONE counted; DROP DYNAMIC TABLE counted")
    lab.sql("UNDROP DYNAMIC TABLE counted")
    lab.reopen()
    lab.insert("item", "4, 'd'")
    assert lab.refresh("counted") == "INCREMENTAL"
    assert lab.refresh("twin") == "INCREMENTAL"
    lab.verified("counted", "twin")
    assert not list(cluster.folder.rglob("*"))


@pytest.mark.parametrize("path", ["/data/inbox", "/data/inbox/*.csv"])
def test_files_of_the_disk_and_those_elsewhere(cluster: Cluster, tmp_path: Path, path: str) -> None:
    """A list is kept of those of the disk alone."""
    lab = cluster.lab
    for folder in (tmp_path, cluster.folder):
        (folder / "inbox").mkdir(exist_ok=True)
        (folder / "inbox" / "a.csv").write_text(f"{folder.name},1\n")
    lab.sql(f"CREATE TABLE here (v STRING, n INT) USING csv LOCATION 'file:{tmp_path}/inbox'")
    lab.dynamic_table("d", "SELECT v, n FROM here")
    lab.dynamic_table("e", f"SELECT * FROM csv.`{path}`")
    assert (lab.mode("d"), lab.mode("e")) == ("INCREMENTAL", "FULL")
    for folder in (tmp_path, cluster.folder):
        (folder / "inbox" / "b.csv").write_text(f"{folder.name},2\n")
    assert (lab.refresh("d"), lab.refresh("e")) == ("INCREMENTAL", "FULL")
    assert lab.rows("d") == [(tmp_path.name, 1), (tmp_path.name, 2)]
    assert lab.rows("e") == [("elsewhere", "1"), ("elsewhere", "2")]


def test_a_path_is_found_where_spark_finds_it(cluster: Cluster) -> None:
    lab = cluster.lab
    lab.sql("CREATE TABLE far (id INT) USING delta LOCATION '/data/far'")
    lab.insert("far", "1")
    lab.dynamic_table("d", "SELECT id FROM delta.`/data/far`")
    lab.dynamic_table("e", "SELECT id FROM far")
    lab.sql("INSERT INTO delta.`/data/far` VALUES (2)")
    assert (lab.mode("d"), lab.mode("e")) == ("INCREMENTAL", "INCREMENTAL")
    assert lab.refresh("d") == lab.refresh("e") == "INCREMENTAL"
    assert lab.rows("d") == lab.rows("e") == [(1,), (2,)]
    assert lab.sql("SELECT id FROM delta.`/data/far` AT (VERSION => 1)") == [(1,)]
    assert (cluster.folder / "far" / "_delta_log").is_dir()
    assert len(list((lab.folder / "_dt" / "copied_logs").glob("*/"))) == 1


def test_a_role_makes_no_table_where_one_of_the_lake_is(cluster: Cluster) -> None:
    lab = cluster.lab
    lab.sql("CREATE TABLE far (id INT) USING delta LOCATION '/data/far'")
    lab.dynamic_table("d", "SELECT id FROM far")
    lab.sql("CREATE ROLE writer; GRANT CREATE ON SCHEMA default TO ROLE writer; USE ROLE writer")
    with refused("DT-5208"):
        lab.sql("CREATE TABLE mine (id INT) USING delta LOCATION '/data/far'")
    lab.sql("CREATE TABLE mine (id INT) USING delta LOCATION '/data/mine'")
