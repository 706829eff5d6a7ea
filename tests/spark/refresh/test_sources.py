"""Sources that fail, go, come back, change their shape: upstream DDL wins, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dt_jupyter.model import RefreshTrigger
from tests.spark.engine_lab import Lab, without_check


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without_check(monkeypatch)
    return


def reason(lab: Lab, name: str) -> str:
    record = lab.engine.records(name, 1)[0]
    assert record.reason is not None
    return record.reason.code


# -- failures -------------------------------------------------------------------------------------


def test_a_division_by_zero_fails_and_keeps_the_old_contents(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", "1, 1", "2, 2")
    lab.dynamic_table("d", "SELECT id, 10 / v AS q FROM item")
    lab.dynamic_table("above", "SELECT count(*) AS n, q FROM d GROUP BY q")
    before, version = lab.rows("d"), lab.version("d")
    lab.insert("item", "3, 0")
    record = lab.record("d")
    assert (record.state, record.error_code) == ("FAILED", "DT-2105")
    assert "DIVIDE_BY_ZERO" in (record.error or "")
    assert "try_divide" in (record.error or "")
    assert (lab.rows("d"), lab.version("d")) == (before, version)
    downstream = lab.record("above")
    assert (downstream.state, downstream.error_code) == ("UPSTREAM_FAILED", "DT-2110")
    assert lab.engine.table("above").error_count == 0
    lab.sql("UPDATE item SET v = 5 WHERE id = 3")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.refresh("above") == "INCREMENTAL"
    lab.verified("d", "above")


@pytest.mark.nightly
def test_five_scheduled_failures_in_a_row_suspend(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", "1, 1")
    table = lab.dynamic_table("d", "SELECT id, 10 / v AS q FROM item")
    lab.insert("item", "3, 0")
    for count in range(1, 6):
        assert lab.engine.table("d").scheduling == "ACTIVE"
        record = lab.context.graph.run(table.id, lab.context.clock.now(), RefreshTrigger.SCHEDULED)
        assert record.state == "FAILED"
        assert lab.engine.table("d").error_count == count
    suspended = lab.engine.table("d")
    assert suspended.scheduling == "SUSPENDED"
    assert suspended.scheduling_reason is not None
    lab.sql("UPDATE item SET v = 5 WHERE id = 3")
    lab.sql("ALTER DYNAMIC TABLE d RESUME")
    assert lab.refresh("d") == "INCREMENTAL"
    resumed = lab.engine.table("d")
    assert (resumed.scheduling, resumed.error_count) == ("ACTIVE", 0)


def test_a_row_outside_the_change_does_not_fail_it(lab: Lab) -> None:
    lab.table("item", "k STRING, v INT", "'a', 1", "'b', 2")
    lab.dynamic_table("d", "SELECT k, 100 / sum(v) AS q, 12 / count(*) AS n FROM item GROUP BY k")
    lab.sql("DELETE FROM item WHERE k = 'a'")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


# -- gone and back --------------------------------------------------------------------------------


def test_a_dropped_source_is_named_and_another_one_reinitialises(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM item")
    lab.sql("DROP TABLE item")
    record = lab.record("d")
    assert (record.state, record.error_code) == ("FAILED", "DT-2102")
    assert "item" in (record.error or "")
    assert lab.rows("d") == [(1,)]
    lab.table("item", "id INT", "7")
    assert lab.refresh("d") == "REINITIALIZE"
    assert reason(lab, "d") == "SOURCE_REPLACED"
    assert lab.rows("d") == [(7,)]
    lab.insert("item", "8")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_a_source_that_is_undropped_goes_on(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM item")
    lab.sql("DROP TABLE item")
    assert lab.record("d").error_code == "DT-2102"
    lab.sql("UNDROP TABLE item")
    lab.insert("item", "2")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(1,), (2,)]
    lab.verified("d")


@pytest.mark.nightly
def test_a_dropped_dynamic_table_upstream_is_named(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("below", "SELECT id FROM item")
    lab.dynamic_table("d", "SELECT id FROM below")
    lab.sql("DROP DYNAMIC TABLE below")
    record = lab.record("d")
    assert (record.state, record.error_code) == ("FAILED", "DT-2102")
    assert "below" in (record.error or "")
    lab.sql("UNDROP DYNAMIC TABLE below")
    lab.insert("item", "2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_a_replaced_dynamic_table_upstream_reinitialises(lab: Lab) -> None:
    lab.table("item", "id INT", "1", "2")
    lab.dynamic_table("below", "SELECT id FROM item")
    lab.dynamic_table("d", "SELECT id FROM below")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE below AS SELECT id + 10 AS id FROM item")
    assert lab.refresh("d") == "REINITIALIZE"
    assert lab.rows("d") == [(11,), (12,)]
    lab.insert("item", "3")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_a_replaced_source_reinitialises(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM item")
    lab.sql("CREATE OR REPLACE TABLE item (id INT, more STRING)")
    lab.insert("item", "5, 'x'")
    assert lab.refresh("d") == "REINITIALIZE"
    assert lab.rows("d") == [(5,)]
    lab.insert("item", "6, 'y'")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_a_replaced_view_reinitialises(lab: Lab) -> None:
    lab.table("item", "id INT", "1", "2")
    lab.sql("CREATE VIEW seen AS SELECT id FROM item WHERE id > 1")
    lab.dynamic_table("d", "SELECT id FROM seen")
    lab.sql("CREATE OR REPLACE VIEW seen AS SELECT id FROM item WHERE id < 2")
    assert lab.refresh("d") == "REINITIALIZE"
    assert reason(lab, "d") == "VIEW_CHANGED"
    assert lab.rows("d") == [(1,)]
    lab.insert("item", "0")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(0,), (1,)]
    lab.verified("d")
    lab.sql("DROP VIEW seen")
    assert lab.record("d").error_code == "DT-2102"


@pytest.mark.nightly
def test_a_view_has_the_columns_that_spark_gives_it(quick_lab: Lab) -> None:
    """Their names where it lists them, and with `*` those of the time at which it was made."""
    lab = quick_lab
    lab.table("item", "id INT, k INT", "1, 10", "2, 20")
    views = {
        "swapped": "(k, id) AS SELECT id, k FROM item",
        "quoted": "(`x``y`, other) AS SELECT k, id FROM item WHERE id < 9",
        "twice": "(a, b) AS SELECT id, id FROM item",
        "whole": "AS SELECT * FROM item",
        "over": "(`from`) AS SELECT id FROM swapped",
        "all": "(one, two) AS SELECT * FROM item",
        "shop.bare": "AS SELECT * FROM item",
    }
    lab.sql("CREATE SCHEMA shop; USE shop; CREATE TABLE item (id INT, k INT) USING delta")
    lab.sql("INSERT INTO item VALUES (7, 70)")
    lab.sql(f"CREATE VIEW bare {views['shop.bare']}; USE default")
    for name, text in views.items():
        lab.sql(f"CREATE VIEW IF NOT EXISTS {name} {text}")
    lab.sql("ALTER TABLE item ADD COLUMN more INT")
    for name in views:
        lab.dynamic_table(f"d_{name[-4:]}", f"SELECT * FROM {name}")
    for _ in range(2):
        lab.insert("item", "3, 30, 300", "4, 40, 400")
        lab.insert("shop.item", "8, 80")
        for name in views:
            d = f"d_{name[-4:]}"
            assert lab.refresh(d) == "INCREMENTAL"
            kept, shown = lab.spark.table(d), lab.spark.table(name)
            assert kept.columns == shown.columns
            assert sorted(map(tuple, kept.collect())) == sorted(map(tuple, shown.collect()))
            lab.verified(d)
        lab.reopen()
    lab.spark.sql("DROP SCHEMA shop CASCADE")


def test_a_view_replaced_by_what_has_no_incremental_form_is_recomputed(lab: Lab) -> None:
    lab.table("item", "id INT", "1", "2")
    lab.sql("CREATE VIEW seen AS SELECT id, id AS r FROM item")
    lab.dynamic_table("d", "SELECT id, r FROM seen")
    lab.sql(
        "CREATE OR REPLACE VIEW seen AS "
        "SELECT id, percentile_approx(id, 0.5) OVER () AS r FROM item"
    )
    record = lab.record("d")
    assert record.error is None, record.error
    assert lab.rows("d") == [(1, 1), (2, 1)]
    lab.verified("d")


# -- columns --------------------------------------------------------------------------------------

MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


@pytest.mark.nightly
def test_columns_that_are_not_used_come_and_go(lab: Lab) -> None:
    lab.sql(f"CREATE TABLE item (id INT, v INT, other STRING) {MAPPED}")
    lab.insert("item", "1, 1, 'x'")
    lab.dynamic_table("d", "SELECT id, v FROM item WHERE v > 0")
    lab.dynamic_table("g", "SELECT v, count(*) AS n FROM item GROUP BY v")
    for change in ("ADD COLUMN more DOUBLE", "DROP COLUMN other", "RENAME COLUMN more TO less"):
        lab.sql(f"ALTER TABLE item {change}")
        lab.spark.sql("INSERT INTO item (id, v) VALUES (2, 2)")
        assert (lab.refresh("d"), lab.refresh("g")) == ("INCREMENTAL", "INCREMENTAL"), change
        lab.verified("d", "g")
    lab.sql("ALTER TABLE item ADD COLUMN last INT")
    assert lab.refresh("d") == "NO_DATA"


def test_a_star_follows_its_source(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT * FROM item")
    lab.dynamic_table("above", "SELECT id FROM d")
    lab.sql("ALTER TABLE item ADD COLUMN v INT")
    lab.insert("item", "2, 2")
    assert lab.refresh("d") == "INCREMENTAL"
    assert reason(lab, "d") == "COLUMNS_ADDED"
    assert lab.rows("d") == [(1, None), (2, 2)]
    lab.insert("item", "3, 3")
    assert lab.refresh("above") == "INCREMENTAL"
    assert lab.refresh("d") in ("INCREMENTAL", "NO_DATA")
    lab.verified("d", "above")


@pytest.mark.nightly
def test_a_star_follows_a_column_that_goes(lab: Lab) -> None:
    lab.sql(f"CREATE TABLE item (id INT, v INT) {MAPPED}")
    lab.insert("item", "1, 1")
    lab.dynamic_table("d", "SELECT * FROM item")
    lab.sql("ALTER TABLE item DROP COLUMN v")
    lab.insert("item", "2")
    assert lab.refresh("d") == "REINITIALIZE"
    assert lab.rows("d") == [(1,), (2,)]
    lab.insert("item", "3")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_a_table_that_something_else_wrote_to_is_made_anew(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    table = lab.dynamic_table("d", "SELECT id FROM item")
    path = lab.context.layout.public(table.id)
    lab.spark.sql(f"DELETE FROM delta.`{path}`")
    assert lab.rows("d") == []
    assert lab.refresh("d") == "REINITIALIZE"
    assert reason(lab, "d") == "FOREIGN_WRITE"
    assert lab.rows("d") == [(1,)]
    lab.insert("item", "2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_a_used_column_of_another_type_reinitialises(lab: Lab) -> None:
    lab.sql("CREATE TABLE item (id INT, v INT) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    lab.insert("item", "1, 1")
    lab.dynamic_table("d", "SELECT id, v FROM item")
    lab.sql("ALTER TABLE item ALTER COLUMN v TYPE BIGINT")
    lab.insert("item", "2, 5000000000")
    assert lab.refresh("d") == "REINITIALIZE"
    assert lab.rows("d") == [(1, 1), (2, 5000000000)]
    assert lab.engine.table("d").definition.columns[1][1] == "bigint"
    lab.insert("item", "3, 3")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_a_used_column_that_goes_is_a_failure_with_its_name(lab: Lab) -> None:
    lab.sql(f"CREATE TABLE item (id INT, v INT) {MAPPED}")
    lab.insert("item", "1, 1")
    lab.dynamic_table("d", "SELECT id, v FROM item")
    lab.sql("ALTER TABLE item DROP COLUMN v")
    lab.insert("item", "2")
    record = lab.record("d")
    assert record.state == "FAILED"
    assert "`v`" in (record.error or "") or " v " in (record.error or "")
    assert lab.rows("d") == [(1, 1)]
    lab.sql("ALTER TABLE item ADD COLUMN v INT")
    record = lab.record("d")
    assert record.error is None, record.error
    lab.verified("d")


@pytest.mark.nightly
def test_a_source_that_was_restored_is_followed(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM item")
    lab.insert("item", "2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.sql("RESTORE TABLE item TO VERSION AS OF 1")
    record = lab.record("d")
    assert record.error is None, record.error
    assert lab.rows("d") == [(1,)]
    lab.verified("d")
