"""Calls with DISTINCT, from the groups of their arguments: a value counts while a row has it."""

from __future__ import annotations

from dataclasses import replace

from dt_jupyter.ivm.aggregates import (
    ON_CHANGE,
    ONCE,
    argument_types,
    arguments_of,
    has_exact_order,
    keep,
)
from dt_jupyter.ivm.expr import NULL, Call, Cast, Expr, Literal, col
from dt_jupyter.ivm.rel import Aggregate, AggregateCall, Project, Rel, TypesOf, Union, rewrite

_Arguments = tuple[Expr, ...]
_OFTEN = frozenset({"min", "max"})
"""Functions to which it is one whether a value comes once or often."""


def group_distinct_arguments(rel: Rel, types: TypesOf) -> Rel:
    """γₖ(count(DISTINCT x))(R) = γₖ(count(x))(γₖₓ(R)), so that a change reads and writes no more
    than the values that are added and removed, however large the groups are.

    What else a γ computes is computed over R in addition: γₖ(f(y), count(DISTINCT x))(R) =
    γₖ(f(y), count(x))(R ∪ γₖₓ(R)), y NULL in the rows of the one and x in those of the other. A γ
    stays as it is where its groups have to be computed again all the same: for another of its
    calls, or as values that are equal are not always the same (floats, strings of a collation).
    """
    return rewrite(rel, lambda n: _grouped(n, types) if isinstance(n, Aggregate) else n)


def _grouped(node: Aggregate, types: TypesOf) -> Rel:
    sets = dict.fromkeys(c.args for _, c in node.calls if _is_distinct(c))
    if not sets or not _is_kept(node, types):
        return node
    rest = [(i, c) for i, c in node.calls if not _is_distinct(c)]
    if len(sets) == 1 and not rest:
        return _of_one(node, next(iter(sets)))
    return _of_many(node, tuple(sets), types)


def _is_distinct(call: AggregateCall) -> bool:
    return call.distinct and call.function not in _OFTEN


def _is_kept(node: Aggregate, types: TypesOf) -> bool:
    """Whether all of it is kept from state once its arguments are grouped."""
    below, above = types(arguments_of(node)), types(node)
    for i, call in node.calls:
        of_args = argument_types(i, call, below)
        if call.function in (ONCE, ON_CHANGE):
            return False
        if _is_distinct(call) and not all(map(has_exact_order, of_args)):
            return False
        if keep(replace(call, distinct=False), i, above[i], of_args) is None:
            return False
    return True


def _of_one(node: Aggregate, args: _Arguments) -> Aggregate:
    groups, names = _groups(node, args, 0)
    calls = tuple((i, _over(c, names)) for i, c in node.calls)
    return Aggregate(groups, node.keys, calls)


def _groups(node: Aggregate, args: _Arguments, number: int) -> tuple[Aggregate, tuple[str, ...]]:
    """γₖₓ(R), and the columns that are x: called the same whatever else the γ computes, so that its
    hidden table is the same one, and otherwise than R's."""
    stem = "value"
    while any(c.startswith(stem) for c in node.input.columns):
        stem += "_"
    names = tuple(f"{stem}__{number}_{j}" for j in range(len(args)))
    items = (*((k, col(k)) for k in node.keys), *zip(names, args, strict=True))
    return Aggregate(Project(node.input, items), (*node.keys, *names), ()), names


def _over(call: AggregateCall, names: tuple[str, ...]) -> AggregateCall:
    """The call over columns that hold its arguments, each value once."""
    args = tuple(map(col, names))
    text = Call(call.function.upper(), args, facts=call.text.facts)
    return AggregateCall(call.function, args, text)


def _of_many(node: Aggregate, sets: tuple[_Arguments, ...], types: TypesOf) -> Aggregate:
    known, calls = types(arguments_of(node)), dict(node.calls)
    columns: dict[str, str] = {}  # of the union besides the keys, with their types
    members: list[tuple[Rel, dict[str, Expr]]] = []
    row: dict[str, Expr] = {}
    for i, call in node.calls:
        if not _is_distinct(call):
            own = {f"{i}__u{j}": a for j, a in enumerate(call.args)} or {f"{i}__u": Literal("1")}
            columns |= {n: known.get(f"{i}__{j}", "int") for j, n in enumerate(own)}
            row |= own
            calls[i] = _over(call, tuple(own))
    if row:
        members.append((node.input, row))
    for number, args in enumerate(sets):
        groups, names = _groups(node, args, number)
        members.append((groups, {n: col(n) for n in names}))
        for i, call in node.calls:
            if _is_distinct(call) and call.args == args:
                columns |= {n: known[f"{i}__{j}"] for j, n in enumerate(names)}
                calls[i] = _over(call, names)
    rows = tuple(
        _member(rel, f"__m{number}", node.keys, values, columns)
        for number, (rel, values) in enumerate(members)
    )
    union = Union(rows, (*node.keys, *columns))
    return Aggregate(union, node.keys, tuple(calls.items()))


def _member(
    rel: Rel, suffix: str, keys: tuple[str, ...], values: dict[str, Expr], columns: dict[str, str]
) -> Project:
    """The rows with NULL in the columns that are of other members."""
    items = {k: col(k) for k in keys}
    items |= {c: values.get(c, Cast(NULL, t.upper()).typed(t)) for c, t in columns.items()}
    return Project(rel, tuple((f"{c}{suffix}", e) for c, e in items.items()))
