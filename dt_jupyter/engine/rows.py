"""The first rows of results, read for whoever shows them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dt_jupyter.lake import fields_named, head, spark_schema
from dt_jupyter.spark import CancelFlag, activity, run_cancellable, whole_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.model import DynamicTable

T = TypeVar("T")
MOST = 50
SAMPLE = 5
"""Rows of a dynamic table that its card shows."""


@dataclass(frozen=True)
class ResultRows:
    """The first rows of a result, each value as Spark writes it; `columns` are (name, type).
    `truncated`: there are more."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str | None, ...], ...]
    truncated: bool = False


def interruptible(
    context: Context,
    what: str,
    work: Callable[[], T],
    group: str | None = None,
    flag: CancelFlag | None = None,
) -> T:
    """`work`, an activity whose Spark jobs end when the keyboard interrupts it; part of the
    statement that it is called in."""
    group, part_of = group or f"show:{uuid.uuid4().hex}", context.log.current

    def run() -> T:
        with context.log.within(part_of):
            return work()

    with activity(what):
        return run_cancellable(context.spark, group, what, run, flag)


def read_rows(context: Context, frame: DataFrame, what: str, limit: int = MOST) -> ResultRows:
    """At most `limit` of them; runs the Spark jobs of the frame."""
    return interruptible(context, what, lambda: _read(frame, limit))


def read_change_counts(context: Context, frame: DataFrame, what: str) -> tuple[int, int, int]:
    """How many rows were inserted, deleted and updated, of a frame of changes."""
    counts = [
        f"count_if(`$ACTION` = '{action}' AND `$ISUPDATE` = {update})"
        for action, update in (("INSERT", False), ("DELETE", False), ("INSERT", True))
    ]
    row = interruptible(context, what, lambda: frame.selectExpr(*counts).first())
    assert row is not None
    inserted, deleted, updated = row
    return inserted, deleted, updated


def read_sample(context: Context, table: DynamicTable) -> ResultRows | None:
    """The first rows of a table that is initialised."""
    if table.frontier is None:
        return None
    return interruptible(
        context,
        f"Reading the first rows of {table.name}",
        lambda: _read(_first_rows(context, table), SAMPLE),
    )


def _first_rows(context: Context, table: DynamicTable) -> DataFrame:
    """Some of its rows, read from its files, which takes no job of Spark's; all of them by Spark
    where that alone reads them."""
    log = context.sources.logs[str(context.layout.public(table.id))]
    names = [n for n, _, _ in table.definition.columns]
    rows = head(log, SAMPLE + 1, names)
    if rows is None:
        return context.spark.table(table.name.sql)
    return whole_frame(context.spark, rows, spark_schema(fields_named(log.metadata(), names)))


def _read(frame: DataFrame, limit: int) -> ResultRows:
    from pyspark.sql import functions as f

    from dt_jupyter.spark import as_text

    columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    places = [f"c{i}" for i in range(len(columns))]
    texts = [as_text(f.col(p), kind) for p, (_, kind) in zip(places, columns, strict=True)]
    found = frame.limit(limit + 1).toDF(*places).select(*texts).collect()
    return ResultRows(columns, tuple(tuple(row) for row in found[:limit]), len(found) > limit)
