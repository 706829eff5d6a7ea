"""AT and BEFORE: each table as of one point, what is in common, and what a result shows."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.model import Isolation, Level
from tests.spark.engine_lab import Lab, refused


@pytest.fixture
def orders(quick_lab: Lab) -> Lab:
    """Versions: 0 empty, 1 two rows, 2 three."""
    quick_lab.table("orders", "id INT, price INT", "1, 10", "2, 20")
    quick_lab.insert("orders", "3, 30")
    return quick_lab


def time_of(lab: Lab, table: str, version: int, micros: int = 0) -> str:
    """When the version was committed, and so many microseconds after, as a SQL literal."""
    log = lab.engine.sources.logs[str(lab.engine.layout.tables / table)]
    t = log.commit_time(version)
    return f"TIMESTAMP'{t.plus(micros / 1e6).datetime:%Y-%m-%d %H:%M:%S.%f}Z'"


def ids(lab: Lab, at: str, table: str = "orders") -> list[Any]:
    return sorted(r[0] for r in lab.sql(f"SELECT id FROM {table} {at}"))


def label(lab: Lab, query: str, **options: Any) -> Isolation:
    found = lab.engine.isolation(lab.engine.sql(query, **options))
    assert found is not None
    return found


def test_a_snapshot_is_current_from_its_own_time(orders: Lab) -> None:
    assert ids(orders, f"AT (TIMESTAMP => {time_of(orders, 'orders', 2)})") == [1, 2, 3]
    assert ids(orders, f"AT (TIMESTAMP => {time_of(orders, 'orders', 2, -1)})") == [1, 2]
    assert ids(orders, f"BEFORE (TIMESTAMP => {time_of(orders, 'orders', 2)})") == [1, 2]
    assert ids(orders, "AT (VERSION => 1)") == [1, 2]
    with refused("DT-4101") as found:
        ids(orders, f"AT (TIMESTAMP => {time_of(orders, 'orders', 0, -1)})")
    assert found[0].facts["oldest"].startswith("version 0 of 2")
    with refused("DT-4102"):
        ids(orders, "AT (TIMESTAMP => TIMESTAMP'2200-01-01')")


def test_a_dynamic_table_is_its_version_for_the_newest_data_timestamp(orders: Lab) -> None:
    orders.dynamic_table("cheap", "SELECT id FROM orders WHERE price < 35")
    first = orders.engine.table("cheap").data_timestamp
    assert first is not None
    orders.insert("orders", "4, 5")
    assert orders.refresh("cheap") == "INCREMENTAL"
    second = orders.engine.table("cheap").data_timestamp
    assert second is not None
    stamp = "TIMESTAMP'{0:%Y-%m-%d %H:%M:%S.%f}Z'"
    between = first.plus(second.since(first) / 2)
    for t, wanted in ((first, [1, 2, 3]), (between, [1, 2, 3]), (second, [1, 2, 3, 4])):
        at = f"AT (TIMESTAMP => {stamp.format(t.datetime)})"
        assert ids(orders, at, "cheap") == wanted
    found = label(orders, f"SELECT * FROM cheap AT (TIMESTAMP => {stamp.format(between.datetime)})")
    assert (found.level, found.time.micros) == (Level.SNAPSHOT, first.micros)
    with refused("DT-4101") as gone:
        ids(orders, f"AT (TIMESTAMP => {stamp.format(first.plus(-1).datetime)})", "cheap")
    assert str(first) in gone[0].facts["oldest"]


def test_a_view_reads_all_its_tables_as_of_the_point(orders: Lab) -> None:
    orders.table("names", "id INT, name STRING", "1, 'a'", "2, 'b'")
    orders.sql(
        "CREATE VIEW named AS SELECT o.id, n.name FROM orders o LEFT JOIN names n USING (id)"
    )
    then = time_of(orders, "names", 1)
    orders.insert("orders", "4, 1")
    orders.sql("UPDATE names SET name = 'z' WHERE id = 1; INSERT INTO names VALUES (3, 'c')")
    rows = sorted(orders.sql(f"SELECT * FROM named AT (TIMESTAMP => {then})"))
    assert rows == [(1, "a"), (2, "b"), (3, None)]
    rows = orders.sql("SELECT * FROM named")
    assert sorted(rows) == [(1, "z"), (2, "b"), (3, "c"), (4, None)]


def test_the_frontier_of_a_stream_is_exact(orders: Lab) -> None:
    """Not by its time: a commit of the same millisecond is not the stream's."""
    orders.sql("CREATE STREAM s ON TABLE orders")
    stream = orders.engine.catalog.stream(orders.engine.name("s"))
    orders.insert("orders", "4, 40")
    assert ids(orders, "AT (STREAM => 's')") == [1, 2, 3]
    (version,) = stream.frontier.values()
    assert orders.engine.isolation() is not None
    assert [r.version for r in orders.engine.isolation().reads] == [version]  # type: ignore[union-attr]


def test_what_several_dynamic_tables_have_in_common(orders: Lab) -> None:
    orders.dynamic_table("low", "SELECT * FROM orders WHERE price < 15")
    orders.dynamic_table("high", "SELECT * FROM orders WHERE price >= 15")
    orders.dynamic_table("both", "SELECT * FROM low UNION ALL SELECT * FROM high")
    shared = orders.engine.table("both").data_timestamp
    orders.insert("orders", "4, 4", "5, 50")
    orders.refresh("low")
    query = "SELECT (SELECT COUNT(*) FROM low), (SELECT COUNT(*) FROM high), COUNT(*) FROM orders"
    assert orders.sql(query) == [(2, 2, 5)]
    mixed = label(orders, query)
    assert mixed.level is Level.READ_COMMITTED
    assert mixed.skew > 0
    assert "low@" in str(mixed)
    assert "skew" in str(mixed)
    frame = orders.engine.sql(query, consistent=True)
    assert [tuple(r) for r in frame.collect()] == [(1, 2, 3)]
    found = orders.engine.isolation(frame)
    assert found is not None
    assert (found.level, found.time) == (Level.SNAPSHOT, shared)
    assert str(found).startswith("Snapshot (data time ")
    text = "SELECT COUNT(*) FROM (SELECT * FROM low UNION ALL SELECT * FROM high) AT (COMMON) x"
    assert orders.sql(text) == [(3,)]
    both = "SELECT a.id FROM low AT (COMMON) a JOIN orders AT (COMMON) b ON a.id = b.id"
    assert orders.sql(both) == [(1,), (4,)]  # of low alone the newest is in common with itself


def test_nothing_in_common_is_said_and_why(orders: Lab) -> None:
    orders.dynamic_table("one", "SELECT * FROM orders")
    orders.insert("orders", "4, 4")
    orders.dynamic_table("two", "SELECT * FROM orders", "INITIALIZE = ON_SCHEDULE")
    with refused("DT-4106") as found:
        orders.engine.sql("SELECT * FROM one JOIN two USING (id)", consistent=True)
    assert "two is at none yet" in str(found[0])
    orders.refresh("two")
    with refused("DT-4106"):
        orders.engine.sql("SELECT * FROM one JOIN two USING (id)", consistent=True)


def test_what_is_no_snapshot_of_anything_has_no_label(orders: Lab) -> None:
    assert orders.engine.isolation(orders.engine.sql("SELECT 1")) is None
    assert label(orders, "SELECT * FROM orders").level is Level.SNAPSHOT
    orders.spark.range(3).createOrReplaceTempView("temporary")
    assert orders.engine.isolation(orders.engine.sql("SELECT * FROM temporary")) is None
    orders.spark.catalog.dropTempView("temporary")
