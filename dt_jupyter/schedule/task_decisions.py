"""What is to be done with tasks now: which ticks begin a run of a graph, and which of its runs may
continue. Pure functions with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dt_jupyter.model import (
    Name,
    Reason,
    Task,
    TaskRun,
    TaskRunState,
    Timestamp,
    count_of,
)
from dt_jupyter.schedule.state import Slots

FULL_WAREHOUSE = "CONCURRENCY_LIMIT"
"""Why a run waits whose warehouse runs as much as it may."""
REDONE = 3
"""So often a run whose process ended is done again."""


@dataclass(frozen=True, slots=True)
class Member:
    """A task of a run of a graph, and the ids of those that must succeed before it."""

    task: Task
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TickBegun:
    """A run of the graph of `root` for its tick; with a `reason` it is only recorded as skipped."""

    root: Task
    tick: Timestamp
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class RunGo:
    """The run may begin; with `resumes` its warehouse is to be resumed for it."""

    run: TaskRun
    resumes: bool = False


@dataclass(frozen=True, slots=True)
class RunSkipped:
    """The run will not be done."""

    run: TaskRun
    reason: Reason


@dataclass(frozen=True, slots=True)
class RunWaits:
    """Its turn has come, but something keeps it from beginning."""

    run: TaskRun
    reason: Reason


RunDecision = RunGo | RunSkipped | RunWaits


def graph_of(root: Task, tasks: Iterable[Task]) -> tuple[Member, ...]:
    """What runs when `root` does, each after those that it comes after: started tasks for which at
    least one predecessor runs too. A suspended one is as if it were not there."""
    known = tuple(tasks)
    members = {root.name: Member(root, ())}
    grown = True
    while grown:
        grown = False
        for task in known:
            before = [members[n].task.id for n in task.after if n in members]
            if task.started and before and task.name not in members:
                members[task.name] = Member(task, tuple(before))
                grown = True
    return tuple(_with_all_parents(member, members) for member in members.values())


def _with_all_parents(member: Member, members: Mapping[Name, Member]) -> Member:
    """One that was found by its first predecessor waits for the later ones too."""
    if not member.parents:
        return member
    return Member(member.task, tuple(members[n].task.id for n in member.task.after if n in members))


def find_task_cycle(
    name: Name, after: Sequence[Name], tasks: Iterable[Task]
) -> tuple[Name, ...] | None:
    """The way from a task back to itself, if it came after these."""
    before = {task.name: task.after for task in tasks} | {name: tuple(after)}
    ways: list[tuple[Name, ...]] = [(name, first) for first in after]
    seen: set[Name] = set()
    while ways:
        way = ways.pop()
        if way[-1] == name:
            return way
        if way[-1] not in seen:
            seen.add(way[-1])
            ways += [(*way, more) for more in before.get(way[-1], ())]
    return None


def begun_ticks(
    tasks: Iterable[Task], runs: Iterable[TaskRun], now: Timestamp
) -> tuple[TickBegun, ...]:
    """The ticks to take at `now`: of each started root the newest; those that were missed collapse
    into it. One that finds a running run of the graph is skipped, unless runs may overlap; a
    triggered one has no tick then."""
    open_roots = {run.root: run for run in runs if not run.state.final}
    found = []
    for task in tasks:
        tick = task.tick(now) if task.started and not task.after else None
        if tick is None:
            continue
        busy = None if task.overlaps else open_roots.get(task.id)
        if busy is not None and task.triggered:
            continue
        found.append(TickBegun(task, tick, None if busy is None else _busy(busy)))
    return tuple(found)


def _busy(run: TaskRun) -> Reason:
    verb = "was still running" if run.state is TaskRunState.EXECUTING else "had not begun"
    sentence = f"{run.name} of the run of {run.scheduled.words} {verb}."
    return Reason("BUSY", sentence)


def next_tick_of(tasks: Iterable[Task], now: Timestamp) -> Timestamp | None:
    """The first tick after `now` of any started root."""
    roots = [t for t in tasks if t.started and not t.after and t.schedule is not None]
    ticks = [t.schedule.following(t.since, now) for t in roots if t.schedule is not None]
    return min((tick for tick in ticks if tick is not None), default=None)


def run_decisions(
    runs: Sequence[TaskRun], warehouses: Mapping[str, Slots], busy: Mapping[str, int]
) -> tuple[RunDecision, ...]:
    """The decisions about the scheduled runs among `runs`, which are all attempts of some runs of
    graphs; `busy` is how much runs in each warehouse already. The oldest tick comes first."""
    newest = _newest_attempts(runs)
    taken = Counter(busy)
    found: list[RunDecision] = []
    for run in sorted(runs, key=lambda r: (r.scheduled, r.id)):
        if run.state is not TaskRunState.SCHEDULED:
            continue
        parents = [newest[run.graph, p] for p in run.parents if (run.graph, p) in newest]
        lost = next((p for p in parents if _is_lost(p)), None)
        if lost is not None:
            sentence = f"{lost.name}, which comes before it, is {lost.state}."
            found.append(RunSkipped(run, Reason(f"PREDECESSOR_{lost.state}", sentence)))
        elif all(p.state is TaskRunState.SUCCEEDED for p in parents):
            found.append(_admitted(run, warehouses.get(run.warehouse), taken))
    return tuple(found)


def _newest_attempts(runs: Iterable[TaskRun]) -> dict[tuple[str, str], TaskRun]:
    found: dict[tuple[str, str], TaskRun] = {}
    for run in runs:
        key = (run.graph, run.task)
        if key not in found or found[key].attempt < run.attempt:
            found[key] = run
    return found


def _is_lost(run: TaskRun) -> bool:
    return run.state.final and run.state is not TaskRunState.SUCCEEDED


def _admitted(run: TaskRun, slots: Slots | None, taken: Counter[str]) -> RunDecision:
    if slots is None:
        sentence = f"There is no warehouse {run.warehouse}."
        return RunWaits(run, Reason("WAREHOUSE_MISSING", sentence))
    if slots.rests:
        sentence = f"Warehouse {slots.name} is suspended: ALTER WAREHOUSE {slots.name} RESUME."
        return RunWaits(run, Reason("WAREHOUSE_SUSPENDED", sentence))
    if taken[slots.name] >= slots.limit:
        sentence = f"Warehouse {slots.name} already runs {count_of(slots.limit, 'statement')}."
        return RunWaits(run, Reason("CONCURRENCY_LIMIT", sentence))
    taken[slots.name] += 1
    return RunGo(run, resumes=slots.suspended)


def lost_run_outcome(run: TaskRun) -> tuple[TaskRunState, bool]:
    """What a run has become whose process is gone, and whether it is done again: what it wrote is
    there if it was committed, and else it wrote nothing that a second time would write too."""
    if run.committed:
        return TaskRunState.SUCCEEDED, False
    return TaskRunState.CANCELLED, run.trigger.value == "SCHEDULE" and run.attempt <= REDONE
