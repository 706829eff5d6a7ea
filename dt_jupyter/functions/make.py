"""A function recreated from what was stored of it: in its own namespace, in any process."""

from __future__ import annotations

import ast
import builtins
import importlib
import linecache
from collections.abc import Callable, Iterable
from typing import Any

from dt_jupyter.functions.captured_names import versions_of
from dt_jupyter.functions.source_text import entry
from dt_jupyter.model import Captured, CapturedKind, UserFunction, error

_UNMADE = (ImportError, AttributeError, SyntaxError, ValueError, NameError, TypeError)


def file_of(name: str) -> str:
    """What a traceback calls the text of a function."""
    return f"<function {name}>"


def make_function(function: UserFunction) -> Callable[..., Any]:
    """The function itself. DT-1132 where a module is missing here, or its text cannot be read."""
    try:
        if function.place:
            return _imported(function)
        return _compiled(function)
    except _UNMADE as e:
        problem = f"{type(e).__name__}: {e}"
        hint = "Install what it needs, or register it again."
        raise error("DT-1132", name=function.name, problem=problem, hint=hint) from e


def telling_arguments(function: UserFunction, made: Callable[..., Any]) -> Callable[..., Any]:
    """The function; an exception in it names the arguments of the call. It needs nothing
    of ours where it is called: executors are sent all of it."""
    space: dict[str, Any] = {"__name__": f"dt_function_{function.name}", "called": made}
    exec(compile(_TELLING, "<arguments>", "exec"), space)
    telling: Callable[..., Any] = space["telling"]
    return telling


ARGUMENTS = "It was called with"
_TELLING = f"""
def telling(*arguments, **named):
    try:
        return called(*arguments, **named)
    except Exception as problem:
        import reprlib
        shown = [reprlib.repr(a) for a in (*arguments, *named.values())]
        problem.add_note("{ARGUMENTS} (" + ", ".join(shown) + ")")
        raise
"""


def changed_packages(function: UserFunction) -> tuple[str, ...]:
    """The packages that have another version here than where it was registered."""
    home = {c.text for c in function.captured if c.kind is CapturedKind.MODULE}
    home |= {c.text.partition(":")[0] for c in function.captured if c.kind is CapturedKind.MEMBER}
    if function.place:
        home.add(function.place.partition(":")[0])
    here = dict(versions_of(home))
    return tuple(
        f"{package} is {here.get(package, 'missing')}, and was {version}"
        for package, version in function.packages
        if package != "python" and here.get(package) != version
    )


def _imported(function: UserFunction) -> Callable[..., Any]:
    found = _member(function.place)
    if not callable(found):
        raise ValueError(f"{function.place} is not a function")
    return found  # type: ignore[no-any-return]


def _member(place: str) -> Any:
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _compiled(function: UserFunction) -> Callable[..., Any]:
    space: dict[str, Any] = {"__name__": f"dt_function_{function.name}", "__builtins__": builtins}
    _bind(space, (c for c in function.captured if c.kind is not CapturedKind.FUNCTION))
    for captured in function.captured:
        if captured.kind is CapturedKind.FUNCTION:
            _execute(captured.text, file_of(captured.name), space)
    made: Callable[..., Any] = space[_execute(function.source, file_of(function.name), space)]
    return made


def _bind(space: dict[str, Any], names: Iterable[Captured]) -> None:
    for one in names:
        match one.kind:
            case CapturedKind.MODULE:
                space[one.name] = importlib.import_module(one.text)
            case CapturedKind.MEMBER:
                space[one.name] = _member(one.text)
            case CapturedKind.VALUE:
                space[one.name] = ast.literal_eval(one.text)


def _execute(source: str, file: str, space: dict[str, Any]) -> str:
    """Runs the one statement that makes a function; its name."""
    tree = ast.parse(source)
    name = entry(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None  # it may name what is not kept
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(tree, file, "exec"), space)
    return name
