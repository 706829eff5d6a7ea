"""CREATE SINK and what follows, on a real lake into a SQLite file."""

from __future__ import annotations

import sqlite3
import time
from typing import Any

import pytest

from dt_jupyter.catalog import Catalog, SinkTaskRow
from dt_jupyter.delivery import table_changes
from dt_jupyter.engine import Engine
from dt_jupyter.lake import LakeError
from dt_jupyter.model import DTError, error
from tests.spark.engine_lab import refused
from tests.spark.sinks.shop import Shop


def test_a_store_follows_its_source(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.create()
    assert shop.stored() == [(1, "Ulm", 10), (2, "Bonn", 20)]
    assert shop.history() == [("INITIAL", 2, 0)]
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    assert shop.deliver() == ("INCREMENTAL", 1, 0)
    shop.sql("UPDATE orders SET price = 11 WHERE id = 1; DELETE FROM orders WHERE id = 2")
    assert shop.deliver() == ("INCREMENTAL", 1, 1)
    shop.sql(
        "MERGE INTO orders o USING (SELECT 3 id UNION ALL SELECT 4 id) n ON o.id = n.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN "
        "INSERT (id, city, price) VALUES (4, 'Hof', 40)"
    )
    assert shop.deliver() == ("INCREMENTAL", 1, 1)
    assert shop.stored() == [(1, "Ulm", 11), (4, "Hof", 40)]
    assert shop.deliver() == ("INCREMENTAL", 0, 0)
    shop.lab.reopen()
    shop.sql("UPDATE orders SET id = 5 WHERE id = 4; ALTER TABLE orders ADD COLUMN note STRING")
    shop.sql("INSERT INTO orders VALUES (6, 'Bam', 60, 'new')")
    assert shop.deliver() == ("INCREMENTAL", 2, 1)
    assert shop.stored() == [(1, "Ulm", 11, None), (5, "Hof", 40, None), (6, "Bam", 60, "new")]
    aim = table_changes.TableChanges.aim

    def overtaken(changes: table_changes.TableChanges, at: table_changes.SourceAt) -> None:
        patched.undo()
        shop.sql("ALTER TABLE orders ADD COLUMN tax INT")
        shop.sql("INSERT INTO orders VALUES (7, 'x', 1, '', 9)")
        aim(changes, at)

    with monkeypatch.context() as patched:
        patched.setattr(table_changes.TableChanges, "aim", overtaken)
        shop.deliver()
    assert len(shop.stored()) == 3
    assert shop.deliver() == ("INCREMENTAL", 1, 0)
    assert shop.stored()[-1] == (7, "x", 1, "", 9)


def test_a_dynamic_table_is_delivered_in_parts_and_goes_on_after_a_crash(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_changes, "CUT_ROWS", 2)
    shop.sql("INSERT INTO orders SELECT id, concat('c', id % 7), id FROM range(10, 20)")
    shop.lab.dynamic_table("city", "SELECT city, sum(price) AS total FROM orders GROUP BY city")
    commit, left = Catalog.commit_sink_task, [2]

    def dying(catalog: Catalog, row: SinkTaskRow) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise SystemExit
        commit(catalog, row)

    shop.create(source="DYNAMIC TABLE city", clauses="KEY (city)")
    expected = shop.lab.rows("city")
    assert len(expected) == 9
    assert shop.stored("city") == expected
    assert shop.sql("SELECT TRANSACTIONS FROM TABLE(SINK_HISTORY())")[0][0] > 1
    shop.sql("UPDATE orders SET price = price + 1; DELETE FROM orders WHERE id = 1")
    shop.lab.refresh("city")
    monkeypatch.setattr(Catalog, "commit_sink_task", dying)
    with pytest.raises(SystemExit):
        shop.deliver()
    shop.lab.reopen()
    assert shop.deliver()[0] == "INCREMENTAL"
    assert shop.stored("city") == shop.lab.rows("city") != expected
    total = sum(total for _, total in shop.stored("city"))
    assert shop.sql("SELECT sum(price) FROM orders") == [(total,)]


def test_what_cannot_be_delivered_is_refused_and_leaves_nothing(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    shop.sql("INSERT INTO orders VALUES (2, NULL, 30)")
    for code, clauses in (
        ("DT-6105", ""),
        ("DT-6136", "KEY (nr)"),
        ("DT-6130", "KEY (id)"),
        ("DT-6131", "KEY (city)"),
        ("DT-6137", "KEY (price) REDUCE (city SUM)"),
        ("DT-1002", "KEY (price) OPTIONS (tabel = 'hunter2')"),
        ("DT-6101", "KEY (price) OPTIONS (password = 'hunter2')"),
    ):
        with refused(code) as found:
            shop.create(clauses=clauses)
        assert "hunter2" not in str(found[0]), code
    with refused("DT-6101") as found:
        shop.sql("CREATE SINK s FROM TABLE orders INTO 'postgresql://me:hunter2@h/d' KEY (price)")
    assert "hunter2" not in str(found[0])
    with refused("DT-1003"):
        reduce: Any = {"price": 7}
        shop.lab.engine.create_sink("s", "orders", shop.url, key=["id"], reduce=reduce)
    with refused("DT-1109"):
        shop.create(source="DYNAMIC TABLE orders")
    with refused("DT-1109"):
        shop.create(source="STREAM orders")
    with refused("DT-1105"):
        shop.create("orders", "KEY (price)")
    with refused("DT-6104"):
        shop.sql("ALTER SINK s REFRESH")
    assert shop.lab.engine.sinks().collect() == []
    assert not shop.file.exists()


def test_a_table_that_is_adopted_keeps_its_rows_where_no_sink_comes_of_it(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(shop.file) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, price INTEGER)")
        connection.execute("INSERT INTO orders VALUES (9, 'own', 9)")

    def broken(catalog: Catalog, row: SinkTaskRow) -> None:
        raise error("DT-6122", task="s")

    with monkeypatch.context() as patched, refused("DT-6122"):
        patched.setattr(Catalog, "commit_sink_task", broken)
        shop.create(clauses="KEY (id) OPTIONS (adopt = TRUE)")
    assert (9, "own", 9) in shop.stored()
    shop.create(clauses="KEY (id) OPTIONS (adopt = TRUE)")
    assert shop.stored() == [(1, "Ulm", 10), (2, "Bonn", 20), (9, "own", 9)]


def test_a_store_that_is_down_is_tried_again_and_what_was_replaced_waits(shop: Shop) -> None:
    engine = shop.lab.engine
    engine.create_sink("s", "orders", shop.url, key=["id"], options={"timeout": "0.05"})
    with refused("DT-6141") as found:
        shop.create("t")
    assert "another sink, s." in str(found[0])
    with refused("DT-1105"):
        shop.sql("CREATE TABLE s (a INT)")
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    other = sqlite3.connect(shop.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refused("DT-6110"):
        shop.deliver()
    assert shop.state() == ("RETRYING", "DT-6110")
    other.execute("ROLLBACK")
    other.close()
    assert shop.deliver() == ("INCREMENTAL", 1, 0)
    assert shop.state() == ("ACTIVE", None)
    shop.sql("INSERT INTO orders VALUES (1, 'Twin', 1)")
    with refused("DT-6130"):
        shop.deliver()
    assert shop.state() == ("PAUSED", "DT-6130")
    shop.sql("CREATE OR REPLACE TABLE orders AS SELECT 9 AS id, 'Ulm' AS city, 1 AS price")
    with pytest.raises(DTError) as e:
        shop.deliver()
    assert e.value.code in ("DT-6150", "DT-6151")
    shop.sql("ALTER SINK s RESET")
    assert shop.stored() == [(9, "Ulm", 1)]
    assert shop.state() == ("ACTIVE", None)
    shop.sql("DROP SINK s; CREATE TABLE s (a INT)")
    with refused("DT-6140"):
        shop.create("t")


def test_the_scheduler_delivers(shop: Shop) -> None:
    shop.create(clauses="KEY (id) TARGET_LAG = '1 second'")
    shop.lab.engine.start_scheduler()
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    until = time.monotonic() + 60
    while len(shop.stored()) < 3 and time.monotonic() < until:
        time.sleep(0.1)
    assert shop.stored()[2:] == [(3, "Jena", 30)]
    other = Engine.connect(shop.lab.folder, spark=shop.lab.spark, scheduler=False)
    with refused("DT-6122"):
        other.sql("ALTER SINK s REFRESH")
    shop.lab.engine.stop_scheduler()
    other.sql("ALTER SINK s REFRESH")
    assert shop.deliver() == ("INCREMENTAL", 0, 0), "whoever only refreshes keeps it from nobody"
    other.close()
    shop.sql("ALTER SINK s SUSPEND")
    assert shop.state()[0] == "SUSPENDED"


def test_a_sink_whose_schema_takes_another_name_in_a_delivery_goes_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shop.lab.context.layout.tables / "a.db"
    shop.sql(
        f"CREATE SCHEMA a LOCATION '{folder}'; CREATE TABLE a.items (id INT, n INT);"
        "INSERT INTO a.items VALUES (1, 1)"
    )
    shop.create("a.s", source="TABLE a.items")
    aim, names = table_changes.TableChanges.aim, ["b", "a"]

    def renamed(changes: table_changes.TableChanges, at: table_changes.SourceAt) -> None:
        if names:
            old, new = ("a", "b") if names.pop(0) == "b" else ("b", "a")
            shop.sql(f"ALTER SCHEMA {old} RENAME TO {new}")
            if new == "a":
                raise LakeError("gone with its name")
        aim(changes, at)

    monkeypatch.setattr(table_changes.TableChanges, "aim", renamed)
    try:
        shop.sql("INSERT INTO a.items VALUES (2, 2); ALTER SINK a.s REFRESH")
        assert shop.history("b.s")[0] == ("INCREMENTAL", 1, 0)
        shop.sql("INSERT INTO b.items VALUES (3, 3)")
        with pytest.raises(DTError):
            shop.sql("ALTER SINK b.s REFRESH")
        assert shop.state("a.s")[0] == "RETRYING"
        assert shop.deliver("a.s") == ("INCREMENTAL", 1, 0)
        assert shop.history("b.s") == []
        assert (shop.state("a.s"), len(shop.history("a.s"))) == (("ACTIVE", None), 3)
        assert shop.stored("items") == [(1, 1), (2, 2), (3, 3)]
    finally:
        for schema in "ab":
            shop.lab.spark.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")
