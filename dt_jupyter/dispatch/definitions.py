"""The text that changes an object of the lake, for a cell to be edited in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.dispatch.task_answers import task_of
from dt_jupyter.model import Right, error
from dt_jupyter.reports import editable_definition
from dt_jupyter.sql import qualified_name

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine


def text_to_edit(engine: Engine, node: str) -> str:
    """Of the dynamic table, view or task whose node is called so; DT-1101 for anything else."""
    context = engine.context
    if (task := task_of(node)) is not None:
        context.access.require_task(Right.MONITOR, task)
        return editable_definition(context.catalog.task(task))
    name = qualified_name(node, "default")
    context.access.require_sees(name)
    view = next((v for v in context.catalog.views() if v.name == name), None)
    found = view or context.catalog.get(name)
    if found is None:
        raise error("DT-1101", name=name, hint="It is not a dynamic table, view or task.")
    return editable_definition(found)
