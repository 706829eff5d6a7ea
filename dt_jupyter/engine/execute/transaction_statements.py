"""BEGIN, COMMIT and ROLLBACK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.model import count_of
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def begin(context: Context, statement: S.Begin, origin: StatementOrigin) -> DataFrame:
    context.transactions.begin()
    return context.tables.status("Transaction started.")


def commit_transaction(context: Context, statement: S.Commit, origin: StatementOrigin) -> DataFrame:
    tables = count_of(len(context.transactions.commit()), "table")
    context.scheduling.nudge()
    return context.tables.status(f"Transaction committed, {tables} written.")


def rollback(context: Context, statement: S.Rollback, origin: StatementOrigin) -> DataFrame:
    context.transactions.rollback()
    return context.tables.status("Transaction rolled back.")
