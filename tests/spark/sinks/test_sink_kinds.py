"""What a sink may be, end to end: each kind of CREATE SINK from a real lake into a real store."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dt_jupyter.delivery import table_changes
from tests.sinks.kafka_server import KafkaServer
from tests.sinks.servers import PostgresServer
from tests.spark.engine_lab import refused
from tests.spark.sinks.shop import Shop

SUMS = "KEY (city) REDUCE (price SUM, id LAST_WRITE_WINS)"


@pytest.mark.nightly
def test_rows_are_reduced_into_what_the_store_has_or_by_themselves(shop: Shop) -> None:
    """The protocol's own example: −1, 3, 2 come to 4; then 6, −7, −1 to 2, or as an update −2. The
    id is that of the last commit."""
    shop.lab.table("moves", "city STRING, price INT, id INT", "'Ulm', -1, 1", "'Ulm', 3, 2")
    shop.sql("INSERT INTO moves VALUES ('Ulm', 2, 3)")
    shop.create("whole", SUMS, "TABLE moves")
    shop.url += "?table=updates"
    shop.create("updates", f"{SUMS} DELTA_UPDATES = TRUE", "TABLE moves")
    assert shop.stored("moves") == [("Ulm", 4, 3)]
    assert shop.stored("updates") == [("Ulm", 4, 3, 0)]
    shop.sql("INSERT INTO moves VALUES ('Ulm', 6, 9), ('Bonn', 5, 5)")
    shop.sql("INSERT INTO moves VALUES ('Ulm', -7, 8); INSERT INTO moves VALUES ('Ulm', -1, 7)")
    assert shop.deliver("whole") == ("INCREMENTAL", 2, 0)
    assert shop.deliver("updates") == ("INCREMENTAL", 2, 0)
    assert shop.stored("moves") == [("Bonn", 5, 5), ("Ulm", 2, 7)]
    new = {("Ulm", 4, 3, 0), ("Ulm", -2, 7, 0), ("Bonn", 5, 5, 0)}
    assert set(shop.stored("updates")) == new
    shop.sql("DELETE FROM moves WHERE city = 'Bonn'")
    assert shop.deliver("whole") == ("INCREMENTAL", 0, 1)
    assert shop.transactions("whole") == 1
    assert shop.deliver("updates") == ("INCREMENTAL", 0, 1)
    assert shop.stored("moves") == [("Ulm", 2, 7)]
    assert set(shop.stored("updates")) == {*new, ("Bonn", None, None, 1)}


def test_the_first_rows_come_range_by_range(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files with deletion vectors, partitions and younger columns, and where only Spark reads
    them by parts."""
    monkeypatch.setattr(table_changes, "CUT_ROWS", 4)
    shop.sql(
        "CREATE TABLE stock (id INT, n DECIMAL(9, 2), at TIMESTAMP, city STRING) "
        "PARTITIONED BY (city); "
        "INSERT INTO stock SELECT id, id / 4, timestamp_seconds(id), concat('c', id % 2) "
        "FROM range(10); ALTER TABLE stock ADD COLUMN more STRUCT<a INT>; "
        "INSERT INTO stock SELECT id, id, NULL, 'c1', named_struct('a', id) FROM range(10, 20); "
        "DELETE FROM stock WHERE id IN (3, 5, 12)"
    )
    shop.create("s", "KEY (id)", "TABLE stock")
    first = shop.stored("stock")
    assert [row[0] for row in first] == [i for i in range(20) if i not in (3, 5, 12)]
    assert shop.transactions() == 5
    shop.sql("ALTER TABLE stock SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    shop.url = f"sqlite://{shop.file}?table=again"
    shop.create("again", "KEY (id)", "TABLE stock")
    assert shop.stored("again") == first
    assert shop.transactions("again") == 5


def test_two_tasks_deliver_a_dynamic_table(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is few is read without Spark."""
    shop.sql("INSERT INTO orders SELECT id, concat('c', id % 9), id FROM range(10, 60)")
    shop.lab.dynamic_table("city", "SELECT city, sum(price) AS total FROM orders GROUP BY city")
    shop.create("s", "KEY (city) PARTITIONS = 2", "DYNAMIC TABLE city")
    assert shop.stored("city") == shop.lab.rows("city")
    tasks = shop.lab.context.catalog.sink_tasks(shop.lab.context.catalog.sinks()[0].id)
    assert len(tasks) == 2
    shop.sql("UPDATE orders SET price = 1 WHERE id < 12; DELETE FROM orders WHERE city = 'c5'")
    assert shop.lab.refresh("city") == "INCREMENTAL"
    monkeypatch.delattr(table_changes.TableChanges, "_changed")
    assert shop.deliver() == ("INCREMENTAL", 4, 1)
    assert shop.stored("city") == shop.lab.rows("city")
    assert shop.transactions() == 2
    total = sum(total for _, total in shop.stored("city"))
    assert shop.sql("SELECT sum(price) FROM orders") == [(total,)]


@pytest.mark.nightly
@pytest.mark.parametrize("store", ["file", "delta"])
def test_tasks_of_a_folder_become_more_and_fewer(shop: Shop, store: str) -> None:
    shop.sql("INSERT INTO orders SELECT id, 'x', id FROM range(10, 40)")
    shop.url = f"{store}://{shop.file.parent}/other"
    shop.create("s", "KEY (id) PARTITIONS = 2")
    path = f"{shop.file.parent}/other/orders"
    for round_, partitions in enumerate((3, 1, 2)):
        shop.sql(f"UPDATE orders SET price = {round_} WHERE id > 20 + {round_}")
        shop.sql(f"DELETE FROM orders WHERE id = 10 + {round_}")
        shop.sql(f"ALTER SINK s SET PARTITIONS = {partitions}; ALTER SINK s REFRESH")
        if store == "delta":
            rows = shop.lab.spark.read.format("delta").load(path)
        else:
            manifest = json.loads(Path(path, "_manifest.json").read_text())
            rows = shop.lab.spark.read.parquet(*(f"{path}/{f}" for f in manifest["files"].values()))
        found = sorted((tuple(r) for r in rows.collect()), key=repr)
        assert found == shop.lab.rows("orders"), partitions


def test_a_key_of_two_rows_or_null_stores_nothing(shop: Shop) -> None:
    shop.create("s", "KEY (id) PARTITIONS = 2")
    before = shop.stored()
    shop.sql("INSERT INTO orders VALUES (7, 'Jena', 70), (2, 'Twin', 21)")
    with refused("DT-6130") as found:
        shop.deliver()
    assert "2 rows with (2)" in str(found[0])
    assert shop.stored() == before
    assert shop.state() == ("PAUSED", "DT-6130")
    shop.sql("DELETE FROM orders WHERE city = 'Twin'; INSERT INTO orders VALUES (NULL, 'x', 1)")
    with refused("DT-6131"):
        shop.deliver()
    assert shop.stored() == before
    shop.sql("DELETE FROM orders WHERE id IS NULL")
    assert shop.deliver() == ("INCREMENTAL", 1, 0)
    assert shop.stored() == [*before, (7, "Jena", 70)]


def test_a_sink_writes_into_no_table_of_its_lake(shop: Shop) -> None:
    folder = shop.lab.folder
    before = shop.lab.rows("orders")
    known = shop.lab.engine.sql("SHOW SINKS").collect()
    for url, code in (
        (f"sqlite://{shop.lab.context.layout.own}/catalog.sqlite", "DT-6101"),
        (f"file://{shop.lab.context.layout.tables}", "DT-6101"),
        (f"delta://{shop.lab.context.layout.tables}?table=orders", "DT-6101"),
        (f"file://{folder}/x/../_dt?table=dynamic", "DT-6101"),
        (f"duckdb://{folder}/_dt/new.duckdb", "DT-6101"),
    ):
        shop.url = url
        with refused(code) as found:
            shop.create()
        assert "lake" in str(found[0])
    assert shop.lab.rows("orders") == before
    assert shop.lab.engine.sql("SHOW SINKS").collect() == known == []
    shop.url = f"file://{folder}/exports"
    shop.create()
    assert (folder / "exports" / "orders" / "_manifest.json").exists()


@pytest.mark.nightly
def test_another_table_of_delta_is_read_by_spark(shop: Shop) -> None:
    shop.url = f"delta://{shop.file.parent}/other"
    shop.sql("ALTER TABLE orders ADD COLUMN at TIMESTAMP")
    shop.create("s", "KEY (id) PARTITIONS = 2")
    shop.sql(
        "UPDATE orders SET at = current_timestamp() WHERE id = 1; DELETE FROM orders WHERE id = 2"
    )
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30, NULL)")
    assert shop.deliver() == ("INCREMENTAL", 2, 1)
    copied = shop.lab.spark.read.format("delta").load(f"{shop.file.parent}/other/orders").collect()
    assert sorted(map(tuple, copied)) == shop.lab.rows("orders")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    found = PostgresServer()
    yield found
    found.end()


def test_postgresql_has_every_sum(shop: Shop, server: PostgresServer) -> None:
    where = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"
    shop.url = f"postgresql://postgres@127.0.0.1:{server.port}/postgres"

    def stored() -> list[tuple[object, ...]]:
        with psycopg.connect(where) as connection:
            return connection.execute("SELECT * FROM orders ORDER BY city").fetchall()

    shop.create("s", f"{SUMS} PARTITIONS = 2")
    assert stored() == [(2, "Bonn", 20), (1, "Ulm", 10)]
    shop.sql("INSERT INTO orders VALUES (3, 'Ulm', 5), (4, 'Jena', 7)")
    server.stop(signal.SIGQUIT)
    with refused("DT-6110"):
        shop.deliver()
    assert shop.state() == ("RETRYING", "DT-6110")
    server.start()
    assert shop.deliver() == ("INCREMENTAL", 2, 0)
    assert stored() == [(2, "Bonn", 20), (4, "Jena", 7), (3, "Ulm", 15)]
    assert shop.deliver() == ("INCREMENTAL", 0, 0)


@pytest.mark.nightly
def test_a_topic_of_kafka_has_every_update_once(shop: Shop, kafka: KafkaServer) -> None:
    shop.url = f"kafka://127.0.0.1:{kafka.port}/prices"

    def totals() -> dict[object, int]:
        """What a reader has that adds up the updates of each city."""
        found: dict[object, int] = {}
        for key, value in kafka.messages("prices"):
            found[key["city"]] = found.get(key["city"], 0) + value["price"] if value else 0
        return found

    with refused("DT-6144"):
        shop.create("s", SUMS)
    shop.create("s", f"{SUMS} DELTA_UPDATES = TRUE PARTITIONS = 2")
    assert totals() == {"Ulm": 10, "Bonn": 20}
    shop.sql("INSERT INTO orders VALUES (3, 'Ulm', 5), (4, 'Jena', 7)")
    kafka.stop()
    with refused("DT-6110"):
        shop.deliver()
    assert shop.state() == ("RETRYING", "DT-6110")
    kafka.start()
    assert shop.deliver() == ("INCREMENTAL", 2, 0)
    assert totals() == {"Ulm": 15, "Bonn": 20, "Jena": 7}
    assert shop.deliver() == ("INCREMENTAL", 0, 0)
    shop.sql("DELETE FROM orders WHERE city = 'Ulm'; ALTER SINK s REFRESH")
    assert totals() == {"Ulm": 0, "Bonn": 20, "Jena": 7}
    shop.sql("ALTER SINK s RESET")
    assert totals() == {"Bonn": 20, "Jena": 7}
    shop.sql("DROP SINK s")
    with refused("DT-6140"):
        shop.create("s", f"{SUMS} DELTA_UPDATES = TRUE")
    assert totals() == {"Bonn": 20, "Jena": 7}
