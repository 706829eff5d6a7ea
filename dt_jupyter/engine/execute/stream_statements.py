"""CREATE, CLONE, ALTER, DROP, UNDROP, DESCRIBE and SHOW of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.dependents import dropped_words, find_dependents
from dt_jupyter.engine.evaluate import points
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def run_create_stream(
    context: Context, statement: S.CreateStream, origin: StatementOrigin
) -> DataFrame:
    notes = context.streams.create(statement, points(context, origin.args))
    return context.tables.status("\n".join(notes))


def clone_stream(context: Context, statement: S.CloneStream, origin: StatementOrigin) -> DataFrame:
    notes = context.streams.clone(statement, points(context, origin.args))
    return context.tables.status("\n".join(notes))


def alter_stream(context: Context, statement: S.AlterStream, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and not context.catalog.has_stream(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    notes = context.streams.alter(name, statement.change)
    return context.tables.status("\n".join(notes))


def undrop_stream(
    context: Context, statement: S.UndropStream, origin: StatementOrigin
) -> DataFrame:
    name = statement.name
    if statement.if_exists and context.catalog.dropped_stream(name) is None:
        return context.tables.status(f"{name} cannot be restored, nothing done.")
    context.streams.undrop(name)
    return context.tables.status(f"Stream {name} restored.")


def drop_stream(context: Context, statement: S.DropStream, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and not context.catalog.has_stream(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    context.streams.await_free(name)
    context.streams.recover()
    readers = find_dependents(context.catalog, {name}, context.access.sees)
    context.catalog.drop_stream(name)
    more = dropped_words(readers, f"UNDROP STREAM {name}")
    return context.tables.status(f"Stream {name} dropped; UNDROP STREAM brings it back.{more}")


def describe_stream(
    context: Context, statement: S.DescribeStream, origin: StatementOrigin
) -> DataFrame:
    return context.tables.streams([context.catalog.stream(statement.name)], context.streams)


def show_streams(context: Context, statement: S.ShowStreams, origin: StatementOrigin) -> DataFrame:
    return context.tables.all_streams(statement.like, context.streams)
