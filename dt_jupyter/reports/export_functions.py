"""User functions in an exported script: those of SQL as statements, those of Python as the
text that registers them again."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from dt_jupyter.model import Captured, CapturedKind, FunctionKind, UserFunction, quote
from dt_jupyter.sql import called_functions

_PYTHON = (
    "-- Functions of Python. These lines, without their dashes, register them: run them before."
)


def sql_functions(functions: Sequence[UserFunction]) -> Iterator[str]:
    """CREATE FUNCTION of each, after those that it calls."""
    waiting = [f for f in functions if f.kind is FunctionKind.SQL]
    while waiting:
        names = {f.name for f in waiting}
        ready = (f for f in waiting if not names & set(called_functions(f.source)) - {f.name})
        made = next(ready, waiting[0])
        waiting.remove(made)
        yield _statement(made)


def _statement(function: UserFunction) -> str:
    parameters = ", ".join(f"{quote(n)} {t}" for n, t in function.parameters)
    return (
        f"CREATE OR REPLACE FUNCTION {quote(function.name)}({parameters})"
        f" RETURNS {function.returns} RETURN {function.source}"
    )


def python_functions(functions: Sequence[UserFunction]) -> list[str]:
    """The registrations as comments of SQL; none where there are no such functions."""
    made = [f for f in functions if f.kind is not FunctionKind.SQL]
    lines = [line for f in made for line in (*registration(f).splitlines(), "")]
    return ["\n".join([_PYTHON, *(f"-- {line}".rstrip() for line in lines[:-1])])] if made else []


def registration(function: UserFunction) -> str:
    """The Python by which a function is registered again, what it reads from around it first."""
    captured = [_captured(c) for c in function.captured]
    if function.place:
        module, _, path = function.place.partition(":")
        captured.append(f"import {module}")
        called = f"{module}.{path}"
    else:
        captured.append(function.source.rstrip())
        called = _entry(function.source)
    kind = "" if function.kind is FunctionKind.PYTHON else f", kind={function.kind.lower()!r}"
    kept = ", immutable=True" if function.immutable else ""
    kept += ", on_change=True" if function.on_change else ""
    named = f"{function.name!r}, {called}, {function.returns!r}"
    return "\n".join([*captured, f"dt.register_udf({named}{kind}{kept})"])


def _captured(one: Captured) -> str:
    match one.kind:
        case CapturedKind.MODULE:
            return f"import {one.text} as {one.name}"
        case CapturedKind.MEMBER:
            module, _, path = one.text.partition(":")
            first, _, rest = path.partition(".")
            made = f"from {module} import {first} as {one.name}"
            return f"{made}\n{one.name} = {one.name}.{rest}" if rest else made
        case CapturedKind.VALUE:
            return f"{one.name} = {one.text}"
        case CapturedKind.FUNCTION:
            return one.text.rstrip()


def _entry(source: str) -> str:
    """The name that the text gives the function."""
    (made,) = ast.parse(source).body
    if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name):
        return made.targets[0].id
    assert isinstance(made, ast.FunctionDef)
    return made.name
