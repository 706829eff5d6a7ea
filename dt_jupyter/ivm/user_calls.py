"""Calls of the user's functions within expressions: found, and replaced by columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dt_jupyter.ivm.expr import Between, Closing, Col, Expr, Opening

_Parts = tuple[str | Col, ...]


@dataclass(frozen=True)
class UserCall:
    """A call with its arguments."""

    name: str
    args: tuple[Expr, ...]

    @property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(a.columns for a in self.args))


def innermost_calls(e: Expr, names: frozenset[str]) -> tuple[UserCall, ...]:
    """The calls of the functions `names` that have no other one in their arguments."""
    return tuple(call for _, _, call in _innermost(e.parts, names))


def with_results(e: Expr, names: frozenset[str], results: Mapping[UserCall, str]) -> Expr:
    """The expression with its innermost calls replaced by the columns of their results."""
    parts: list[str | Col] = []
    end = 0
    for start, stop, call in _innermost(e.parts, names):
        replaced = [Col(results[call])] if call in results else list(e.parts[start:stop])
        parts += [*e.parts[end:start], *replaced]
        end = stop
    return Expr((*parts, *e.parts[end:]))


def _innermost(parts: _Parts, names: frozenset[str]) -> Iterator[tuple[int, int, UserCall]]:
    """Where each call begins and ends, and what it is."""
    opened: list[int] = []
    last = -1  # where the last call begins: one that begins before it has it in its arguments
    for i, part in enumerate(parts):
        if isinstance(part, Opening):
            opened.append(i)
        elif isinstance(part, Closing):
            start = opened.pop()
            name = _name(parts[start])
            if name in names and start > last:
                yield start, i + 1, UserCall(name, _arguments(parts[start + 1 : i]))
            if name in names:
                last = max(last, start)


def _name(part: str | Col) -> str:
    return str(part).rstrip("(").strip("`").lower()


def _arguments(parts: _Parts) -> tuple[Expr, ...]:
    found: list[list[str | Col]] = [[]]
    depth = 0
    for part in parts:
        depth += isinstance(part, Opening) - isinstance(part, Closing)
        if isinstance(part, Between) and not depth:
            found.append([])
        else:
            found[-1].append(part)
    return tuple(Expr(tuple(a)) for a in found) if parts else ()
