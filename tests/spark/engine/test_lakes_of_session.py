"""One session, one lake after the other: each is found as a session of its own would find it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.model import DTError
from dt_jupyter.sources import Layout
from dt_jupyter.spark import list_relations, set_warehouse, warehouse_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def own(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """The session as `connect(tmp_path / "one")` starts it: its tables are made in that lake."""
    before = warehouse_of(spark)
    spark.conf.set("spark.sql.sources.default", "delta")
    set_warehouse(spark, Layout(tmp_path / "one").tables)
    yield spark
    Engine.connect(tmp_path / "empty", spark=spark, scheduler=False).close()
    spark.sql("USE default")
    assert names(spark) == set()
    set_warehouse(spark, before)


def connect(spark: SparkSession, lake: Path) -> Engine:
    return Engine.connect(lake, spark=spark, scheduler=False)


def names(spark: SparkSession) -> set[str]:
    return {f"{name.schema}.{name.table}" for name in list_relations(spark)}


def fill(dt: Engine, elsewhere: Path) -> None:
    """All that a lake can hold by name: managed tables, one of plain Spark, of a schema, at
    another place, of another format; views; dynamic tables over them."""
    dt.run(
        f"""
        CREATE TABLE item (id INT); INSERT INTO item VALUES (1), (2);
        CREATE SCHEMA sales;
        CREATE TABLE sales.item (id INT); INSERT INTO sales.item VALUES (3);
        CREATE TABLE far (id INT) USING delta LOCATION '{elsewhere / "far"}';
        CREATE VIEW seen AS SELECT id FROM item;
        CREATE DYNAMIC TABLE d AS SELECT count(*) AS n FROM item;
        CREATE DYNAMIC TABLE sales.d AS SELECT count(*) AS n FROM sales.item, far
        """
    )
    dt.spark.range(3).write.saveAsTable("plain")


def test_a_second_lake_knows_nothing_of_the_first(own: SparkSession, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with connect(own, one) as dt:
        fill(dt, tmp_path)
        assert dt.spark.table("plain").count() == 3
    assert own.table("d").collect()[0].n == 2  # closed, and still read
    own.sql("USE sales")
    with connect(own, two) as dt:
        assert names(own) == set()
        assert own.catalog.currentDatabase() == "default"
        assert not own.catalog.databaseExists("sales")
        fill(dt, tmp_path / "more")
        assert {p.name for p in (two / "tables").iterdir()} == {"item", "plain", "sales.db"}
        assert dt.refresh("sales.d").error is None
    with connect(own, one) as dt:
        assert own.table("plain").count() == 3
        assert own.table("sales.item").collect()[0].id == 3
        dt.sql("INSERT INTO item VALUES (4)")
        assert str(dt.refresh("d").action) == "INCREMENTAL"
        assert own.table("seen").count() == 3
        assert dt.spark.table("d").collect()[0].n == 3


def test_functions_of_a_lake_end_with_its_names(own: SparkSession, tmp_path: Path) -> None:
    def twice(x: int) -> int:
        return 2 * x

    with connect(own, tmp_path / "one") as dt:
        dt.register_udf("twice", twice, "int")
        dt.sql("CREATE FUNCTION plus(a INT, b INT) RETURNS INT RETURN a + b")
        assert dt.sql("SELECT twice(4), plus(4, 1)").collect() == [(8, 5)]
    assert own.sql("SELECT twice(4), plus(4, 1)").collect() == [(8, 5)]
    with connect(own, tmp_path / "two") as dt:
        for call in ("twice(4)", "plus(4, 1)"):
            with pytest.raises(DTError, match=call[:4]):
                dt.sql(f"SELECT {call}")
        dt.sql("CREATE FUNCTION twice(a INT) RETURNS INT RETURN a + a + 100")
        assert dt.sql("SELECT twice(4)").collect() == [(108,)]
    with connect(own, tmp_path / "one") as dt:
        assert dt.sql("SELECT twice(4), plus(4, 1)").collect() == [(8, 5)]


def test_a_schema_of_both_lakes_lies_in_the_lake_that_is_open(
    own: SparkSession, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for lake in (one, two, one, two):
        with connect(own, lake) as dt:
            if not own.catalog.databaseExists("sales"):
                dt.sql("CREATE SCHEMA sales")
            number = sum(1 for _ in (lake / "tables").rglob("_delta_log"))
            dt.sql(f"CREATE TABLE sales.t{number} (id INT)")
            assert (lake / "tables" / "sales.db" / f"t{number}").is_dir()
            assert names(own) == {f"sales.t{i}" for i in range(number + 1)}
    assert {p.name for p in (one / "tables" / "sales.db").iterdir()} == {"t0", "t1"}


def test_a_private_session_makes_its_tables_in_the_second_lake(
    own: SparkSession, tmp_path: Path
) -> None:
    connect(own, tmp_path / "one").close()
    with connect(own, tmp_path / "two"):
        other = own.newSession()
        other.sql("CREATE SCHEMA sales")
        other.sql("CREATE TABLE sales.t (id INT) USING delta")
        other.sql("CREATE TABLE t (id INT) USING delta")
    found = {p.parent.name for p in (tmp_path / "two" / "tables").rglob("_delta_log")}
    assert found == {"t"}
    assert not any((tmp_path / "one" / "tables").iterdir())


def test_what_another_open_lake_knows_is_left(own: SparkSession, tmp_path: Path) -> None:
    with connect(own, tmp_path / "one") as first:
        first.sql("CREATE TABLE item (id INT); CREATE DYNAMIC TABLE d AS SELECT id FROM item")
        with connect(own, tmp_path / "two"):
            assert names(own) == {"default.item", "default.d"}
        with connect(own, tmp_path / "three"):
            assert names(own) == {"default.item", "default.d"}
        first.sql("INSERT INTO item VALUES (1)")
        assert first.refresh("d").error is None
    with connect(own, tmp_path / "three"):
        assert names(own) == set()


def test_names_of_the_session_that_are_no_lakes_stay(own: SparkSession, tmp_path: Path) -> None:
    with connect(own, tmp_path / "one") as dt:
        dt.sql("CREATE TABLE item (id INT); CREATE DYNAMIC TABLE d AS SELECT id FROM item")
        own.sql(f"CREATE TABLE mine (id INT) USING parquet LOCATION '{tmp_path / 'mine'}'")
        own.sql("CREATE VIEW of_mine AS SELECT * FROM mine")
    with connect(own, tmp_path / "two"):
        assert names(own) == {"default.mine", "default.of_mine"}
        assert own.table("of_mine").count() == 0
    own.sql("DROP VIEW of_mine")
    own.sql("DROP TABLE mine")


def test_a_lake_that_is_gone_leaves_no_tables(own: SparkSession, tmp_path: Path) -> None:
    with connect(own, tmp_path / "one") as dt:
        dt.sql("CREATE TABLE item (id INT); CREATE DYNAMIC TABLE d AS SELECT id FROM item")
    shutil.rmtree(tmp_path / "one")
    with connect(own, tmp_path / "two") as dt:
        dt.sql("CREATE TABLE item (id INT)")
        assert (tmp_path / "two" / "tables" / "item").is_dir()


def test_a_lake_that_cannot_be_entered_is_not_open(own: SparkSession, tmp_path: Path) -> None:
    with connect(own, tmp_path / "one") as dt:
        dt.sql("CREATE TABLE item (id INT)")
    with pytest.raises(DTError, match="DT-5203"):
        Engine.connect(tmp_path / "one", spark=own, scheduler=False, role="nobody")
    with connect(own, tmp_path / "two"):
        assert names(own) == set()


def test_the_tables_of_a_session_of_the_users_stay_where_they_are_made(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = warehouse_of(spark)
    connect(spark, tmp_path / "one").close()
    connect(spark, tmp_path / "two").close()
    assert warehouse_of(spark) == before
