"""What a sink still has to read of its source: kept by `vacuum`, and told where it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dt_jupyter.lake import TableLog
from tests.spark.engine_lab import refused
from tests.spark.sinks.shop import Shop

UNCHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"


def test_vacuum_keeps_what_is_not_delivered_and_what_is_gone_waits_for_reset(shop: Shop) -> None:
    engine = shop.lab.engine
    shop.lab.dynamic_table("city", "SELECT city, sum(price) AS total FROM orders GROUP BY city")
    shop.create()
    shop.create("d", "KEY (city)", "DYNAMIC TABLE city")
    shop.sql("ALTER DYNAMIC TABLE city SET DATA_RETENTION_TIME_IN_DAYS = 1")
    log = TableLog(shop.lab.context.layout.public(engine.table("city").id))
    assert log.properties()["delta.logRetentionDuration"] == "interval 336 hours"
    for i in range(2):
        shop.sql(f"INSERT OVERWRITE orders VALUES (1, 'Ulm', {i}), (3, 'Jena', 30)")
        shop.lab.refresh("city")
    told = engine.vacuum(retain_hours=0)
    assert {"sink s", "sink d"} <= told.held.keys()
    assert shop.deliver() == ("INCREMENTAL", 2, 1)
    assert shop.deliver("d") == ("INCREMENTAL", 2, 1)
    assert shop.stored() == shop.lab.rows("orders")
    assert shop.stored("city") == shop.lab.rows("city")
    told = engine.vacuum(retain_hours=0)
    assert not {"sink s", "sink d"} & told.held.keys()
    assert told.files
    shop.lab.spark.conf.set(UNCHECKED, "false")
    try:
        shop.sql("INSERT OVERWRITE orders VALUES (1, 'Ulm', 7), (4, 'Hof', 40)")
        shop.sql("VACUUM orders RETAIN 0 HOURS")
    finally:
        shop.lab.spark.conf.unset(UNCHECKED)
    before = shop.stored()
    with refused("DT-6150") as found:
        shop.deliver()
    assert "ALTER SINK s RESET" in found[0].hint
    assert shop.state() == ("PAUSED", "DT-6150")
    assert shop.stored() == before
    shop.sql("ALTER SINK s RESET")
    assert shop.stored() == shop.lab.rows("orders") != before
    assert shop.state() == ("ACTIVE", None)


@contextmanager
def any_file_may_go(shop: Shop) -> Iterator[None]:
    shop.lab.spark.conf.set(UNCHECKED, "false")
    try:
        yield
    finally:
        shop.lab.spark.conf.unset(UNCHECKED)


@pytest.mark.nightly
def test_a_source_that_was_compacted_is_delivered_on(shop: Shop) -> None:
    """OPTIMIZE changes no row, so each sink stands before it, at files that VACUUM then takes."""
    shop.sql(
        "CREATE TABLE city (name STRING, land STRING); "
        "INSERT INTO city VALUES ('Ulm', 'BW'), ('Bonn', 'NW'); CREATE VIEW named AS "
        "SELECT land, count(o.id) AS n FROM city LEFT JOIN orders o ON o.city = name GROUP BY 1; "
        "CREATE STREAM seen ON VIEW named SHOW_INITIAL_ROWS = TRUE; "
        "CREATE STREAM x ON TABLE orders SHOW_INITIAL_ROWS = TRUE"
    )
    for i in range(3):
        shop.sql(f"INSERT INTO orders VALUES ({10 + i}, 'Ulm', {i})")
    shop.create()
    shop.create("d", "KEY (id)", "STREAM x")
    shop.create("v", "KEY (land)", "STREAM seen")
    with any_file_may_go(shop):
        shop.sql("OPTIMIZE orders; VACUUM orders RETAIN 0 HOURS")
    before = shop.stored()
    for name in ("s", "d", "v"):
        assert shop.deliver(name) == ("INCREMENTAL", 0, 0)
    assert shop.stored() == before
    shop.sql("DELETE FROM orders WHERE id = 10; UPDATE orders SET price = 7 WHERE id = 11")
    shop.sql("INSERT INTO orders VALUES (20, 'Bonn', 5)")
    for name in ("s", "d"):
        assert shop.deliver(name) == ("INCREMENTAL", 2, 1), name
    assert shop.deliver("v") == ("INCREMENTAL", 2, 0)
    assert sorted(shop.stored(), key=repr) == shop.lab.rows("orders")
    assert shop.stored("x") == shop.stored()
    assert sorted(shop.stored("seen"), key=repr) == shop.lab.rows("named")
