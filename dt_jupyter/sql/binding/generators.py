"""Row generators: explode and its kin, in LATERAL VIEW and in the list of items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import Expr, Refusal, expr, refuse
from dt_jupyter.sql.binding.scalars import function_name

_COLUMNS = {"explode": ("col",), "posexplode": ("pos", "col")}
_MAKES_OWN = frozenset({"inline"})
"""Generators whose columns are those of their argument's type: they have to be named."""


@dataclass(frozen=True)
class Generator:
    """The call as SQL, and whether it keeps rows of which it makes none."""

    text: Expr
    outer: bool


def is_generator(node: exp.Expr) -> bool:
    if isinstance(node, exp.Explode | exp.Posexplode | exp.Inline):
        return True
    return isinstance(node, exp.Anonymous | exp.Func) and _plain(node) in (*_COLUMNS, *_MAKES_OWN)


def _plain(node: exp.Expr) -> str:
    return function_name(node).removesuffix("_outer")


def generator(
    node: exp.Expr, bind: Callable[[exp.Expr], Expr]
) -> tuple[Generator, tuple[str, ...]]:
    """A generator call and the names of its columns (none: they must be given)."""
    name = function_name(node)
    plain = name.removesuffix("_outer")
    if plain not in (*_COLUMNS, *_MAKES_OWN):
        raise refuse(Refusal.LATERAL, what=f"the generator {name}()")
    arguments = list(node.expressions) if isinstance(node, exp.Anonymous) else [node.this]
    if len(arguments) != 1 or not isinstance(arguments[0], exp.Expr):
        raise refuse(Refusal.LATERAL, what=f"the generator {name}() with other arguments")
    text = expr(plain.upper() + "({x})", x=bind(arguments[0]))
    return Generator(text, name.endswith("_outer")), _COLUMNS.get(plain, ())
