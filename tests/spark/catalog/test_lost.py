"""A lake whose catalog was deleted, or replaced by an older one: its dynamic tables go on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.catalog import Catalog, CatalogWarning
from dt_jupyter.engine import Engine
from tests.experiments import CATALOG_LOST
from tests.spark.engine_lab import Lab, quick, refused, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = CATALOG_LOST
INCREMENTAL = ("sums", "over", "staged", "star", "of_view")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A closed lake, with a copy of its catalog (`older`) from before most of what it has."""
    folder = tmp_path_factory.mktemp("made") / "lake"
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        without_check(patched)
        lab = Lab.open(spark, folder)
        lab.table("t", "k INT, v INT", "1, 10", "2, 20")
        lab.table("e", "k INT", "1")
        lab.sql(
            f"CREATE TABLE o (k INT, w INT) USING delta LOCATION '{folder.with_name('outside')}'"
        )
        lab.insert("o", "1, 100", "2, 200")
        lab.dynamic_table("first_name", "SELECT k, sum(v) AS s FROM t GROUP BY k")
        lab.dynamic_table("star", "SELECT * FROM e")
        lab.dynamic_table("gone", "SELECT k FROM t")
        lab.engine.close()
        shutil.copy(lab.context.layout.catalog, folder / "older")

        lab.engine = Engine.connect(folder, spark=spark, scheduler=False)
        lab.sql("""
            DROP DYNAMIC TABLE gone;
            ALTER DYNAMIC TABLE first_name RENAME TO sums;
            CREATE WAREHOUSE w WITH MAX_CONCURRENCY_LEVEL = 3;
            CREATE VIEW vt AS SELECT k, v FROM t WHERE v > 0;
            ALTER DYNAMIC TABLE sums SET TARGET_LAG = '7 minutes' WAREHOUSE = w COMMENT = 'är';
            CREATE STREAM st ON TABLE t
        """)
        lab.dynamic_table("over", "SELECT s.k, s.s, o.w FROM sums s JOIN o ON s.k = o.k")
        lab.dynamic_table(
            "staged",
            "SELECT k, x.n, v FROM (SELECT k, count(*) AS n FROM t GROUP BY k) x JOIN t USING (k)",
        )
        lab.dynamic_table("whole", "SELECT k, v FROM t", "REFRESH_MODE = FULL")
        lab.dynamic_table("of_view", "SELECT k, v + 1 AS v FROM vt")
        lab.dynamic_table("later", "SELECT k FROM t", "INITIALIZE = ON_SCHEDULE")
        lab.sql("ALTER DYNAMIC TABLE whole SUSPEND; ALTER TABLE e ADD COLUMNS (x INT)")
        lab.insert("e", "2, 3")
        lab.insert("t", "1, 1")
        for name in (*INCREMENTAL, "whole"):
            lab.refresh(name)
        lab.close()
        yield folder
        shutil.rmtree(folder)


