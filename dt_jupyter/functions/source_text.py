"""The source text of a function, found by Python's own means: a file, or a notebook's cell."""

from __future__ import annotations

import ast
import inspect
import textwrap
from types import FunctionType

from dt_jupyter.model import DTError, error

BY_DEF = "Write it by def, at the top of a cell or a module."
LAMBDA = "function"
"""What a lambda is called in the text that is kept of it."""


def unkept(name: str, problem: str, hint: str = BY_DEF) -> DTError:
    """DT-1131: why a function cannot be kept."""
    return error("DT-1131", name=name, problem=problem, hint=hint)


def source_text(name: str, fn: FunctionType, *, decorated: bool = False) -> str:
    """The text of `fn` alone, as one statement; `decorated`: its decorator makes a UDF of it, and
    is left out. DT-1131 where it cannot be found, or is not all of the function."""
    try:
        text = textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError) as e:
        raise unkept(name, "its source text cannot be found") from e
    if fn.__name__ == "<lambda>":
        return _lambda(name, text)
    return _definition(name, fn, text, decorated)


def entry(tree: ast.Module) -> str:
    """The name that the statement of a kept text gives its function."""
    (made,) = tree.body
    if isinstance(made, ast.FunctionDef):
        return made.name
    if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name):
        return made.targets[0].id
    raise ValueError("the text is not a function")


def _lambda(name: str, text: str) -> str:
    found = [n for n in ast.walk(_parsed(name, text)) if isinstance(n, ast.Lambda)]
    if len(found) != 1:
        raise unkept(name, f"its line has {len(found)} lambdas")
    return f"{LAMBDA} = {ast.unparse(found[0])}"


def _parsed(name: str, text: str) -> ast.Module:
    """A text that may begin or end within a statement: a lambda has its line, and no more."""
    first = text.find("lambda")
    for start in (0, first):
        for end in range(len(text), start, -1):
            try:
                return ast.parse(text[start:end].strip())
            except SyntaxError:
                continue
    raise unkept(name, "its source text cannot be read")


def _definition(name: str, fn: FunctionType, text: str, decorated: bool) -> str:
    tree = ast.parse(text)
    made = tree.body[0] if tree.body else None
    if isinstance(made, ast.AsyncFunctionDef):
        raise unkept(name, "it is asynchronous")
    if not isinstance(made, ast.FunctionDef) or made.name != fn.__name__:
        raise unkept(name, "its source text is that of something else")
    if made.decorator_list and not decorated:
        raise unkept(name, "it is decorated", "Register the function without its decorator.")
    lines = text.splitlines()[made.lineno - 1 : made.end_lineno]
    return "\n".join(lines)
