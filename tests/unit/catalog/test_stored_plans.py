"""Plans that Spark made of queries: the last of each dynamic table."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from dt_jupyter.catalog import StoredPlan, schema
from tests.unit.catalog_lab import Lab, name

PLAN = StoredPlan("query", "session", "digest", {"query": '{"ä": 1}' * 1000, "other": "🚆"})


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.make("a", "b")
    return made


def test_a_plan_is_what_was_stored_in_any_process(lab: Lab) -> None:
    assert lab.catalog.stored_plan("id-a") is None
    lab.catalog.store_plan("id-a", PLAN)
    with lab.open() as other:
        assert other.stored_plan("id-a") == PLAN
        assert other.stored_plan("id-b") is None
        other.store_plan("id-a", newer := replace(PLAN, query_key="newer"))
    assert lab.catalog.stored_plan("id-a") == newer
    assert len(lab.dump()["stored_plan"]) == 1


def test_a_plan_goes_with_its_table(lab: Lab) -> None:
    for each in ("id-a", "id-b"):
        lab.catalog.store_plan(each, PLAN)
    lab.catalog.drop(name("a"))
    lab.catalog.undrop(name("a"))
    assert lab.catalog.stored_plan("id-a") == PLAN
    lab.catalog.drop(name("a"))
    lab.catalog.store_plan("id-b", PLAN)
    assert lab.catalog.stored_plan("id-a") is None
    lab.catalog.store_plan("id-a", PLAN)
    lab.catalog.store_plan("id-none", PLAN)
    assert [row[0] for row in lab.dump()["stored_plan"]] == ["id-b"]
    lab.catalog.purge("id-b")
    assert lab.dump()["stored_plan"] == []


@pytest.mark.parametrize("column", [c.name for c in schema.stored_plan.columns][1:])
@pytest.mark.parametrize("value", ["garbage", "", "{}"])
def test_a_damaged_plan_is_none_and_is_replaced(
    lab: Lab, caplog: pytest.LogCaptureFixture, column: str, value: str
) -> None:
    lab.catalog.store_plan("id-a", PLAN)
    with lab.catalog._write() as connection:
        connection.execute(update(schema.stored_plan).values({column: value}))
    with caplog.at_level(logging.WARNING):
        assert lab.catalog.stored_plan("id-a") is None
    assert "the stored plan of id-a is damaged" in caplog.text
    lab.catalog.store_plan("id-a", PLAN)
    assert lab.catalog.stored_plan("id-a") == PLAN


@pytest.mark.of_a_file
def test_bytes_that_are_no_text_are_a_damaged_plan(lab: Lab) -> None:
    lab.catalog.store_plan("id-a", PLAN)
    with lab.catalog._write() as connection:
        connection.exec_driver_sql("UPDATE stored_plan SET content = CAST(x'ff' AS TEXT)")
    assert lab.catalog.stored_plan("id-a") is None
