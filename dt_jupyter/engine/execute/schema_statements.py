"""CREATE SCHEMA … CLONE, ALTER SCHEMA … RENAME and SWAP, and UNDROP SCHEMA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.clone_schema import SchemaCloner
from dt_jupyter.engine.dropped_schemas import undrop_schema
from dt_jupyter.engine.evaluate import points
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.schema_names import rename_schema, swap_schemas
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def _done(context: Context, said: str) -> DataFrame:
    context.scheduling.nudge()
    return context.tables.status(said)


def clone_schema(context: Context, statement: S.CloneSchema, origin: StatementOrigin) -> DataFrame:
    evaluate = points(context, origin.args)
    at = evaluate.moment(statement.at) if statement.at is not None else None
    cloner = SchemaCloner(context.cloner, context.streams, context.lake_tables.known, evaluate)
    said = cloner.clone(statement, at)
    return _done(context, said)


def run_rename_schema(
    context: Context, statement: S.RenameSchema, origin: StatementOrigin
) -> DataFrame:
    said = rename_schema(context, statement.name, statement.new_name)
    return _done(context, said)


def run_swap_schemas(
    context: Context, statement: S.SwapSchemas, origin: StatementOrigin
) -> DataFrame:
    said = swap_schemas(context, statement.name, statement.other)
    return _done(context, said)


def bring_schema_back(
    context: Context, statement: S.UndropSchema, origin: StatementOrigin
) -> DataFrame:
    said = undrop_schema(context, statement.name)
    return _done(context, said)


__all__ = ["bring_schema_back", "clone_schema", "run_rename_schema", "run_swap_schemas"]
