"""Transactions of several statements: all of it at once, or nothing; each change once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.engine_lab import Lab

Row = tuple[Any, ...]


@pytest.fixture
def shop(quick_lab: Lab) -> Lab:
    """Orders and payments, a stream on each, and two totals that add up."""
    quick_lab.table("orders", "id INT, n INT", "1, 10", "2, 20")
    quick_lab.table("payments", "id INT, n INT", "1, 5")
    quick_lab.table("ordered", "n BIGINT", "0")
    quick_lab.table("paid", "n BIGINT")
    for source in ("orders", "payments"):
        quick_lab.sql(f"CREATE STREAM {source}_s ON TABLE {source} SHOW_INITIAL_ROWS = TRUE")
    return quick_lab


BOTH = (
    "UPDATE ordered SET n = n + (SELECT sum(n) FROM orders_s); "
    "INSERT INTO paid SELECT n FROM payments_s"
)


def left(lab: Lab) -> list[str]:
    """What transactions have left in the lake's own folder."""
    root = lab.engine.streams.forward.root
    return [p.name for p in root.iterdir()] if root.is_dir() else []


def test_two_streams_into_two_tables(shop: Lab) -> None:
    shop.sql("BEGIN")
    shop.sql("UPDATE ordered SET n = n + (SELECT sum(n) FROM orders_s)")
    shop.insert("orders", "3, 1000")
    shop.sql("INSERT INTO paid SELECT n FROM payments_s")
    assert shop.rows("ordered") == [(0,)]
    assert shop.rows("paid") == []
    assert shop.sql("SELECT n FROM ordered") == [(30,)]
    assert shop.sql("SELECT sum(n) FROM orders_s") == [(30,)]
    shop.sql("COMMIT")
    assert shop.rows("ordered") == [(30,)]
    assert shop.rows("paid") == [(5,)]
    assert shop.sql("SELECT n FROM orders_s") == [(1000,)]
    assert shop.sql("SELECT n FROM payments_s") == []
    assert left(shop) == []
