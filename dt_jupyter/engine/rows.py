"""The first rows of results, read for display."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from dt_jupyter.lake import fields_named, head, spark_schema
from dt_jupyter.sources import name_of
from dt_jupyter.spark import (
    CancelFlag,
    RelationKind,
    activity,
    lookup,
    run_cancellable,
    whole_frame,
)
from dt_jupyter.sql import SparkKind, SparkStatement, relations_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.model import DynamicTable
    from dt_jupyter.sql import Statement

T = TypeVar("T")
ROWS_SHOWN = 1_000
"""Rows of a result that are read to be shown."""
_ALL = re.compile(r"\s*SELECT\s*\*\s*FROM\s+", re.IGNORECASE)
_LIMIT = re.compile(r"(?:\s+LIMIT\s+(\d{1,9}))?\s*", re.IGNORECASE)
SAMPLE = 5
"""Rows of a dynamic table that its card shows."""
LONGEST_CELL = 2_000
"""Characters of a value that are read to be shown; one more is read of a longer one."""
_MOST_CELLS = 50_000
_MOST_CHARACTERS = 500_000
_LEAST = 20
"""Rows that are read of a result however wide it is."""
_SHORT = re.compile(r"(tiny|small|big)?int|float|double|boolean|date|decimal|timestamp")


@dataclass(frozen=True)
class ResultRows:
    """The first rows of a result, each value as Spark writes it; `columns` are (name, type).
    `truncated`: there are more. `zone` is that of values of the type TIMESTAMP."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str | None, ...], ...]
    truncated: bool = False
    zone: str | None = None


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


def read_rows(context: Context, frame: DataFrame, what: str, limit: int = ROWS_SHOWN) -> ResultRows:
    """At most `limit` of them, fewer of wide ones; runs the Spark jobs of the frame."""
    return interruptible(context, what, lambda: _read(frame, limit))


def read_frame(frame: DataFrame, limit: int = ROWS_SHOWN) -> ResultRows:
    """As `read_rows`, of a DataFrame of any session, without an engine."""
    group = f"show:{uuid.uuid4().hex}"
    return run_cancellable(frame.sparkSession, group, "rows to show", lambda: _read(frame, limit))


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
    found = _rows_of_files(context, table, SAMPLE + 1)
    return context.spark.table(table.name.sql) if found is None else found


def _rows_of_files(context: Context, table: DynamicTable, count: int) -> DataFrame | None:
    log = context.sources.logs[str(context.layout.public(table.id))]
    names = [n for n, _, _ in table.definition.columns]
    rows = head(log, count, names)
    if rows is None:
        return None
    return whole_frame(context.spark, rows, spark_schema(fields_named(log.metadata(), names)))


def read_query_rows(
    context: Context, statement: Statement, frame: DataFrame, what: str
) -> ResultRows:
    """The first rows of a statement's result. Those of `SELECT * FROM` a dynamic table are read
    from its files: the first query of a Delta table takes Spark some seconds."""
    asked = _whole_table(context, statement)
    if asked is None:
        return read_rows(context, frame, what)
    table, limit = asked

    def read() -> ResultRows:
        found = _rows_of_files(context, table, min(limit, ROWS_SHOWN + 1))
        same = found is not None and _columns_of(found) == _columns_of(frame)
        newest = same and _shows_newest(context, table, frame)
        return _read(found if found is not None and newest else frame, ROWS_SHOWN)

    return interruptible(context, what, read)


def _whole_table(context: Context, statement: Statement) -> tuple[DynamicTable, int] | None:
    """The dynamic table all of whose columns a query asks for, and of how many rows at most; None
    for every other query."""
    if not isinstance(statement, SparkStatement) or statement.kind is not SparkKind.QUERY:
        return None
    reads = relations_in(statement.text)
    if statement.timed or len(reads) != 1:
        return None
    ((parts, span),) = reads
    after = _LIMIT.fullmatch(statement.text, span.end)
    if not _ALL.fullmatch(statement.text, 0, span.start) or after is None:
        return None
    name = name_of(parts, context.schema())
    table = context.catalog.get(name)
    found = lookup(context.spark, name)
    hidden_by_another = found is None or found.kind is RelationKind.TEMPORARY_VIEW
    if table is None or table.frontier is None or hidden_by_another:
        return None
    return table, int(after[1] or ROWS_SHOWN + 1)


def _shows_newest(context: Context, table: DynamicTable, frame: DataFrame) -> bool:
    """Whether a result is of the version of the table that is the newest now, too."""
    shown = context.travel.isolation_of(frame)
    log = context.sources.logs[str(context.layout.public(table.id))]
    versions = [r.version for r in shown.reads if r.table_id == table.id] if shown else []
    return versions == [log.version()]


def _columns_of(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    return tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)


def _read(frame: DataFrame, limit: int) -> ResultRows:
    """Values are cut by Spark, so that no long one is collected whole."""
    from pyspark.sql import functions as f

    from dt_jupyter.spark import as_text

    columns = _columns_of(frame)
    most = min(limit, max(_LEAST, _MOST_CELLS // max(1, len(columns))))
    places = [f"c{i}" for i in range(len(columns))]
    texts = [as_text(f.col(p), kind) for p, (_, kind) in zip(places, columns, strict=True)]
    cut = [
        text if _SHORT.match(kind) else f.substring(text, 1, LONGEST_CELL + 1)
        for text, (_, kind) in zip(texts, columns, strict=True)
    ]
    found = frame.limit(most + 1).toDF(*places).select(*cut).collect()
    shown = _few_characters([tuple(row) for row in found[:most]])
    return ResultRows(columns, shown, len(found) > len(shown), _zone(frame, columns))


def _few_characters(rows: list[tuple[str | None, ...]]) -> tuple[tuple[str | None, ...], ...]:
    """As many rows from the first on as a notebook holds easily."""
    room = _MOST_CHARACTERS
    for i, row in enumerate(rows):
        room -= sum(map(len, filter(None, row)))
        if room < 0 and i:
            return tuple(rows[:i])
    return tuple(rows)


def _zone(frame: DataFrame, columns: Sequence[tuple[str, str]]) -> str | None:
    """The zone in which instants are written, where a column has such."""
    instants = any(kind == "timestamp" for _, kind in columns)
    return frame.sparkSession.conf.get("spark.sql.session.timeZone") if instants else None
