"""What lies on no disk of this machine: Hadoop's viewfs stands for HDFS and object stores, which
Spark reads and the engine does not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.engine import Engine
from tests.spark.engine_lab import Lab, refused
from tests.spark.kinds_of_spark import KIND

pytestmark = pytest.mark.skipif(KIND != "local", reason="Hadoop is configured by its Java objects")


_hosts = count()


@pytest.fixture
def far(quick_lab: Lab, tmp_path: Path) -> Iterator[Lab]:
    """A lab with the table `far`, on a file system of the scheme viewfs."""
    spark: Any = quick_lab.spark
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    # Hadoop keeps a file system by its host for ever: each test has its own.
    host = f"far{next(_hosts)}"
    link = f"fs.viewfs.mounttable.{host}.link./data"
    hadoop.set(link, folder.as_uri())
    place = f"viewfs://{host}/data/t"
    spark.sql(f"CREATE TABLE far (id INT, k STRING) USING delta LOCATION '{place}'")
    spark.sql("INSERT INTO far VALUES (1, 'a'), (2, 'b')")
    yield quick_lab
    hadoop.unset(link)
    spark.sql("DROP TABLE IF EXISTS far")


def test_a_table_elsewhere_is_a_source_that_is_recomputed(far: Lab) -> None:
    far.table("near", "k STRING, name STRING", "'a', 'Alpha'")
    far.dynamic_table("d", "SELECT k, count(*) AS n FROM far GROUP BY k")
    far.dynamic_table("joined", "SELECT id, name FROM far JOIN near USING (k)")
    assert (far.mode("d"), far.why("d")) == ("FULL", "OTHER_STORAGE")
    assert "viewfs" in far.engine.table("d").mode_reason.sentence
    far.sql("INSERT INTO far VALUES (3, 'b'); DELETE FROM far WHERE id = 1")
    assert far.refresh("d") == far.refresh("joined") == "FULL"
    assert far.rows("d") == [("b", 2)]
    assert far.rows("joined") == []
    far.verified("d", "joined")


def test_a_path_elsewhere_is_one_too(far: Lab) -> None:
    (place,) = {r[1] for r in far.sql("DESCRIBE EXTENDED far") if r[0] == "Location"}
    far.dynamic_table("d", f"SELECT id FROM delta.`{place}` WHERE id > 1")
    assert (far.mode("d"), far.why("d")) == ("FULL", "OTHER_STORAGE")
    far.sql("INSERT INTO far VALUES (3, 'b')")
    assert far.refresh("d") == "FULL"
    assert far.rows("d") == [(2,), (3,)]


def test_what_needs_its_versions_is_refused(far: Lab) -> None:
    with refused("DT-1107"):
        far.sql(
            "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' REFRESH_MODE = INCREMENTAL "
            "AS SELECT * FROM far"
        )
    for statement in (
        "CREATE STREAM s ON TABLE far",
        "SELECT * FROM far AT (VERSION => 1)",
        "SELECT * FROM far CHANGES (INFORMATION => DEFAULT) AT (VERSION => 0)",
    ):
        with refused("DT-3106"):
            far.sql(statement)


def test_a_stream_is_not_consumed_into_it(far: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would make a folder of that name on this disk."""
    here = far.folder.parent / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    far.table("item", "id INT, k STRING", "5, 'e'")
    far.sql("CREATE STREAM s ON TABLE item; INSERT INTO item VALUES (6, 'f')")
    for code, begun in (("DT-3204", ""), ("DT-3207", "BEGIN;")):
        with refused(code) as found:
            far.sql(f"{begun} INSERT INTO far SELECT id, k FROM s")
        assert "viewfs" in str(found[0])
    far.sql("ROLLBACK")
    assert [row[0] for row in far.sql("SELECT id FROM s")] == [6]
    assert far.engine.spark.table("far").count() == 2
    assert not list(here.iterdir())


@pytest.mark.parametrize("lake", ["s3a://bucket/lake", "hdfs://host:9000/lake", "abfss://c@a/l"])
def test_a_lake_elsewhere_is_refused_and_nothing_is_made(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refused("DT-5103") as found:
        Engine.connect(lake, scheduler=False)
    assert lake.partition(":")[0] in str(found[0])
    assert not list(tmp_path.iterdir())


def test_a_lake_by_the_uri_of_its_folder(quick_lab: Lab) -> None:
    quick_lab.table("item", "id INT", "1")
    quick_lab.engine.close()
    uri = quick_lab.folder.as_uri()
    quick_lab.engine = Engine.connect(uri, spark=quick_lab.spark, scheduler=False)
    assert quick_lab.engine.lake == quick_lab.folder
    assert quick_lab.rows("item") == [(1,)]
