"""Row generators: explode and its kin, in LATERAL VIEW and in the list of items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import Call, Expr, Refusal, refuse
from dt_jupyter.sql.binding.scalars import function_name

_COLUMNS = {"explode": ("col",), "posexplode": ("pos", "col")}
_OF_MAPS = {"explode": ("key", "value"), "posexplode": ("pos", "key", "value")}
_MAKES = frozenset({*_COLUMNS, "inline", "stack", "json_tuple"})


@dataclass(frozen=True)
class Generator:
    """The call as SQL, and whether it keeps rows of which it makes none."""

    text: Expr
    outer: bool


def is_generator(node: exp.Expr) -> bool:
    if isinstance(node, exp.Explode | exp.Posexplode | exp.Inline | exp.Stack):
        return True
    return isinstance(node, exp.Anonymous | exp.Func) and _plain(node) in _MAKES


def _plain(node: exp.Expr) -> str:
    return function_name(node).removesuffix("_outer")


def generator(
    node: exp.Expr, bind: Callable[[exp.Expr], Expr], given: int = 0
) -> tuple[Generator, tuple[str, ...]]:
    """A generator call and the names of its columns, as `column_names` has them."""
    name = function_name(node)
    made = column_names(node, given)
    if made is None:
        raise refuse(Refusal.LATERAL, what=f"the generator {name}()")
    call = Call(name.removesuffix("_outer").upper(), tuple(map(bind, _arguments(node))))
    return Generator(call, name.endswith("_outer")), made


def column_names(node: exp.Expr, given: int = 0) -> tuple[str, ...] | None:
    """The names of a generator's columns, where its text names `given`; () where they have to be
    named, as they are those of its argument's type; None for what is no generator."""
    plain, arguments = _plain(node), _arguments(node)
    if plain not in _MAKES or not all(isinstance(a, exp.Expr) for a in arguments):
        return None
    if plain == "stack":
        return _stacked(arguments)
    if plain == "json_tuple":
        return tuple(f"c{i}" for i in range(len(arguments) - 1)) or None
    if len(arguments) != 1:
        return None
    of_map = _OF_MAPS.get(plain, ())
    return of_map if of_map and given == len(of_map) else _COLUMNS.get(plain, ())


def _stacked(arguments: list[exp.Expr]) -> tuple[str, ...] | None:
    """So many columns that the values come to as many rows as the first argument says."""
    first, *values = arguments
    rows = int(first.this) if isinstance(first, exp.Literal) and first.is_int else 0
    return tuple(f"col{i}" for i in range(-(-len(values) // rows))) if rows else None


def _arguments(node: exp.Expr) -> list[exp.Expr]:
    first = [] if isinstance(node, exp.Anonymous) else [node.this]
    return [*first, *node.expressions]
