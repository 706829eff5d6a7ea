"""A lake opens whatever is wrong with one of its objects: that one is told, all others work."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.lake import TableLog
from dt_jupyter.model import DTError, Name, quote
from tests.cases import some
from tests.experiments import LOG_BROKEN
from tests.spark.engine_lab import Lab, quick, refused, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Break = Callable[[Path], None]


class Site:
    """A lake that is as it was at first for every test, at one place.

    `one` and `two` are tables, `sums` reads `one`, `above` reads `sums`, `twos` and `having`, which
    has a hidden stage, read `two`, `v` is a view, `s_two` and `s_sums` are streams, `w` is a
    warehouse, `p` a pin.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.template = spark, folder, folder.with_name("template")
        self.lab = lab = Lab.open(spark, folder)
        for name in ("one", "two"):
            lab.table(name, "k STRING, v INT", "'a', 1", "'b', 2")
        lab.dynamic_table("sums", "SELECT k, sum(v) s, count(*) n FROM one GROUP BY k")
        lab.dynamic_table("above", "SELECT max(s) m FROM sums")
        lab.dynamic_table("twos", "SELECT k FROM two")
        query = "SELECT n, count(*) c FROM (SELECT k, count(*) n FROM two GROUP BY k) GROUP BY n"
        lab.dynamic_table("having", query)
        lab.sql("CREATE VIEW v AS SELECT k FROM two; CREATE WAREHOUSE w")
        lab.sql("CREATE STREAM s_two ON TABLE two; CREATE STREAM s_sums ON DYNAMIC TABLE sums")
        lab.engine.pin("p", "two")
        for table in ("one", "two"):
            lab.insert(table, "'a', 3")
        for table in ("above", "twos", "having"):
            assert lab.refresh(table) == "INCREMENTAL"
        lab.close()
        shutil.copytree(folder, self.template)

    def as_at_first(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.template, self.folder)
        java = self.spark._jvm  # type: ignore[attr-defined]
        java.org.apache.spark.sql.delta.DeltaLog.clearCache()
        self.lab = Lab.open(self.spark, self.folder)

    def path(self, of: str) -> Path:
        layout = self.lab.context.layout
        if of in ("one", "two"):
            return layout.tables / of
        name, _, stage = of.partition(":")
        table = self.lab.engine.table(name)
        return layout.stage(table.id, int(stage)) if stage else layout.public(table.id)


