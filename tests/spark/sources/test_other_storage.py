"""Tables that lie on no disk of this machine: Hadoop's viewfs stands for HDFS and object stores,
which Spark reads by their URLs and the engine by a copy of their logs."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from py4j.protocol import Py4JJavaError

from dt_jupyter.engine import Engine
from dt_jupyter.lake import CopiedLog, HadoopStorage, TableLog
from dt_jupyter.model import Name
from dt_jupyter.sources import CopiedTables
from tests.cases import some
from tests.spark.engine_lab import Lab, refused
from tests.spark.kinds_of_spark import KIND
from tests.spark.viewfs import linked

pytestmark = pytest.mark.skipif(KIND != "local", reason="Hadoop is configured by its Java objects")


@dataclass
class Elsewhere:
    """A lab whose tables lie at `url`, which are the files of `folder`."""

    lab: Lab
    url: str
    folder: Path

    def table(self, name: str, columns: str, *rows: str, **properties: str) -> None:
        pairs = ", ".join(f"'{k.replace('__', '.')}' = '{v}'" for k, v in properties.items())
        told = f" TBLPROPERTIES ({pairs})" if pairs else ""
        place = f"{self.url}/{name}"
        self.lab.sql(f"CREATE TABLE {name} ({columns}) USING delta LOCATION '{place}'{told}")
        self.lab.insert(name, *rows)

    def copies(self) -> list[Path]:
        return sorted((self.lab.folder / "_dt" / "copied_logs").glob("*/"))

    def properties(self, name: str) -> dict[str, str]:
        """As the table's own log has them."""
        return dict(TableLog(self.folder / name).properties())


