"""Refresh history."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from dt_jupyter.model import (
    Frontier,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    Timestamp,
)
from tests.unit.catalog_lab import MANUAL, SCHEDULED, Lab, at, name, success, table


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path)
    lab.make("a", "b")
    return lab


def test_every_field_of_a_record_comes_back(lab: Lab) -> None:
    attempt = lab.begin(10)
    record = replace(
        success(attempt),
        reason=Reason("SOURCES_CHANGED", "t has 3 new rows."),
        frontier=Frontier(at(10), {"table-t": 2}),
        version=11,
        statistics=RefreshStatistics(execution_ms=12, inserted_rows=3, writer="delta-rs"),
        start=at(11),
        end=at(12),
        completion_target=at(60),
        target_lag_seconds=30.0,
        warehouse="w",
        changed_inputs=("t", "u"),
        reinit_reason="because",
        error_code="DT-2105",
        error="a 🚆 and half \ud83d",
        last_completed_dependency="up",
        graph_valid_from=at(1),
    )
    lab.finish(attempt)
    lab.catalog.roll_forward(
        "id-a", replace(record, query_id="again"), frontier=Frontier(at(20)), sequence=2, version=12
    )
    expected = replace(record, query_id="again", error="a 🚆 and half \\ud83d")
    assert lab.catalog.history(limit=1) == [expected]
    assert lab.catalog.record("again") == expected


def test_newest_first_of_all_or_of_one(lab: Lab) -> None:
    for t, dt in ((10, "a"), (10, "b"), (20, "a")):
        lab.refresh(t, dt=dt)
    assert [(str(r.name), r.data_timestamp) for r in lab.catalog.history()] == [
        ("a", at(20)),
        ("b", at(10)),
        ("a", at(10)),
    ]
    assert [r.data_timestamp for r in lab.catalog.history(name("a"))] == [at(20), at(10)]
    assert [r.data_timestamp for r in lab.catalog.history(name("a"), limit=1)] == [at(20)]
    assert [r.data_timestamp for r in lab.catalog.recent("id-a", limit=1)] == [at(20)]
    assert lab.catalog.history(name("nobody")) == []


def test_those_that_found_something_new_however_many_found_nothing(lab: Lab) -> None:
    lab.refresh(10)
    lab.fail(20)
    for t in range(30, 60):
        none = RefreshRecord(
            name("a"), f"nd{t}", RefreshState.SUCCEEDED, SCHEDULED, at(t),
            action=RefreshAction.NO_DATA,
        )  # fmt: skip
        lab.catalog.no_data("id-a", SCHEDULED, at(t), none)
    lab.refresh(70, dt="b")
    lab.catalog.record_skip("id-a", at(80), RefreshState.SKIPPED, Reason("BUSY", "It ran."))
    loud = lab.catalog.recent("id-a", 20, quiet=False)
    assert [r.data_timestamp for r in loud] == [at(80), at(20), at(10)]
    assert [r.data_timestamp for r in lab.catalog.recent("id-a", 1, quiet=False)] == [at(80)]
    assert len(lab.catalog.recent("id-a", 20)) == 20


def test_history_follows_a_rename_and_shows_the_dropped_under_the_name(lab: Lab) -> None:
    lab.refresh(10)
    lab.catalog.rename(name("a"), name("c"))
    assert [str(r.name) for r in lab.catalog.history(name("c"))] == ["a"]
    assert lab.catalog.history(name("a")) == []
    lab.catalog.replace(table("c", id="new"))
    lab.finish(lab.catalog.begin("new", MANUAL, at(20), "new-query", 30))
    assert lab.catalog.history(name("c"))[0].query_id == "new-query"
    assert [r.data_timestamp for r in lab.catalog.history(name("c"))] == [at(20), at(10)]
    assert [r.data_timestamp for r in lab.catalog.history(name("c"), limit=1)] == [at(20)]


def test_a_record_has_the_upstream_refreshes_that_it_asked_for(lab: Lab) -> None:
    lab.make("top")
    low = lab.refresh(10)
    middle = lab.begin(10, dt="b")
    stored = lab.catalog.finish(
        middle,
        replace(success(middle), upstream=(low,)),
        frontier=Frontier(at(10)),
        sequence=1,
        version=1,
    )
    top = lab.begin(10, dt="top")
    lab.catalog.finish(
        top,
        replace(success(top), upstream=(stored,)),
        frontier=Frontier(at(10)),
        sequence=1,
        version=1,
    )
    record = lab.catalog.record(top.id)
    assert record is not None
    assert [str(r.name) for r in record.upstream] == ["b"]
    assert record.upstream[0].upstream == (low,)
    assert lab.catalog.history()[0].upstream == ()
    assert lab.catalog.record("nobody") is None


def test_the_last_refresh_of_each(lab: Lab) -> None:
    assert lab.catalog.last() == {}
    lab.refresh(10)
    lab.fail(20)
    lab.refresh(5, dt="b")
    lab.catalog.record_skip("id-b", at(30), RefreshState.SKIPPED, Reason("BUSY", "It ran."))
    last = lab.catalog.last()
    assert {dt: record.state for dt, record in last.items()} == {
        "id-a": RefreshState.FAILED,
        "id-b": RefreshState.SUCCEEDED,
    }
    assert lab.catalog.last_ticks() == {"id-a": at(20), "id-b": at(30)}


def test_prune_keeps_what_is_in_force(lab: Lab) -> None:
    lab.refresh(10)
    lab.refresh(20)
    lab.refresh(30)
    lab.begin(15, dt="b")
    lab.catalog.resolve(at(10), "t", lambda: 1)
    events = len(lab.catalog.lake_events())
    # and a's first refresh, its version, the resolution
    assert lab.catalog.prune(at(20)) == events + 3
    assert [r.data_timestamp for r in lab.catalog.history(name("a"))] == [at(30), at(20)]
    assert lab.catalog.timestamps("id-a") == (at(30), at(20))
    lab.catalog.prune(at(1000))
    assert [r.data_timestamp for r in lab.catalog.history(name("a"))] == [at(30)]
    assert lab.catalog.timestamps("id-a") == (at(30),)
    assert [r.state for r in lab.catalog.history(name("b"))] == ["EXECUTING"]
    assert lab.catalog.last()["id-a"].data_timestamp == at(30)


@pytest.mark.of_a_file
def test_two_hundred_thousand_rows_are_not_sorted_or_scanned(lab: Lab) -> None:
    """Each query that a refresh or a view sends uses an index, and sorts nothing."""
    statements: list[tuple[str, Any]] = []

    @event.listens_for(lab.catalog._engine, "before_cursor_execute")
    def note(_c: object, _k: object, statement: str, parameters: Any, *_: object) -> None:
        statements.append((statement, parameters))

    lab.refresh(10)
    record = RefreshRecord(
        name("a"), "nd", RefreshState.SUCCEEDED, SCHEDULED, at(20), action=RefreshAction.NO_DATA
    )
    lab.catalog.no_data("id-a", SCHEDULED, at(20), record)
    lab.catalog.record_skip("id-a", at(30), RefreshState.SKIPPED, Reason("BUSY", "It ran."))
    lab.catalog.history(limit=100)
    lab.catalog.history(name("a"), limit=100)
    lab.catalog.recent("id-a", 20)
    lab.catalog.recent("id-a", 20, quiet=False)
    lab.catalog.newest_at("id-a", at(20))
    lab.catalog.timestamps("id-a", 20)
    lab.catalog.outcome_of("id-a", at(25))
    connection = sqlite3.connect(lab.path)
    plans = [
        (statement, row[3])
        for statement, parameters in statements
        if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
        and ("history" in statement or "dt_version" in statement)
        for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
    ]
    connection.close()
    assert len(plans) > 10
    for statement, step in plans:
        assert "B-TREE" not in step, (statement, step)
        assert not step.startswith("SCAN history") or "USING" in step, (statement, step)
        assert not step.startswith("SCAN dt_version"), (statement, step)


def test_the_clock_comes_after_what_the_catalog_holds(lab: Lab) -> None:
    lab.refresh(5000)
    again = lab.open()
    assert again.clock.now() == Timestamp(at(5000).micros, 1)


def test_what_was_measured_is_found_behind_refreshes_that_found_nothing(lab: Lab) -> None:
    lab.refresh(10)
    for t in range(11, 60):
        attempt = lab.begin(t)
        idle = success(attempt, RefreshAction.NO_DATA)
        lab.catalog.finish(attempt, idle, frontier=Frontier(at(t)), sequence=1, version=11)
    lab.refresh(60, dt="b")
    (record,) = lab.catalog.measured("id-a")
    assert (record.data_timestamp, record.action) == (at(10), RefreshAction.INCREMENTAL)
    assert lab.catalog.measured("id-b", 0) == []
