"""What happened is written in the transaction in which it does, told after, and bounded."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import dt_jupyter.catalog.event_rows as event_rows
from dt_jupyter.catalog import FAILURES_ALLOWED, Catalog, Owner
from dt_jupyter.catalog.migrations import MIGRATIONS
from dt_jupyter.model import (
    Clock,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    EventKind,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    SchedulingState,
    Severity,
    Sink,
    SinkState,
    Task,
    TaskRunState,
    TaskState,
    TaskTrigger,
    Warehouse,
    standing_event,
)
from tests.unit.catalog_lab import HERE, MANUAL, Lab, Wall, at, name

OTHER = Owner("host-a", 200, "uid-other", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.make("a", "b")
    return made


def told(lab: Lab) -> list[str]:
    """Oldest first, as a log has them."""
    return [str(event) for event in reversed(lab.catalog.lake_events())]


def no_data(lab: Lab, t: float) -> None:
    record = RefreshRecord(
        name("a"), f"n{t}", RefreshState.SUCCEEDED, MANUAL, at(t), action=RefreshAction.NO_DATA
    )
    lab.catalog.no_data("id-a", MANUAL, at(t), record)


def test_refreshes_and_the_suspension_that_follows(lab: Lab) -> None:
    lab.refresh(1)
    no_data(lab, 2)
    lab.catalog.record_skip("id-a", at(3), RefreshState.SKIPPED, Reason("BUSY", "It runs."))
    lab.catalog.record_skip("id-a", at(4), RefreshState.UPSTREAM_FAILED, Reason("X", "No rows."))
    for i in range(FAILURES_ALLOWED):
        lab.fail(10 + i)
    lab.catalog.update("id-a", scheduling=SchedulingState.ACTIVE, scheduling_reason=None)
    failed = "refresh a: FAILED (division by zero)"
    lines = told(lab)
    assert lines[:3] == ["refresh a: SUCCEEDED", "refresh a: UPSTREAM_FAILED (No rows.)", failed]
    assert lines[3 : FAILURES_ALLOWED + 2] == [failed] * (FAILURES_ALLOWED - 1)
    assert lines[-2].startswith("dynamic table a: SUSPENDED (5 scheduled refreshes failed")
    assert lines[-1] == "dynamic table a: ACTIVE"
    newest = lab.catalog.lake_events(name("a"), 2)
    assert [e.severity for e in newest] == [Severity.INFO, Severity.ERROR]
    assert {e.object_id for e in lab.catalog.lake_events()} == {"id-a"}


def test_a_process_that_is_gone(lab: Lab) -> None:
    """Whoever finds its refresh tells of it."""
    lab.begin(1)
    other = lab.open(OTHER)
    lab.dead.add(HERE.uid)
    other.reap()
    assert told(lab) == [
        "refresh a: CANCELLED (The process that ran this refresh ended, or stopped answering.)"
    ]
    other.close()


def test_sinks(lab: Lab) -> None:
    catalog = lab.catalog
    catalog.create_sink(Sink("id-k", name("k"), name("a"), "TABLE", "file:///k", at(0), ("a",)))
    retrying = DeliveryRecord(
        "d", "id-k", name("k"), DeliveryState.RETRYING, DeliveryTrigger.SCHEDULED, at(1),
        retries=1, code="DT-6110", error="no answer",
    )  # fmt: skip
    for tries in (1, 2, 3):
        catalog.record_delivery(replace(retrying, retries=tries))
        catalog.set_sink_state("id-k", SinkState.RETRYING, "DT-6110", "no answer")
    catalog.record_delivery(replace(retrying, state=DeliveryState.FAILED, end=at(5)))
    catalog.set_sink_state("id-k", SinkState.PAUSED, "DT-6130", "no")
    catalog.set_sink_state("id-k", SinkState.PAUSED, "DT-6130", "no")
    catalog.set_sink_state("id-k", SinkState.ACTIVE)
    catalog.set_sink_state("id-gone", SinkState.ACTIVE)
    assert told(lab) == [
        "delivery k: RETRYING (no answer)",
        "delivery k: FAILED (no answer)",
        "sink k: PAUSED (no)",
        "sink k: ACTIVE",
    ]


def test_tasks_warehouses_and_schedulers(lab: Lab) -> None:
    catalog = lab.catalog
    task = Task("id-j", name("j"), "DELETE FROM t", "default", at(0), at(0), suspend_after=1)
    catalog.create_task(task)
    catalog.alter_task(replace(task, state=TaskState.STARTED))
    catalog.alter_task(replace(task, state=TaskState.STARTED, comment="c"))
    for end in (TaskRunState.SUCCEEDED, TaskRunState.FAILED):
        (run,) = catalog.begin_task_graph(task, [(task, ())], TaskTrigger.MANUAL, at(1))
        assert catalog.claim_task_run(run, 0)
        catalog.finish_task_run(run, end, None if end == "SUCCEEDED" else Reason("DT-1", "no"), 7)
        assert catalog.finish_task_run(run, end) is None
    catalog.create_warehouse(Warehouse("w"))
    catalog.alter_warehouse("w", suspended=True)
    catalog.alter_warehouse("w", suspended=True, weight=2)
    catalog.record_scheduler("r1")
    catalog.record_scheduler("r1")
    catalog.record_scheduler("r1", ended=True)
    assert told(lab) == [
        "task j: STARTED",
        "task run j: SUCCEEDED",
        "task run j: FAILED (no)",
        "task j: SUSPENDED (1 run failed in a row. Fix the cause, then RESUME.)",
        "warehouse w: SUSPENDED",
        "scheduler host-a:100: STARTED",
        "scheduler host-a:100: STOPPED",
    ]


def test_what_is_not_committed_is_not_told(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "dt_jupyter.event")
    event = standing_event(EventKind.CATALOG, "", "", "X", None, at(0))
    heard: list[str] = []
    lab.catalog.noted.append(lambda events: 1 / 0)  # type: ignore[arg-type, return-value]
    lab.catalog.noted.append(lambda events: heard.extend(map(str, events)))
    with suppress(RuntimeError), lab.catalog._write() as connection:
        event_rows.add_event(connection, event)
        raise RuntimeError
    assert lab.catalog.lake_events() == []
    lab.refresh(1)
    assert heard == [str(e) for e in lab.catalog.lake_events()] == ["refresh a: SUCCEEDED"]
    (record,) = [r for r in caplog.records if hasattr(r, "dt_event")]
    fields = record.dt_event
    assert json.loads(json.dumps(fields)) == fields
    assert (fields["name"], fields["state"], fields["action"]) == ("a", "SUCCEEDED", "INCREMENTAL")


def test_only_the_newest_are_kept(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    trim = event_rows._event.delete().where(
        event_rows._event.c.ordinal
        <= event_rows.select(event_rows.func.max(event_rows._event.c.ordinal) - 3).scalar_subquery()
    )
    monkeypatch.setattr(event_rows, "_TRIM", trim)
    for i in range(10):
        lab.refresh(1 + i)
    assert len(lab.catalog.lake_events()) == 3
    assert lab.catalog.newest_event() == 10
    assert [o for o, _ in lab.catalog.events_after(8, 50)] == [10, 9]


def test_a_table_made_again_is_told_from_the_one_before(lab: Lab) -> None:
    lab.refresh(1)
    lab.catalog.drop(name("a"))
    lab.catalog.create(replace(lab.dt("b"), id="id-new", name=name("a")))
    lab.catalog.update("id-new", scheduling=SchedulingState.SUSPENDED)
    assert [e.object_id for e in lab.catalog.lake_events(name("a"))] == ["id-new", "id-a"]


def test_a_catalog_of_an_earlier_release_has_the_table_from_now_on(tmp_path: Path) -> None:
    path, wall = tmp_path / "_dt" / "catalog.sqlite", Wall()
    earlier = Catalog(path, Clock(wall), HERE, migrations=MIGRATIONS[:-1])
    earlier.close()
    lab = Lab(tmp_path)
    assert lab.catalog.lake_events() == []
    lab.make("a")
    lab.refresh(1)
    assert told(lab) == ["refresh a: SUCCEEDED"]


def test_a_row_that_cannot_be_read_hides_no_other(lab: Lab) -> None:
    lab.refresh(1)
    lab.refresh(2)
    with lab.catalog._write() as connection:
        connection.exec_driver_sql("UPDATE event SET attributes = '{' WHERE ordinal = 1")
    assert told(lab) == ["refresh a: SUCCEEDED"]


@pytest.mark.of_a_file
def test_events_of_a_name_are_found_by_an_index(lab: Lab) -> None:
    plan = "EXPLAIN QUERY PLAN SELECT * FROM event WHERE schema_name = 'd' AND object_name = 'a' "
    with lab.catalog._read() as connection:
        steps = connection.exec_driver_sql(plan + "ORDER BY ordinal DESC").fetchall()
    assert "event_of" in str(steps), steps
    assert "TEMP B-TREE" not in str(steps)