@pytest.fixture
def far(quick_lab: Lab, tmp_path: Path) -> Iterator[Elsewhere]:
    """With the table `far`."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with linked(quick_lab.spark, folder) as url:
        made = Elsewhere(quick_lab, url, folder)
        made.table("far", "id INT, k STRING", "1, 'a'", "2, 'b'")
        yield made


@pytest.mark.nightly
def test_it_is_a_source_as_any(far: Elsewhere) -> None:
    lab = far.lab
    lab.table("near", "k STRING, name STRING", "'a', 'Alpha'", "'b', 'Beta'")
    lab.dynamic_table("d", "SELECT k, count(*) AS n FROM far GROUP BY k")
    lab.dynamic_table("joined", "SELECT id, name FROM far JOIN near USING (k)")
    lab.dynamic_table("over", "SELECT max(n) AS m FROM d")
    assert {lab.mode(n) for n in ("d", "joined", "over")} == {"INCREMENTAL"}
    assert lab.refresh("d") == "NO_DATA"
    lab.sql("INSERT INTO far VALUES (3, 'b'); DELETE FROM far WHERE id = 1")
    assert lab.refresh("over") == lab.refresh("joined") == "INCREMENTAL"
    assert (lab.rows("d"), lab.rows("joined")) == ([("b", 2)], [(2, "Beta"), (3, "Beta")])
    lab.sql("OPTIMIZE far")
    assert lab.refresh("d") == "NO_DATA"
    lab.sql("CREATE OR REPLACE TABLE far (id INT, k STRING); INSERT INTO far VALUES (9, 'z')")
    assert lab.refresh("d") == "REINITIALIZE"
    lab.verified("d", "joined", "over")
    told = {r[0]: r[1] for r in lab.sql("DESCRIBE DYNAMIC TABLE d")}
    assert told["far"] == f"DELTA at {far.url}/far"
    assert f"{far.url}/far" in str(lab.engine.explain("d"))


DML = (
    "INSERT INTO far SELECT id, IF(id % 5 = 0, NULL, concat('k', id % 7)) FROM range({a}, {b})",
    "INSERT INTO far VALUES (NULL, NULL), (NULL, NULL), (1, 'k1')",
    "DELETE FROM far WHERE id % 7 = {m}",
    "UPDATE far SET k = concat('k', id % 3) WHERE id % 5 = {m}",
    "MERGE INTO far USING (SELECT id, 'm' AS k FROM range({a}, {b}, 3)) s ON far.id = s.id "
    "WHEN MATCHED AND far.k = 'm' THEN DELETE WHEN MATCHED THEN UPDATE SET k = s.k "
    "WHEN NOT MATCHED THEN INSERT (id, k) VALUES (s.id, s.k)",
    "OPTIMIZE far",
    "RESTORE far TO VERSION AS OF {v}",
)
SHAPES = {
    "vectors": {"delta__enableDeletionVectors": "true"},
    "copies of files": {"delta__enableDeletionVectors": "false"},
    "no feed": {"delta__enableChangeDataFeed": "false"},
    "mapped": {"delta__columnMapping__mode": "name", "delta__minReaderVersion": "2",
               "delta__minWriterVersion": "5"},
    "tracked": {"delta__enableRowTracking": "true"},
    "commit times": {"delta__enableInCommitTimestamps": "true"},
    "checkpoints": {"delta__checkpointInterval": "2", "delta__checkpointPolicy": "v2"},
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("read", "shape"), some(1, [(read, shape) for read in ("here", "by Spark") for shape in SHAPES])
)
def test_random_lives(far: Elsewhere, shape: str, read: str) -> None:
    """The oracle reads the table by Spark, at its own place."""
    lab, rng = far.lab, random.Random(f"{shape} {read}")
    if read == "by Spark":
        lab.tune(fetched_bytes=1)
    lab.sql("DROP TABLE far")
    shutil.rmtree(far.folder / "far")
    far.table("far", "id BIGINT, k STRING", **SHAPES[shape])
    lab.sql(DML[0].format(a=0, b=40))
    options = "ALTER_SOURCES = FALSE" if shape == "no feed" else ""
    lab.dynamic_table("grouped", "SELECT k, count(*) AS n, max(id) AS m FROM far GROUP BY k",
                      options)  # fmt: skip
    lab.dynamic_table("plain", "SELECT * FROM far WHERE id IS NULL OR id % 2 = 0", options)
    taken = set()
    for _ in range(6):
        for text in rng.choices(DML, k=rng.randint(1, 2)):
            a = rng.randrange(60)
            newest = TableLog(far.folder / "far").version()
            places = {"a": a, "b": a + rng.randrange(1, 9), "m": rng.randrange(5),
                      "v": rng.randint(max(newest - 2, 1), newest)}  # fmt: skip
            lab.sql(text.format(**places))
        taken |= {lab.refresh("grouped"), lab.refresh("plain")}
        lab.verified("grouped", "plain")
    assert taken <= {"INCREMENTAL", "NO_DATA"}
    assert "INCREMENTAL" in taken
    files = [f for copy in far.copies() for f in copy.glob("fetched/*")]
    assert bool(files) <= (read == "here")
    assert files or read == "by Spark" or shape not in ("vectors", "copies of files")


@pytest.mark.nightly
def test_a_small_change_needs_no_job(far: Elsewhere) -> None:
    lab = far.lab
    lab.dynamic_table("d", "SELECT k, count(*) AS n FROM far GROUP BY k")
    for n in range(3):
        lab.insert("far", f"{n}, 'a'")
        assert lab.refresh("d") == "INCREMENTAL"
    lab.insert("far", "9, 'b'")
    record = lab.record("d")
    assert record.statistics.spark_jobs == 0
    lab.verified("d")


@pytest.mark.nightly
def test_what_the_engine_sets_is_set_at_the_table(far: Elsewhere) -> None:
    lab = far.lab
    lab.sql("ALTER TABLE far SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    lab.dynamic_table("d", "SELECT id FROM far")
    assert far.properties("far")["delta.enableChangeDataFeed"] == "true"
    lab.sql("CREATE STREAM s ON TABLE far")
    assert far.properties("far")["delta.enableRowTracking"] == "true"
    (copy,) = far.copies()
    assert TableLog(copy).version() == TableLog(far.folder / "far").version()
    lab.insert("far", "3, 'c'")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_changes_time_travel_and_replay(far: Elsewhere) -> None:
    lab = far.lab
    lab.sql("INSERT INTO far VALUES (3, 'c')")
    lab.sql("DELETE FROM far WHERE id = 1")
    assert lab.sql("SELECT count(*) FROM far AT (VERSION => 1)") == [(2,)]
    changed = lab.sql("SELECT id, `$ACTION` FROM far CHANGES (INFORMATION => DEFAULT) "
                      "AT (VERSION => 1)")  # fmt: skip
    assert sorted(changed) == [(1, "DELETE"), (3, "INSERT")]
    lab.sql("ALTER TABLE far ADD COLUMN more INT")
    for schema, width in (("snapshot_time", {2, 3}), ("current", {3})):
        with lab.engine.replay("far", at=1, to="now", schema_mode=schema) as walk:
            frames = [walk.frame(i) for i in range(len(list(walk)))]
            assert {len(f.columns) for f in frames} == width
            assert [f.count() for f in frames] == [2, 3, 2, 2]


@pytest.mark.nightly
def test_streams_are_consumed_exactly_once(far: Elsewhere) -> None:
    lab = far.lab
    lab.sql("CREATE STREAM s ON TABLE far; CREATE TABLE sink (id INT, a STRING) USING delta")
    lab.sql("INSERT INTO far VALUES (3, 'c')")
    lab.sql("INSERT INTO sink SELECT id, `$ACTION` FROM s")
    assert lab.sql("SELECT * FROM s") == []
    lab.sql("UPDATE far SET k = 'z' WHERE id = 2; DELETE FROM far WHERE id = 3")
    lab.sql("BEGIN; INSERT INTO sink SELECT id, `$ACTION` FROM s; COMMIT")
    assert lab.sql("SELECT * FROM s") == []
    found = sorted(lab.sql("SELECT id, a FROM sink"))
    assert found == [(2, "DELETE"), (2, "INSERT"), (3, "DELETE"), (3, "INSERT")]


@pytest.mark.nightly
def test_a_pin_tells_what_it_does_not_hold(far: Elsewhere) -> None:
    """There are no hard links: a VACUUM from outside takes the files."""
    lab = far.lab
    lab.insert("far", "3, 'c'")
    lab.engine.pin("evidence", "far", at=1)
    (hold,) = lab.engine.pins().holds
    assert [t.copy for t in hold.tables] == [None]
    lab.sql("DELETE FROM far")
    lab.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    lab.spark.sql("VACUUM far RETAIN 0 HOURS")
    with refused("DT-4104"):
        lab.sql("SELECT * FROM far AT (VERSION => 1)")
    assert lab.sql("SELECT count(*) FROM far") == [(0,)]


@pytest.mark.nightly
def test_files_that_a_vacuum_took_are_missed_before_they_are_read(far: Elsewhere) -> None:
    lab = far.lab
    lab.dynamic_table("d", "SELECT k, count(*) AS n FROM far GROUP BY k")
    lab.sql("DELETE FROM far WHERE id = 1; INSERT INTO far VALUES (7, 'q'); OPTIMIZE far")
    lab.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    lab.spark.conf.set("spark.databricks.delta.vacuum.logging.enabled", "true")
    lab.spark.sql("VACUUM far RETAIN 0 HOURS")
    record = lab.record("d")
    assert (record.action, record.error) == ("REINITIALIZE", None)
    assert "FILES_GONE" in str(record.reason)
    lab.verified("d")


@pytest.mark.nightly
def test_a_table_that_is_gone_and_comes_back(far: Elsewhere) -> None:
    lab = far.lab
    lab.dynamic_table("d", "SELECT id FROM far")
    aside = far.folder / "aside"
    shutil.move(far.folder / "far", aside)
    assert lab.record("d").error_code == "DT-2102"
    shutil.move(aside, far.folder / "far")
    lab.insert("far", "3, 'c'")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_storage_that_is_away_fails_a_refresh_and_loses_nothing(
    far: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = far.lab
    lab.dynamic_table("d", "SELECT id FROM far")
    lab.insert("far", "3, 'c'")
    real = HadoopStorage._system
    away = "viewfs://nobody/x"

    def system(self: HadoopStorage, path: str) -> Any:
        """Java's own failure for a file system that is not there."""
        return real(self, away)

    monkeypatch.setattr(HadoopStorage, "_system", system)
    record = lab.record("d")
    assert record.error_code == "DT-2105"
    assert "cannot be read" in str(record.error)
    monkeypatch.undo()
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_a_path_elsewhere_is_one_too(far: Elsewhere) -> None:
    lab = far.lab
    lab.dynamic_table("d", f"SELECT id FROM delta.`{far.url}/far` WHERE id > 1")
    lab.dynamic_table("same", f"SELECT id FROM delta.`{far.url}/far/` JOIN far USING (id)")
    assert lab.mode("d") == lab.mode("same") == "INCREMENTAL"
    assert len(far.copies()) == 1
    lab.insert("far", "3, 'b'")
    assert lab.refresh("d") == lab.refresh("same") == "INCREMENTAL"
    assert lab.rows("d") == [(2,), (3,)]
    lab.verified("d", "same")
    for place in ("far/none", "nowhere"):
        with refused("DT-1101") as found:
            lab.dynamic_table("e", f"SELECT * FROM delta.`{far.url}/{place}`")
        assert f"{far.url}/{place}" in str(found[0])
    assert len(far.copies()) == 1


