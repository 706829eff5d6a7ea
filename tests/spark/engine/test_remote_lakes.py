"""A lake on other storage: its tables lie there, its catalog is in PostgreSQL, and what this disk
has of it is a home that may be lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.lake import find_mounted, open_log, table_place
from tests.cases import some
from tests.spark.engine_lab import Lab, refused, without_check
from tests.spark.kinds_of_spark import KIND
from tests.spark.viewfs import linked

pytestmark = pytest.mark.skipif(KIND != "local", reason="Hadoop is configured by its Java objects")
ITEMS = ("1, 'a'", "2, 'a'", "3, 'b'")
QUERY = "SELECT k, count(*) AS n FROM item GROUP BY k"


@dataclass
class Far:
    """A lab whose lake is at `url`, which is `folder` of this disk to Hadoop alone."""

    lab: Lab
    url: str
    folder: Path

    def files(self, pattern: str) -> list[Path]:
        return sorted(p for p in self.folder.glob(pattern) if p.is_file())

    def lose_home(self) -> None:
        """The lake closed, what this disk has of it removed, and the lake opened again."""
        self.lab.engine.close()
        self.lab.forget()
        shutil.rmtree(self.lab.context.layout.lake)
        self.lab.engine = Engine.connect(self.url, spark=self.lab.spark, scheduler=False)


@pytest.fixture
def far(
    request: pytest.FixtureRequest,
    quick_spark: object,
    spark: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Far]:
    without_check(monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Lab, "catalog_url", request.getfixturevalue("postgres").url)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    with linked(spark, folder) as url:
        lab = Lab.open(spark, f"{url}/a%20 lake")
        yield Far(lab, f"{url}/a%20 lake", folder / "a%20 lake")
        lab.close()


@pytest.fixture
def beyond(far: Far, tmp_path: Path) -> Iterator[str]:
    """The URL of another storage."""
    (tmp_path / "beyond").mkdir()
    with linked(far.lab.spark, tmp_path / "beyond") as url:
        yield url


@pytest.mark.nightly
def test_its_tables_are_there_and_the_home_may_be_lost(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.dynamic_table("counted", QUERY)
    lab.dynamic_table("over", "SELECT max(n) AS most FROM counted")
    lab.insert("item", "4, 'b'", "5, 'c'")
    assert [lab.refresh(name) for name in ("counted", "over")] == ["INCREMENTAL"] * 2
    lab.verified("counted", "over")
    assert far.files("tables/item/_delta_log/*.json")
    assert len(far.files("_dt/dynamic/*/public/_delta_log/*.json")) == 6
    far.lose_home()
    lab.sql("DELETE FROM item WHERE id < 3")
    assert [lab.refresh(name) for name in ("counted", "over")] == ["INCREMENTAL"] * 2
    lab.verified("counted", "over")
    assert lab.rows("counted") == [("b", 2), ("c", 1)]
    assert sorted(lab.sql("SELECT k, n FROM counted AT (VERSION => 1)")) == [("a", 2), ("b", 1)]


@pytest.mark.nightly
def test_who_opens_it_has_to_say_once_where_its_catalog_is(far: Far) -> None:
    url = far.url.removesuffix("lake")
    with refused("DT-5103") as found:
        Engine.connect(f"{url}other", spark=far.lab.spark, scheduler=False)
    assert "catalog has to be in a database" in str(found[0])
    place = json.loads((far.folder / "_dt" / "catalog.json").read_text())
    assert place["url"].startswith("postgresql")
    with refused("DT-5103"):
        Engine.connect("hdfs://127.0.0.1:1/lake", spark=far.lab.spark, scheduler=False)
    far.lose_home()
    assert str(far.lab.engine.lake) == far.url
    assert far.url in repr(far.lab.engine)


@pytest.mark.nightly
def test_a_life_of_merges_is_read_by_spark_as_it_was_written(far: Far) -> None:
    """Vectors, change feeds, files that are written anew, checkpoints: each is named in the log as
    Spark names its own, so that one lies on the other's."""
    lab = far.lab
    lab.table("item", "id INT, k STRING")
    lab.sql("INSERT INTO item SELECT id, concat('k', id % 400) FROM range(30000)")
    lab.dynamic_table("kept", "SELECT id, k FROM item WHERE id % 3 > 0")
    lab.dynamic_table("counted", QUERY)
    for number in range(6):
        lab.sql(f"""
            DELETE FROM item WHERE id % 1000 = {number};
            UPDATE item SET k = 'new' WHERE id % 1000 = {number + 500};
            INSERT INTO item VALUES ({30_000 + number}, 'k{number}')
        """)
        assert {lab.refresh(name) for name in ("kept", "counted")} == {"INCREMENTAL"}
    lab.verified("kept", "counted")
    assert far.files("_dt/dynamic/*/*/deletion_vector_*.bin")
    table = lab.context.layout.public(lab.engine.table("kept").id)
    log = open_log(table)
    table_place(table).add_checkpoint(log, log.version())
    assert far.files("_dt/dynamic/*/public/_delta_log/*.checkpoint.parquet")
    for commit in far.files("_dt/dynamic/*/*/_delta_log/*.json"):
        assert far.url not in commit.read_text()
    far.lose_home()
    lab.insert("item", "40000, 'k1'")
    assert {lab.refresh(name) for name in ("kept", "counted")} == {"INCREMENTAL"}
    lab.verified("kept", "counted")