@pytest.fixture(scope="module")
def built(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        without_check(patched)
        yield Site(spark, tmp_path_factory.mktemp("opens") / "lake")


@pytest.fixture
def site(built: Site) -> Iterator[Site]:
    built.as_at_first()
    yield built
    built.lab.close()


def newest(log: Path) -> Path:
    return max(p for p in log.iterdir() if p.suffix == ".json" and p.name[:20].isdigit())


def empty_last_commit(table: Path) -> None:
    newest(table / "_delta_log").write_bytes(b"")


def truncated_last_commit(table: Path) -> None:
    file = newest(table / "_delta_log")
    file.write_bytes(file.read_bytes()[:-20])


def lost_middle(table: Path) -> None:
    (table / "_delta_log" / f"{1:020d}.json").unlink()


def corrupt_checkpoint(table: Path) -> None:
    version = int(newest(table / "_delta_log").name[:20]) - 1
    (table / "_delta_log" / f"{version:020d}.checkpoint.parquet").write_bytes(b"PAR1 not")


def lost_folder(table: Path) -> None:
    shutil.rmtree(table)


def lost_log(table: Path) -> None:
    shutil.rmtree(table / "_delta_log")


BREAKS: list[Break] = [
    empty_last_commit,
    truncated_last_commit,
    lost_middle,
    corrupt_checkpoint,
    lost_folder,
    lost_log,
]


def told(lab: Lab) -> set[str]:
    return {f"{q.kind} {q.name}" for q in lab.context.catalog.quarantine.all()}


def others_work(lab: Lab, but: str) -> None:
    """What does not read the broken one is as it was."""
    if but != "two":
        lab.insert("two", "'c', 3")
        assert lab.refresh("twos") == "INCREMENTAL"
        lab.verified("twos")
    lab.engine.graph(), lab.engine.status(), lab.engine.storage(), lab.engine.pins()
    lab.engine.vacuum(dry_run=True)
    shown = {r[1] for r in lab.sql("SHOW STREAMS")}
    assert shown == {"s_two", "s_sums"}
    assert len(lab.sql("SHOW DYNAMIC TABLES")) == 4
    lab.engine.stream_reports()


@LOG_BROKEN
@pytest.mark.parametrize("broken", some(1, BREAKS), ids=lambda b: b.__name__)
def test_a_broken_backing_table_is_told_refused_and_made_anew(site: Site, broken: Break) -> None:
    lab, path = site.lab, site.path("sums")
    before = lab.engine.table("sums")
    broken(path)
    lab.reopen()
    table = lab.engine.table("sums")
    assert table.needs_reinit is not None
    assert table.needs_reinit.code in ("LOG_BROKEN", "LOG_LOST")
    assert told(lab) == {"dynamic table sums"}
    assert any("QUARANTINED" in r for r in lab.sql("SHOW DYNAMIC TABLES LIKE 'sums'"))
    assert {n.problem is None for n in lab.engine.graph().nodes if str(n.name) == "sums"} == {False}
    with pytest.raises(Exception, match="DT-5112"):
        lab.rows("sums")
    others_work(lab, "sums")
    assert lab.refresh("sums") == "REINITIALIZE"
    assert told(lab) == set()
    lab.verified("sums")
    after = lab.engine.table("sums")
    assert after.sequence == before.sequence + 1
    assert (after.version or 0) > (before.version or 0)  # no version means other rows than before
    if broken is corrupt_checkpoint:  # no version is lost
        assert lab.refresh("above") in ("NO_DATA", "INCREMENTAL")
    else:
        old = lab.spark.read.format("delta").option("versionAsOf", before.version)
        with pytest.raises(Exception, match="lost-"):  # and not another one's rows
            old.load(str(path)).collect()
        assert lab.refresh("above") == "REINITIALIZE"  # it stands on a version that is lost
    lab.verified("above")
    lab.insert("one", "'b', 9")
    assert lab.refresh("above") == "INCREMENTAL"
    lab.verified("sums", "above")


@LOG_BROKEN
@pytest.mark.parametrize(
    "broken",
    some(1, [empty_last_commit, lost_log, lost_middle, lost_folder]),
    ids=lambda b: b.__name__,
)
def test_a_broken_hidden_stage_is_made_anew_and_the_rows_stay(site: Site, broken: Break) -> None:
    lab, path = site.lab, site.path("having:0")
    rows = lab.rows("having")
    broken(path)
    lab.reopen()
    gone = broken in (lost_folder, lost_log)  # of what is gone the next refresh says so
    assert told(lab) == (set() if gone else {"dynamic table having"})
    assert lab.rows("having") == rows
    others_work(lab, "two")
    lab.insert("two", "'a', 5")
    assert lab.refresh("having") == "REINITIALIZE"
    assert told(lab) == set()
    lab.verified("having")
    lab.insert("two", "'a', 6")
    assert lab.refresh("having") == "INCREMENTAL"
    lab.verified("having")


@LOG_BROKEN
@pytest.mark.parametrize("broken", [empty_last_commit, lost_folder], ids=lambda b: b.__name__)
def test_a_broken_base_table_is_told_refused_and_comes_back(site: Site, broken: Break) -> None:
    lab, path = site.lab, site.path("one")
    shutil.copytree(path, site.lab.folder / "kept")
    broken(path)
    lab.reopen()
    assert told(lab) == {"table one"}
    for use in (
        "SELECT * FROM one",
        "INSERT INTO one VALUES ('c', 1)",
        "CREATE TABLE one (a INT)",
        "CREATE DYNAMIC TABLE d AS SELECT * FROM one",
        "SELECT * FROM one CHANGES",
    ):
        with refused("DT-5112"):
            lab.sql(use)
    others_work(lab, "one")
    shutil.rmtree(path, ignore_errors=True)
    shutil.move(lab.folder / "kept", path)
    lab.reopen()
    assert told(lab) == set()
    lab.insert("one", "'b', 9")
    assert lab.refresh("sums") == "INCREMENTAL"
    lab.verified("sums")
    broken(path)
    lab.reopen()
    lab.sql("DROP TABLE one")
    assert told(lab) == set()
    lab.reopen()
    assert told(lab) == set()


def test_rows_of_the_catalog_that_are_wrong_and_names_that_spark_refuses(site: Site) -> None:
    """Views, streams, warehouses, pins, dynamic tables at once, and a folder with a bad name."""
    lab = site.lab
    shutil.copytree(site.path("two"), lab.context.layout.tables / "a b")
    (lab.context.layout.tables / "x.db").write_text("no folder")
    rows = lab.context.catalog.path
    lab.engine.close()
    lab.forget()
    with sqlite3.connect(rows) as connection:
        for change in (
            "UPDATE dynamic_table SET table_name = '../x', schema_name = 'b/c'"
            " WHERE table_name = 'twos'",
            "UPDATE dynamic_table SET definition = '{' WHERE table_name = 'above'",
            "UPDATE base_view SET text = 'SELECT FROM' WHERE table_name = 'v'",
            "UPDATE stream SET frontier = '{' WHERE stream_name = 's_two'",
            "UPDATE warehouse SET weight = 'x' WHERE name = 'w'",
            "UPDATE hold SET tables = '{' WHERE name = 'p'",
        ):
            assert connection.execute(change).rowcount == 1
    lab.engine = Engine.connect(lab.folder, spark=lab.spark, scheduler=False)
    bad = Name("b/c", "../x")
    assert told(lab) == {
        f"dynamic table {bad}",
        "dynamic table above",
        "view v",
        "stream s_two",
        "warehouse w",
        "pin p",
        "table `a b`",
    }
    assert len(lab.engine.status()["quarantine"]) == 7
    lab.engine.graph()
    assert {r[0] for r in lab.sql("SHOW DYNAMIC TABLES")} >= {"sums", "above", "../x"}
    assert {r[1] for r in lab.sql("SHOW STREAMS")} == {"s_sums", "s_two"}
    assert len(lab.sql("SHOW WAREHOUSES")) == 2
    for use in (
        "SELECT * FROM v",
        "ALTER DYNAMIC TABLE above REFRESH",
        "SELECT * FROM s_two",
        "DESCRIBE DYNAMIC TABLE above",
        "DESCRIBE STREAM s_two",
        "ALTER WAREHOUSE w SUSPEND",
    ):
        with refused("DT-5112"):
            lab.sql(use)
    with refused("DT-5112"):
        lab.engine.vacuum()
    lab.insert("one", "'a', 7")
    assert lab.refresh("sums") == "INCREMENTAL"
    lab.insert("two", "'z', 7")
    assert lab.engine.refresh(bad).action == "INCREMENTAL"  # it lacks no more than a name
    lab.sql(f"ALTER DYNAMIC TABLE {bad.sql} RENAME TO twos")
    assert ("z",) in lab.rows("twos")
    for drop in ("DYNAMIC TABLE above", "VIEW v", "STREAM s_two", "WAREHOUSE w", "TABLE `a b`"):
        lab.sql(f"DROP {drop}")
    lab.engine.unpin("p")
    assert told(lab) == set()
    lab.reopen()
    assert told(lab) == set()
    lab.engine.vacuum(dry_run=True)
    lab.verified("sums", "twos")


BAD = ["../x", "a/b", "a b", "a.b", "<script>", "größe", "x" * 121, "a\tb"]


def test_a_bad_name_is_refused_and_nothing_is_written(site: Site) -> None:
    lab = site.lab
    engine = lab.engine

    def standing() -> object:
        files = sorted(
            str(p) for p in lab.folder.parent.rglob("*") if "catalog.sqlite" not in str(p)
        )
        return files, [(t.id, t.name) for t in engine.context.catalog.list(include_dropped=True)]

    before = standing()
    for text in BAD:
        name = quote(text)
        for statement in (
            f"CREATE DYNAMIC TABLE {name} AS SELECT k FROM one",
            f"CREATE OR REPLACE DYNAMIC TABLE {name}.t AS SELECT k FROM one",
            f"CREATE DYNAMIC TABLE {name} CLONE sums",
            f"ALTER DYNAMIC TABLE sums RENAME TO {name}",
            f"ALTER DYNAMIC TABLE sums SWAP WITH {name}",
            f"UNDROP DYNAMIC TABLE {name}",
            f"CREATE STREAM {name} ON TABLE one",
            f"CREATE TABLE {name} (a INT)",
            f"CREATE TABLE {name} USING delta AS SELECT 1 a",
            f"CREATE VIEW {name} AS SELECT 1 a",
            f"ALTER TABLE one RENAME TO {name}",
            f"CREATE SCHEMA {name}",
            f"UNDROP TABLE {name}",
        ):
            with refused("DT-1119"):
                lab.sql(statement)
    for text in ("a\tb", "<script>", "", "x" * 121):
        with refused("DT-1119"):
            engine.pin(text, "one")
        with refused("DT-1119"):
            engine.create_stream(Name("default", text or "a b"), "SELECT 1 a")
    assert standing() == before


class _Lost(Exception):
    """Spark is gone, say."""


@pytest.mark.parametrize("also_undo", [False, True])
def test_a_failure_of_spark_leaves_the_catalog_as_it_was(
    site: Site, monkeypatch: pytest.MonkeyPatch, also_undo: bool
) -> None:
    """Whatever makes, renames or replaces fails in publishing; the first error is what is told."""
    lab = site.lab
    publisher = lab.context.publisher
    real, failing = type(publisher).publish, [True]
    lab.sql("CREATE DYNAMIC TABLE gone AS SELECT k FROM one; DROP DYNAMIC TABLE gone")

    def publish(self: object, table: object) -> None:
        if failing[0]:
            failing[0] = also_undo  # else what is undone reaches Spark again
            raise _Lost("first" if len(tries) == 0 else "again")
        real(publisher, table)  # type: ignore[arg-type]

    tries: list[None] = []
    monkeypatch.setattr(type(publisher), "publish", publish)
    before = [(t.id, t.name, t.definition, t.comment) for t in lab.context.catalog.list()]
    for statement in (
        "CREATE DYNAMIC TABLE n AS SELECT k FROM one",
        "CREATE OR REPLACE DYNAMIC TABLE sums AS SELECT k FROM two",
        "CREATE DYNAMIC TABLE n CLONE sums",
        "ALTER DYNAMIC TABLE sums RENAME TO n",
        "ALTER DYNAMIC TABLE sums SWAP WITH twos",
        "UNDROP DYNAMIC TABLE gone",
    ):
        failing[0] = True
        with pytest.raises(Exception, match="first"):
            lab.sql(statement)
        after = [(t.id, t.name, t.definition, t.comment) for t in lab.context.catalog.list()]
        assert after == before, statement
    monkeypatch.undo()
    lab.reopen()
    assert told(lab) == set()
    lab.verified("sums", "twos", "above")


def test_a_consumption_that_cannot_be_settled_keeps_nobody_out(site: Site) -> None:
    lab = site.lab
    rows = lab.context.catalog.path
    lab.table("sink", "k STRING")
    lab.insert("two", "'q', 1")
    stream = lab.context.catalog.stream(Name("default", "s_two"))
    from dt_jupyter.model import Intent

    now = lab.context.clock.now()
    intent = Intent(
        "i1",
        "INSERT INTO sink",
        str(site.path("two")),
        1,
        now,
        now,
        {stream.id: dict(stream.frontier)},
    )
    lab.context.catalog.begin_intent(intent, [stream])
    with sqlite3.connect(rows) as connection:
        connection.execute("UPDATE intent SET pid = 999999, uid = 'x', started = '1'")
        connection.execute("UPDATE intent SET frontiers = '{'")
    lab.reopen()
    assert told(lab) == {"consumption i1"}
    with refused("DT-3203"):
        lab.sql("INSERT INTO sink SELECT k FROM s_two")
    assert lab.refresh("twos") == "INCREMENTAL"
    lab.sql("DROP STREAM s_two; CREATE STREAM s_two ON TABLE two")
    assert told(lab) == set()
    with pytest.raises(DTError):
        lab.sql("DROP STREAM nosuch")


def test_the_versions_of_a_log_that_was_carried_on(site: Site) -> None:
    """A stream on a table whose versions are lost is stale, and says so."""
    lab, path = site.lab, site.path("sums")
    empty_last_commit(path)
    lab.reopen()
    lab.refresh("sums")
    assert TableLog(path).version() == lab.engine.table("sums").version
    (report,) = [r for r in lab.engine.stream_reports() if r.stream.name.table == "s_sums"]
    assert report.reason is not None
    with refused("DT-3202"):
        lab.sql("SELECT * FROM s_sums")
    assert os.listdir(path)
