"""`dt.apply` as one statement: the definitions that a plan changes, as they were before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.created import Created
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.model import DynamicTable, Name, Reason, SchedulingState, StatementStep, ViewSource
from dt_jupyter.reports import AppliedChange, AppliedPlan, PlannedAction, ScriptPlan
from dt_jupyter.sql import qualified_name

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context
    from dt_jupyter.engine.script import Done

_ROWS = {
    "warehouse": "warehouse",
    "view": "base_view",
    "stream": "stream",
    "task": "task",
    "role": "role",
    "grant": "granted",
    "function": "user_function",
}
"""The tables of the catalog whose rows are all that there is of a kind."""
_UNNAMED = ("warehouse", "role", "function")
_REASON = Reason("DEFINITION_CHANGED", "dt.apply was undone, after it had computed other rows")


def applying(context: Context, plan: ScriptPlan) -> StatementStep:
    """The step of a plan, before it is applied."""
    changed = [c for c in plan.changes if c.action not in (PlannedAction.NONE, PlannedAction.LEAVE)]
    objects = [(_ROWS[c.kind], _stored_name(c.kind, c.name)) for c in changed if c.kind in _ROWS]
    catalog = context.catalog
    tables = (catalog.get(_name(c.name)) for c in changed if c.kind == "dynamic table")
    facts = {
        "objects": objects,
        "point": catalog.registry_point(objects),
        "dynamic": [_facts_of(context, table) for table in tables if table is not None],
        "made": [
            [c.kind, c.name]
            for c in changed
            if c.kind in ("table", "sink") and c.action is PlannedAction.ADD
        ],
    }
    return StatementStep(StepKind.DEFINITIONS_APPLIED, facts)


def _stored_name(kind: str, name: str) -> str:
    if kind == "grant":
        return "*"
    return name if kind in _UNNAMED else _name(name).sql


def _name(text: str) -> Name:
    return qualified_name(text, "default")


def _facts_of(context: Context, table: DynamicTable) -> dict[str, Any]:
    columns = context.catalog.altered_columns(table)
    return {"id": table.id, "columns": columns, "scheduling": table.scheduling}


def describe_applied(plan: ScriptPlan, done: Sequence[Done]) -> AppliedPlan:
    """What the statements of a plan said, by the object that they are about."""
    said: dict[str, list[str]] = {}
    for each in done:
        statement = each.statement
        name = getattr(statement, "name", None) or getattr(statement, "target", None)
        if name is not None:
            said.setdefault(str(name), []).extend(_lines(each))
    words = {c.name: tuple(dict.fromkeys(said.get(c.name, ()))) or (_DONE,) for c in plan.changed}
    return AppliedPlan(tuple(AppliedChange(c, words[c.name]) for c in plan.changed))


def _lines(done: Done) -> list[str]:
    """What a statement said: its status, and of a new table the refresh that it took."""
    found = done.result
    if isinstance(found, Created):
        record = found.record
        took = [f"{record.action}: {record.reason}"] if record is not None else []
        return [found.status, *took, *found.notes]
    if found.columns != ["status"]:
        return []
    (row,) = found.collect()
    return str(row[0]).splitlines()


_DONE = "done"


def return_definitions(context: Context, facts: Mapping[str, Any]) -> None:
    """Undoes `dt.apply`, once the dynamic tables that it made are gone. Sinks that it dropped stay
    so: one that came back would deliver again."""
    for kind, name in reversed(facts["made"]):
        _unmake(context, kind, _name(name))
    objects = [(kind, name) for kind, name in facts["objects"]]
    before = _views_of(context, objects)
    context.catalog.return_to(objects, facts["point"])
    for table in facts["dynamic"]:
        _return_table(context, table)
    _return_views(context, before | _views_of(context, objects))
    context.functions.install(context.spark)
    for warehouse in context.catalog.warehouses():
        context.declare(warehouse)


def _unmake(context: Context, kind: str, name: Name) -> None:
    if kind == "table":
        context.lake_tables.drop(name)
    elif context.catalog.has_sink(name):
        context.sinks.drop(name)


def _views_of(context: Context, objects: Iterable[tuple[str, str]]) -> set[Name]:
    named = {name for kind, name in objects if kind == "base_view"}
    return {v.name for v in context.catalog.views() if v.name.sql in named}


def _return_views(context: Context, names: Iterable[Name]) -> None:
    recorded: dict[Name, ViewSource] = {v.name: v for v in context.catalog.views()}
    for name in names:
        if name not in recorded:
            context.publisher.unmake_view(name)
    context.publisher.restore_views(recorded[name] for name in names if name in recorded)


def _return_table(context: Context, facts: Mapping[str, Any]) -> None:
    """Its rows are computed again where they are those of another definition."""
    catalog, dt_id, columns = context.catalog, facts["id"], dict(facts["columns"])
    table = catalog.by_id(dt_id)
    if table is not None and table.dropped is not None and catalog.get(table.name) is None:
        table = catalog.undrop(table.name)
    if table is None or table.dropped is not None:
        return
    other = catalog.altered_columns(table)["definition"] != columns["definition"]
    table = catalog.reinstate(dt_id, columns)
    if other and table.needs_reinit is None:
        table = catalog.update(dt_id, needs_reinit=_REASON)
    table = catalog.update(dt_id, scheduling=SchedulingState(facts["scheduling"]))
    context.publisher.publish(table)


__all__ = ["applying", "describe_applied", "return_definitions"]
