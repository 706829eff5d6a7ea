"""What is explained or traced, found by the name or the statement that a user gives."""

from __future__ import annotations

from dataclasses import replace

from dt_jupyter.definition import Defined
from dt_jupyter.engine.context import Context
from dt_jupyter.engine.definition_changes import with_unsaid
from dt_jupyter.engine.rows import interruptible
from dt_jupyter.model import Name, Right
from dt_jupyter.reports import (
    Explanation,
    Lineage,
    PlannedAction,
    PlannedChange,
    explain_defined,
    explain_table,
)
from dt_jupyter.spark import Args, bind_definition, lookup
from dt_jupyter.sql import CreateAction, CreateDynamicTable


def explain_subject(
    context: Context, subject: str | Name | CreateDynamicTable, args: Args
) -> Explanation:
    """Of a dynamic table, or of a statement that would make one."""

    def run() -> Explanation:
        if isinstance(subject, CreateDynamicTable):
            bound = replace(subject, query=bind_definition(subject.query, args))
            defined = context.creator.define(bound)
            change = _change(context, bound, defined)
            return replace(explain_defined(subject.name, defined), change=change)
        table = context.table(subject)
        with context.sessions.lease(table.warehouse, table.definition.settings) as spark:
            return explain_table(spark, context.refresher, table, context.clock.now())

    name = subject.name if isinstance(subject, CreateDynamicTable) else subject
    return interruptible(context, f"Explaining {name}", run)


def _change(
    context: Context, statement: CreateDynamicTable, defined: Defined
) -> PlannedChange | None:
    """What the statement would do to the table that has the name; None where there is none, or it
    is not the role's."""
    existing = context.catalog.get(statement.name)
    if existing is None or not context.access.may(Right.OWNERSHIP, existing.name):
        return None
    if statement.action is CreateAction.IF_NOT_EXISTS:
        return PlannedChange("dynamic table", str(existing.name), PlannedAction.NONE)
    return context.creator.compare(existing, with_unsaid(existing, statement), defined)


def lineage_of(context: Context, name: str | Name) -> Lineage:
    """Of a dynamic table, or of a table of the session that dynamic tables read. DT-1101."""
    known = context.name(name)
    if context.catalog.get(known) is not None:
        return context.lineages.of(known)
    if lookup(context.spark, known) is None:
        known = context.catalog.require(known).name
    fields = context.spark.table(known.sql).schema.fields
    return context.lineages.of(known, tuple((f.name, f.dataType.simpleString()) for f in fields))
