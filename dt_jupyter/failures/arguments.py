"""Arguments checked against the annotations of what they are given to: DT-1031 and DT-1032."""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import inspect
import math
import numbers
import reprlib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dt_jupyter.failures.local_frames import is_local_frame
from dt_jupyter.model import error, is_bigint

_WORDS: Mapping[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "True or False",
    datetime: "a datetime",
    timedelta: "a timedelta",
    type(None): "None",
}
_SHOWN = (str, bytes, bool, float, type(None))
_PRINTABLE = 10**20
LARGEST_INT = 2**31 - 1
"""Spark counts rows to take, and steps, in 32 bits."""


@dataclass(frozen=True)
class ArgumentKind:
    """What a parameter takes: `accepts` says whether a value is one, `word` what it is called."""

    word: str
    accepts: Callable[[Any], bool]


class _Named(dict[str, Any]):
    """The names of a module that only its type checker imports: a class known by its name."""

    def __missing__(self, name: str) -> Any:
        return type(name, (), {"dt_by_name": True})


class Arguments:
    """Those of one function; `call` is what its errors name it by."""

    def __init__(self, call: str, function: Callable[..., Any]) -> None:
        self._call = call
        self._function = function
        self._signature = inspect.signature(function)
        self._kinds: dict[str, tuple[ArgumentKind, ...]] | None = None

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments by name, whole and real numbers of other libraries as Python's own.

        DT-1031 for one of another type than its annotation, DT-1032 for too many or too few,
        DT-1003 for an invalid or too large number.
        """
        try:
            found = self._signature.bind(*args, **kwargs)
        except TypeError as e:
            signature = ", ".join(p for p in self._signature.parameters if p not in ("self", "cls"))
            raise error("DT-1032", call=self._call, problem=e, signature=signature) from None
        for name, kinds in self._known().items():
            if name in found.arguments:
                found.arguments[name] = self._checked(name, kinds, found.arguments[name])
        return found

    def _checked(self, name: str, kinds: tuple[ArgumentKind, ...], value: Any) -> Any:
        value = _plain_number(value)
        if any(kind.accepts(value) for kind in kinds):
            if _unbounded(value):
                raise error(
                    "DT-1003",
                    option=name,
                    value=shown(value),
                    hint="",
                    problem="it is not a number of 64 bits",
                )
            return value
        words = list(dict.fromkeys(kind.word for kind in kinds))
        expected = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        raise error(
            "DT-1031", parameter=name, call=self._call, given=shown(value), expected=expected
        )

    def _known(self) -> dict[str, tuple[ArgumentKind, ...]]:
        if self._kinds is None:
            names = getattr(inspect.unwrap(self._function), "__globals__", {})
            self._kinds = {
                p.name: kinds_of(_evaluated(p.annotation, names))
                for p in self._signature.parameters.values()
                if p.annotation is not p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            }
        return self._kinds


def kinds_of(annotation: Any) -> tuple[ArgumentKind, ...]:
    """What an annotation accepts, one kind for each member of a union."""
    origin = typing.get_origin(annotation)
    if origin in (types.UnionType, typing.Union):
        return tuple(kind for part in typing.get_args(annotation) for kind in kinds_of(part))
    return (_kind(annotation, origin),)


def within(option: str, value: float | None, low: float, high: float) -> None:
    """DT-1003 for an invalid number, or one not from `low` to `high`; None was not given."""
    if value is not None and not low <= value <= high:
        given = f"{value:g}" if isinstance(value, float) else shown(value)
        raise error(
            "DT-1003",
            option=option,
            value=given,
            hint="",
            problem=f"it must be from {low:,} to {high:,}",
        )


def shown(value: Any) -> str:
    """A value in a few words, whatever its `repr` does."""
    kind = type(value)
    if value is None:
        return "None"
    if kind in _SHOWN or (kind is int and abs(value) < _PRINTABLE):
        return f"{reprlib.repr(value)} ({kind.__name__})"
    return f"of type {kind.__name__}"


def _kind(annotation: Any, origin: Any) -> ArgumentKind:
    if annotation is None:
        annotation = type(None)
    if origin is typing.Literal:
        values = typing.get_args(annotation)
        return ArgumentKind(
            " or ".join(map(repr, values)), lambda v: any(v is one for one in values)
        )
    if origin is collections.abc.Callable or annotation is Callable:
        return ArgumentKind("a function", callable)
    if origin is collections.abc.Mapping:
        return ArgumentKind("a dict with strings as keys", _is_mapping_of_texts)
    if isinstance(origin, type):
        annotation = origin
    if not isinstance(annotation, type) or annotation in (Any, object):
        return ArgumentKind("anything", lambda v: True)
    if getattr(annotation, "dt_by_name", False):
        name = annotation.__name__
        return ArgumentKind(
            f"a {name}",
            lambda v: (
                any(k.__name__ == name for k in type(v).__mro__)
                or (name == "DataFrame" and is_local_frame(v))
            ),  # a hint says what to do with one
        )
    word = _WORDS.get(annotation) or f"a {annotation.__name__}"
    if annotation is float:
        return ArgumentKind(word, lambda v: isinstance(v, int | float) and not isinstance(v, bool))
    if annotation is int:
        return ArgumentKind(word, lambda v: isinstance(v, int) and not isinstance(v, bool))
    return ArgumentKind(word, lambda v: isinstance(v, annotation))


def _unbounded(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, int) and not is_bigint(value)


def _is_mapping_of_texts(value: object) -> bool:
    return isinstance(value, collections.abc.Mapping) and all(isinstance(k, str) for k in value)


def _plain_number(value: Any) -> Any:
    """numpy's numbers, which neither the catalog nor JSON takes, as Python's."""
    if isinstance(value, bool | int | float) or not isinstance(value, numbers.Real):
        return value
    with contextlib.suppress(ArithmeticError, ValueError, TypeError):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return value


def _evaluated(annotation: Any, names: Mapping[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {}, _Named({**vars(builtins), **names}))
