"""CREATE, ALTER, DROP, DESCRIBE and SHOW of sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.model import DeliveryRecord, count_of
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def run_create_sink(
    context: Context, statement: S.CreateSink, origin: StatementOrigin
) -> DataFrame:
    return context.tables.status("\n".join(context.sinks.create(statement)))


def alter_sink(context: Context, statement: S.AlterSink, origin: StatementOrigin) -> DataFrame:
    sinks, name = context.sinks, statement.name
    if statement.if_exists and not context.catalog.has_sink(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    match statement.change:
        case S.Suspend():
            sinks.suspend(name)
            told = f"Sink {name} suspended."
        case S.Resume():
            sinks.resume(name)
            told = f"Sink {name} resumed."
        case S.Refresh():
            told = _delivered(sinks.refresh(name))
        case S.ResetSink():
            told = _delivered(sinks.reset(name))
        case S.RetryDeadLetters():
            told = sinks.retry_dead_letters(name)
        case S.SetSink() as change:
            sinks.alter(name, change)
            told = f"Sink {name} altered."
    return context.tables.status(told)


def _delivered(record: DeliveryRecord) -> str:
    counts = record.counts
    if not (counts.transactions or counts.refused):
        return f"Sink {record.name} has everything already."
    stored, deleted = count_of(counts.stored, "row"), counts.deleted
    told = f"Sink {record.name} delivered: {stored} stored, {deleted} deleted"
    refused = f", {counts.refused} refused by the store" if counts.refused else ""
    return f"{told}{refused}."


def drop_sink(context: Context, statement: S.DropSink, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and not context.catalog.has_sink(name):
        return context.tables.status(f"{name} does not exist, nothing done.")
    return context.tables.status(context.sinks.drop(name))


def describe_sink(
    context: Context, statement: S.DescribeSink, origin: StatementOrigin
) -> DataFrame:
    return context.sink_tables.described(context.catalog.sink(statement.name))


def show_sinks(context: Context, statement: S.ShowSinks, origin: StatementOrigin) -> DataFrame:
    return context.sink_tables.shown(statement.like)
