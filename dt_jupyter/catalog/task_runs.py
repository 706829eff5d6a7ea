"""Runs of tasks: each is started once, by the first process that takes it, and ends once.

A run of a graph is on record as a whole from its beginning, so that any process can continue it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, func, or_, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, from_reason, storable
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.owner import Owner, owner_columns, owner_of
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.tasks import TaskRows
from dt_jupyter.model import (
    QUIET_SKIPS,
    EventKind,
    Name,
    Reason,
    Task,
    TaskRun,
    TaskRunState,
    TaskState,
    TaskTrigger,
    Timestamp,
    count_of,
    standing_event,
    task_run_event,
)

_task, _run = schema.task, schema.task_run
_OPEN = (TaskRunState.SCHEDULED.value, TaskRunState.EXECUTING.value)
_LOST = (TaskRunState.FAILED.value, TaskRunState.CANCELLED.value)
_LONGEST_RUN = 7 * 86_400.0
_GRACE = 60.0


class TaskRuns(TaskRows):
    """Moves of runs are compare-and-swap on their state."""

    def begin_task_graph(
        self,
        root: Task,
        members: Sequence[tuple[Task, Sequence[str]]],
        trigger: TaskTrigger,
        tick: Timestamp,
    ) -> tuple[TaskRun, ...]:
        """A run of a graph, of tasks and the ids of those before each. Nothing where the tick is
        done with already, or the task has changed."""
        with self._write() as connection:
            if trigger is TaskTrigger.SCHEDULE and not self._take_tick(connection, root, tick):
                return ()
            graph = self._new_id()
            runs = tuple(
                self._scheduled(connection, graph, root, task, parents, trigger, tick)
                for task, parents in members
            )
            for run in runs:
                self._insert(connection, run)
            return runs

    def skip_tick(self, root: Task, tick: Timestamp, reason: Reason) -> None:
        """The tick is done with, and the history says why nothing ran."""
        with self._write() as connection:
            if not self._take_tick(connection, root, tick):
                return
            id_ = self._new_id()
            run = self._scheduled(connection, id_, root, root, (), TaskTrigger.SCHEDULE, tick)
            self._insert(connection, run)
            _end(connection, run, TaskRunState.SKIPPED, self.clock.now(), reason)

    def claim_task_run(self, run: TaskRun, timeout_ms: int) -> TaskRun | None:
        """The run, with the names that schemas have now, which this process does from now on; None
        where another one was faster."""
        now = self.clock.now()
        longest = timeout_ms / 1000 if timeout_ms else _LONGEST_RUN
        with self._write() as connection:
            mine = _in_state(run, TaskRunState.SCHEDULED).values(
                state=TaskRunState.EXECUTING.value,
                start_time=now,
                code=None,
                message=None,
                expires=self._lease_time().plus(longest + _GRACE),
                **owner_columns(self.owner),
            )
            if connection.execute(mine).rowcount != 1:
                return None
            (claimed,) = _read(connection, select(_run).where(_run.c.id == run.id))
            return claimed

    def note_task_wait(self, run: TaskRun, reason: Reason) -> None:
        """What keeps a scheduled run from beginning, once for each reason."""
        if (run.code, run.message) == (reason.code, reason.sentence):
            return
        with self._write() as connection:
            told = {"code": reason.code, "message": storable(reason.sentence)}
            connection.execute(_in_state(run, TaskRunState.SCHEDULED).values(**told))

    def skip_task_run(self, run: TaskRun, reason: Reason) -> None:
        """It will not be done; nothing where it has begun."""
        with self._write() as connection:
            _end(connection, run, TaskRunState.SKIPPED, self.clock.now(), reason)
            self._settle_graph(connection, run)

    def finish_task_run(
        self,
        run: TaskRun,
        state: TaskRunState,
        reason: Reason | None = None,
        rows: int | None = None,
        *,
        again: bool = False,
    ) -> TaskRun | None:
        """The outcome of a run that was executing; with `again` another attempt is scheduled.
        None where it had ended already."""
        with self._write() as connection:
            if not _end(connection, run, state, self.clock.now(), reason, rows):
                return None
            if again:
                self._insert(connection, self._next_attempt(run))
            self._settle_graph(connection, run)
            found = _read(connection, select(_run).where(_run.c.id == run.id))
            return found[0]

    def cancel_task_graph(self, graph: str, reason: Reason) -> None:
        """What has not begun of a run of a graph will not."""
        scheduled = (_run.c.graph == graph, _run.c.state == TaskRunState.SCHEDULED.value)
        told = {"state": TaskRunState.CANCELLED.value, "end_time": self.clock.now()}
        why = {"code": reason.code, "message": storable(reason.sentence)}
        with self._write() as connection:
            connection.execute(_run.update().where(*scheduled).values(**told, **why))

    # -- reading ----------------------------------------------------------------------------------

    def open_task_runs(self) -> tuple[TaskRun, ...]:
        """All task runs of graph runs that have not ended, the oldest first."""
        goes_on = select(_run.c.graph).where(_run.c.state.in_(_OPEN))
        query = select(_run).where(_run.c.graph.in_(goes_on)).order_by(_run.c.ordinal)
        with self._read() as connection:
            return tuple(_read(connection, query))

    def running_tasks(self) -> dict[str, int]:
        """How many runs are executing in each warehouse."""
        query = select(_run.c.warehouse, func.count()).group_by(_run.c.warehouse)
        executing = query.where(_run.c.state == TaskRunState.EXECUTING.value)
        with self._read() as connection:
            rows = connection.execute(executing).all()
        return {str(row[0]): int(row[1]) for row in rows}

    def task_graph_runs(self, graph: str) -> tuple[TaskRun, ...]:
        """Of one run of a graph, the oldest first."""
        query = select(_run).where(_run.c.graph == graph).order_by(_run.c.ordinal)
        with self._read() as connection:
            return tuple(_read(connection, query))

    def task_runs(
        self, name: Name | None = None, limit: int | None = None, *, quiet: bool = True
    ) -> list[TaskRun]:
        """The history, newest first; without the runs that had nothing to do unless `quiet`."""
        query = select(_run).order_by(_run.c.ordinal.desc()).limit(limit)
        if not quiet:
            query = query.where(or_(_run.c.code.is_(None), _run.c.code.not_in(QUIET_SKIPS)))
        if name is not None:
            query = query.where(_run.c.schema_name == name.schema, _run.c.task_name == name.table)
        with self._read() as connection:
            return _read(connection, query)

    def last_task_runs(self) -> dict[str, TaskRun]:
        """By id of the task: its newest run."""
        newest = select(func.max(_run.c.ordinal)).group_by(_run.c.task_id)
        with self._read() as connection:
            found = _read(connection, select(_run).where(_run.c.ordinal.in_(newest)))
        return {run.task: run for run in found}

    def _runs(self, connection: Connection, query: Any) -> list[TaskRun]:
        return _read(connection, query)

    def lost_task_runs(self, running: Collection[str]) -> tuple[TaskRun, ...]:
        """Those that are executing, or were requested by a statement, in a process that is gone; of
        this process those that are not among the `running`."""
        query = select(_run).where(_run.c.state.in_(_OPEN), _run.c.uid.is_not(None))
        with self._read() as connection:
            rows = read_each(connection, _run, query, lambda row: (row, _to_run(row)))[0]
        now = self._lease_time() if rows else None
        return tuple(
            run
            for row, run in rows
            if now is not None and is_lost(row, self.owner, running, self._alive, now)
        )

    # -- within a transaction ---------------------------------------------------------------------

    def _take_tick(self, connection: Connection, root: Task, tick: Timestamp) -> bool:
        started = (_task.c.id == root.id, _task.c.state == TaskState.STARTED.value)
        fresh = _task.c.last_tick.is_(None) | (_task.c.last_tick < tick)
        mine = _task.update().where(*started, _task.c.since < tick, fresh)
        return connection.execute(mine.values(last_tick=tick)).rowcount == 1

    def _scheduled(
        self,
        connection: Connection,
        graph: str,
        root: Task,
        task: Task,
        parents: Sequence[str],
        trigger: TaskTrigger,
        tick: Timestamp,
    ) -> TaskRun:
        of_task = select(func.max(_run.c.number)).where(_run.c.task_id == task.id)
        return TaskRun(
            self._new_id(),
            task.id,
            task.name,
            graph,
            root.id,
            (connection.scalar(of_task) or 0) + 1,
            trigger,
            tick,
            parents=tuple(parents),
            warehouse=task.warehouse,
            body=task.body,
            condition=task.condition,
        )

    def _next_attempt(self, run: TaskRun) -> TaskRun:
        return TaskRun(
            self._new_id(),
            run.task,
            run.name,
            run.graph,
            run.root,
            run.number,
            run.trigger,
            run.scheduled,
            attempt=run.attempt + 1,
            parents=run.parents,
            warehouse=run.warehouse,
            body=run.body,
            condition=run.condition,
        )

    def _insert(self, connection: Connection, run: TaskRun) -> None:
        """A run that was requested by a statement belongs to the process that requested it."""
        newest = connection.scalar(select(func.max(_run.c.ordinal))) or 0
        owner = owner_columns(self.owner) if run.trigger is TaskTrigger.MANUAL else {}
        expires = self._lease_time().plus(_LONGEST_RUN) if owner else None
        values = {**_values_of(run), **owner, "ordinal": newest + 1, "expires": expires}
        connection.execute(_run.insert().values(**values))

    def _settle_graph(self, connection: Connection, run: TaskRun) -> None:
        """Once a run of a graph is over: whether it failed counts for its root."""
        of_graph = select(_run.c.state, _run.c.task_id, _run.c.attempt).where(
            _run.c.graph == run.graph
        )
        newest: dict[str, tuple[int, str]] = {}
        for state, task, attempt in connection.execute(of_graph):
            newest[task] = max(newest.get(task, (0, "")), (attempt, state))
        states = {state for _, state in newest.values()}
        if states & set(_OPEN):
            return
        failed = TaskRunState.FAILED.value in states
        if failed:
            _count_failure(connection, run.root, self.clock.now())
        elif TaskRunState.SUCCEEDED.value in states:
            own = _task.update().where(_task.c.id == run.root)
            connection.execute(own.values(failures=0))


def _count_failure(connection: Connection, root: str, now: Timestamp) -> None:
    """One more; too many in a row suspend it."""
    named = (_task.c.schema_name, _task.c.task_name)
    query = select(_task.c.failures, _task.c.options, *named).where(_task.c.id == root)
    row = connection.execute(query).one_or_none()
    if row is None:
        return
    count, allowed = row.failures + 1, json.loads(row.options)["suspend_after"]
    values: dict[str, Any] = {"failures": count}
    if allowed and count >= allowed:
        sentence = f"{count_of(count, 'run')} failed in a row. Fix the cause, then RESUME."
        reason, suspended = Reason("TOO_MANY_FAILURES", sentence), TaskState.SUSPENDED.value
        values |= {"state": suspended, "reason": from_reason(reason)}
        name, kind = Name(row.schema_name, row.task_name), EventKind.TASK
        told = standing_event(kind, name, root, suspended, reason, now, bad=True)
        add_event(connection, told)
    connection.execute(_task.update().where(_task.c.id == root).values(**values))


def mark_committed(connection: Connection, intent_id: str) -> None:
    """The run of a task that the intent is of has written; nothing for other intents."""
    connection.execute(_run.update().where(_run.c.id == intent_id).values(committed=True))


def _in_state(run: TaskRun, state: TaskRunState) -> Any:
    return _run.update().where(_run.c.id == run.id, _run.c.state == state.value)


def _end(
    connection: Connection,
    run: TaskRun,
    state: TaskRunState,
    now: Timestamp,
    reason: Reason | None,
    rows: int | None = None,
) -> bool:
    before = _run.update().where(_run.c.id == run.id, _run.c.state.in_(_OPEN))
    told = {} if reason is None else {"code": reason.code, "message": storable(reason.sentence)}
    values = {"state": state.value, "end_time": now, "affected": rows, **told}
    if connection.execute(before.values(**values)).rowcount != 1:
        return False
    for ended in _read(connection, select(_run).where(_run.c.id == run.id)):
        add_event(connection, task_run_event(ended, now))
    return True


def is_lost(
    row: RowMapping,
    asking: Owner,
    running: Collection[str],
    alive: Callable[[Owner], bool],
    now: Timestamp,
) -> bool:
    """Whether a run is abandoned, as seen by the process `asking`, which has the `running`."""
    owner = owner_of(row)
    if owner.uid == asking.uid:
        return row["state"] == TaskRunState.EXECUTING.value and row["id"] not in running
    if owner.host != asking.host:
        return row["expires"] is not None and row["expires"] <= now
    return not alive(owner)


def _read(connection: Connection, query: Any) -> list[TaskRun]:
    return read_each(connection, _run, query, _to_run)[0]


def _values_of(run: TaskRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "task_id": run.task,
        "schema_name": run.name.schema,
        "task_name": run.name.table,
        "graph": run.graph,
        "root": run.root,
        "number": run.number,
        "trigger_kind": run.trigger.value,
        "scheduled": run.scheduled,
        "state": run.state.value,
        "attempt": run.attempt,
        "parents": dump(list(run.parents)),
        "warehouse": run.warehouse,
        "body": storable(run.body),
        "condition": storable(run.condition),
        "committed": run.committed,
    }


def _to_run(row: RowMapping) -> TaskRun:
    return TaskRun(
        row["id"],
        row["task_id"],
        Name(row["schema_name"], row["task_name"]),
        row["graph"],
        row["root"],
        row["number"],
        TaskTrigger(row["trigger_kind"]),
        row["scheduled"],
        TaskRunState(row["state"]),
        row["attempt"],
        tuple(json.loads(row["parents"])),
        row["warehouse"],
        row["body"],
        row["condition"],
        row["start_time"],
        row["end_time"],
        row["code"],
        row["message"],
        row["affected"],
        row["committed"],
    )
