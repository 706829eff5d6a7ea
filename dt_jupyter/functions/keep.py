"""A function of Python as a value that the catalog can keep, and that gives it again."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from dt_jupyter.functions.captured_names import Capture, place_of, versions_of
from dt_jupyter.functions.make import make_function
from dt_jupyter.functions.source_text import source_text, unkept
from dt_jupyter.model import FunctionKind, UserFunction

_KIND_OF = {
    100: FunctionKind.PYTHON,
    101: FunctionKind.PYTHON,
    200: FunctionKind.PANDAS,
    250: FunctionKind.ARROW,
}
"""PySpark's numbers of the kinds of a UDF."""


def keep_function(
    name: str, fn: Callable[..., Any], returns: str, kind: FunctionKind, *, immutable: bool,
    on_change: bool = False,
) -> UserFunction:  # fmt: skip
    """What is kept of `fn`, which may be a UDF of PySpark's too. DT-1131 where it uses what cannot
    be kept, DT-1132 where what was kept does not give it again."""
    plain, kind, decorated = _plain(name, fn, kind)
    if place := place_of(plain):
        source = _imported_text(plain)
        packages = versions_of({place.partition(":")[0]})
        made = UserFunction(name, kind, returns, immutable, source, place, (), packages)
    else:
        made = _by_source(name, plain, returns, kind, immutable, decorated)
    made = replace(made, on_change=on_change)
    make_function(made)
    return made


def _by_source(
    name: str, fn: Any, returns: str, kind: FunctionKind, immutable: bool, decorated: bool
) -> UserFunction:
    if not isinstance(fn, FunctionType):
        raise unkept(name, f"it is of type {type(fn).__name__}, and not a function of Python")
    if inspect.unwrap(fn) is not fn:
        raise unkept(name, "it is decorated", "Register the function without its decorator.")
    if inspect.isgeneratorfunction(fn) or inspect.iscoroutinefunction(fn):
        raise unkept(name, "it does not return a value when it is called")
    source = source_text(name, fn, decorated=decorated)
    capture = Capture(name)
    capture.names_of(fn, source)
    captured, packages = tuple(capture.found.values()), versions_of(capture.modules)
    return UserFunction(name, kind, returns, immutable, source, "", captured, packages)


def _plain(name: str, fn: Any, kind: FunctionKind) -> tuple[Any, FunctionKind, bool]:
    """The function of a UDF, and its kind; any other as it is."""
    evaluated = getattr(fn, "evalType", None)
    if evaluated is None:
        return fn, kind, False
    if evaluated not in _KIND_OF:
        hint = "Use functions from values to a value, or from Series to Series."
        raise unkept(name, "it is a UDF of another kind than scalar", hint)
    return fn.func, _KIND_OF[evaluated], True


def _imported_text(fn: Any) -> str:
    """The source of what is imported, by which a change of it is noticed; "" of compiled code."""
    try:
        return inspect.getsource(fn)
    except (OSError, TypeError):
        return ""