@pytest.fixture
def copy(
    made: Path, tmp_path: Path, quick_spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The lake, in a folder of the test's own."""
    without_check(monkeypatch)
    return Path(shutil.copytree(made, tmp_path / "lake"))


def lose(lake: Path, *names: str) -> None:
    for file in (lake / "_dt").iterdir():
        if file.name.startswith(names):
            file.unlink()


def goes_on(lab: Lab) -> None:
    """Every dynamic table stands where it stood, and moves as it would have moved."""
    assert lab.rows("sums") == [(1, 11), (2, 20)]
    assert lab.rows("star") == [(1, None), (2, 3)]
    assert [
        len(lab.context.catalog.timestamps(lab.engine.table(n).id)) > 1 for n in ("sums", "staged")
    ] == [True, True]
    lab.insert("t", "2, 2")
    lab.insert("e", "3, 4")
    actions = {name: lab.refresh(name) for name in ("over", "staged", "star", "of_view")}
    assert set(actions.values()) == {"INCREMENTAL"}
    assert lab.refresh("whole") == "FULL"
    assert lab.rows("sums") == [(1, 11), (2, 22)]
    assert lab.rows("star") == [(1, None), (2, 3), (3, 4)]
    assert lab.rows("over") == [(1, 11, 100), (2, 22, 200)]
    assert lab.rows("whole") == lab.rows("t")
    lab.verified("staged", "of_view")


def test_a_deleted_catalog(spark: SparkSession, copy: Path) -> None:
    lose(copy, "catalog.sqlite")
    with pytest.warns(CatalogWarning, match="was missing; it was rebuilt from its registry log"):
        lab = Lab.open(spark, copy)
    sums = lab.engine.table("sums")
    assert (sums.target_lag.seconds, sums.warehouse, sums.comment) == (420.0, "w", "är")
    assert lab.context.catalog.warehouse("w").max_concurrency == 3
    assert lab.engine.table("whole").scheduling.value == "SUSPENDED"
    assert lab.mode("whole") == "FULL"
    assert lab.engine.table("later").frontier is None
    assert [tuple(r)[:2] for r in lab.engine.sql("SELECT * FROM st").collect()] == [(1, 1)]
    goes_on(lab)
    assert lab.refresh("later") == "REINITIALIZE"
    lab.sql("UNDROP DYNAMIC TABLE gone")
    assert lab.rows("gone") == [(1,), (2,)]
    assert lab.refresh("gone") == "INCREMENTAL"
    lab.verified("gone")
    lab.close()


@pytest.mark.nightly
def test_an_older_backup(spark: SparkSession, copy: Path) -> None:
    lose(copy, "catalog.sqlite")
    shutil.copy(copy / "older", copy / "_dt" / "catalog.sqlite")
    with pytest.warns(CatalogWarning, match="was older than the lake; .* registry log"):
        lab = Lab.open(spark, copy)
    assert lab.engine.table("sums").comment == "är"
    with refused("DT-1101"):
        lab.engine.table("gone")
    goes_on(lab)
    lab.close()


def test_an_older_backup_without_the_registry_log(spark: SparkSession, copy: Path) -> None:
    """What it knows follows the logs: definitions too, that a refresh changed since."""
    lose(copy, "catalog.sqlite", "registry")
    shutil.copy(copy / "older", copy / "_dt" / "catalog.sqlite")
    lab = Lab.open(spark, copy)
    assert [c for c, _, _ in lab.engine.table("star").definition.columns] == ["k", "x"]
    assert lab.rows("star") == [(1, None), (2, 3)]
    lab.insert("e", "3, 4")
    lab.insert("t", "2, 2")
    assert lab.refresh("star") == lab.refresh("first_name") == "INCREMENTAL"
    lab.verified("star", "first_name")
    lab.close()


@pytest.mark.nightly
def test_catalog_and_registry_log_deleted(spark: SparkSession, copy: Path) -> None:
    lose(copy, "catalog.sqlite", "registry")
    with pytest.warns(CatalogWarning, match="from the logs of the dynamic tables"):
        lab = Lab.open(spark, copy)
    assert lab.engine.table("sums").target_lag.seconds == 420.0
    assert lab.mode("whole") == "FULL"
    goes_on(lab)
    lab.close()


def test_logs_that_do_not_say_what_their_tables_are(
    spark: SparkSession, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older release wrote them: refused with what can be done, and nothing is changed."""
    monkeypatch.setattr(Catalog, "registration", lambda *_: {})
    lab = Lab.open(spark, copy)
    lab.dynamic_table("silent", "SELECT v FROM t")
    id_ = lab.engine.table("silent").id
    lab.close()
    whole = copy / "whole.sqlite"
    shutil.copy(copy / "_dt" / "catalog.sqlite", whole)
    lose(copy, "catalog.sqlite", "registry")
    for _ in range(2):
        with refused("DT-5114") as problem:
            Lab.open(spark, copy)
        assert id_ in problem[0].sentence
    shutil.copy(whole, copy / "_dt" / "catalog.sqlite")
    lab = Lab.open(spark, copy)
    assert lab.refresh("silent") == "NO_DATA"
    lab.close()


def test_a_catalog_deleted_under_an_open_engine(spark: SparkSession, copy: Path) -> None:
    lab = Lab.open(spark, copy)
    before = len(lab.engine.records())
    lose(copy, "catalog.sqlite")
    goes_on(lab)
    lab.reopen()
    assert lab.context.catalog.rebuilt is None
    assert len(lab.engine.records()) >= before + 6
    assert lab.refresh("star") == "NO_DATA"
    lab.close()