@pytest.mark.nightly
@pytest.mark.parametrize("rounds", some(1, [1, 3]))
def test_a_large_change_is_committed_by_the_engine_there(far: Far, rounds: int) -> None:
    """Spark's files are renamed into the table, and neither they nor those that are marked come to
    this disk. What a killed attempt has left goes with the next one."""
    lab = far.lab
    lab.table("item", "id INT, k STRING")
    lab.sql("INSERT INTO item SELECT id, concat('k', id % 400) FROM range(3000)")
    lab.dynamic_table("counted", QUERY)
    table = lab.context.layout.public(lab.engine.table("counted").id)
    there = far.folder / table.relative_to(lab.context.layout.lake)
    left = there / "_dt_rows" / "killed" / "__dt_part=rows"
    left.mkdir(parents=True)
    (left / "part-0.parquet").write_text("half written")
    (table / "_dt_rows").mkdir()
    (table / "_dt_rows" / "killed").touch()
    lab.leave_process()
    fetched = set((table / "fetched").iterdir())
    for number in range(rounds):
        lab.sql(f"DELETE FROM item WHERE id % 1000 = {number}; INSERT INTO item VALUES (-1, 'new')")
        record = lab.record("counted")
        assert (str(record.action), record.statistics.writer) == ("INCREMENTAL", "spark-files")
    assert list((there / "_dt_rows").iterdir()) == []
    (file,) = [b for k, b in commit_of(there) if k == "add" and "deletionVector" not in b]
    assert file["path"].startswith("part-")
    told = json.loads(file["stats"])
    assert (told["minValues"]["k"], told["maxValues"]["k"], told["numRecords"]) == (
        f"k{number}", "new", 3,
    )  # fmt: skip
    more = [p.read_bytes()[:4] for p in (table / "fetched").iterdir() if p not in fetched]
    assert len([start for start in more if start != b"PAR1"]) == rounds, "files of vectors"
    assert rounds > 1 or b"PAR1" not in more, "later rounds look at small tables before they begin"
    if rounds > 1:
        lab.tune()
        lab.insert("item", "50000, 'k1'")
        record = lab.record("counted")
        assert (str(record.action), record.statistics.writer) == ("INCREMENTAL", "engine")
    lab.verified("counted")


def commit_of(table: Path) -> list[tuple[str, Any]]:
    """The actions of a table's newest commit."""
    newest = max((table / "_delta_log").glob("*.json"))
    return [pair for line in newest.read_text().splitlines() for pair in json.loads(line).items()]


