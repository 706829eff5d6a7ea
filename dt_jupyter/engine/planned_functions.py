"""Functions of Python in a plan: those that the comments of a script register, in addition to the
lake's.

A script registers none itself: what is in a comment is run by its reader, never by a plan.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from dt_jupyter.engine.planned_differences import text_differs
from dt_jupyter.model import DynamicTable, FunctionKind, UserFunction, error
from dt_jupyter.reports import PlannedAction, PlannedChange, ScriptPlan, registration

PYTHON_FUNCTION = "Python function"
_REGISTERS = "dt.register_udf("
ROWS_OF_CALLERS = "recomputed in the tables that call it"


def registered_by(script: str) -> dict[str, str]:
    """The functions of Python that an exported script has in its comments: by name, the lines that
    register each."""
    found: dict[str, str] = {}
    lines: list[str] = []
    for written in script.splitlines():
        if not written.startswith("--"):
            lines = []
            continue
        line = written.removeprefix("--").removeprefix(" ")
        if written.startswith("-- Functions of Python."):
            lines = []
        elif line or lines:
            lines.append(line)
        if line.startswith(_REGISTERS) and (name := _name(line)) is not None:
            found[name] = "\n".join(lines)
            lines = []
    return found


def _name(line: str) -> str | None:
    try:
        call = ast.parse(line).body[0]
    except SyntaxError:
        return None
    if not isinstance(call, ast.Expr) or not isinstance(call.value, ast.Call):
        return None
    first = call.value.args[0] if call.value.args else None
    value = first.value if isinstance(first, ast.Constant) else None
    return value if isinstance(value, str) else None


def python_changes(
    script: str, functions: Iterable[UserFunction], called_in: Callable[[str], tuple[str, ...]]
) -> Iterator[PlannedChange]:
    """`called_in` gives the dynamic tables that call a function, and those downstream of them."""
    asked = registered_by(script)
    known = {f.name: _text(f) for f in functions if f.kind is not FunctionKind.SQL}
    for name, text in asked.items():
        yield _change(name, text, known, called_in)
    for name in known.keys() - asked.keys():
        yield PlannedChange(PYTHON_FUNCTION, name, PlannedAction.LEAVE, affects=called_in(name))


def _change(
    name: str, text: str, known: Mapping[str, str], called_in: Callable[[str], tuple[str, ...]]
) -> PlannedChange:
    if name not in known:
        return PlannedChange(PYTHON_FUNCTION, name, PlannedAction.ADD)
    if known[name] == text:
        return PlannedChange(PYTHON_FUNCTION, name, PlannedAction.NONE)
    tables = called_in(name)
    rows = ROWS_OF_CALLERS if tables else ""
    differs = text_differs(known[name], text)
    return PlannedChange(
        PYTHON_FUNCTION, name, PlannedAction.CHANGE, ("text",), rows, tables, differs
    )


def _text(function: UserFunction) -> str:
    return "\n".join(line.rstrip() for line in registration(function).splitlines())


def require_registered(plan: ScriptPlan) -> None:
    """DT-1153 where a function of Python is not the one of the script."""
    for change in plan.changed:
        if change.kind == PYTHON_FUNCTION:
            raise error("DT-1153", name=change.name)


def calls(table: DynamicTable, function: str) -> bool:
    return any(use.name == function for use in table.definition.functions)


__all__ = ["PYTHON_FUNCTION", "calls", "python_changes", "registered_by", "require_registered"]
