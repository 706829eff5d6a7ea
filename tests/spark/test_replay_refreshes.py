"""Refreshes run again, retained versions verified, definitions and what lies between snapshots."""

from __future__ import annotations

import pytest

from dt_jupyter.model import RefreshAction
from tests.spark.engine_lab import Lab, refused


@pytest.fixture
def sales(quick_lab: Lab) -> Lab:
    quick_lab.table("sale", "id INT, shop STRING, price INT", "1, 'a', 10", "2, 'b', 20")
    return quick_lab


def refreshed(lab: Lab, name: str, script: str) -> str:
    lab.sql(script)
    return lab.refresh(name)


@pytest.mark.parametrize(
    ("query", "delta"),
    [
        ("SELECT shop, SUM(price) AS total, COUNT(*) AS n FROM sale GROUP BY shop", (2, 1)),
        ("SELECT DISTINCT s.shop, t.price FROM sale s JOIN sale t ON s.id = t.id", (2, 1)),
    ],
)
def test_an_incremental_refresh_again(sales: Lab, query: str, delta: tuple[int, int]) -> None:
    """Its delta, computed again on its frontiers, gives what it committed, whatever came after."""
    sales.dynamic_table("d", query)
    script = "UPDATE sale SET price = 21 WHERE id = 2; INSERT INTO sale VALUES (3, 'c', 7)"
    assert refreshed(sales, "d", script) == "INCREMENTAL"
    record = sales.engine.records("d")[0]
    sales.refresh("d")
    nothing = sales.engine.replay_refresh("d")
    assert nothing.equal
    assert (nothing.action, nothing.again.inserted) == (RefreshAction.NO_DATA, 0)
    refreshed(sales, "d", "DELETE FROM sale WHERE id = 1")
    found = sales.engine.replay_refresh("d", query_id=record.query_id)
    assert found.equal, str(found)
    assert (found.again.inserted, found.again.deleted) == delta
    assert found.committed == found.again
    assert found.committed.rows == found.again.rows
    assert found.action is RefreshAction.INCREMENTAL
    assert found.read == {"sale": (1, 3)}
    assert "sale versions 1 → 3" in str(found)
    assert "+ (c, 7" in str(found)
    assert "as it was committed" in str(found)
    assert len(sales.engine.pins()) == 0


def test_first_and_full_refreshes_again(sales: Lab) -> None:
    sales.dynamic_table("d", "SELECT shop, price FROM sale ORDER BY price LIMIT 1")
    refreshed(sales, "d", "INSERT INTO sale VALUES (3, 'c', 7)")
    for record, delta in zip(sales.engine.records("d"), [(1, 1), (1, 0)], strict=True):
        found = sales.engine.replay_refresh("d", query_id=record.query_id)
        assert found.equal, str(found)
        assert (found.again.inserted, found.again.deleted) == delta
    with refused("DT-4109"):
        sales.engine.replay_refresh("d", query_id="none such")


def test_what_was_committed_wrongly_is_found(sales: Lab) -> None:
    """The number that looked wrong on Tuesday: somebody wrote past the engine."""
    sales.dynamic_table("d", "SELECT id, price FROM sale")
    refreshed(sales, "d", "INSERT INTO sale VALUES (3, 'c', 7)")
    assert sales.engine.verify("d", all=True).equal
    path = sales.engine.layout.public(sales.engine.table("d").id)
    sales.spark.sql(f"UPDATE delta.`{path}` SET price = 8 WHERE id = 3")
    version = sales.version("d")
    found = sales.engine.verify("d", at=version)
    assert not found.equal
    assert found.wrong == ("too many", (3, 8))
    assert found.version == version
    assert "3, 8" in str(found)
    assert sales.engine.verify("d", at=version - 1).equal


def test_every_retained_version_against_the_definition_of_its_time(sales: Lab) -> None:
    sales.dynamic_table("up", "SELECT shop, SUM(price) AS total FROM sale GROUP BY shop")
    sales.dynamic_table("down", "SELECT COUNT(*) AS n, AVG(total) AS mean FROM up")
    refreshed(sales, "down", "INSERT INTO sale VALUES (3, 'c', 7), (4, 'a', 1)")
    sales.refresh("down")
    found = sales.engine.verify("down", all=True)
    assert found.equal, str(found)
    assert len(found) == 3
    assert [v.rows for v in found.found] == [1, 1, 1]
    assert "all 3 retained versions" in str(found)


def test_definitions_are_kept_and_compared(sales: Lab) -> None:
    sales.dynamic_table("d", "SELECT id, price FROM sale WHERE price > 10")
    first = sales.engine.table("d").data_timestamp
    assert first is not None
    sales.sql(
        "CREATE OR ALTER DYNAMIC TABLE d TARGET_LAG = '1 hour' AS "
        "SELECT id, shop, price FROM sale WHERE price > 5"
    )
    sales.refresh("d")
    assert [d.definition.query.count("shop") for d in sales.engine.definitions("d")] == [0, 1]
    log = sales.engine.sources.logs[str(sales.engine.layout.public(sales.engine.table("d").id))]
    found = sales.engine.diff("d", first, log.version())
    assert "-SELECT id, price FROM sale WHERE price > 10" in found.text
    assert "+SELECT id, shop, price FROM sale WHERE price > 5" in found.text
    assert found.schema == "+shop string"
    assert (found.inserted, found.deleted) == (2, 1)
    assert sales.engine.verify("d", at=first).equal


def test_two_snapshots_of_a_table(sales: Lab) -> None:
    sales.sql("UPDATE sale SET price = 11 WHERE id = 1; ALTER TABLE sale ADD COLUMN kind STRING")
    found = sales.engine.diff("sale", 1, 3)
    assert (found.schema, found.inserted, found.deleted) == ("+kind string", 1, 1)
    assert sorted(found.rows) == [
        ("DELETE", (1, "a", 10, None), 1), ("INSERT", (1, "a", 11, None), 1),
    ]  # fmt: skip
    assert "rows: 2 → 2, +1 −1" in str(found)
    assert sales.engine.diff("sale", 3, 3).same