@pytest.mark.nightly
def test_what_is_dropped_comes_back_and_a_clone_has_files_of_its_own(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.dynamic_table("counted", QUERY)
    lab.sql("CREATE DYNAMIC TABLE twin CLONE counted")
    lab.sql("DROP DYNAMIC TABLE counted; UNDROP DYNAMIC TABLE counted")
    lab.sql("DROP TABLE item")
    assert not (far.folder / "tables" / "item").exists()
    assert far.files("_dt/dropped/*/_delta_log/*.json")
    lab.sql("UNDROP TABLE item")
    lab.insert("item", "9, 'b'")
    assert [lab.refresh(name) for name in ("counted", "twin")] == ["INCREMENTAL"] * 2
    lab.verified("counted", "twin")
    lab.sql("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS one; CREATE SCHEMA r CLONE s")
    assert lab.sql("SELECT one FROM r.t") == [(1,)]
    lab.sql("DROP SCHEMA r CASCADE; DROP SCHEMA s CASCADE")


@pytest.mark.nightly
def test_a_vacuum_spares_what_is_pinned(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.dynamic_table("counted", QUERY, "REFRESH_MODE = FULL")
    lab.engine.pin("evidence", "counted")
    pinned = lab.rows("counted")
    for number in range(3):
        lab.insert("item", f"{number + 10}, 'c'")
        lab.refresh("counted")
    told = lab.engine.vacuum(retain_hours=0)
    assert told.files > 0
    assert "evidence" in str(lab.engine.pins())
    assert sorted(lab.sql("SELECT k, n FROM counted AT (VERSION => 1)")) == pinned
    assert "counted" in str(lab.engine.storage())
    assert lab.refresh("counted") == "NO_DATA"
    lab.verified("counted")


@pytest.mark.nightly
def test_one_of_two_writers_of_a_version_is_told(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.dynamic_table("counted", QUERY)
    table = lab.context.layout.public(lab.engine.table("counted").id)
    assert find_mounted(table) is not None
    newest = open_log(table).version()
    with pytest.raises(FileExistsError):
        table_place(table).put_commit(newest, [{"commitInfo": {"operation": "OTHER"}}])
    assert open_log(table).operation(newest) != "OTHER"


@pytest.mark.nightly
def test_a_statement_with_a_stream_is_one_commit_of_a_table_there(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.table("there", "id INT")
    lab.sql("CREATE STREAM news ON TABLE item")
    lab.insert("item", "4, 'b'")
    lab.sql("INSERT INTO there SELECT id FROM news")
    assert lab.rows("there") == [(4,)]
    assert far.files("tables/there/*.parquet")
    assert lab.sql("SELECT * FROM news") == []
    lab.sql(
        "DELETE FROM item WHERE id = 1; CREATE TABLE made AS SELECT id, `$ACTION` AS a FROM news"
    )
    assert lab.rows("made") == [(1, "DELETE")]
    assert far.files("tables/made/_delta_log/*.json")
    assert not far.files("_dt/transactions/**/*")
    lab.insert("item", "5, 'c'")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        lab.sql("INSERT INTO there SELECT CAST(k AS INT) FROM news")
    lab.sql("MERGE INTO there t USING news n ON t.id = n.id WHEN NOT MATCHED THEN INSERT (id) "
            "VALUES (n.id)")  # fmt: skip
    assert lab.rows("there") == [(4,), (5,)]
    lab.serializable()


PROPERTIES = {
    "plain": "",
    "feed": "'delta.enableChangeDataFeed' = 'true'",
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "row ids": "'delta.enableRowTracking' = 'true'",
    "times": "'delta.enableInCommitTimestamps' = 'true', 'delta.enableDeletionVectors' = 'true'",
    "mapped": "'delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true'",
}


@pytest.mark.nightly
@pytest.mark.parametrize("kind", some(1, PROPERTIES))
def test_a_transaction_writes_tables_there_at_one_time(far: Far, kind: str) -> None:
    lab, properties = far.lab, PROPERTIES[kind]
    told = f"TBLPROPERTIES ({properties})" if properties else ""
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.sql(f"""
        CREATE TABLE one (id INT, k STRING) USING delta PARTITIONED BY (k) {told}
            LOCATION '{far.url}/tables/one';
        CREATE TABLE two (n BIGINT) USING delta {told} LOCATION '{far.url}/tables/two';
        INSERT INTO one VALUES (10, 'a b'), (11, 'a b'), (12, 'x');
        CREATE STREAM news ON TABLE item; INSERT INTO item VALUES (4, 'b'), (5, NULL)
    """)
    lab.dynamic_table("seen", "SELECT k, count(*) AS n FROM one GROUP BY k")
    lab.sql("""
        BEGIN;
        INSERT INTO one SELECT id, k FROM news;
        INSERT INTO two SELECT count(*) FROM news;
        DELETE FROM one WHERE id = 10;
        UPDATE one SET id = 20 WHERE id = 5;
    """)
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        lab.sql("UPDATE one SET id = CAST(concat('q', k) AS INT)")
    assert [row[0] for row in lab.sql("SELECT id FROM one ORDER BY id")] == [4, 11, 12, 20]
    assert len(lab.rows("one")) == 3  # to all others
    lab.sql("DELETE FROM one WHERE id = 12")
    lab.sql("COMMIT")
    assert lab.rows("one") == [(11, "a b"), (20, None), (4, "b")]
    assert lab.rows("two") == [(2,)]
    assert lab.sql("SELECT * FROM news") == []
    times = [open_log(lab.context.layout.tables / n) for n in ("one", "two")]
    assert len({log.commit_time(log.version()) for log in times}) == 1
    assert not far.files("_dt/transactions/**/*")
    for commit in far.files("tables/*/_delta_log/*.json"):
        assert far.url not in commit.read_text()
    assert lab.refresh("seen") == "INCREMENTAL"
    lab.verified("seen")
    lab.serializable()
    far.lose_home()
    lab.insert("item", "6, 'c'")
    lab.sql("BEGIN; INSERT INTO one SELECT id, k FROM news; ROLLBACK")
    assert lab.sql("SELECT id FROM news") == [(6,)]
    lab.sql("INSERT INTO one SELECT id, k FROM news")
    assert lab.refresh("seen") == "INCREMENTAL"
    lab.verified("seen")
    log = open_log(lab.context.layout.tables / "one")
    assert log.commit_time(log.version() - 1) == times[0].commit_time(log.version() - 1)


@pytest.mark.nightly
@pytest.mark.parametrize("begun", ["", pytest.param("BEGIN;", id="in a transaction")])
def test_a_stream_into_tables_that_are_not_in_the_lake(
    far: Far, beyond: str, tmp_path: Path, begun: str
) -> None:
    """One is on the disk, one beside the lake, one on another storage; each is written in the same
    ways."""
    lab, ended = far.lab, "; COMMIT" if begun else ""
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.sql("CREATE STREAM news ON TABLE item")
    places = {
        "here": f"file:{tmp_path}/here",
        "beside": far.url.removesuffix("lake") + "other/beside",
        "beyond": f"{beyond}/beyond",
    }
    for number, (name, place) in enumerate(places.items()):
        lab.sql(f"CREATE TABLE {name} (id INT, k STRING) USING delta LOCATION '{place}'")
        lab.sql(f"INSERT INTO {name} VALUES (4, 'old')")
        lab.insert("item", f"{number + 4}, 'b'")
        lab.sql(f"""
            {begun} MERGE INTO {name} t USING news n ON t.id = n.id
            WHEN MATCHED THEN UPDATE SET k = n.k WHEN NOT MATCHED THEN INSERT * {ended}
        """)
        assert lab.sql("SELECT * FROM news") == []
    assert lab.rows("here") == [(4, "b")]
    assert lab.rows("beside") == [(4, "old"), (5, "b")]
    assert lab.rows("beyond") == [(4, "old"), (6, "b")]
    lab.insert("item", "7, 'c'")
    if begun:
        lab.table("inside", "id INT")
        lab.sql("BEGIN; INSERT INTO inside SELECT id FROM news")
        for name in places:
            lab.sql(
                f"DELETE FROM {name} WHERE k = 'old'; INSERT INTO {name} SELECT id, k FROM news"
            )
            assert (7, "c") in lab.sql(f"SELECT * FROM {name}")
            assert (7, "c") not in lab.rows(name)
        lab.sql("COMMIT")
        assert (lab.rows("inside"), lab.rows("here")) == ([(7,)], [(4, "b"), (7, "c")])
        assert lab.rows("beside") == [(5, "b"), (7, "c")]
        assert lab.rows("beyond") == [(6, "b"), (7, "c")]
    assert not list(tmp_path.rglob("*.tmp"))
    lab.serializable()


@pytest.mark.nightly
def test_a_role_reads_by_name_and_not_by_place(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    lab.dynamic_table("counted", QUERY)
    lab.sql("CREATE ROLE reader; GRANT SELECT ON DYNAMIC TABLE counted TO ROLE reader")
    lab.sql("GRANT SELECT ON TABLE item TO ROLE reader")
    with Engine.connect(far.url, spark=lab.spark, scheduler=False, role="reader") as bound:
        assert bound.sql("SELECT count(*) FROM counted").collect() == [(2,)]
        assert bound.sql("SELECT k FROM item AT (VERSION => 0)").collect() == []
        assert bound.changes("item", at=0).count() == 3
        for place in (f"{far.url}/tables/item", f"{far.url}/_dt"):
            with refused("DT-5208"):
                bound.sql(f"SELECT * FROM text.`{place}`")


@pytest.mark.nightly
def test_a_role_writes_in_a_transaction_what_it_may_write(far: Far) -> None:
    lab = far.lab
    lab.table("item", "id INT, k STRING", *ITEMS)
    for name in ("one", "secret"):
        lab.table(name, "id INT, k STRING")
    lab.sql("""
        CREATE ROLE writer; GRANT SELECT, INSERT, DELETE ON TABLE one TO ROLE writer;
        GRANT SELECT ON TABLE item TO ROLE writer;
        GRANT CREATE STREAM ON SCHEMA default TO ROLE writer
    """)
    with Engine.connect(far.url, spark=lab.spark, scheduler=False, role="writer") as bound:
        bound.sql("CREATE STREAM news ON TABLE item")
        lab.insert("item", "4, 'b'", "5, 'c'")
        bound.sql("INSERT INTO one SELECT id, k FROM news WHERE id = 4")
        lab.insert("item", "6, 'd'")
        bound.sql("BEGIN; INSERT INTO one SELECT id, k FROM news")
        assert bound.sql("SELECT count(*) FROM one").collect() == [(2,)]
        with refused("DT-5201"):
            bound.sql("INSERT INTO secret SELECT id, k FROM news")
        bound.sql("DELETE FROM one WHERE id = 4; COMMIT")
    assert lab.rows("one") == [(6, "d")]
    assert lab.rows("secret") == []


@pytest.mark.nightly
def test_many_tables_and_files_in_one_transaction(far: Far) -> None:
    """Names of partitions are told otherwise in a log than in a storage."""
    lab = far.lab
    lab.table("item", "id INT, k STRING")
    lab.sql("CREATE STREAM news ON TABLE item")
    values = ("a b", "a%20b", "x=1/y", "ä", "#?", ":", "")
    lab.insert("item", *(f"{i}, '{value}'" for i, value in enumerate(values)), "7, NULL")
    for i in range(12):
        lab.sql(f"CREATE TABLE t_{i} (id INT, k STRING) USING delta PARTITIONED BY (k) "
                f"LOCATION '{far.url}/tables/t{i}'")  # fmt: skip
    lab.sql("BEGIN")
    for i in range(12):
        lab.sql(f"INSERT INTO t_{i} SELECT id + {i}, k FROM news")
    lab.sql("UPDATE t_0 SET k = concat(k, '%') WHERE k IS NOT NULL; COMMIT")
    for i in range(1, 12):
        told = {row[1] for row in lab.rows(f"t_{i}")}
        assert told == {*(v or None for v in values)}, i
    assert len(lab.rows("t_0")) == 8
    assert not lab.left()
    logs = [open_log(lab.context.layout.tables / f"t{i}") for i in range(12)]
    assert len({log.commit_time(log.version()) for log in logs}) == 1


@pytest.mark.nightly
def test_files_are_a_source_that_is_read_whole(far: Far, tmp_path: Path) -> None:
    lab = far.lab
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "a.csv").write_text("1,2\n")
    lab.sql(f"CREATE TABLE inbox (a INT, b INT) USING csv LOCATION 'file:{tmp_path}/inbox'")
    lab.dynamic_table("summed", "SELECT sum(b) AS b FROM inbox")
    assert lab.mode("summed") == "FULL"
    (tmp_path / "inbox" / "b.csv").write_text("3,4\n")
    assert lab.refresh("summed") == "FULL"
    assert lab.rows("summed") == [(6,)]


@pytest.mark.nightly
def test_a_table_elsewhere_is_known_in_each_home(far: Far, tmp_path: Path) -> None:
    lab = far.lab
    other = far.url.removesuffix("lake") + "other/item"
    lab.sql(f"CREATE TABLE item (id INT, k STRING) USING delta LOCATION '{other}'")
    lab.insert("item", *ITEMS)
    lab.dynamic_table("counted", QUERY)
    far.lose_home()
    lab.insert("item", "4, 'c'")
    assert lab.refresh("counted") == "INCREMENTAL"
    lab.verified("counted")
