"""GROUP BY and its aggregate calls, as `Aggregate` over a projection of keys and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import SETTLING, SUPPORTED, Call, Expr, Refusal, expr, refuse
from dt_jupyter.sql.binding.scalars import Lookup, function_name, scalar
from dt_jupyter.sql.binding.scope import check_parts

_SAME = {
    "any": "bool_or",
    "some": "bool_or",
    "every": "bool_and",
    "logical_or": "bool_or",
    "logical_and": "bool_and",
    "mean": "avg",
    "std": "stddev",
}
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
        return [a for c in _beside_call(node) for a in aggregates(c)]
    if is_aggregate(node):
        return [node]
    return [a for c in node.iter_expressions() for a in aggregates(c)]


def _beside_call(node: exp.Window) -> list[exp.Expr]:
    """What of a window call this query computes: its arguments, partitions and order."""
    call = node.this
    while isinstance(call, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        call = call.this
    beside = [v for k, v in node.args.items() if k != "this"]
    flat = [x for v in beside for x in (v if isinstance(v, list) else [v])]
    return [*call.iter_expressions(), *(x for x in flat if isinstance(x, exp.Expr))]


def bind_call(
    node: exp.Expr, lookup: Lookup, known: Mapping[exp.Expr, str], builtins: frozenset[str]
) -> Call:
    """An aggregate call; FILTER (WHERE p) becomes CASE WHEN p in its arguments."""
    if any(isinstance(n, exp.Query) for n in node.walk()):
        raise refuse(Refusal.SUBQUERY, what="a subquery inside of an aggregate")
    text = scalar(node, lookup, known)
    condition: Expr | None = None
    if isinstance(node, exp.Filter):
        where = node.expression.this
        check_parts(where, builtins)
        condition = scalar(where, lookup, known)
        node = node.this
    name = _SAME.get(function_name(node), function_name(node))
    if name not in SUPPORTED:
        raise refuse(Refusal.AGGREGATE, what=name, known="count, sum, avg, min, max")
    nodes, distinct = _arguments(node)
    for argument in nodes:
        check_parts(argument, builtins)
    args = tuple(scalar(a, lookup, known) for a in nodes)
    if name in SETTLING:
        if condition is not None:
            raise refuse(
                Refusal.AGGREGATE, what=f"{name} with FILTER", known="CASE in its argument"
            )
        return Call(name, args, _settled(name, args, distinct), distinct)
    if condition is None:
        return Call(name, args, text, distinct)
    if not args:
        return Call("count_if", (condition,), text, distinct)
    chosen = expr("CASE WHEN {p} THEN {x} END", p=condition, x=args[0])
    return Call(name, (chosen, *args[1:]), text, distinct)


def _settled(name: str, args: tuple[Expr, ...], distinct: bool) -> Expr:
    """The call with an order of its own, where the query leaves one open: lists are sorted, and
    of rows that tie the one with the smaller value (of max_by: the larger) is taken."""
    if name in ("min_by", "max_by"):
        x, y = args
        by = expr("CASE WHEN ({y}) IS NOT NULL THEN STRUCT({y}, {x}) END", x=x, y=y)
        return expr(name.upper() + "({x}, {by})", x=x, by=by)
    word = "DISTINCT " if distinct else ""
    return expr("SORT_ARRAY(" + name.upper() + "(" + word + "{x}))", x=args[0])


def _arguments(node: exp.Expr) -> tuple[list[exp.Expr], bool]:
    found: list[exp.Expr] = []
    for value in node.args.values():
        found += [
            v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)
        ]
    if len(found) == 1 and isinstance(found[0], exp.Distinct):
        return list(found[0].expressions), True
    return [f for f in found if not isinstance(f, exp.Star)], False


_FORMS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_MOST_SETS = 1_024


@dataclass(frozen=True)
class Grouping:
    """The grouping expressions, and the sets of them (by position) where there are several."""

    keys: tuple[exp.Expr, ...]
    sets: tuple[tuple[int, ...], ...] | None = None


def grouping(select: exp.Select) -> Grouping:
    """What a SELECT groups by; GROUP BY ALL takes the items without an aggregate."""
    group = select.args.get("group")
    if group is None:
        return Grouping(())
    if group.args.get("all"):
        items = [s.this if isinstance(s, exp.Alias) else s for s in select.expressions]
        return Grouping(tuple(i for i in items if not aggregates(i)))
    keys: dict[exp.Expr, None] = {}
    if group.args.get("grouping_sets"):
        keys.update(dict.fromkeys(f.unnest() for f in group.expressions))
    sets: list[tuple[exp.Expr, ...]] = [()]
    forms = _forms(group)
    for form in forms:
        own = _sets(form)
        if len(sets) * len(own) > _MOST_SETS:
            raise refuse(Refusal.GROUPING_SETS, what=f"more than {_MOST_SETS:,} grouping sets")
        sets = [(*a, *b) for a in sets for b in own]
        keys.update(dict.fromkeys(k for s in own for k in s))
    if not any(isinstance(f, _FORMS) for f in forms):
        return Grouping(tuple(keys))
    order = list(keys)
    places = tuple(tuple(sorted({order.index(k) for k in s})) for s in sets)
    if len(set(places)) != len(places):
        raise refuse(Refusal.GROUPING_SETS, what="a grouping set twice")
    return Grouping(tuple(order), places)


def _forms(group: exp.Expr) -> list[exp.Expr]:
    """What stands in GROUP BY; a form behind the keys (WITH ROLLUP) takes them in."""
    forms = [f.unnest() for f in group.expressions]
    behind = [f for k in ("rollup", "cube", "grouping_sets") for f in group.args.get(k) or []]
    if not behind:
        return forms
    if len(behind) > 1 or any(isinstance(f, _FORMS) for f in forms):
        raise refuse(Refusal.GROUPING_SETS, what="grouping sets of two kinds")
    form = behind[0].copy()
    if not isinstance(form, exp.GroupingSets):
        form.set("expressions", [f.copy() for f in forms])
    return [form]


def _sets(form: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """The grouping sets of one form; a plain key is one set, () is the empty one."""
    if isinstance(form, exp.Tuple) and not form.expressions:
        return [()]
    if not isinstance(form, _FORMS):
        return [(form,)]
    if isinstance(form, exp.GroupingSets):
        return [
            s for e in form.expressions for s in (_sets(e) if isinstance(e, _FORMS) else [_set(e)])
        ]
    parts = [_set(e) for e in form.expressions]
    if isinstance(form, exp.Rollup):
        chosen = [parts[:n] for n in range(len(parts), -1, -1)]
    elif 2 ** len(parts) > _MOST_SETS:
        raise refuse(Refusal.GROUPING_SETS, what=f"more than {_MOST_SETS:,} grouping sets")
    else:
        chosen = [
            [p for i, p in enumerate(parts) if bits >> i & 1] for bits in range(2 ** len(parts))
        ]
    return [tuple(k for p in c for k in p) for c in chosen]


def _set(node: exp.Expr) -> tuple[exp.Expr, ...]:
    node = node.unnest()
    return tuple(e.unnest() for e in node.expressions) if isinstance(node, exp.Tuple) else (node,)
