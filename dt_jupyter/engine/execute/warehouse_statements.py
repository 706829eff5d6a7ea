"""CREATE, ALTER, DROP and SHOW of warehouses."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.model import Named, Warehouse
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context


def create_warehouse(
    context: Context, statement: S.CreateWarehouse, origin: StatementOrigin
) -> DataFrame:
    catalog = context.catalog
    made = Warehouse(
        statement.name,
        statement.max_concurrency,
        statement.weight,
        auto_suspend=statement.auto_suspend,
        auto_resume=statement.auto_resume,
    )
    exists = statement.name in {w.name for w in catalog.warehouses()}
    if exists and statement.action is S.CreateAction.REPLACE:
        made = catalog.alter_warehouse(
            made.name,
            max_concurrency=made.max_concurrency,
            weight=made.weight,
            suspended=False,
            auto_suspend=made.auto_suspend,
            auto_resume=made.auto_resume,
        )
    else:
        quiet = statement.action is S.CreateAction.IF_NOT_EXISTS
        made = catalog.create_warehouse(made, if_not_exists=quiet)
    context.declare(made)
    return context.tables.status(f"Warehouse {statement.name} ready.")


def alter_warehouse(
    context: Context, statement: S.AlterWarehouse, origin: StatementOrigin
) -> DataFrame:
    catalog, name, change = context.catalog, statement.name, statement.change
    known = {w.name for w in catalog.warehouses()}
    if statement.if_exists and name not in known:
        return context.tables.status(f"{name} does not exist, nothing done.")
    catalog.warehouse(name)
    if isinstance(change, S.SetWarehouse):
        context.declare(catalog.alter_warehouse(name, **asdict(change)))
    else:
        catalog.alter_warehouse(name, suspended=isinstance(change, S.Suspend))
    context.scheduling.nudge()
    return context.tables.status(f"Warehouse {name} altered.")


def drop_warehouse(
    context: Context, statement: S.DropWarehouse, origin: StatementOrigin
) -> DataFrame:
    catalog, name = context.catalog, statement.name
    known = {w.name for w in catalog.warehouses()}
    stuck = catalog.quarantine.find(name, Named.WAREHOUSE)
    if statement.if_exists and name not in known and stuck is None:
        return context.tables.status(f"{name} does not exist, nothing done.")
    catalog.drop_warehouse(name)
    return context.tables.status(f"Warehouse {name} dropped.")


def show_warehouses(
    context: Context, statement: S.ShowWarehouses, origin: StatementOrigin
) -> DataFrame:
    return context.tables.warehouses(statement.like, context.scheduling.queued())
