"""Aggregate calls: their parts, and the text that computes them.

Where the answer depends on the order of rows, the text has an order of its own, by the values that
it reads: so a group may be computed again at any time, on whatever machine, with the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import CallParts, Expr, Refusal, SortOrder, refuse
from dt_jupyter.sql.binding.scalars import function_name

SAME = {
    "any": "bool_or",
    "some": "bool_or",
    "every": "bool_and",
    "logical_or": "bool_or",
    "logical_and": "bool_and",
    "mean": "avg",
    "std": "stddev",
    "string_agg": "listagg",
}
"""Other names of aggregates."""
_WRITTEN_OTHERWISE: dict[type[exp.Expr], str] = {
    exp.PercentileCont: "percentile_cont",
    exp.PercentileDisc: "percentile_disc",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
}
"""Calls that sqlglot writes as others, or not whole."""
_WRAPPERS = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Filter)


@dataclass(frozen=True)
class CallNodes:
    """`node` is the bare call, `order` that of WITHIN GROUP, `condition` that of FILTER."""

    name: str
    node: exp.Expr
    args: tuple[exp.Expr, ...]
    order: tuple[exp.Expr, ...] = ()
    condition: exp.Expr | None = None
    distinct: bool = False
    ignores_nulls: bool = False

    def bound(self, bind: Callable[[exp.Expr], Expr]) -> CallParts:
        """The same with its parts bound."""
        condition = bind(self.condition) if self.condition else None
        order = tuple(_sort_order(bind(o)) for o in self.order)
        args = tuple(map(bind, self.args))
        return CallParts(self.name, args, order, condition, self.distinct, self.ignores_nulls)

    @property
    def read(self) -> tuple[exp.Expr, ...]:
        """What is evaluated for each row."""
        return (*self.args, *self.order, *([self.condition] if self.condition else []))


def _sort_order(e: Expr) -> SortOrder:
    if not isinstance(e, SortOrder):
        raise refuse(Refusal.EXPRESSION, what=f"the order {e.sql(str)[:40]}")
    return e


def bare_call(node: exp.Expr) -> exp.Expr:
    """The call without FILTER, WITHIN GROUP and what is said of NULLs."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def call_name(node: exp.Expr) -> str:
    """The name of a bare call by which its rule is found."""
    name = _WRITTEN_OTHERWISE.get(type(node)) or function_name(node)
    return SAME.get(name, name)


def call_parts(node: exp.Expr) -> CallNodes:
    """An aggregate call taken apart."""
    order: tuple[exp.Expr, ...] = ()
    condition: exp.Expr | None = None
    ignores = False
    while isinstance(node, _WRAPPERS):
        if isinstance(node, exp.Filter):
            condition = node.expression.this
        elif isinstance(node, exp.WithinGroup):
            order = tuple(node.expression.expressions)
        ignores = ignores or isinstance(node, exp.IgnoreNulls)
        node = node.this
    args, distinct = _arguments(node)
    if args and isinstance(args[0], exp.Order):
        order, args = tuple(args[0].expressions), [args[0].this, *args[1:]]
    if args and isinstance(args[0], exp.Distinct):
        distinct, args = True, [*args[0].expressions, *args[1:]]
    return CallNodes(call_name(node), node, tuple(args), order, condition, distinct, ignores)


def _arguments(node: exp.Expr) -> tuple[list[exp.Expr], bool]:
    found = list(node.iter_expressions())
    if len(found) == 1 and isinstance(found[0], exp.Distinct):
        return list(found[0].expressions), True
    return [f for f in found if not isinstance(f, exp.Star)], False
