"""Aggregate calls: their parts, and the text that computes them.

Where the answer depends on the order of rows, the text has an order of its own, by the values that
it reads: so a group may be computed again at any time, on whatever machine, with the same answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import Expr, Raw, Refusal, expr, refuse
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
PICKS = frozenset({"first", "first_value", "last", "last_value", "any_value"})
"""Aggregates that give the value of one row; those of one SELECT give that of the same row."""
_PERCENTILES = frozenset({"percentile_cont", "percentile_disc"})
_WRITTEN_OTHERWISE: dict[type[exp.Expr], str] = {
    exp.PercentileCont: "percentile_cont",
    exp.PercentileDisc: "percentile_disc",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
}
"""Calls that sqlglot writes as others, or not whole."""
_WRAPPERS = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Filter)
BindValue = Callable[[exp.Expr], Expr]


@dataclass(frozen=True)
class CallParts:
    """`node` is the bare call, `order` that of WITHIN GROUP, `condition` that of FILTER."""

    name: str
    node: exp.Expr
    args: tuple[exp.Expr, ...]
    order: tuple[exp.Expr, ...] = ()
    condition: exp.Expr | None = None
    distinct: bool = False
    ignores_nulls: bool = False

    @property
    def read(self) -> tuple[exp.Expr, ...]:
        """What is evaluated for each row."""
        return (*self.args, *self.order, *([self.condition] if self.condition else []))


def bare_call(node: exp.Expr) -> exp.Expr:
    """The call without FILTER, WITHIN GROUP and what is said of NULLs."""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return node


def call_name(node: exp.Expr) -> str:
    """The name of a bare call by which its rule is found."""
    name = _WRITTEN_OTHERWISE.get(type(node)) or function_name(node)
    return SAME.get(name, name)


def call_parts(node: exp.Expr) -> CallParts:
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
    return CallParts(call_name(node), node, tuple(args), order, condition, distinct, ignores)


def _arguments(node: exp.Expr) -> tuple[list[exp.Expr], bool]:
    found = list(node.iter_expressions())
    if len(found) == 1 and isinstance(found[0], exp.Distinct):
        return list(found[0].expressions), True
    return [f for f in found if not isinstance(f, exp.Star)], False


@dataclass(frozen=True)
class Ordered:
    """`text` computes a call, of `args` as far as they are of the row."""

    args: tuple[Expr, ...]
    text: Expr


def settled_call(parts: CallParts, bind: BindValue, picked: tuple[Expr, ...]) -> Ordered | None:
    """The call with its order in the text; None for one that is computed as it is written.

    `picked` are the values that the calls of the SELECT pick from a row: one order for all.
    """
    rule = _RULES.get(parts.name)
    if rule is None:
        return None
    if len(parts.args) not in _ARITY.get(parts.name, (1,)) or not (parts.args or parts.order):
        what = f"{parts.name} with {len(parts.args)} arguments"
        raise refuse(Refusal.AGGREGATE, what=what, known="the arguments that Spark has for it")
    where = expr(" FILTER (WHERE {p})", p=bind(parts.condition)) if parts.condition else Raw(())
    return rule(parts, bind, where, picked)


def _picked(parts: CallParts, bind: BindValue, where: Expr, picked: tuple[Expr, ...]) -> Ordered:
    """The first or the last row in the order of all that is picked from it, NULLs last."""
    (x,) = (bind(a) for a in parts.args)
    fields = ", ".join(f"({{y{i}}}) IS NULL, ({{y{i}}})" for i in range(len(picked)))
    by = expr(f"STRUCT({fields})", **{f"y{i}": y for i, y in enumerate(picked)})
    if parts.ignores_nulls:
        by = expr("CASE WHEN ({x}) IS NOT NULL THEN {by} END", x=x, by=by)
    function = "MAX_BY" if parts.name.startswith("last") else "MIN_BY"
    return Ordered((x, *picked), expr(function + "({x}, {by}){f}", x=x, by=by, f=where))


def _mode(parts: CallParts, bind: BindValue, where: Expr, picked: tuple[Expr, ...]) -> Ordered:
    """Of values that are equally frequent the smallest, or the first in the order given."""
    if parts.distinct or len(parts.order) > 1:
        raise refuse(Refusal.AGGREGATE, what="mode of several columns or DISTINCT", known="mode(x)")
    if parts.order:
        by = bind(parts.order[0])
        text = expr("MODE() WITHIN GROUP (ORDER BY {by}){f}", by=by, f=where)
        return Ordered((bind(parts.order[0].this),), text)
    x = bind(parts.args[0])
    return Ordered((x,), expr("MODE({x}, TRUE){f}", x=x, f=where))


def _percentile(
    parts: CallParts, bind: BindValue, where: Expr, picked: tuple[Expr, ...]
) -> Ordered:
    if len(parts.order) != 1:
        raise refuse(Refusal.AGGREGATE, what=parts.name, known="WITHIN GROUP (ORDER BY …)")
    share, by = bind(parts.args[0]), bind(parts.order[0])
    text = parts.name.upper() + "({p}) WITHIN GROUP (ORDER BY {by}){f}"
    value = bind(parts.order[0].this)
    return Ordered((value,), expr(text, p=share, by=by, f=where))


def _listagg(parts: CallParts, bind: BindValue, where: Expr, picked: tuple[Expr, ...]) -> Ordered:
    """In the order given; what ties, or all, in the order of the values themselves."""
    x, *separator = (bind(a) for a in parts.args)
    order = [bind(o) for o in parts.order]
    by = order if parts.distinct and order else [*order, x]
    fields = {f"y{i}": y for i, y in enumerate(by)}
    text = "LISTAGG(" + ("DISTINCT " if parts.distinct else "") + "{x}{s})"
    text += f" WITHIN GROUP (ORDER BY {', '.join('{' + f + '}' for f in fields)}){{f}}"
    own = tuple(bind(o.this) for o in parts.order)
    given = expr(", {s}", s=separator[0]) if separator else Raw(())
    return Ordered((x, *own), expr(text, x=x, s=given, f=where, **fields))


def _by(parts: CallParts, bind: BindValue, where: Expr, picked: tuple[Expr, ...]) -> Ordered:
    """Of rows that tie the one with the smaller value (of max_by: the larger)."""
    x, y, *count = (bind(a) for a in parts.args)
    if count:
        return _first_by(parts, (x, y, *count), where)
    by = expr("CASE WHEN ({y}) IS NOT NULL THEN STRUCT({y}, {x}) END", x=x, y=y)
    return Ordered((x, y), expr(parts.name.upper() + "({x}, {by}){f}", x=x, by=by, f=where))


def _first_by(parts: CallParts, args: tuple[Expr, ...], where: Expr) -> Ordered:
    """min_by and max_by of several rows; of none it is NULL."""
    x, y, count = args
    rows = "COLLECT_LIST(CASE WHEN ({y}) IS NOT NULL THEN NAMED_STRUCT('y', {y}, 'x', {x}) END){f}"
    direction = "TRUE" if parts.name == "min_by" else "FALSE"
    text = f"TRANSFORM(SLICE(SORT_ARRAY({rows}, {direction}), 1, {{n}}), r -> r.x)"
    some = f"CASE WHEN COUNT({{y}}){{f}} > 0 THEN {text} END"
    return Ordered((x, y), expr(some, x=x, y=y, n=count, f=where))


def _list(parts: CallParts, bind: BindValue, where: Expr, picked: tuple[Expr, ...]) -> Ordered:
    x = bind(parts.args[0])
    word = "DISTINCT " if parts.distinct else ""
    text = "SORT_ARRAY(" + parts.name.upper() + "(" + word + "{x}){f})"
    return Ordered((x,), expr(text, x=x, f=where))


_ARITY = {"mode": (0, 1, 2), "listagg": (1, 2), "min_by": (2, 3), "max_by": (2, 3)}
"""How many arguments a call has, where that is not one."""
_RULES: dict[str, Callable[[CallParts, BindValue, Expr, tuple[Expr, ...]], Ordered]] = {
    **dict.fromkeys(PICKS, _picked),
    **dict.fromkeys(_PERCENTILES, _percentile),
    **dict.fromkeys(("collect_list", "array_agg", "collect_set"), _list),
    "mode": _mode,
    "listagg": _listagg,
    "min_by": _by,
    "max_by": _by,
}
