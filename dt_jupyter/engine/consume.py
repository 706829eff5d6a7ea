"""Transactions and streams from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.engine.evaluate import points
from dt_jupyter.engine.planned_differences import is_view_of, query_of_view
from dt_jupyter.engine.rights.lives import followed
from dt_jupyter.engine.rights.needs import require_statement
from dt_jupyter.engine.script import run_last
from dt_jupyter.failures import FromUser, coded
from dt_jupyter.model import (
    Name,
    Named,
    Stream,
    did_you_mean,
    error,
    name_taken,
    require_name,
    undo,
)
from dt_jupyter.model.hidden import unique_view
from dt_jupyter.sources import holder
from dt_jupyter.spark import lookup, qualified_text
from dt_jupyter.sql import CreateAction, CreateStream, StreamSource, TimePoint
from dt_jupyter.streams import Transaction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


@coded("tx.")
@dataclass(frozen=True)
class OpenTransaction:
    """What a block of `dt.transaction()` works with; `dt.sql` in the block is part of it too."""

    context: Context
    transaction: Transaction

    def sql(self, script: str) -> DataFrame:
        """As `dt.sql`."""
        return run_last(self.context, script)

    def rows(self, stream: str | Name) -> DataFrame:
        """What a stream holds: the same rows throughout. At the end of the block the stream has
        moved past them. DT-3201, DT-3203."""
        self.context.access.require_stream(self.context.name(stream))
        return self.context.transactions.consume(self.context.name(stream))

    def insert(self, frame: DataFrame, into: str | Name) -> None:
        """Adds the rows of a frame to a table, column by name."""
        view = unique_view("frame")
        frame.createOrReplaceTempView(view)
        try:
            into = self.context.name(into).sql
            run_last(self.context, f"INSERT INTO {into} BY NAME SELECT * FROM {view}")
        finally:
            self.context.spark.catalog.dropTempView(view)


@contextmanager
def transaction(context: Context) -> Iterator[OpenTransaction]:
    """BEGIN; COMMIT at the end of the block, ROLLBACK where it raises. The block may do either
    itself, as its last statement. DT-3206, DT-3208, DT-3209."""
    transactions = context.transactions
    mine = transactions.begin()
    try:
        yield OpenTransaction(context, mine)
    except BaseException:
        if transactions.current is mine:
            transactions.rollback()
        raise
    if transactions.current is mine:
        run_last(context, "COMMIT")


def _require_table(context: Context, name: Name) -> None:
    """DT-1101, or DT-1109 for what is not a table that can be written."""
    kind = holder(context.catalog, context.spark, name)
    if kind is None:
        raise error("DT-1101", name=name, hint=did_you_mean(str(name), context.sources.known()))
    if kind != "table":
        hint = "A batch is appended to a table."
        raise error("DT-1109", name=name, kind=kind, expected="table", hint=hint)


def consume(
    context: Context,
    stream: Name,
    fn: Callable[[DataFrame], DataFrame | None],
    *,
    into: str | Name | None = None,
    batches: int | None = None,
    every: float | None = None,
) -> int:
    """Calls `fn` with what the stream holds, in a transaction that moves it; how often it did.

    See `Engine.consume`. The request is checked first, whether or not there is data.
    """
    context.catalog.stream(stream)
    if into is not None:
        _require_table(context, context.name(into))
    done = 0
    while batches is None or done < batches:
        if not context.streams.has_data(stream):
            if every is None:
                return done
            time.sleep(every)
            continue
        with transaction(context) as tx:
            made = _called(fn, tx.rows(stream))
            if into is not None:
                if made is None:
                    problem, hint = "fn returned no DataFrame", "Return a DataFrame, or omit into=."
                    raise error("DT-1003", option="into", value=into, problem=problem, hint=hint)
                tx.insert(made, into)
        done += 1
    return done


def create_stream(
    context: Context,
    name: Name,
    subject: Name | str,
    *,
    at: TimePoint | None,
    append_only: bool,
    show_initial_rows: bool,
    replace: bool,
) -> str:
    """See `Engine.create_stream`. If no stream was created, the view of its query is restored."""
    require_name(Named.STREAM, name)
    known = context.catalog.find_stream(name)
    if known is not None and not replace:
        return _kept_stream(context, known, subject, append_only=append_only)
    source = view_of_stream(name) if isinstance(subject, str) else subject
    with _view_of_query(context, source, subject):
        kind = context.streams.kind_of(source) or StreamSource.TABLE
        action = CreateAction.REPLACE if replace else CreateAction.CREATE
        statement = CreateStream(
            name, kind, source, at, append_only=append_only,
            show_initial_rows=show_initial_rows, action=action,
        )  # fmt: skip
        require_statement(context.access, statement)
        with followed(context.access, context.log, statement):
            return " ".join(context.streams.create(statement, points(context)))


def view_of_stream(name: Name) -> Name:
    """The view that keeps the query of a stream on a query."""
    return Name(name.schema, f"{name.table}__source")


@contextmanager
def _view_of_query(context: Context, view: Name, subject: Name | str) -> Iterator[None]:
    """The view of a query for the block; where that fails, the view is as it was before."""
    if isinstance(subject, Name):
        yield
        return
    before = lookup(context.spark, view, temporary=False)
    run_last(context, f"CREATE OR REPLACE VIEW {view.sql} AS {subject}")
    try:
        yield
    except BaseException as e:
        text = before.text if before is not None else None
        again = f"CREATE OR REPLACE VIEW {view.sql} AS {text}"
        undo(e, lambda: run_last(context, again if text else f"DROP VIEW IF EXISTS {view.sql}"))
        raise


def _kept_stream(context: Context, known: Stream, subject: Name | str, *, append_only: bool) -> str:
    """What is said of a stream that is what is requested; DT-1105 where it differs."""
    name = known.name
    context.access.require_stream(name)
    mode = "APPEND_ONLY" if append_only else "DEFAULT"
    on, same = str(known.source), known.source == subject
    if isinstance(subject, str) and known.source == view_of_stream(name):
        relation = lookup(context.spark, known.source, temporary=False)
        text = relation.text if relation is not None else None
        on, same = query_of_view(text or ""), _is_query(text, subject, context.schema())
    if same and mode == known.mode:
        stands = f"It has given all changes up to {known.advanced.words}"
        return f"Stream {name} is unchanged. {stands}; replace begins it again."
    hint = (
        f"It is {known.mode} on {on}. --replace, or replace=True, begins another one in its place: "
        "what it has not given is lost."
    )
    raise name_taken(Named.STREAM, name, hint)


def _is_query(text: str | None, query: str, schema: str) -> bool:
    return text is not None and is_view_of(text, qualified_text(query, schema))


def _called(fn: Callable[[DataFrame], DataFrame | None], rows: DataFrame) -> DataFrame | None:
    try:
        return fn(rows)
    except Exception as e:
        raise FromUser(e) from e
