"""What becomes of tasks and of the runs of their graphs, rule by rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.model import (
    Name,
    Task,
    TaskRun,
    TaskRunState,
    TaskSchedule,
    TaskState,
    TaskTrigger,
    Timestamp,
)
from dt_jupyter.schedule import (
    RunGo,
    Slots,
    begun_ticks,
    find_task_cycle,
    graph_of,
    lost_run_outcome,
    next_tick_of,
    run_decisions,
)

T0 = Timestamp(1_800_000_000_000_000)
MINUTE = TaskSchedule(60)
FREE = {"default": Slots("default", 9)}


def name(text: str) -> Name:
    return Name("default", text)


def task(text: str, *after: str, **changes: Any) -> Task:
    """A started one; by the minute where it is after no other."""
    made = Task(
        text, name(text), "…", "default", T0, T0, schedule=None if after else MINUTE,
        after=tuple(map(name, after)), state=TaskState.STARTED,
    )  # fmt: skip
    return replace(made, **changes)


def run(text: str, *parents: str, state: str = "SCHEDULED", **changes: Any) -> TaskRun:
    made = TaskRun(
        f"run-{text}", text, name(text), "g", "root", 1, TaskTrigger.SCHEDULE, T0,
        TaskRunState(state), parents=parents,
    )  # fmt: skip
    return replace(made, **changes)


def members(root: Task, *tasks: Task) -> dict[str, set[str]]:
    return {m.task.id: set(m.parents) for m in graph_of(root, tasks)}


def decided(*runs: TaskRun, **slots: Slots) -> dict[str, str]:
    found = run_decisions(runs, {**FREE, **slots}, {})
    return {d.run.task: "go" if isinstance(d, RunGo) else d.reason.code for d in found}


def test_a_graph_is_what_follows_from_its_root() -> None:
    a, b, c, d = task("a"), task("b", "a"), task("c", "a"), task("d", "c", "b", "x")
    assert members(a, d, c, b, a) == {"a": set(), "b": {"a"}, "c": {"a"}, "d": {"b", "c"}}
    asleep = replace(c, state=TaskState.SUSPENDED)
    assert members(a, d, asleep, b, a) == {"a": set(), "b": {"a"}, "d": {"b"}}
    both = replace(b, state=TaskState.SUSPENDED)
    assert members(a, d, asleep, both, a) == {"a": set()}, "all that it comes after are suspended"
    assert members(replace(a, state=TaskState.SUSPENDED), a) == {"a": set()}, "asked for by hand"
    assert next(m.task.id for m in graph_of(a, (d, c, b))) == "a"


def test_a_hundred_tasks_in_a_row_are_one_graph() -> None:
    tasks = [task("t0"), *(task(f"t{i}", f"t{i - 1}") for i in range(1, 100))]
    assert len(graph_of(tasks[0], reversed(tasks))) == 100


def test_a_cycle_is_found_before_it_is_made() -> None:
    tasks = (task("a"), task("b", "a"), task("c", "b"))
    assert find_task_cycle(name("a"), [name("c")], tasks) == tuple(map(name, ("a", "c", "b", "a")))
    assert find_task_cycle(name("a"), [name("a")], ()) == (name("a"), name("a"))
    assert find_task_cycle(name("d"), [name("c"), name("b")], tasks) is None


def test_a_tick_begins_a_run_and_one_that_finds_it_busy_is_skipped() -> None:
    (begun,) = begun_ticks([task("a")], [], T0.plus(130))
    assert (begun.tick, begun.reason) == (T0.plus(120), None)
    assert begun_ticks([task("a", last_tick=T0.plus(120))], [], T0.plus(130)) == ()
    assert begun_ticks([task("a", state=TaskState.SUSPENDED)], [], T0.plus(130)) == ()
    assert begun_ticks([task("b", "a")], [], T0.plus(130)) == ()
    going = run("a", state="EXECUTING", root="a")
    (skipped,) = begun_ticks([task("a")], [going], T0.plus(130))
    assert skipped.reason is not None
    assert skipped.reason.code == "BUSY"
    (begun,) = begun_ticks([task("a", overlaps=True)], [going], T0.plus(130))
    assert begun.reason is None
    over = run("a", state="FAILED", root="a")
    assert begun_ticks([task("a")], [over], T0.plus(130))[0].reason is None


def test_the_next_tick_is_the_first_of_all() -> None:
    tasks = [task("a"), task("b", schedule=TaskSchedule(45)), task("c", state=TaskState.SUSPENDED,
             schedule=TaskSchedule(1))]  # fmt: skip
    assert next_tick_of(tasks, T0.plus(50)) == T0.plus(60)
    assert next_tick_of(tasks, T0.plus(61)) == T0.plus(90)
    assert next_tick_of([], T0) is None


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        ("SUCCEEDED", "SUCCEEDED", "go"),
        ("SUCCEEDED", "EXECUTING", None),
        ("SUCCEEDED", "SCHEDULED", None),
        ("SUCCEEDED", "FAILED", "PREDECESSOR_FAILED"),
        ("EXECUTING", "SKIPPED", "PREDECESSOR_SKIPPED"),
        ("CANCELLED", "SUCCEEDED", "PREDECESSOR_CANCELLED"),
    ],
)
def test_a_run_goes_when_all_before_it_have_succeeded(
    left: str, right: str, found: str | None
) -> None:
    runs = (run("a", state=left), run("b", state=right), run("c", "a", "b"))
    assert decided(*runs).get("c") == found


def test_the_newest_attempt_counts() -> None:
    failed = run("a", state="FAILED")
    again = run("a", id="run-a2", attempt=2)
    assert decided(failed, again, run("c", "a")) == {"a": "go"}
    done = replace(again, state=TaskRunState.SUCCEEDED)
    assert decided(failed, done, run("c", "a")) == {"c": "go"}
    assert decided(failed, run("c", "a", graph="other")) == {"c": "go"}, "another run of the graph"


def test_warehouses_hold_runs_back_and_say_so() -> None:
    assert decided(run("a", warehouse="gone")) == {"a": "WAREHOUSE_MISSING"}
    asleep = Slots("w", 1, suspended=True)
    assert decided(run("a", warehouse="w"), w=asleep) == {"a": "WAREHOUSE_SUSPENDED"}
    (go,) = run_decisions([run("a", warehouse="w")], {"w": replace(asleep, auto_resume=True)}, {})
    assert isinstance(go, RunGo)
    assert go.resumes
    first, second = run("a", warehouse="w"), run("b", warehouse="w", scheduled=T0.plus(-1))
    full = decided(first, second, w=Slots("w", 1))
    assert full == {"b": "go", "a": "CONCURRENCY_LIMIT"}, "the older tick comes first"
    assert run_decisions([first], {"w": Slots("w", 2)}, {"w": 2})[0] != RunGo(first)


def test_what_a_dead_process_had_committed_is_done_and_the_rest_is_done_again() -> None:
    assert lost_run_outcome(run("a", committed=True)) == (TaskRunState.SUCCEEDED, False)
    assert lost_run_outcome(run("a")) == (TaskRunState.CANCELLED, True)
    assert lost_run_outcome(run("a", attempt=4)) == (TaskRunState.CANCELLED, False)
    assert lost_run_outcome(run("a", trigger=TaskTrigger.MANUAL))[1] is False


def test_a_triggered_task_has_a_tick_whenever_its_interval_is_over() -> None:
    def due(seconds: float, **changes: Any) -> list[str]:
        made = task("a", schedule=None, condition="SYSTEM$STREAM_HAS_DATA('s')", **changes)
        found = begun_ticks([made], busy, T0.plus(seconds))
        assert all(b.tick == T0.plus(seconds) and b.reason is None for b in found)
        return [b.root.id for b in found]

    busy: list[TaskRun] = []
    assert due(0) == [], "it was resumed just now"
    assert due(1) == ["a"], "it does not wait for the first time"
    assert due(30, last_tick=T0.plus(1)) == []
    assert due(31, last_tick=T0.plus(1)) == ["a"]
    assert due(31, last_tick=T0.plus(1), trigger_seconds=60) == []
    assert due(1, state=TaskState.SUSPENDED) == []
    assert begun_ticks([task("a", schedule=None)], [], T0.plus(99)) == (), "by hand alone"
    busy = [run("a", state="EXECUTING", root="a")]
    assert due(99) == [], "no tick is skipped because of a run that goes on"
    assert due(99, overlaps=True) == ["a"]
