"""Transactions and streams from Python."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.engine.taken import holder
from dt_jupyter.engine.transactions import Transaction
from dt_jupyter.failures import FromUser, coded
from dt_jupyter.model import Name, did_you_mean, error
from dt_jupyter.model.hidden import unique_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.core import Engine


@coded("tx.")
@dataclass(frozen=True)
class OpenTransaction:
    """What a block of `dt.transaction()` works with; `dt.sql` in the block is part of it too."""

    engine: Engine
    transaction: Transaction

    def sql(self, script: str) -> DataFrame:
        """As `dt.sql`."""
        return self.engine.sql(script)

    def rows(self, stream: str | Name) -> DataFrame:
        """What a stream holds: the same rows throughout. At the end of the block the stream has
        moved past them. DT-3201, DT-3203."""
        return self.engine.transactions.consume(self.engine.name(stream))

    def insert(self, frame: DataFrame, into: str | Name) -> None:
        """Adds the rows of a frame to a table, column by name."""
        view = unique_view("frame")
        frame.createOrReplaceTempView(view)
        try:
            self.engine.sql(
                f"INSERT INTO {self.engine.name(into).sql} BY NAME SELECT * FROM {view}"
            )
        finally:
            self.engine.spark.catalog.dropTempView(view)


@contextmanager
def transaction(engine: Engine) -> Iterator[OpenTransaction]:
    """BEGIN; COMMIT at the end of the block, ROLLBACK where it raises. The block may do either
    itself, as its last statement. DT-3206, DT-3208, DT-3209."""
    transactions = engine.transactions
    mine = transactions.begin()
    try:
        yield OpenTransaction(engine, mine)
    except BaseException:
        if transactions.current is mine:
            transactions.rollback()
        raise
    if transactions.current is mine:
        engine.sql("COMMIT")


def _require_table(engine: Engine, name: Name) -> None:
    """DT-1101, or DT-1109 for what is no table that can be written."""
    kind = holder(engine.catalog, engine.spark, name)
    if kind is None:
        raise error("DT-1101", name=name, hint=did_you_mean(str(name), engine.sources.known()))
    if kind != "table":
        hint = "A batch is added to a table."
        raise error("DT-1109", name=name, kind=kind, expected="table", hint=hint)


def consume(
    engine: Engine, stream: Name, fn: Callable[[DataFrame], DataFrame | None], *,
    into: str | Name | None = None, batches: int | None = None, every: float | None = None,
) -> int:  # fmt: skip
    """Calls `fn` with what the stream holds, in a transaction that moves it; how often it did.

    See `Engine.consume`. What is asked for is looked at first, whether or not there is data.
    """
    engine.catalog.stream(stream)
    if into is not None:
        _require_table(engine, engine.name(into))
    done = 0
    while batches is None or done < batches:
        if not engine.streams.has_data(stream):
            if every is None:
                return done
            time.sleep(every)
            continue
        with transaction(engine) as tx:
            made = _called(fn, tx.rows(stream))
            if into is not None:
                if made is None:
                    problem, hint = "fn returned no DataFrame", "Return it, or leave into= out."
                    raise error("DT-1003", option="into", value=into, problem=problem, hint=hint)
                tx.insert(made, into)
        done += 1
    return done


def _called(fn: Callable[[DataFrame], DataFrame | None], rows: DataFrame) -> DataFrame | None:
    try:
        return fn(rows)
    except Exception as e:
        raise FromUser(e) from e
