"""Sinks over streams: what is delivered is consumed, and nobody else's meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from dt_jupyter.catalog import Catalog
from dt_jupyter.delivery import table_changes
from dt_jupyter.sinks.drivers.sqlite import SqliteStore
from dt_jupyter.sql.grammar.parse import parse_statement
from dt_jupyter.sql.grammar.statement_values import CreateSink
from tests.cases import some
from tests.spark.engine_lab import Lab, refused
from tests.spark.sinks.shop import Shop

UNCHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"
Rows = dict[int, tuple[Any, ...]]


def made(
    shop: Shop,
    options: str = "",
    *,
    clauses: str = "KEY (id)",
    on: str = "TABLE orders",
    replace: bool = False,
) -> None:
    """The stream `x`, and the sink `s` that delivers it."""
    word = "CREATE OR REPLACE" if replace else "CREATE"
    shop.sql(f"{word} STREAM x ON {on} {options}")
    if not replace:
        shop.create("s", clauses, "STREAM x")


def created(name: str, stream: str, url: str) -> CreateSink:
    """The statement itself, which a transaction would not let through."""
    statement = parse_statement(f"CREATE SINK {name} FROM STREAM {stream} INTO '{url}' KEY (id)")
    assert isinstance(statement, CreateSink)
    return statement


def waiting(shop: Shop) -> list[tuple[Any, ...]]:
    """What the stream holds: action and key."""
    return sorted(shop.sql("SELECT `$ACTION`, id FROM x"))


def test_what_is_delivered_is_consumed(shop: Shop) -> None:
    shop.sql("CREATE STREAM x ON TABLE orders; INSERT INTO orders VALUES (3, 'Jena', 30)")
    shop.create("s", "KEY (id)", "STREAM x")
    assert shop.stored("x") == [(3, "Jena", 30)]
    assert shop.history() == [("INCREMENTAL", 1, 0)]
    assert waiting(shop) == []
    shop.sql("UPDATE orders SET price = 11 WHERE id = 1; DELETE FROM orders WHERE id IN (2, 3)")
    assert waiting(shop) == [("DELETE", 1), ("DELETE", 2), ("DELETE", 3), ("INSERT", 1)]
    assert shop.deliver() == ("INCREMENTAL", 1, 2)
    assert shop.stored("x") == [(1, "Ulm", 11)]
    assert waiting(shop) == []
    row = shop.lab.engine.sql("DESCRIBE SINK s").collect()[0]
    assert (row["SOURCE_TYPE"], row["SOURCE_NAME"]) == ("STREAM", "spark_catalog.default.x")
    assert (row["LAG_SEC"], row["SOURCE_VERSION"]) == (0.0, row["DELIVERED_VERSION"])
    (report,) = shop.lab.engine.stream_reports()
    assert [str(name) for name in report.consumers] == ["s"]
    edges = {(str(a), str(b)) for a, b in shop.lab.engine.graph().edges}
    assert edges == {("orders", "x"), ("x", "s")}
    assert "FROM STREAM x\n" in shop.lab.engine.export()


def test_a_stream_of_a_sink_is_nobody_elses(shop: Shop) -> None:
    engine = shop.lab.engine
    shop.sql("CREATE TABLE copy (id INT)")
    made(shop)
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    for statement in (
        "INSERT INTO copy SELECT id FROM x",
        "DROP STREAM x",
        f"CREATE SINK t FROM STREAM x INTO '{shop.url}?table=t' KEY (id)",
    ):
        with refused("DT-3211") as found:
            shop.sql(statement)
        assert found[0].facts["sink"] == "s"
    with refused("DT-3211"), engine.transaction() as tx:
        tx.rows("x")
    with refused("DT-1109"):
        shop.create("t", "KEY (id)", "TABLE x")
    with refused("DT-1109"):
        shop.create("t", "KEY (id)", "STREAM orders")
    with refused("DT-3201"):
        shop.create("t", "KEY (id)", "STREAM y")
    with refused("DT-6105"):
        shop.sql("CREATE STREAM y ON TABLE orders")
        shop.create("t", "", "STREAM y")
    with engine.transaction() as tx:
        tx.rows("y")
        with refused("DT-3203"):
            shop.lab.context.sinks.create(created("t", "y", shop.url))
    assert waiting(shop) == [("INSERT", 3)]
    shop.sql("DROP SINK s; INSERT INTO copy SELECT id FROM x")
    assert shop.sql("SELECT id FROM copy") == [(3,)]
    assert shop.stored("x") == []


def test_what_is_only_appended_to_is_stored_as_it_came(shop: Shop) -> None:
    """Of a key that comes again the row of the last commit; of two in one commit neither."""
    made(shop, "APPEND_ONLY = TRUE SHOW_INITIAL_ROWS = TRUE")
    first = [(1, "Ulm", 10), (2, "Bonn", 20)]
    assert shop.stored("x") == first
    assert shop.history() == [("INITIAL", 2, 0)]
    shop.sql("DELETE FROM orders WHERE id = 2; UPDATE orders SET price = 0")
    assert shop.deliver() == ("INCREMENTAL", 0, 0)
    shop.sql("INSERT INTO orders VALUES (2, 'Hof', 1), (3, 'Jena', 30); DELETE FROM orders")
    shop.sql("INSERT INTO orders VALUES (2, 'Kiel', 2)")
    assert shop.deliver() == ("INCREMENTAL", 2, 0)
    assert shop.stored("x") == [(1, "Ulm", 10), (2, "Kiel", 2), (3, "Jena", 30)]
    before = shop.stored("x")
    shop.sql("INSERT INTO orders VALUES (4, 'a', 1), (4, 'b', 2)")
    with refused("DT-6130"):
        shop.deliver()
    assert shop.stored("x") == before
    assert shop.state() == ("PAUSED", "DT-6130")
    assert waiting(shop) == [("INSERT", 4), ("INSERT", 4)]


@pytest.mark.nightly
def test_a_reduced_stream_is_read_commit_by_commit(shop: Shop) -> None:
    made(shop, clauses="KEY (city) REDUCE (price SUM, id LAST_WRITE_WINS) DELTA_UPDATES = TRUE")
    shop.sql("INSERT INTO orders VALUES (9, 'Ulm', 5); INSERT INTO orders VALUES (8, 'Ulm', -7)")
    assert shop.deliver() == ("INCREMENTAL", 1, 0)
    assert shop.stored("x") == [(8, "Ulm", -2, 0)]


VIEW = (
    "CREATE TABLE city (name STRING, land STRING); "
    "INSERT INTO city VALUES ('Ulm', 'BW'), ('Bonn', 'NW'); "
    "CREATE VIEW named AS SELECT o.id, o.price, c.land FROM orders o JOIN city c ON o.city = c.name"
)


def changed(rng: random.Random) -> str:
    """A random change of what the view reads."""
    id_, land = rng.randrange(12), rng.choice(["BW", "NW", "SL"])
    return rng.choice(
        [
            f"MERGE INTO orders o USING (SELECT {id_} id) n ON o.id = n.id "
            f"WHEN MATCHED THEN UPDATE SET price = price + 1 "
            f"WHEN NOT MATCHED THEN INSERT (id, city, price) VALUES ({id_}, 'Bonn', {id_})",
            f"DELETE FROM orders WHERE id = {id_}",
            f"UPDATE orders SET city = 'Ulm' WHERE id = {id_}",
            f"UPDATE city SET land = '{land}' WHERE name = 'Ulm'",
        ]
    )


def applied(expected: Rows, before: Rows, after: Rows) -> None:
    """What changed between two states of the source."""
    for key in before.keys() | after.keys():
        if before.get(key) != after.get(key):
            expected.pop(key, None)
            if key in after:
                expected[key] = after[key]


@pytest.mark.parametrize(
    ("on", "seed", "rounds"),
    some(1, [("VIEW named", 7, 2), ("TABLE orders", 1, 6), ("VIEW named", 2, 6)]),
)
def test_random_changes_from_the_offset_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, on: str, seed: int, rounds: int
) -> None:
    """Cut into parts; the target is what the source became since the stream was made."""
    rng, source = random.Random(seed), on.split()[1]

    def rows() -> Rows:
        return {row[0]: tuple(row) for row in shop.sql(f"SELECT * FROM {source}")}

    monkeypatch.setattr(table_changes, "CUT_ROWS", 3)
    shop.sql(f"{VIEW}; CREATE STREAM x ON {on}")
    file = shop.file.with_suffix(".duckdb")
    shop.url = f"duckdb://{file}"
    begun, expected = rows(), Rows()
    shop.create("s", "KEY (id)", "STREAM x")
    for _ in range(rounds):
        for _ in range(rng.randrange(1, 4)):
            shop.sql(changed(rng))
        shop.deliver()
        after = rows()
        applied(expected, begun, after)
        begun = after
        shop.lab.engine.context.sinks.deliveries.close_all()
        with duckdb.connect(str(file)) as store:
            found = store.execute("SELECT * FROM x").fetchall()
        assert sorted(found) == sorted(expected.values())
        assert waiting(shop) == []


@pytest.mark.nightly
def test_a_stream_on_a_dynamic_table(shop: Shop) -> None:
    shop.lab.dynamic_table("city", "SELECT city, sum(price) AS total FROM orders GROUP BY city")
    made(shop, "SHOW_INITIAL_ROWS = TRUE", clauses="KEY (city)", on="DYNAMIC TABLE city")
    assert shop.stored("x") == [("Bonn", 20), ("Ulm", 10)]
    shop.sql("INSERT INTO orders VALUES (3, 'Ulm', 5); DELETE FROM orders WHERE id = 2")
    assert shop.deliver() == ("INCREMENTAL", 0, 0)
    shop.lab.refresh("city")
    assert shop.deliver() == ("INCREMENTAL", 1, 1)
    assert shop.stored("x") == [("Ulm", 15)]
    assert shop.sql("SELECT count(*) FROM x") == [(0,)]


class Dead(BaseException):
    """The process is gone."""


def dies_behind(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, count: int) -> None:
    known: Callable[..., Any] = getattr(owner, name)
    left = [count]

    def dying(*args: Any, **kw: Any) -> Any:
        found = known(*args, **kw)
        left[0] -= 1
        if left[0] == 0:
            raise Dead
        return found

    monkeypatch.setattr(owner, name, dying)


def reopened(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    lab.context.sinks.deliveries.close_all()
    lab.reopen()


POINTS = [
    (SqliteStore, "commit", 1),
    (Catalog, "commit_sink_task", 1),
    (Catalog, "commit_sink_task", 2),
    (SqliteStore, "prepare", 2),
    (Catalog, "open_sink_task", 1),
    (Catalog, "finish_delivery", 1),
]


@pytest.mark.parametrize(("owner", "name", "count"), some(1, POINTS))
def test_a_stream_that_is_left_by_a_sink_holds_what_is_not_delivered(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, owner: type, name: str, count: int
) -> None:
    """Of a delivery that ended anywhere: the target and what the stream then holds are everything,
    once."""
    made(shop, "SHOW_INITIAL_ROWS = TRUE")
    shop.sql("INSERT INTO orders SELECT id, 'new', 1 FROM range(10, 20)")
    shop.deliver()
    shop.sql("DELETE FROM orders WHERE id = 1; INSERT INTO orders VALUES (30, 'x', 1)")
    with monkeypatch.context() as patched:
        patched.setattr(table_changes, "CUT_ROWS", 1)
        dies_behind(patched, owner, name, count)
        shop.lab.engine.context.sinks.deliveries.close_all()
        with pytest.raises(Dead):
            shop.deliver()
    reopened(shop.lab, monkeypatch)
    shop.sql("DROP SINK s; INSERT INTO orders VALUES (31, 'y', 1)")
    there = {row[0] for row in shop.stored("x")}
    for action, key in waiting(shop):
        assert (key in there) == (action == "DELETE"), "what is delivered is not there again"
        there ^= {key}
    assert there == {row[0] for row in shop.lab.rows("orders")}


@pytest.mark.nightly
def test_a_stream_that_was_replaced_waits_for_reset(shop: Shop) -> None:
    made(shop)
    shop.sql("INSERT INTO orders VALUES (3, 'Jena', 30)")
    assert shop.deliver() == ("INCREMENTAL", 1, 0)
    made(shop, "SHOW_INITIAL_ROWS = TRUE", replace=True)
    with refused("DT-6151") as found:
        shop.deliver()
    assert "stream x was replaced" in str(found[0])
    assert shop.state() == ("PAUSED", "DT-6151")
    shop.sql("ALTER SINK s RESET")
    assert shop.stored("x") == shop.lab.rows("orders")
    assert shop.state() == ("ACTIVE", None)
    shop.sql("INSERT INTO orders VALUES (4, 'Hof', 40); ALTER SINK s RESET")
    assert shop.stored("x") == [(4, "Hof", 40)], "a stream has no rows but its changes"
    shop.lab.engine.context.sinks.deliveries.close_all()
    shop.file.unlink()
    shop.sql("INSERT INTO orders VALUES (5, 'Bam', 50)")
    with refused("DT-6152") as found:
        shop.deliver()
    assert "lost what was delivered" in str(found[0])
    shop.sql("ALTER SINK s RESET")
    assert shop.stored("x") == [(5, "Bam", 50)]


@pytest.mark.nightly
def test_a_stale_stream_says_what_mends_it(shop: Shop) -> None:
    made(shop)
    shop.sql("INSERT OVERWRITE orders VALUES (1, 'Ulm', 7), (3, 'Jena', 30)")
    assert "stream x" in shop.lab.engine.vacuum(retain_hours=0).held
    shop.lab.spark.conf.set(UNCHECKED, "false")
    try:
        shop.sql("INSERT OVERWRITE orders VALUES (1, 'Ulm', 7), (4, 'Hof', 40)")
        shop.sql("VACUUM orders RETAIN 0 HOURS")
    finally:
        shop.lab.spark.conf.unset(UNCHECKED)
    with refused("DT-6152") as found:
        shop.deliver()
    assert "CREATE OR REPLACE STREAM x" in found[0].hint
    assert shop.state() == ("PAUSED", "DT-6152")
    made(shop, "SHOW_INITIAL_ROWS = TRUE", replace=True)
    shop.sql("ALTER SINK s RESET")
    assert shop.stored("x") == shop.lab.rows("orders")
