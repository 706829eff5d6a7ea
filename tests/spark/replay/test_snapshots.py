"""AT and BEFORE: each table as of one point, what is in common, and what a result shows."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.model import Isolation, Level
from tests.spark.engine_lab import Lab, refused


@pytest.fixture(scope="module")
def orders(shared_lab: Lab) -> Lab:
    """Versions: 0 empty, 1 two rows, 2 three."""
    shared_lab.table("orders", "id INT, price INT", "1, 10", "2, 20")
    shared_lab.insert("orders", "3, 30")
    return shared_lab


@pytest.fixture
def sold(shared_lab: Lab, request: pytest.FixtureRequest) -> str:
    """The same three rows in a table for one test, by its name."""
    name = f"of_{request.node.name.removeprefix('test_')}"
    shared_lab.table(name, "id INT, price INT", "1, 10", "2, 20", "3, 30")
    return name


def time_of(lab: Lab, table: str, version: int, micros: int = 0) -> str:
    """When the version was committed, and so many microseconds after, as a SQL literal."""
    log = lab.context.sources.logs[str(lab.context.layout.tables / table)]
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


def test_a_dynamic_table_is_its_version_for_the_newest_data_timestamp(
    shared_lab: Lab, sold: str
) -> None:
    shared_lab.dynamic_table("cheap", f"SELECT id FROM {sold} WHERE price < 35")
    first = shared_lab.engine.table("cheap").data_timestamp
    assert first is not None
    shared_lab.insert(sold, "4, 5")
    assert shared_lab.refresh("cheap") == "INCREMENTAL"
    second = shared_lab.engine.table("cheap").data_timestamp
    assert second is not None
    stamp = "TIMESTAMP'{0:%Y-%m-%d %H:%M:%S.%f}Z'"
    between = first.plus(second.since(first) / 2)
    for t, wanted in ((first, [1, 2, 3]), (between, [1, 2, 3]), (second, [1, 2, 3, 4])):
        at = f"AT (TIMESTAMP => {stamp.format(t.datetime)})"
        assert ids(shared_lab, at, "cheap") == wanted
    found = label(
        shared_lab, f"SELECT * FROM cheap AT (TIMESTAMP => {stamp.format(between.datetime)})"
    )
    assert (found.level, found.time.micros) == (Level.SNAPSHOT, first.micros)
    with refused("DT-4101") as gone:
        ids(shared_lab, f"AT (TIMESTAMP => {stamp.format(first.plus(-1).datetime)})", "cheap")
    assert first.words in gone[0].facts["oldest"]


def test_a_view_reads_all_its_tables_as_of_the_point(shared_lab: Lab, sold: str) -> None:
    shared_lab.table("names", "id INT, name STRING", "1, 'a'", "2, 'b'")
    shared_lab.sql(
        f"CREATE VIEW named AS SELECT o.id, n.name FROM {sold} o LEFT JOIN names n USING (id)"
    )
    then = time_of(shared_lab, "names", 1)
    shared_lab.insert(sold, "4, 1")
    shared_lab.sql("UPDATE names SET name = 'z' WHERE id = 1; INSERT INTO names VALUES (3, 'c')")
    rows = sorted(shared_lab.sql(f"SELECT * FROM named AT (TIMESTAMP => {then})"))
    assert rows == [(1, "a"), (2, "b"), (3, None)]
    rows = shared_lab.sql("SELECT * FROM named")
    assert sorted(rows) == [(1, "z"), (2, "b"), (3, "c"), (4, None)]


def test_the_frontier_of_a_stream_is_exact(shared_lab: Lab, sold: str) -> None:
    """Not by its time: a commit of the same millisecond is not the stream's."""
    shared_lab.sql(f"CREATE STREAM s ON TABLE {sold}")
    stream = shared_lab.context.catalog.stream(shared_lab.context.name("s"))
    shared_lab.insert(sold, "4, 40")
    assert ids(shared_lab, "AT (STREAM => 's')", sold) == [1, 2, 3]
    (version,) = stream.frontier.values()
    found = shared_lab.engine.isolation()
    assert found is not None
    assert [r.version for r in found.reads] == [version]


def test_what_several_dynamic_tables_have_in_common(shared_lab: Lab, sold: str) -> None:
    shared_lab.dynamic_table("low", f"SELECT * FROM {sold} WHERE price < 15")
    shared_lab.dynamic_table("high", f"SELECT * FROM {sold} WHERE price >= 15")
    shared_lab.dynamic_table("both", "SELECT * FROM low UNION ALL SELECT * FROM high")
    shared = shared_lab.engine.table("both").data_timestamp
    shared_lab.insert(sold, "4, 4", "5, 50")
    shared_lab.refresh("low")
    counts = "(SELECT COUNT(*) FROM low), (SELECT COUNT(*) FROM high), COUNT(*)"
    query = f"SELECT {counts} FROM {sold}"
    assert shared_lab.sql(query) == [(2, 2, 5)]
    mixed = label(shared_lab, query)
    assert mixed.level is Level.READ_COMMITTED
    assert mixed.skew > 0
    assert "low@" in str(mixed)
    assert "skew" in str(mixed)
    frame = shared_lab.engine.sql(query, consistent=True)
    assert [tuple(r) for r in frame.collect()] == [(1, 2, 3)]
    found = shared_lab.engine.isolation(frame)
    assert found is not None
    assert (found.level, found.time) == (Level.SNAPSHOT, shared)
    assert str(found).startswith("Snapshot (data time ")
    text = "SELECT COUNT(*) FROM (SELECT * FROM low UNION ALL SELECT * FROM high) AT (COMMON) x"
    assert shared_lab.sql(text) == [(3,)]
    both = f"SELECT a.id FROM low AT (COMMON) a JOIN {sold} AT (COMMON) b ON a.id = b.id"
    newest = sorted(shared_lab.sql(both))
    assert newest == [(1,), (4,)], "of low alone the newest is in common with itself"


def test_nothing_in_common_is_said_and_why(shared_lab: Lab, sold: str) -> None:
    shared_lab.dynamic_table("one", f"SELECT * FROM {sold}")
    shared_lab.insert(sold, "4, 4")
    shared_lab.dynamic_table("two", f"SELECT * FROM {sold}", "INITIALIZE = ON_SCHEDULE")
    with refused("DT-4106") as found:
        shared_lab.engine.sql("SELECT * FROM one JOIN two USING (id)", consistent=True)
    assert "two is at none yet" in str(found[0])
    shared_lab.refresh("two")
    with refused("DT-4106"):
        shared_lab.engine.sql("SELECT * FROM one JOIN two USING (id)", consistent=True)


def test_what_is_no_snapshot_of_anything_has_no_label(orders: Lab) -> None:
    assert orders.engine.isolation(orders.engine.sql("SELECT 1")) is None
    assert label(orders, "SELECT * FROM orders").level is Level.SNAPSHOT
    orders.spark.range(3).createOrReplaceTempView("temporary")
    assert orders.engine.isolation(orders.engine.sql("SELECT * FROM temporary")) is None
    orders.spark.catalog.dropTempView("temporary")
