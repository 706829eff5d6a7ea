"""Warehouses, and what a restarted session registers again."""

from pathlib import Path

import pytest

from dt_jupyter.catalog import BaseTable
from dt_jupyter.model import ViewSource, Warehouse
from tests.unit.catalog_lab import Lab, name, refused, table


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def test_default_always_exists_and_cannot_go(lab: Lab) -> None:
    assert lab.catalog.warehouse("DEFAULT") == Warehouse("default", 2, 1)
    with refused("DT-1115"):
        lab.catalog.drop_warehouse("default")
    assert [w.name for w in lab.catalog.warehouses()] == ["default"]


def test_a_warehouse_is_made_once(lab: Lab) -> None:
    made = lab.catalog.create_warehouse(Warehouse("Small", 1, 5))
    assert (made.name, made.max_concurrency, made.weight) == ("small", 1, 5)
    with refused("DT-1105"):
        lab.catalog.create_warehouse(Warehouse("SMALL"))
    assert lab.catalog.create_warehouse(Warehouse("small", 9), if_not_exists=True) == made
    assert lab.open().warehouse("small") == made


def test_alter_changes_what_is_given_and_keeps_the_rest(lab: Lab) -> None:
    lab.catalog.create_warehouse(Warehouse("w", 3, 4))
    assert lab.catalog.alter_warehouse("W", suspended=True).suspended
    after = lab.catalog.alter_warehouse("w", max_concurrency=8, suspended=False)
    assert (after.max_concurrency, after.weight, after.suspended) == (8, 4, False)
    with refused("DT-1003"):
        lab.catalog.alter_warehouse("w", weight=0)
    assert lab.catalog.warehouse("w") == after


def test_resuming_is_timed_and_what_a_warehouse_does_by_itself_is_kept(lab: Lab) -> None:
    lab.catalog.create_warehouse(Warehouse("w", auto_suspend=60, auto_resume=True))
    assert lab.catalog.alter_warehouse("w", suspended=True).resumed is None
    assert lab.catalog.last_use("w") is None
    before = lab.catalog.clock.now()
    after = lab.catalog.alter_warehouse("w", suspended=False)
    assert after.resumed is not None
    assert after.resumed > before
    assert lab.catalog.alter_warehouse("w", suspended=False).resumed == after.resumed
    assert (after.auto_suspend, after.auto_resume) == (60, True)
    assert lab.open().warehouse("w") == after


def test_unknown_warehouse_names_the_nearest(lab: Lab) -> None:
    lab.catalog.create_warehouse(Warehouse("reports"))
    for use in (lab.catalog.warehouse, lab.catalog.alter_warehouse, lab.catalog.drop_warehouse):
        with refused("DT-1108") as problem:
            use("report")
        assert problem[0].hint == "Did you mean reports?"


def test_a_warehouse_in_use_is_not_dropped(lab: Lab) -> None:
    lab.catalog.create_warehouse(Warehouse("w"))
    lab.catalog.create(table("a", warehouse="W"))
    with refused("DT-1115") as problem:
        lab.catalog.drop_warehouse("w")
    assert problem[0].facts["users"] == "dynamic table a"
    lab.catalog.drop(name("a"))
    lab.catalog.drop_warehouse("w")
    assert [w.name for w in lab.catalog.warehouses()] == ["default"]


def test_tables_and_views_come_back_after_a_restart(lab: Lab) -> None:
    lab.catalog.record_table(name("t"), "id-1", "/lake/t")
    lab.catalog.record_table(name("t"), "id-2", "/lake/t")
    lab.catalog.record_table(name("gone"), "id-3", "/lake/gone")
    lab.catalog.record_view(name("z"), "SELECT 1")
    lab.catalog.record_view(name("a"), "SELECT * FROM z")
    lab.catalog.forget(name("gone"))
    lab.catalog.forget(name("never"))
    again = lab.open()
    assert again.tables() == (BaseTable(name("t"), "id-2", "/lake/t"),)
    assert again.views() == (
        ViewSource(name("z"), "SELECT 1"),
        ViewSource(name("a"), "SELECT * FROM z"),
    )


def test_a_name_is_a_table_or_a_view(lab: Lab) -> None:
    lab.catalog.record_table(name("x"), "id", "/lake/x")
    lab.catalog.record_view(name("x"), "SELECT 1")
    assert lab.catalog.tables() == ()
    assert lab.catalog.views() == (ViewSource(name("x"), "SELECT 1"),)
