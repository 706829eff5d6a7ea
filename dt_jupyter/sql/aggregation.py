"""GROUP BY and its aggregate calls, as `Aggregate` over a projection of keys and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from dt_jupyter.ivm import SUPPORTED, Call, Expr, Refusal, expr, refuse
from dt_jupyter.sql.scalars import Lookup, check, function_name, scalar

_SAME = {
    "any": "bool_or", "some": "bool_or", "every": "bool_and", "logical_or": "bool_or",
    "logical_and": "bool_and", "mean": "avg", "std": "stddev",
}  # fmt: skip
_UNKNOWN_TO_PARSER = frozenset({
    "bit_and", "bit_or", "bit_xor", "kurtosis", "skewness", "regr_count", "regr_slope",
    "regr_intercept", "regr_r2", "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy",
    "try_sum", "try_avg", "some", "every", "any", "median", "mean", "std",
})  # fmt: skip


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Filter):
        return True
    if isinstance(node, exp.AggFunc):
        return True
    return isinstance(node, exp.Any | exp.Anonymous) and function_name(node) in _UNKNOWN_TO_PARSER


def aggregates(node: exp.Expr) -> list[exp.Expr]:
    """The outermost aggregate calls in an expression; a window's call, or one in a subquery, is
    none of this query's."""
    if isinstance(node, exp.Query):
        return []
    if isinstance(node, exp.Window):
        raise refuse(Refusal.WINDOW, what=function_name(node.this))
    if is_aggregate(node):
        return [node]
    return [a for c in node.iter_expressions() for a in aggregates(c)]


def bind_call(
    node: exp.Expr, lookup: Lookup, known: Mapping[exp.Expr, str],
    builtins: frozenset[str],
) -> Call:  # fmt: skip
    """An aggregate call; FILTER (WHERE p) becomes CASE WHEN p in its arguments."""
    text = scalar(node, lookup, known)
    condition: Expr | None = None
    if isinstance(node, exp.Filter):
        where = node.expression.this
        check(where, builtins)
        condition = scalar(where, lookup, known)
        node = node.this
    name = _SAME.get(function_name(node), function_name(node))
    if name not in SUPPORTED:
        raise refuse(Refusal.AGGREGATE, what=name, known="count, sum, avg, min, max")
    nodes, distinct = _arguments(node)
    for argument in nodes:
        check(argument, builtins)
    args = tuple(scalar(a, lookup, known) for a in nodes)
    if condition is None:
        return Call(name, args, text, distinct)
    if not args:
        return Call("count_if", (condition,), text, distinct)
    chosen = expr("CASE WHEN {p} THEN {x} END", p=condition, x=args[0])
    return Call(name, (chosen, *args[1:]), text, distinct)


def _arguments(node: exp.Expr) -> tuple[list[exp.Expr], bool]:
    found: list[exp.Expr] = []
    for value in node.args.values():
        found += [
            v for v in (value if isinstance(value, list) else [value])
            if isinstance(v, exp.Expr)
        ]  # fmt: skip
    if len(found) == 1 and isinstance(found[0], exp.Distinct):
        return list(found[0].expressions), True
    return [f for f in found if not isinstance(f, exp.Star)], False


def group_keys(select: exp.Select, plain: Callable[[exp.Expr], bool]) -> list[exp.Expr]:
    """The grouping expressions; GROUP BY ALL takes the items without an aggregate."""
    group = select.args["group"]
    for form in ("grouping_sets", "rollup", "cube"):
        if group.args.get(form):
            raise refuse(Refusal.GROUPING_SETS, what=form.replace("_", " ").upper())
    if group.args.get("all"):
        items = [s.this if isinstance(s, exp.Alias) else s for s in select.expressions]
        keys = [i for i in items if plain(i)]
    else:
        keys = [k.unnest() for k in group.expressions]
    if not keys or any(isinstance(k, exp.Tuple) and not k.expressions for k in keys):
        raise refuse(Refusal.SCALAR_AGGREGATE)
    if any(isinstance(k, exp.Rollup | exp.Cube | exp.GroupingSets) for k in keys):
        raise refuse(Refusal.GROUPING_SETS, what="grouping sets")
    return keys