@pytest.mark.parametrize(
    ("place", "told"),
    some(
        2,
        [
            ("s3a://bucket/t", "S3AFileSystem"),
            ("hdfs://127.0.0.1:1/t", "Connection refused"),
            ("hdfs://nohost.invalid:8020/t", "UnknownHost"),
            ("foo://bucket/t", 'No FileSystem for scheme "foo"'),
        ],
    ),
)
def test_storage_that_is_not_there_is_told(quick_lab: Lab, place: str, told: str) -> None:
    before = quick_lab.names()
    for statement in (
        f"CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT * FROM delta.`{place}`",
        f"SELECT * FROM delta.`{place}` AT (VERSION => 1)",
    ):
        with refused("DT-5128") as found:
            quick_lab.sql(statement)
        assert told in str(found[0])
        assert "Look whether it is up" in str(found[0])
    assert quick_lab.names() == before
    assert not list((quick_lab.folder / "_dt").glob("copied_logs/*"))


def test_a_table_cannot_be_made_where_no_storage_is(quick_lab: Lab) -> None:
    with refused("DT-5128") as found:
        quick_lab.sql("CREATE TABLE t (id INT) USING delta LOCATION 'foo://x/y'")
    assert 'No FileSystem for scheme "foo"' in str(found[0])
    assert "t" not in quick_lab.names()[1]


