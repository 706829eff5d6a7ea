"""Tasks as objects with names. Their runs are `task_runs`'."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, from_name, from_reason, storable, to_name, to_reason
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import delete_row, name_like, read_each
from dt_jupyter.catalog.store import Shelf, Store
from dt_jupyter.model import (
    TRIGGER_SECONDS,
    EventKind,
    Name,
    Named,
    Task,
    TaskRunState,
    TaskSchedule,
    TaskState,
    did_you_mean,
    error,
    name_taken,
    standing_event,
)

_task, _run = schema.task, schema.task_run


def to_task(row: RowMapping, _: LakeRoot) -> Task:
    options = json.loads(row["options"])
    schedule = row["schedule"]
    return Task(
        row["id"],
        Name(row["schema_name"], row["task_name"]),
        row["body"],
        row["current_schema"],
        row["created"],
        row["since"],
        json.loads(row["settings"]),
        TaskState(row["state"]),
        to_reason(row["reason"]),
        row["failures"],
        row["last_tick"],
        schedule=None if schedule is None else TaskSchedule.parse(schedule),
        after=tuple(map(to_name, json.loads(row["after"]))),
        condition=row["condition"],
        warehouse=row["warehouse"],
        overlaps=options["overlaps"],
        suspend_after=options["suspend_after"],
        retries=options["retries"],
        timeout_ms=options["timeout_ms"],
        comment=row["comment"],
        trigger_seconds=options.get("trigger_seconds", TRIGGER_SECONDS),
    )


TASK_SHELF = Shelf(
    _task,
    "task",
    (_task.c.schema_name, _task.c.task_name),
    _task.c.id,
    to_task,
    "DROP TASK {name} removes it.",
)


class TaskRows(Store):
    """Names are compared without regard to case, as `Name` keeps them."""

    def create_task(self, made: Task, *, replace_existing: bool = False) -> Task:
        """DT-1105 if the name is taken, unless by one that is to be replaced: its runs that have
        not begun are cancelled."""
        with self._write() as connection:
            known = self._find_task(connection, made.name)
            if known is not None and not replace_existing:
                raise name_taken(Named.TASK, made.name)
            if known is not None:
                _remove(connection, known)
            connection.execute(_task.insert().values(**values_of(made)))
        return made

    def find_task(self, name: Name) -> Task | None:
        with self._read() as connection:
            return self._find_task(connection, name)

    def has_task(self, name: Name) -> bool:
        """Whether there is one of that name, one in quarantine among them."""
        with self._read() as connection:
            if self._broken(connection, name, TASK_SHELF):
                return True
            return self._find_task(connection, name) is not None

    def task(self, name: Name) -> Task:
        """DT-3301, with the nearest names, if there is none."""
        with self._read() as connection:
            return self._require_task(connection, name)

    def tasks(self, like: str | None = None) -> tuple[Task, ...]:
        """By name; `like`: as `name_like` reads it."""
        query = select(_task).order_by(_task.c.schema_name, _task.c.task_name)
        if like is not None:
            query = query.where(name_like(_task.c.task_name, like))
        with self._read() as connection:
            if like is None:
                return tuple(self._listed(connection, query, TASK_SHELF))
            return tuple(read_each(connection, _task, query, self._made(TASK_SHELF))[0])

    def alter_task(self, made: Task) -> None:
        """All of it as given, except for its last tick; DT-3301 where it is gone."""
        values = values_of(made)
        for kept in ("id", "last_tick"):
            del values[kept]
        with self._write() as connection:
            mine = _task.update().where(_task.c.id == made.id)
            was = connection.scalar(select(_task.c.state).where(_task.c.id == made.id))
            if connection.execute(mine.values(**values)).rowcount != 1:
                raise error("DT-3301", name=made.name, hint="")
            if was != made.state.value:
                state, now = made.state.value, self.clock.now()
                kind = EventKind.TASK
                told = standing_event(kind, made.name, made.id, state, made.reason, now)
                add_event(connection, told)

    def drop_task(self, name: Name) -> tuple[Name, ...]:
        """Its runs that have not begun are cancelled; those that came after it do no more: their
        names. DT-3301."""
        with self._write() as connection:
            broken = self._broken(connection, name, TASK_SHELF)
            for row in broken:
                delete_row(connection, _task, row)
            if not broken:
                _remove(connection, self._require_task(connection, name))
            freed = _free_followers(connection, name, self._all_tasks(connection))
        self.quarantine.lift(TASK_SHELF.kind, name)
        return freed

    def _all_tasks(self, connection: Connection) -> list[Task]:
        return read_each(connection, _task, select(_task), self._made(TASK_SHELF))[0]

    def _find_task(self, connection: Connection, name: Name) -> Task | None:
        here = (_task.c.schema_name == name.schema, _task.c.task_name == name.table)
        found = self._one(connection, select(_task).where(*here), TASK_SHELF)
        return found

    def _require_task(self, connection: Connection, name: Name) -> Task:
        found = self._find_task(connection, name)
        if found is None:
            known = connection.execute(select(_task.c.task_name)).scalars().all()
            raise error("DT-3301", name=name, hint=did_you_mean(name.table, list(known)))
        return found


def _remove(connection: Connection, task: Task) -> None:
    connection.execute(_task.delete().where(_task.c.id == task.id))
    waiting = (_run.c.task_id == task.id, _run.c.state == TaskRunState.SCHEDULED.value)
    told = {"code": "DROPPED", "message": "The task was dropped before it ran."}
    cancelled = TaskRunState.CANCELLED.value
    connection.execute(_run.update().where(*waiting).values(state=cancelled, **told))


def _free_followers(connection: Connection, name: Name, tasks: Iterable[Task]) -> tuple[Name, ...]:
    freed = [task for task in tasks if name in task.after]
    for task in freed:
        left = [from_name(n) for n in task.after if n != name]
        connection.execute(_task.update().where(_task.c.id == task.id).values(after=dump(left)))
    return tuple(task.name for task in freed)


def values_of(task: Task) -> dict[str, Any]:
    options = {
        "overlaps": task.overlaps,
        "suspend_after": task.suspend_after,
        "retries": task.retries,
        "timeout_ms": task.timeout_ms,
        "trigger_seconds": task.trigger_seconds,
    }
    return {
        "id": task.id,
        "schema_name": task.name.schema,
        "task_name": task.name.table,
        "body": storable(task.body),
        "current_schema": task.schema,
        "settings": dump(dict(task.settings)),
        "schedule": None if task.schedule is None else str(task.schedule),
        "after": dump([from_name(name) for name in task.after]),
        "condition": storable(task.condition),
        "warehouse": task.warehouse,
        "options": dump(options),
        "created": task.created,
        "since": task.since,
        "comment": storable(task.comment),
        "state": task.state.value,
        "reason": from_reason(task.reason),
        "failures": task.failures,
        "last_tick": task.last_tick,
    }
