"""Refreshes run again, retained versions verified, definitions and what lies between snapshots."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, RefreshAction
from tests.spark.engine_lab import Lab, refused


@pytest.fixture
def sale(shared_lab: Lab, request: pytest.FixtureRequest) -> str:
    """A table of two rows for one test, by its name."""
    name = f"of_{request.node.name.removeprefix('test_')}"
    shared_lab.table(name, "id INT, shop STRING, price INT", "1, 'a', 10", "2, 'b', 20")
    return name


def refreshed(lab: Lab, name: str, script: str) -> str:
    lab.sql(script)
    return lab.refresh(name)


def test_incremental_refreshes_again(shared_lab: Lab, sale: str) -> None:
    """Their delta, computed again on their frontiers, gives what they committed, whatever came
    after."""
    lab, engine = shared_lab, shared_lab.engine
    lab.dynamic_table(
        "grouped", f"SELECT shop, SUM(price) AS total, COUNT(*) AS n FROM {sale} GROUP BY shop"
    )
    lab.dynamic_table(
        "joined", f"SELECT DISTINCT s.shop, t.price FROM {sale} s JOIN {sale} t ON s.id = t.id"
    )
    lab.sql(f"UPDATE {sale} SET price = 21 WHERE id = 2; INSERT INTO {sale} VALUES (3, 'c', 7)")
    assert [lab.refresh(n) for n in ("grouped", "joined")] == ["INCREMENTAL"] * 2
    records = {n: engine.records(n)[0] for n in ("grouped", "joined")}
    lab.refresh("grouped")
    nothing = engine.replay_refresh("grouped")
    assert nothing.equal
    assert (nothing.action, nothing.again.inserted) == (RefreshAction.NO_DATA, 0)
    assert f"{sale} unchanged at version 3" in str(nothing)
    refreshed(lab, "grouped", f"DELETE FROM {sale} WHERE id = 1")
    for name, record in records.items():
        found = engine.replay_refresh(name, query_id=record.query_id)
        assert found.equal, str(found)
        assert (found.again.inserted, found.again.deleted) == (2, 1)
        assert found.committed == found.again
        assert found.committed.rows == found.again.rows
        assert found.action is RefreshAction.INCREMENTAL
        assert found.read == {sale: (1, 3)}
        assert f"{sale} versions 1 → 3" in str(found)
        assert "+ (c, 7" in str(found)
        assert "as it was committed" in str(found)
    assert len(engine.pins()) == 0


@pytest.mark.nightly
def test_first_and_full_refreshes_again(shared_lab: Lab, sale: str) -> None:
    engine = shared_lab.engine
    shared_lab.dynamic_table("least", f"SELECT shop, price FROM {sale} ORDER BY price LIMIT 1")
    refreshed(shared_lab, "least", f"INSERT INTO {sale} VALUES (3, 'c', 7)")
    for record, delta in zip(engine.records("least"), [(1, 1), (1, 0)], strict=True):
        found = engine.replay_refresh("least", query_id=record.query_id)
        assert found.equal, str(found)
        assert (found.again.inserted, found.again.deleted) == delta
    with refused("DT-4109"):
        engine.replay_refresh("least", query_id="none such")


def test_what_was_committed_wrongly_is_found(shared_lab: Lab, sale: str) -> None:
    """The number that looked wrong on Tuesday: somebody wrote past the engine."""
    lab, engine = shared_lab, shared_lab.engine
    lab.dynamic_table("prices", f"SELECT id, price FROM {sale}")
    refreshed(lab, "prices", f"INSERT INTO {sale} VALUES (3, 'c', 7)")
    path = engine.context.layout.public(engine.table("prices").id)
    lab.spark.sql(f"UPDATE delta.`{path}` SET price = 8 WHERE id = 3")
    version = lab.version("prices")
    found = engine.verify("prices", at=version)
    assert not found.equal
    assert found.wrong == ("too many", (3, 8))
    assert found.version == version
    assert "3, 8" in str(found)
    assert engine.verify("prices", at=version - 1).equal


def test_every_retained_version_against_the_definition_of_its_time(
    shared_lab: Lab, sale: str
) -> None:
    lab = shared_lab
    lab.dynamic_table("up", f"SELECT shop, SUM(price) AS total FROM {sale} GROUP BY shop")
    lab.dynamic_table("down", "SELECT COUNT(*) AS n, AVG(total) AS mean FROM up")
    refreshed(lab, "down", f"INSERT INTO {sale} VALUES (3, 'c', 7), (4, 'a', 1)")
    lab.refresh("down")
    found = lab.engine.verify("down", all=True)
    assert found.equal, str(found)
    assert len(found) == 3
    assert [v.rows for v in found.found] == [1, 1, 1]
    assert "all 3 retained versions" in str(found)


@pytest.mark.nightly
def test_definitions_are_kept_and_compared(shared_lab: Lab, sale: str) -> None:
    lab, engine = shared_lab, shared_lab.engine
    lab.dynamic_table("d", f"SELECT id, price FROM {sale} WHERE price > 10")
    first = engine.table("d").data_timestamp
    assert first is not None
    lab.sql(
        "CREATE OR ALTER DYNAMIC TABLE d TARGET_LAG = '1 hour' AS "
        f"SELECT id, shop, price FROM {sale} WHERE price > 5"
    )
    lab.refresh("d")
    assert [d.definition.query.count("shop") for d in engine.definitions("d")] == [0, 1]
    log = engine.context.sources.logs[str(engine.context.layout.public(engine.table("d").id))]
    found = engine.diff("d", first, log.version())
    assert f"-SELECT id, price FROM {sale} WHERE price > 10" in found.text
    assert f"+SELECT id, shop, price FROM {sale} WHERE price > 5" in found.text
    assert found.schema == "+shop string"
    assert (found.inserted, found.deleted) == (2, 1)
    assert engine.verify("d", at=first).equal


@pytest.mark.nightly
def test_two_snapshots_of_a_table(shared_lab: Lab, sale: str) -> None:
    engine = shared_lab.engine
    shared_lab.sql(
        f"UPDATE {sale} SET price = 11 WHERE id = 1; ALTER TABLE {sale} ADD COLUMN kind STRING"
    )
    found = engine.diff(sale, 1, 3)
    assert (found.schema, found.inserted, found.deleted) == ("+kind string", 1, 1)
    assert sorted(found.rows) == [
        ("DELETE", (1, "a", 10, None), 1),
        ("INSERT", (1, "a", 11, None), 1),
    ]
    assert str(found).splitlines()[2:] == [
        "rows: 2 → 2, +1 −1",
        "  − (1, a, 10, NULL)",
        "  + (1, a, 11, NULL)",
    ]
    assert engine.diff(sale, 3, 3).same


def test_two_tables_and_two_definitions_are_compared(shared_lab: Lab, sale: str) -> None:
    lab, dt = shared_lab, shared_lab.engine
    lab.dynamic_table("cheap", f"SELECT id, price FROM {sale} WHERE price > 10")
    lab.sql(f"CREATE TABLE other AS SELECT id, shop, CAST(price AS BIGINT) AS price FROM {sale}")
    tables = dt.compare("cheap", "other")
    assert (tables.old, tables.new, tables.text) == ("other", "cheap", "")
    assert tables.columns == (("id", "int"),), "by what both have in one type"
    assert "price" in tables.schema
    assert "shop" in tables.schema
    there = {row.id for row in lab.engine.spark.table(sale).where("price > 10").collect()}
    every = {row.id for row in lab.engine.spark.table(sale).collect()}
    assert (tables.inserted, tables.deleted) == (0, len(every - there))
    assert {values[0] for _, values, _ in tables.rows} == every - there
    assert not dt.compare("cheap", "cheap")
    lab.sql(
        "CREATE OR ALTER DYNAMIC TABLE cheap TARGET_LAG = '1 hour' AS "
        f"SELECT id, shop, price FROM {sale} WHERE price > 5"
    )
    found = dt.compare("cheap")
    assert f"-SELECT id, price FROM {sale} WHERE price > 10" in found.text
    assert f"+SELECT id, shop, price FROM {sale} WHERE price > 5" in found.text
    assert found.schema == "+shop string"
    more = {row.id for row in lab.engine.spark.table(sale).where("price > 5").collect()}
    assert (found.inserted, found.deleted) == (len(more - there), 0)
    assert str(found).splitlines()[-1 - len(more - there)].endswith("by 2 columns of both")
    assert dt.compare("cheap", definition=0) == found
    with pytest.raises(DTError) as wrong:
        dt.compare("cheap", definition=7)
    assert wrong.value.code == "DT-1003"