@pytest.mark.nightly
@pytest.mark.parametrize("name", some(1, ["a%20b", "a b", "ä=1"]))
def test_names_that_a_uri_writes_otherwise(far: Elsewhere, name: str) -> None:
    lab = far.lab
    try:
        lab.sql(f"CREATE TABLE odd (id INT) USING delta LOCATION '{far.url}/{name}'")
    except Py4JJavaError:
        pytest.skip("viewfs itself does not take the name")
    lab.insert("odd", "1")
    lab.dynamic_table("d", "SELECT id FROM odd")
    lab.dynamic_table("e", f"SELECT id + 1 AS id FROM delta.`{far.url}/{name}`")
    lab.insert("odd", "2")
    lab.sql("DELETE FROM odd WHERE id = 1")
    assert lab.refresh("d") == lab.refresh("e") == "INCREMENTAL"
    assert (lab.rows("d"), lab.rows("e")) == ([(2,)], [(3,)])
    assert (far.folder / name).exists() or (far.folder / quote(name)).exists()


@pytest.mark.nightly
def test_the_lake_knows_its_names_when_it_is_opened_again(far: Elsewhere) -> None:
    lab = far.lab
    lab.dynamic_table("d", "SELECT id FROM far")
    lab.insert("far", "3, 'c'")
    lab.reopen()
    assert sorted(lab.sql("SELECT id FROM far")) == [(1,), (2,), (3,)]
    assert lab.refresh("d") == "INCREMENTAL"
    lab.insert("far", "4, 'd'")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
    lab.sql("DROP TABLE far")
    assert (far.folder / "far" / "_delta_log").is_dir()
    lab.reopen()
    with refused("DT-1101"):
        lab.dynamic_table("e", "SELECT * FROM far")


