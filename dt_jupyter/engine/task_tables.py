"""Tasks and their runs as DataFrames: SHOW TASKS, DESCRIBE TASK and TASK_HISTORY."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.information_schema import DATABASE, QUARANTINED
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import (
    Clock,
    Name,
    Named,
    Right,
    RightsBook,
    Task,
    TaskRun,
    TaskRunState,
    Timestamp,
)
from dt_jupyter.spark import rows_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS_SCHEMA = (
    "CREATED_ON timestamp, NAME string, ID string, DATABASE_NAME string, SCHEMA_NAME string, "
    "COMMENT string, WAREHOUSE string, SCHEDULE string, PREDECESSORS string, STATE string, "
    "STATE_REASON string, DEFINITION string, CONDITION string, "
    "ALLOW_OVERLAPPING_EXECUTION boolean, SUSPEND_TASK_AFTER_NUM_FAILURES int, "
    "TASK_AUTO_RETRY_ATTEMPTS int, USER_TASK_TIMEOUT_MS bigint, LAST_STATE string, "
    "LAST_SCHEDULED_TIME timestamp, NEXT_SCHEDULED_TIME timestamp, OWNER string"
)


def _time(t: Timestamp | None) -> datetime | None:
    return t.datetime if t else None


_HISTORY: tuple[tuple[str, str, Callable[[TaskRun], object]], ...] = (
    ("QUERY_ID", "string", lambda r: r.id),
    ("NAME", "string", lambda r: r.name.table),
    ("DATABASE_NAME", "string", lambda r: DATABASE),
    ("SCHEMA_NAME", "string", lambda r: r.name.schema),
    ("QUERY_TEXT", "string", lambda r: r.body),
    ("CONDITION_TEXT", "string", lambda r: r.condition),
    ("STATE", "string", lambda r: r.state.value),
    ("ERROR_CODE", "string", lambda r: r.code),
    ("ERROR_MESSAGE", "string", lambda r: r.message),
    ("SCHEDULED_TIME", "timestamp", lambda r: _time(r.scheduled)),
    ("QUERY_START_TIME", "timestamp", lambda r: _time(r.start)),
    ("COMPLETED_TIME", "timestamp", lambda r: _time(r.end)),
    ("ROWS_AFFECTED", "bigint", lambda r: r.rows),
    ("ROOT_TASK_ID", "string", lambda r: r.root),
    ("GRAPH_RUN_GROUP_ID", "string", lambda r: r.graph),
    ("ATTEMPT_NUMBER", "int", lambda r: r.attempt),
    ("SCHEDULED_FROM", "string", lambda r: r.trigger.value),
    ("WAREHOUSE", "string", lambda r: r.warehouse),
)
TASK_HISTORY_SCHEMA = ", ".join(f"{n} {t}" for n, t, _ in _HISTORY)


@dataclass(frozen=True)
class TaskTables:
    """Each method gives a DataFrame of the session, of what its role may see."""

    spark: SparkSession
    catalog: Catalog
    clock: Clock
    access: Access

    def shown(self, like: str | None = None) -> DataFrame:
        """SHOW TASKS: one row for each, and why it does not run."""
        last, now = self.catalog.last_task_runs(), self.clock.now()
        book = self.access.book
        rows = [_row(task, last.get(task.id), now, book) for task in self._seen(like)]
        return rows_frame(self.spark, [*rows, *self._broken(like)], TASKS_SCHEMA)

    def described(self, task: Task) -> DataFrame:
        """As SHOW TASKS, of one."""
        last, now = self.catalog.last_task_runs().get(task.id), self.clock.now()
        return rows_frame(self.spark, [_row(task, last, now, self.access.book)], TASKS_SCHEMA)

    def history(self, name: Name | None = None, limit: int | None = None) -> DataFrame:
        """TASK_HISTORY, newest first."""
        told = self.catalog.task_runs(name, limit)
        access = self.access
        runs = [access.run_told(r) for r in told if access.may_task(Right.MONITOR, r.name)]
        rows = (tuple(get(run) for _, _, get in _HISTORY) for run in runs)
        return rows_frame(self.spark, rows, TASK_HISTORY_SCHEMA)

    def _seen(self, like: str | None) -> list[Task]:
        return [t for t in self.catalog.tasks(like) if self.access.may_task(Right.MONITOR, t.name)]

    def _broken(self, like: str | None) -> list[tuple[object, ...]]:
        if like is not None or self.access.bound:
            return []
        none: tuple[None, ...] = (None,) * 4
        return [
            (None, table, None, DATABASE, schema or "default", *none, QUARANTINED, q.problem,
             *((None,) * 10))
            for q in self.catalog.quarantine.all()
            if q.kind == Named.TASK
            for schema, _, table in (q.name.rpartition("."),)
        ]  # fmt: skip


def _row(task: Task, last: TaskRun | None, now: Timestamp, book: RightsBook) -> tuple[object, ...]:
    waits = last is not None and last.state is TaskRunState.SCHEDULED
    reason = str(task.reason) if task.reason else last.message if last and waits else None
    schedule = task.schedule if task.started else None
    return (
        _time(task.created), task.name.table, task.id, DATABASE, task.name.schema, task.comment,
        task.warehouse, None if task.schedule is None else str(task.schedule),
        ", ".join(f"{DATABASE}.{n.schema}.{n.table}" for n in task.after) or None,
        task.state.value, reason, task.body, task.condition, task.overlaps, task.suspend_after,
        task.retries, task.timeout_ms, last.state.value if last else None,
        _time(last.scheduled) if last else None,
        _time(schedule.following(task.since, now)) if schedule else None,
        book.owner_of(Named.TASK, task.name),
    )  # fmt: skip
