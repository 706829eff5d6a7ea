"""GROUP BY and its aggregate calls, as `Aggregate` over a projection of keys and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import (
    PICKS,
    SUPPORTED,
    UNRULED,
    AggregateCall,
    CallParts,
    Expr,
    Refusal,
    make_call,
    picked_values,
    refuse,
    require_rule,
)
from dt_jupyter.sql.binding.aggregate_calls import bare_call, call_name, call_parts
from dt_jupyter.sql.binding.scalars import Lookup, scalar
from dt_jupyter.sql.binding.scope import Scope, check_parts, masked


def is_aggregate(node: exp.Expr) -> bool:
    """Whether it is an aggregate call, with FILTER, WITHIN GROUP and what is said of NULLs."""
    bare = bare_call(node)
    if isinstance(bare, exp.Any):
        return not isinstance(bare.this, exp.Query)
    if isinstance(bare, exp.AggFunc):
        return True
    if not isinstance(bare, exp.Anonymous | exp.PercentileCont | exp.PercentileDisc):
        return False
    name = call_name(bare)
    return name in SUPPORTED or name in UNRULED


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
    call = bare_call(node.this)
    beside = [v for k, v in node.args.items() if k != "this"]
    flat = [x for v in beside for x in (v if isinstance(v, list) else [v])]
    return [*call.iter_expressions(), *(x for x in flat if isinstance(x, exp.Expr))]


def bind_call(
    node: exp.Expr,
    lookup: Lookup,
    known: Mapping[exp.Expr, str],
    builtins: frozenset[str],
    picked: tuple[Expr, ...] = (),
) -> AggregateCall:
    """An aggregate call; FILTER (WHERE p) becomes CASE WHEN p in its arguments. `picked` are the
    values that calls of the same SELECT pick from one row."""
    parts = bound_parts(node, lookup, known, builtins)
    return make_call(parts, scalar(node, lookup, known), picked)


def bound_parts(
    node: exp.Expr, lookup: Lookup, known: Mapping[exp.Expr, str], builtins: frozenset[str]
) -> CallParts:
    """An aggregate call taken apart, its parts checked and bound."""
    nodes = call_parts(node)
    require_rule(nodes.name)
    for part in nodes.read:
        check_parts(masked(part, known), builtins)
    return nodes.bound(lambda n: scalar(n, lookup, known))


def bind_calls(scope: Scope, calls: Sequence[exp.Expr]) -> list[tuple[str, AggregateCall]]:
    """The aggregate calls of a SELECT, each with the id of its column."""
    picks = [call_parts(c) for c in calls if call_name(bare_call(c)) in PICKS]
    picked = picked_values(p.bound(scope.text) for p in picks)
    return [
        (scope.ids.new(f"a{i}"), bind_call(c, scope.lookup, scope.known, scope.builtins, picked))
        for i, c in enumerate(calls)
    ]


def having_of(select: exp.Select, items: Iterable[tuple[str, exp.Expr]]) -> exp.Expr | None:
    """HAVING with the items that it names; sqlglot leaves the names of literals."""
    having: exp.Expr | None = select.args.get("having")
    literals = {name: item for name, item in items if isinstance(item, exp.Literal)}
    if having is None or not literals:
        return having

    def named(n: exp.Expr) -> exp.Expr:
        is_name = isinstance(n, exp.Column) and not n.table and n.name in literals
        return literals[n.name].copy() if is_name else n

    return having.copy().transform(named)


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
        keys.update(dict.fromkeys(map(_without_brackets, group.expressions)))
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
    forms = [_without_brackets(f) for f in group.expressions]
    behind = [f for k in ("rollup", "cube", "grouping_sets") for f in group.args.get(k) or []]
    if not behind:
        return forms
    if len(behind) > 1 or any(isinstance(f, _FORMS) for f in forms):
        raise refuse(Refusal.GROUPING_SETS, what="grouping sets of two kinds")
    form = behind[0].copy()
    if not isinstance(form, exp.GroupingSets):
        form.set("expressions", [f.copy() for f in forms])
    return [form]


def _without_brackets(node: exp.Expr) -> exp.Expr:
    """The brackets of a subquery are its own."""
    return node if isinstance(node, exp.Subquery) else node.unnest()


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