@pytest.mark.nightly
def test_a_copy_that_nothing_reads_goes_with_a_vacuum(far: Elsewhere) -> None:
    lab = far.lab
    far.table("other", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM far")
    lab.sql(f"EXPLAIN CREATE DYNAMIC TABLE e TARGET_LAG = '1 hour' AS SELECT * FROM "
            f"delta.`{far.url}/other`")  # fmt: skip
    before = far.copies()
    assert len(before) == 2
    (told,) = (t for t in lab.engine.storage().tables if t.name == "far")
    assert told.kind == "copied log"
    assert told.log > 0
    with refused("DT-1109"):
        lab.engine.vacuum("far", retain_hours=0)
    later = lab.context.clock.now().plus(3 * 86_400)
    assert str(lab.context.keeper.vacuum(None, 0, later, dry=False)).count("copied log") == 0
    lab.sql("DROP TABLE other")
    taken = lab.context.keeper.vacuum(None, 0, later, dry=False)
    assert f"the copied log of {far.url}/other" in str(taken)
    (kept,) = far.copies()
    assert kept in before
    lab.insert("far", "3, 'c'")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.sql(f"SELECT * FROM delta.`{far.url}/other` AT (VERSION => 0)")
    assert far.copies() == before


@pytest.mark.nightly
def test_where_its_log_cannot_be_read_all_is_recomputed(
    far: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As over Spark Connect, whose client has no Java."""
    lab = far.lab
    monkeypatch.setattr(lab.context.sources.logs, "copies", CopiedTables(lab.folder / "none", None))
    lab.dynamic_table("d", "SELECT k, count(*) AS n FROM far GROUP BY k")
    assert (lab.mode("d"), lab.why("d")) == ("FULL", "OTHER_STORAGE")
    lab.sql("INSERT INTO far VALUES (3, 'b'); DELETE FROM far WHERE id = 1")
    assert lab.refresh("d") == "FULL"
    lab.verified("d")
    lab.sql(f"CREATE TABLE again (id INT) USING delta LOCATION '{far.url}/again'")
    for code, statement in {
        "DT-1107": "CREATE DYNAMIC TABLE e TARGET_LAG = '1 hour' REFRESH_MODE = INCREMENTAL "
        "AS SELECT * FROM far",
        "DT-3106": "CREATE STREAM s ON TABLE far",
    }.items():
        with refused(code):
            lab.sql(statement)
    for query in ("AT (VERSION => 1)", "CHANGES (INFORMATION => DEFAULT) AT (VERSION => 0)"):
        with refused("DT-3106"):
            lab.sql(f"SELECT * FROM far {query}")


@pytest.mark.nightly
def test_commits_that_another_program_keeps(far: Elsewhere) -> None:
    lab = far.lab
    log = far.folder / "far" / "_delta_log"
    newest = TableLog(far.folder / "far").version()
    known = TableLog(far.folder / "far").raw_state().protocol
    protocol = {**known, "minWriterVersion": 7, "minReaderVersion": 3,
                "readerFeatures": ["coordinatedCommits-preview"],
                "writerFeatures": ["coordinatedCommits-preview"]}  # fmt: skip
    (log / f"{newest + 1:020d}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    assert (
        lab.context.sources.source(Name("default", "far"), Name("default", "d")).kind == "FOREIGN"
    )


@pytest.mark.nightly
def test_clones_of_what_reads_it(far: Elsewhere) -> None:
    lab = far.lab
    lab.dynamic_table("d", "SELECT k, count(*) AS n FROM far GROUP BY k")
    lab.sql("CREATE DYNAMIC TABLE e CLONE d")
    lab.insert("far", "3, 'a'")
    assert lab.refresh("e") == "INCREMENTAL"
    lab.verified("e")
    with refused("DT-1135") as found:
        lab.sql("CREATE SCHEMA other CLONE default")
    assert "other storage" in str(found[0])


@pytest.mark.nightly
def test_a_role_reads_it_by_name_with_the_right_alone(far: Elsewhere) -> None:
    lab = far.lab
    lab.sql("CREATE ROLE reader")
    lab.sql("USE ROLE reader")
    with refused("DT-5201"):
        lab.sql("SELECT * FROM far")
    for reader in ("delta", "parquet"):
        with refused("DT-5208"):
            lab.sql(f"SELECT * FROM {reader}.`{far.url}/far`")
    lab.sql("USE ROLE admin")
    lab.sql("GRANT SELECT ON TABLE far TO ROLE reader")
    lab.sql("USE ROLE reader")
    assert len(lab.sql("SELECT * FROM far")) == 2
    with refused("DT-5208"):
        lab.sql(f"SELECT * FROM delta.`{far.url}/far`")
    lab.sql("USE ROLE admin")


@pytest.mark.nightly
@pytest.mark.parametrize("shape", some(1, SHAPES))
def test_random_transactions_there_are_as_those_here(far: Elsewhere, shape: str) -> None:
    """On a table there and on its twin of the disk the same statements, rolled back or committed,
    give the same rows, in a transaction and after it, and changes that others go on by."""
    lab, rng = far.lab, random.Random(f"transactions {shape}")
    far.table("there", "id INT, k STRING", "1, 'k1'", **SHAPES[shape])
    lab.table("here", "id INT, k STRING", "1, 'k1'")
    lab.dynamic_table("d", "SELECT k, count(*) AS n, sum(id) AS s FROM there GROUP BY k")
    for _ in range(5):
        lab.sql("BEGIN")
        for _ in range(rng.randint(1, 4)):
            told = {"a": (a := rng.randrange(40)), "b": a + 9, "m": rng.randrange(5), "v": 0}
            statement = rng.choice(DML[:-2]).format(**told)
            for name in ("there", "here"):
                lab.sql(statement.replace("far", name))
            both = [sorted(map(repr, lab.sql(f"SELECT * FROM {n}"))) for n in ("there", "here")]
            assert both[0] == both[1], statement
        lab.sql(rng.choice(("COMMIT", "COMMIT", "ROLLBACK")))
        assert lab.rows("there") == lab.rows("here")
        assert lab.refresh("d") in ("INCREMENTAL", "NO_DATA")
        lab.verified("d")
    assert not list((lab.folder / "_dt" / "transactions").iterdir())
    lab.serializable()


@pytest.mark.nightly
def test_a_stream_is_written_into_a_table_there(far: Elsewhere) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", "5, 'e'")
    lab.sql("CREATE STREAM s ON TABLE item; INSERT INTO item VALUES (6, 'f')")
    lab.sql("INSERT INTO far SELECT id, k FROM s")
    assert lab.sql("SELECT * FROM s") == []
    lab.sql("INSERT INTO item VALUES (7, 'g'); BEGIN; INSERT INTO far SELECT id, k FROM s; COMMIT")
    assert [row[0] for row in lab.rows("far")] == [1, 2, 6, 7]
    lab.sql("INSERT INTO item VALUES (8, 'h'); BEGIN; INSERT INTO far SELECT id, k FROM s")
    lab.insert("far", "100, NULL")  # an append goes with what others append
    lab.sql("COMMIT; INSERT INTO item VALUES (9, 'i')")
    lab.sql("BEGIN; INSERT INTO far SELECT id, k FROM s; DELETE FROM far WHERE id = 1")
    lab.spark.sql("DELETE FROM far WHERE id = 100")
    with refused("DT-3208"):
        lab.sql("COMMIT")
    assert [row[0] for row in lab.sql("SELECT id FROM s")] == [9]
    assert [row[0] for row in lab.rows("far")] == [1, 2, 6, 7, 8]
    lab.sql("BEGIN; INSERT INTO far SELECT id, k FROM s")
    shutil.rmtree(far.folder / "far")
    with refused("DT-3208"):
        lab.sql("COMMIT")
    assert [row[0] for row in lab.sql("SELECT id FROM s")] == [9]
    assert not list((lab.folder / "_dt" / "transactions").iterdir())


@pytest.mark.parametrize(
    "lake", some(1, ["s3a://bucket/lake", "hdfs://host:9000/lake", "abfss://c@a/l"])
)
def test_a_lake_elsewhere_is_refused_and_nothing_is_made(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with refused("DT-5103") as found:
        Engine.connect(lake, scheduler=False)
    assert lake.partition(":")[0] in str(found[0])
    assert not list(tmp_path.iterdir())


@pytest.mark.nightly
def test_a_lake_by_the_uri_of_its_folder(quick_lab: Lab) -> None:
    quick_lab.table("item", "id INT", "1")
    quick_lab.engine.close()
    uri = quick_lab.folder.as_uri()
    quick_lab.engine = Engine.connect(uri, spark=quick_lab.spark, scheduler=False)
    assert quick_lab.engine.lake == quick_lab.folder
    assert quick_lab.rows("item") == [(1,)]


@pytest.mark.nightly
def test_the_copy_of_a_log_is_that_log_to_spark(far: Elsewhere) -> None:
    """Spark's own rows of each version, of the table and of the copy."""
    lab = far.lab
    for text in DML[:5]:
        lab.sql(text.format(a=10, b=30, m=1))
    lab.sql("SELECT * FROM far AT (VERSION => 1)")
    (copy,) = far.copies()
    log = CopiedLog(copy, HadoopStorage(lab.spark))
    for version in range(log.version() + 1):
        here, there = (
            sorted(map(tuple, read.load(place).collect()), key=repr)
            for place in (str(copy), f"{far.url}/far")
            for read in [lab.spark.read.format("delta").option("versionAsOf", version)]
        )
        assert here == there
