"""CREATE, ALTER, EXECUTE, DROP, DESCRIBE and SHOW of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.names_read import require_body
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.task_bodies import moved, read_body
from dt_jupyter.model import DTError
from dt_jupyter.sql import parse_condition, qualified_name, statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def run_create_task(
    context: Context, statement: S.CreateTask, origin: StatementOrigin
) -> DataFrame:
    _require_body(context, statement.body, statement.body_offset, origin.script)
    _require_condition(context, statement.condition)
    told = context.tasks.create(statement, context.schema(), origin.script)
    return context.tables.status("\n".join(told))


def alter_task(context: Context, statement: S.AlterTask, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and not context.catalog.has_task(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    change = statement.change
    if isinstance(change, S.ModifyBody):
        _require_body(context, change.body, change.body_offset, origin.script)
    if isinstance(change, S.ModifyCondition):
        _require_condition(context, change.condition)
    told = context.tasks.alter(name, change, context.schema(), origin.script)
    return context.tables.status("\n".join(told))


def _require_body(context: Context, body: str, offset: int, script: str) -> None:
    """DT-52xx for what the role may not do: the task will run with its rights."""
    if not context.access.guarded:
        return
    schema = context.schema()
    try:
        require_body(context, read_body(body, schema), schema)
    except DTError as e:
        raise moved(e, script, offset) from e.__cause__


def _require_condition(context: Context, condition: str | None) -> None:
    if context.access.bound and condition is not None:
        for stream in parse_condition(condition).streams:
            context.access.require_stream(qualified_name(stream, context.schema()))


def execute_task(context: Context, statement: S.ExecuteTask, origin: StatementOrigin) -> DataFrame:
    return context.tables.status("\n".join(context.tasks.execute(statement.name)))


def drop_task(context: Context, statement: S.DropTask, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and not context.catalog.has_task(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    return context.tables.status("\n".join(context.tasks.drop(name)))


def describe_task(
    context: Context, statement: S.DescribeTask, origin: StatementOrigin
) -> DataFrame:
    return context.task_tables.described(context.catalog.task(statement.name))


def show_tasks(context: Context, statement: S.ShowTasks, origin: StatementOrigin) -> DataFrame:
    return context.task_tables.shown(statement.like)
