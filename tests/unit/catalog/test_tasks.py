"""Tasks and their runs in the catalog: each tick, run and end once, among processes too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import (
    Intent,
    Reason,
    Stream,
    Task,
    TaskRun,
    TaskRunState,
    TaskSchedule,
    TaskState,
    TaskTrigger,
    Warehouse,
)
from dt_jupyter.reports import TaskReports
from tests.unit.catalog_lab import Lab, at, name, refused

BUSY = Reason("BUSY", "It ran.")
DEAD = Owner("host-a", 7, "uid-dead", "1")
FAR = Owner("host-b", 7, "uid-far", "1")
BY_CLOCK, BY_HAND = TaskTrigger.SCHEDULE, TaskTrigger.MANUAL


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.wall.forward(1000)
    return made


def task(text: str, *after: str, **changes: Any) -> Task:
    made = Task(
        f"id-{text}", name(text), "INSERT INTO t VALUES ('ö 🚆')", "other", at(0), at(0),
        {"spark.sql.ansi.enabled": "true"}, TaskState.STARTED,
        schedule=None if after else TaskSchedule(60), after=tuple(map(name, after)),
        condition="SYSTEM$STREAM_HAS_DATA('s')", warehouse="w", overlaps=True, suspend_after=2,
        retries=3, timeout_ms=5000, comment="c", trigger_seconds=45,
    )  # fmt: skip
    return replace(made, **changes)


def begun(catalog: Catalog, *tasks: Task, tick: float = 60, trigger: TaskTrigger = BY_CLOCK) -> Any:
    """Runs of a chain of tasks."""
    chain = [(t, (tasks[i - 1].id,) if i else ()) for i, t in enumerate(tasks)]
    return catalog.begin_task_graph(tasks[0], chain, trigger, at(tick))


def test_a_task_is_kept_as_it_is_told(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    assert lab.open().task(name("A")) == made
    with refused("DT-1105"):
        lab.catalog.create_task(task("a", id="other"))
    with refused("DT-3301") as problem:
        lab.catalog.task(name("aa"))
    assert "Did you mean a?" in str(problem[0])
    changed = replace(made, state=TaskState.SUSPENDED, reason=Reason("X", "x."), comment=None)
    lab.catalog.alter_task(changed)
    assert lab.catalog.tasks("A%") == (changed,)
    assert lab.catalog.tasks("b%") == ()
    lab.catalog.drop_task(name("a"))
    with refused("DT-3301"):
        lab.catalog.alter_task(changed)
    lab.catalog.create_warehouse(Warehouse("w"))
    lab.catalog.create_task(made)
    with refused("DT-1115") as problem:
        lab.catalog.drop_warehouse("w")
    assert problem[0].facts["users"] == "task a"


def test_what_comes_after_a_dropped_task_does_no_more(lab: Lab) -> None:
    for made in (task("a"), task("b", "a"), task("c", "a", "b")):
        lab.catalog.create_task(made)
    (run,) = begun(lab.catalog, lab.catalog.task(name("a")))
    assert lab.catalog.drop_task(name("a")) == (name("b"), name("c"))
    assert lab.catalog.task(name("b")).after == ()
    assert lab.catalog.task(name("c")).after == (name("b"),)
    assert lab.catalog.task_graph_runs(run.graph)[0].state is TaskRunState.CANCELLED
    assert not lab.catalog.claim_task_run(run, 0)


def test_a_tick_is_taken_once_by_whoever_is_first(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    other = lab.open(Owner("host-a", 200, "uid-2", "1"))
    assert len(begun(lab.catalog, made)) == 1
    assert begun(other, made) == ()
    other.skip_tick(made, at(60), BUSY)
    assert [r.state for r in lab.catalog.task_runs()] == [TaskRunState.SCHEDULED]
    other.skip_tick(made, at(120), BUSY)
    assert next((r.state, r.code) for r in lab.catalog.task_runs()) == (
        TaskRunState.SKIPPED,
        "BUSY",
    )
    assert begun(lab.catalog, made, tick=120) == ()
    lab.catalog.alter_task(replace(made, state=TaskState.SUSPENDED))
    assert begun(lab.catalog, made, tick=180) == ()
    assert len(begun(lab.catalog, made, tick=180, trigger=BY_HAND)) == 1
    assert lab.catalog.task(name("a")).last_tick == at(120)


def test_runs_that_had_nothing_to_do_do_not_hide_the_others(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    (run,) = begun(lab.catalog, made)
    lab.catalog.claim_task_run(run, 1000)
    lab.catalog.finish_task_run(run, TaskRunState.SUCCEEDED, rows=5)
    lab.catalog.skip_tick(made, at(120), BUSY)
    for tick in range(180, 180 + 60 * 30, 60):
        lab.catalog.skip_tick(made, at(tick), Reason("CONDITION_FALSE", "It is false."))
    found = TaskReports(lab.catalog).one(made, at(9999)).runs
    assert [r.quiet for r in found] == [True] * 20 + [False] * 2
    assert [r.state for r in found[20:]] == [TaskRunState.SKIPPED, TaskRunState.SUCCEEDED]
    assert [r.code for r in found[20:]] == ["BUSY", None]


def test_a_run_is_claimed_and_ended_once(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    other = lab.open(Owner("host-a", 200, "uid-2", "1"))
    (run,) = begun(lab.catalog, made)
    lab.catalog.note_task_wait(run, BUSY)
    assert lab.catalog.task_runs()[0].message == "It ran."
    assert lab.catalog.claim_task_run(run, 1000)
    assert not other.claim_task_run(run, 1000)
    assert other.running_tasks() == {"w": 1}
    other.skip_task_run(replace(run, id="unknown"), BUSY)
    done = lab.catalog.finish_task_run(run, TaskRunState.SUCCEEDED, rows=5)
    assert done is not None
    assert (done.state, done.rows, done.code) == (TaskRunState.SUCCEEDED, 5, None)
    assert done.start is not None
    assert done.end is not None
    assert other.finish_task_run(run, TaskRunState.FAILED, BUSY) is None
    assert other.open_task_runs() == ()
    assert other.running_tasks() == {}


def test_failed_runs_in_a_row_suspend_the_root_and_a_success_forgives(lab: Lab) -> None:
    root, child = (lab.catalog.create_task(t) for t in (task("a"), task("b", "a")))

    def graph(tick: float, *ends: TaskRunState, again: bool = False) -> Task:
        for run, end in zip(begun(lab.catalog, root, child, tick=tick), ends, strict=True):
            lab.catalog.claim_task_run(run, 0)
            lab.catalog.finish_task_run(run, end, again=again and end is TaskRunState.FAILED)
        return lab.catalog.task(name("a"))

    good, bad = TaskRunState.SUCCEEDED, TaskRunState.FAILED
    assert graph(60, good, bad).failures == 1
    assert graph(120, good, good).failures == 0
    assert graph(180, bad, TaskRunState.SKIPPED).failures == 1
    assert graph(240, good, bad, again=True).failures == 1, "it is tried again"
    (again,) = (r for r in lab.catalog.open_task_runs() if r.attempt == 2)
    assert (again.number, again.parents) == (4, ("id-a",))
    lab.catalog.claim_task_run(again, 0)
    lab.catalog.finish_task_run(again, bad)
    after = lab.catalog.task(name("a"))
    assert (after.state, after.failures) == (TaskState.SUSPENDED, 2)
    assert after.reason is not None
    assert after.reason.code == "TOO_MANY_FAILURES"


def test_runs_of_processes_that_are_gone_are_lost(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    gone, far = lab.open(DEAD), lab.open(FAR)
    (own,), (dead,), (there,) = (begun(c, made, tick=t) for c, t in
                                 ((lab.catalog, 60), (gone, 120), (far, 180)))  # fmt: skip
    (by_hand,) = begun(gone, made, trigger=BY_HAND)
    for catalog, run in ((lab.catalog, own), (gone, dead), (far, there)):
        assert catalog.claim_task_run(run, 10_000)
    assert lab.catalog.lost_task_runs({own.id}) == ()
    lab.dead.add(DEAD.uid)
    found = lab.catalog.lost_task_runs({own.id})
    assert {r.id for r in found} == {dead.id, by_hand.id}
    assert {r.id for r in lab.catalog.lost_task_runs(set())} == {own.id, dead.id, by_hand.id}
    lab.wall.forward(71)
    assert there.id in {r.id for r in lab.catalog.lost_task_runs({own.id})}, "its time is over"


def test_an_intent_that_ends_says_that_its_run_has_committed(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    stream = Stream("id-s", name("s"), name("t"), "TABLE", {"table-t": 1}, at(1), at(0))
    lab.catalog.create_stream(stream)
    (run,) = begun(lab.catalog, made)
    moved = {"id-s": {"table-t": 2}}
    intent = Intent(run.id, "INSERT", "/lake/t", 1, at(1), at(1), moved)
    lab.catalog.begin_intent(intent, [stream])
    assert not lab.catalog.task_runs()[0].committed
    lab.catalog.finish_intent(intent)
    assert lab.catalog.task_runs()[0].committed


def test_old_runs_are_pruned_but_for_the_last_of_each_task(lab: Lab) -> None:
    made = lab.catalog.create_task(task("a"))
    for tick in (60, 120):
        lab.catalog.skip_tick(made, at(tick), BUSY)
    lab.wall.forward(10)
    lab.catalog.prune(lab.catalog.clock.now())
    (left,) = lab.catalog.task_runs()
    assert left.scheduled == at(120)
    assert lab.catalog.last_task_runs() == {"id-a": left}
    runs: list[TaskRun] = lab.catalog.task_runs(name("a"), 0)
    assert runs == []
