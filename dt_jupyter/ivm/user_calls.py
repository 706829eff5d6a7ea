"""Calls of the user's functions within expressions: found, and replaced by columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dt_jupyter.ivm.expr import Call, Column, Expr, walk_expression


def innermost_calls(e: Expr, names: frozenset[str]) -> tuple[Call, ...]:
    """The calls of the functions `names` that have no other one in their arguments, by the
    function's own name."""
    return tuple(
        _plain(call)
        for call in _calls(e, names)
        if not any(_calls(argument, names) for argument in call.args)
    )


def with_results(e: Expr, results: Mapping[Call, str]) -> Expr:
    """The expression with calls replaced by the columns of their results."""

    def looked_up(n: Expr) -> Expr:
        found = results.get(_plain(n)) if isinstance(n, Call) else None
        return n if found is None else Column(found)

    return e.rewritten(looked_up)


def _calls(e: Expr, names: frozenset[str]) -> list[Call]:
    return [n for n in walk_expression(e) if isinstance(n, Call) and n.function in names]


def _plain(call: Call) -> Call:
    return replace(call, name=call.function)
