"""Transactions of several statements: all of it at once, or nothing; each change once."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.sources.source_names import Sources
from dt_jupyter.spark.relations import lookup
from tests.spark.engine_lab import Lab, refused

Row = tuple[Any, ...]


KEPT = (
    "TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.deletedFileRetentionDuration' = "
    "'interval 14 days', 'delta.logRetentionDuration' = 'interval 30 days')"
)
"""What a stream would turn on."""


@pytest.fixture
def shop(quick_lab: Lab) -> Lab:
    """Orders and payments, a stream on each, what orders add up to, and a list of payments."""
    quick_lab.sql(
        f"CREATE TABLE orders {KEPT} AS SELECT * FROM VALUES (10L), (20L) AS v (n); "
        f"CREATE TABLE payments {KEPT} AS SELECT 5L AS n; "
        "CREATE TABLE added AS SELECT 0L AS n; CREATE TABLE listed (n BIGINT)"
    )
    for source in ("orders", "payments"):
        quick_lab.sql(f"CREATE STREAM {source}_s ON TABLE {source} SHOW_INITIAL_ROWS = TRUE")
    return quick_lab


ADD = "UPDATE added SET n = n + (SELECT sum(n) FROM orders_s)"
LIST = "INSERT INTO listed SELECT n FROM payments_s"


def log(lab: Lab, table: str) -> TableLog:
    relation = lookup(lab.spark, lab.context.name(table))
    assert relation is not None
    assert relation.location is not None
    return TableLog(relation.location)


def clean(lab: Lab) -> bool:
    """Whether no transaction has left anything, in the catalog or on the disk."""
    return not lab.left()


def untouched(lab: Lab) -> bool:
    """Whether neither table nor stream of `shop` has moved."""
    tables = lab.rows("added") == [(0,)] and lab.rows("listed") == []
    held = sorted(lab.sql("SELECT n FROM orders_s UNION ALL SELECT n FROM payments_s"))
    return tables and held == [(5,), (10,), (20,)] and clean(lab)


def test_two_streams_into_two_tables(shop: Lab) -> None:
    shop.sql(f"BEGIN; {ADD}")
    outside = shop.spark.sql
    outside("INSERT INTO orders VALUES (1000)")
    shop.sql(LIST)
    assert shop.rows("added") == [(0,)]
    assert shop.rows("listed") == []
    assert shop.sql("SELECT n FROM added") == [(30,)], "its own statements see it"
    assert shop.sql("SELECT sum(n) FROM orders_s") == [(30,)], "and the stream as at first"
    ((told,),) = shop.sql("COMMIT")
    assert told == "Transaction committed, 2 tables written."
    assert shop.rows("added") == [(30,)]
    assert shop.rows("listed") == [(5,)]
    assert shop.sql("SELECT n FROM orders_s") == [(1000,)]
    assert shop.sql("SELECT n FROM payments_s") == []
    assert clean(shop)


def fails_within(lab: Lab) -> None:
    with lab.engine.transaction() as tx:
        tx.sql(ADD)
        tx.insert(tx.rows("payments_s").select("n"), "listed")
        raise ZeroDivisionError


def test_what_is_rolled_back_never_was(shop: Lab) -> None:
    versions = [log(shop, t).version() for t in ("added", "listed")]
    shop.sql(f"BEGIN TRANSACTION; {ADD}; {LIST}; ROLLBACK")
    assert untouched(shop)
    with pytest.raises(ZeroDivisionError):
        fails_within(shop)
    assert untouched(shop)
    assert [log(shop, t).version() for t in ("added", "listed")] == versions
    shop.sql(f"BEGIN; {ADD}; SELECT n FROM payments_s; COMMIT")
    assert shop.rows("added") == [(30,)]
    assert shop.sql("SELECT n FROM payments_s") == [(5,)], "reading alone moves nothing"
    assert clean(shop)


def test_bad_statements_have_codes_and_leave_the_transaction(
    shop: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sources, "known", lambda self: ["added", "listed"])
    for statement in ("COMMIT", "ROLLBACK"):
        with refused("DT-3205"):
            shop.sql(statement)
    shop.sql(f"START TRANSACTION; {LIST}")
    with refused("DT-3206"):
        shop.sql("BEGIN")
    for statement in (
        "CREATE TABLE u AS SELECT * FROM orders_s",
        "ALTER TABLE added ADD COLUMN m INT",
        "DROP TABLE added",
        "OPTIMIZE added",
        "CREATE STREAM z ON TABLE added",
        "DROP STREAM orders_s",
        "CREATE DYNAMIC TABLE d AS SELECT n FROM orders",
        "INSERT WITH SCHEMA EVOLUTION INTO added SELECT n, 1 AS m FROM orders_s",
        "ANALYZE TABLE added COMPUTE STATISTICS",
        "CREATE VIEW w AS SELECT 1",
    ):
        with refused("DT-3207"):
            shop.sql(statement)
    with refused("DT-1101"):
        shop.sql("INSERT INTO listet VALUES (1)")
    with refused("DT-3207"):
        shop.sql(f"INSERT INTO {sql_table(log(shop, 'added').path)} SELECT n FROM orders_s")
    with refused("DT-1033"):
        shop.sql("INSERT INTO added SELECT n DIV 0 FROM orders_s")
    shop.spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        with refused("DT-3207"):
            shop.sql("INSERT INTO listed SELECT n, 1 AS m FROM orders_s")
    finally:
        shop.spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert shop.sql("SELECT * FROM listed") == [(5,)]
    shop.sql("INSERT INTO listed VALUES (6); COMMIT")
    assert shop.rows("listed") == [(5,), (6,)]
    assert len(shop.sql("SELECT n FROM orders_s")) == 2, "no statement that stands consumed it"
    assert clean(shop)


def test_a_view_of_what_was_written_is_refused(shop: Lab) -> None:
    shop.sql("CREATE VIEW shown AS SELECT n FROM listed; CREATE VIEW other AS SELECT n FROM added")
    shop.sql(f"BEGIN; {LIST}; SELECT n FROM other")
    with refused("DT-3207"):
        shop.sql("SELECT n FROM shown")
    shop.sql("ROLLBACK")
    assert untouched(shop)


def test_a_conflict_at_commit_publishes_nothing(shop: Lab) -> None:
    shop.sql(f"BEGIN; {LIST}; {ADD}")
    shop.spark.sql("INSERT INTO added VALUES (1)")
    with refused("DT-3208"):
        shop.sql("COMMIT")
    shop.spark.sql("DELETE FROM added WHERE n = 1")
    assert untouched(shop)
    with refused("DT-3205"):
        shop.sql("COMMIT")


@pytest.mark.nightly
def test_others_may_add_to_what_only_adds(shop: Lab) -> None:
    shop.sql("ALTER TABLE listed SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    shop.sql(f"BEGIN; {LIST}")
    shop.spark.sql("INSERT INTO listed VALUES (7), (8)")
    shop.sql("COMMIT; INSERT INTO listed VALUES (9)")
    assert shop.rows("listed") == [(5,), (7,), (8,), (9,)]
    ids = shop.spark.sql("SELECT _metadata.row_id FROM listed").collect()
    assert len(set(ids)) == 4
    assert clean(shop)


@pytest.mark.nightly
def test_what_an_outside_writer_breaks_is_said(shop: Lab) -> None:
    """Between the record and the second table: nothing can hold such a writer off."""
    shop.table("also", "n BIGINT", "0")
    shop.sql(f"BEGIN; {ADD}; UPDATE also SET n = 1; {LIST}")
    writes = iter(["INSERT INTO added VALUES (1)", "INSERT INTO also VALUES (1)"])
    with (
        hooked("tx_target_published", lambda: [shop.spark.sql(w) for w in writes] and None),
        refused("DT-3209") as errors,
    ):
        shop.sql("COMMIT")
    assert errors[0].facts["lost"] == "also"
    assert errors[0].facts["published"] == "added, listed"
    kept = errors[0].facts["folder"]
    assert [
        tuple(r) for r in shop.spark.sql(f"SELECT n FROM {sql_table(kept / '2')}").collect()
    ] == [(1,)]
    assert shop.rows("added") == [(1,), (30,)]
    assert shop.rows("also") == [(0,), (1,)]
    assert shop.sql("SELECT n FROM orders_s") == []
    assert clean(shop)


def test_from_python(shop: Lab) -> None:
    with shop.engine.transaction() as tx:
        tx.sql(ADD)
        rows = tx.rows("payments_s")
        tx.insert(rows.selectExpr("n * 2 AS n"), "listed")
    assert shop.rows("added") == [(30,)]
    assert shop.rows("listed") == [(10,)]
    assert shop.sql("SELECT n FROM payments_s") == []
    batches: list[list[int]] = []

    def twice(frame: Any) -> Any:
        batches.append(sorted(r["n"] for r in frame.collect()))
        shop.sql("UPDATE added SET n = n + 1")
        return frame.selectExpr("n * 2 AS n")

    shop.insert("payments", "6", "7")
    assert shop.engine.consume("payments_s", twice, into="listed") == 1
    assert shop.engine.consume("payments_s", twice, into="listed") == 0
    assert batches == [[6, 7]]
    assert shop.rows("listed") == [(10,), (12,), (14,)]
    assert shop.rows("added") == [(31,)]

    def fails(frame: Any) -> Any:
        twice(frame)
        raise ZeroDivisionError

    shop.insert("payments", "8")
    with pytest.raises(ZeroDivisionError):
        shop.engine.consume("payments_s", fails, into="listed")
    with refused("DT-1003"):
        shop.engine.consume("payments_s", lambda frame: None, into="listed")
    assert shop.rows("added") == [(31,)]
    assert shop.engine.consume("payments_s", twice, into="listed", batches=1, every=0.0) == 1
    assert shop.rows("listed") == [(10,), (12,), (14,), (16,)]
    assert clean(shop)


@pytest.mark.nightly
def test_a_closed_engine_rolls_back(shop: Lab) -> None:
    shop.sql(f"BEGIN; {ADD}")
    catalog, close = shop.context.catalog, shop.engine.close
    assert catalog.intents()
    held = [catalog.intents, catalog.streams]
    root = shop.context.layout.transactions
    ended: list[Any] = []
    shop.context.catalog.close = lambda: ended.extend(f() for f in held)  # type: ignore[method-assign]
    close()
    assert ended[0] == frozenset()
    assert [s.intent for s in ended[1]] == [None, None]
    assert not list(root.glob("*"))
    assert shop.rows("added") == [(0,)]
