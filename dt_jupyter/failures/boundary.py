"""The outermost place: what leaves a public method is an error of the catalogue.

One class decorator for all of a class's public methods, so that a new one needs nothing.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar, cast

from dt_jupyter.failures.arguments import Arguments
from dt_jupyter.failures.signs import causes
from dt_jupyter.failures.words import catalogued
from dt_jupyter.model import DTError
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sql import position, underline

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
GUARDED = hidden("guarded__")
_PROTOCOLS = frozenset({"__enter__", "__exit__", "__getitem__", "__iter__", "__len__", "__repr__"})


class FromUser(Exception):
    """Carries what the user's own function raised through ours: it passes as it is."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(str(failure))
        self.failure = failure


def coded(prefix: str) -> Callable[[type[T]], type[T]]:
    """Guards the public methods and properties of a class, those it inherits aside; its errors
    name `prefix` and the method.

    Their arguments are checked against the annotations (DT-1031, DT-1032), and all that is raised
    is a DTError, or a KeyboardInterrupt; also what a generator or a context manager that is
    returned raises later.
    """

    def guard(cls: type[T]) -> type[T]:
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") or name in _PROTOCOLS:
                guarded = _guarded_member(f"{prefix}{name}", member)
                if guarded is not member:
                    setattr(cls, name, guarded)
                    if isinstance(guarded, functools.cached_property):
                        guarded.__set_name__(cls, name)
        return cls

    return guard


def coded_call(call: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Guards a function as `coded` does methods; its errors name it `call`."""

    def guard(function: Callable[P, R]) -> Callable[P, R]:
        return cast("Callable[P, R]", _guarded(call, function))

    return guard


def _guarded_member(call: str, member: Any) -> Any:
    match member:
        case types.FunctionType():
            return _guarded(call, member)
        case classmethod():
            return classmethod(_guarded(call, member.__func__))
        case property():
            return property(
                _guarded(call, cast(Callable[..., Any], member.fget)),
                member.fset,
                member.fdel,
                member.__doc__,
            )
        case functools.cached_property():
            return functools.cached_property(_guarded(call, member.func))
    return member


def _guarded(call: str, function: Callable[..., Any]) -> Callable[..., Any]:
    arguments = Arguments(call, function)

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        with _catalogue(call):
            given = arguments.bound(args, kwargs)
            return _lasting(call, function(*given.args, **given.kwargs))

    setattr(guarded, GUARDED, True)
    return guarded


class _catalogue:
    """What is raised inside leaves as an error of the catalogue; `own` passes as it is."""

    def __init__(self, call: str, own: BaseException | None = None) -> None:
        self._call, self._own = call, own

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        if isinstance(failure, DTError):
            _note_place(failure)
        if not isinstance(failure, Exception) or isinstance(failure, DTError):
            return
        if failure is self._own:
            return
        if isinstance(failure, FromUser):
            raise failure.failure from failure.failure.__cause__
        if any(isinstance(cause, KeyboardInterrupt) for cause in causes(failure, handled=True)):
            raise KeyboardInterrupt from failure  # py4j makes a network error of it
        made = catalogued(failure, self._call)
        _note_place(made)
        raise made from failure


def _note_place(failure: DTError) -> None:
    """The line with carets beneath, once, for a reader of the exception: Python's own traceback
    shows notes, and no fields."""
    if failure.query and failure.span and not hasattr(failure, "__notes__"):
        line, _ = position(failure.query, failure.span.start)
        failure.add_note(f"Line {line}:\n{underline(failure.query, failure.span)}")


def _lasting(call: str, value: Any) -> Any:
    """What runs on after the call is guarded too."""
    if isinstance(value, types.GeneratorType):
        return _each(call, value)
    if isinstance(value, contextlib._GeneratorContextManager):
        return _Block(call, value)
    return value


def _each(call: str, found: Iterator[Any]) -> Iterator[Any]:
    with _catalogue(call):
        yield from found


class _Block(contextlib.AbstractContextManager[Any]):
    """A context manager of ours around a block of the user's: what that raises is the user's."""

    def __init__(self, call: str, inner: contextlib.AbstractContextManager[Any]) -> None:
        self._call, self._inner = call, inner

    def __enter__(self) -> Any:
        with _catalogue(self._call):
            return self._inner.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: types.TracebackType | None,
    ) -> bool | None:
        quiet = None
        with _catalogue(self._call, failure):
            quiet = self._inner.__exit__(kind, failure, trace)
        return quiet
