"""The names that a function reads from around it, and how each is kept: as an import, as a literal,
or as the text of another function."""

from __future__ import annotations

import ast
import builtins
import dis
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from dt_jupyter.functions.packages import distribution_of, is_installed
from dt_jupyter.functions.source_text import source_text, unkept
from dt_jupyter.model import Captured, CapturedKind

_LONGEST = 100_000
_MISSING = object()


@dataclass
class Capture:
    """Gathers what the function registered as `name` reads, function by function."""

    name: str
    found: dict[str, Captured] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)

    def names_of(self, fn: FunctionType, source: str) -> None:
        """All names of one function, and of the functions that it calls. DT-1131 where one refers
        to what cannot be stored."""
        if written := sorted(_written(fn.__code__)):
            raise unkept(self.name, f"it changes {written[0]}, a name outside of it",
                          "Give all that it needs as arguments.")  # fmt: skip
        around = _around(fn)
        for used in dict.fromkeys((*_read(fn.__code__), *_in_defaults(source))):
            value = around.get(used, _MISSING)
            if hasattr(builtins, used) and _is_builtin(used, value):
                continue
            if value is _MISSING:
                raise unkept(self.name, f"it uses {used}, which is not defined")
            self._keep(used, value, fn)

    def _keep(self, used: str, value: Any, user: FunctionType) -> None:
        if value is user and used == user.__name__:
            return  # it calls itself
        kept = self._captured(used, value)
        known = self.found.get(used)
        if known is not None and known != kept:
            raise unkept(self.name, f"{used} means two things in it")
        if known is None:
            self.found[used] = kept
            if kept.kind is CapturedKind.FUNCTION:
                self.names_of(value, kept.text)

    def _captured(self, used: str, value: Any) -> Captured:
        if isinstance(value, ModuleType):
            self._require_installed(used, value.__name__)
            return Captured(used, CapturedKind.MODULE, value.__name__)
        if place := place_of(value):
            self.modules.add(place.partition(":")[0])
            return Captured(used, CapturedKind.MEMBER, place)
        if isinstance(value, FunctionType):
            if value.__name__ != used:
                raise unkept(self.name, f"{used} is another name for the function "
                              f"{value.__name__}", "Call it by its own name.")  # fmt: skip
            return Captured(used, CapturedKind.FUNCTION, source_text(self.name, value))
        if (text := literal_text(value)) is not None:
            return Captured(used, CapturedKind.VALUE, text)
        kind = type(value).__name__
        raise unkept(self.name, f"it uses {used}, a value of type {kind}, which is not a literal",
                      "Make it inside of the function, or give it as an argument.")  # fmt: skip

    def _require_installed(self, used: str, module: str) -> None:
        if not is_installed(module):
            raise unkept(self.name, f"it uses {used}, a module that is not of an installed package",
                          "Define what it needs next to it.")  # fmt: skip
        self.modules.add(module)


def place_of(value: Any) -> str:
    """`module:qualified.name` of what a package or Python itself has; "" of all else."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str) or not is_installed(module):
        return ""
    if not isinstance(value, FunctionType | BuiltinFunctionType | type) and not callable(value):
        return ""
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return f"{module}:{path}" if found is value else ""


def literal_text(value: object) -> str | None:
    """The text of a value that Python's literals give again; None of any other."""
    text = repr(value)
    if len(text) > _LONGEST:
        return None
    try:
        again = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return text if type(again) is type(value) and bool(again == value) else None


def versions_of(modules: set[str]) -> tuple[tuple[str, str], ...]:
    """The versions of the packages that hold these modules, and of Python."""
    found = {d for m in modules if (d := distribution_of(m)) is not None}
    python = ("python", ".".join(map(str, sys.version_info[:3])))
    return (python, *sorted(found))


def _around(fn: FunctionType) -> Mapping[str, Any]:
    """The values of the names outside of a function: those around it, then the module's."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
    return {**fn.__globals__, **{n: _content(c) for n, c in cells}}


def _is_builtin(used: str, value: Any) -> bool:
    """Whether a name means Python's own: IPython's `open`, around it, refuses three files."""
    return value is _MISSING or getattr(value, "__wrapped__", None) is getattr(builtins, used)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _read(code: CodeType) -> Iterator[str]:
    yield from code.co_freevars
    for each in _codes(code):
        for step in dis.get_instructions(each):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                yield step.argval


def _written(code: CodeType) -> set[str]:
    own = {n for each in _codes(code) for n in each.co_cellvars}
    return {
        step.argval
        for each in _codes(code)
        for step in dis.get_instructions(each)
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
        or (step.opname == "STORE_DEREF" and step.argval not in own)
    }


def _in_defaults(source: str) -> Iterator[str]:
    """The names in the defaults of a function's parameters."""
    (made,) = ast.parse(source).body
    arguments = made.args if isinstance(made, ast.FunctionDef) else None
    if isinstance(made, ast.Assign) and isinstance(made.value, ast.Lambda):
        arguments = made.value.args
    defaults = [*arguments.defaults, *arguments.kw_defaults] if arguments is not None else []
    for default in defaults:
        if default is not None:
            yield from (n.id for n in ast.walk(default) if isinstance(n, ast.Name))
