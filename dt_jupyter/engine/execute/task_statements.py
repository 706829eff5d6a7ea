"""CREATE, ALTER, EXECUTE, DROP, DESCRIBE and SHOW of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def run_create_task(
    context: Context, statement: S.CreateTask, origin: StatementOrigin
) -> DataFrame:
    told = context.tasks.create(statement, context.schema(), origin.script)
    return context.tables.status("\n".join(told))


def alter_task(context: Context, statement: S.AlterTask, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and not context.catalog.has_task(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    told = context.tasks.alter(name, statement.change, context.schema(), origin.script)
    return context.tables.status("\n".join(told))


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
