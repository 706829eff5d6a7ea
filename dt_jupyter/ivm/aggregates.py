"""How each aggregate is kept: from state, by its extremes, or by recomputing touched groups.

State columns are summed over old state and change, in a type wider than the result; decimals are
negated by CASE and cast after every addition, since `×` and `+` change their precision.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.ivm.expr import (
    Bracketed,
    Call,
    Case,
    Cast,
    Expr,
    Infix,
    Literal,
    Postfix,
    Prefix,
    case,
    col,
    conjunction,
)
from dt_jupyter.ivm.rel import Aggregate, AggregateCall, Project
from dt_jupyter.model.hidden import COUNT, WEIGHT, hidden

ONCE = "the value of a function"
"""An aggregate of ours: the value of a user's function for arguments that all rows of the group
have. It is computed when the group is new, and kept."""
ON_CHANGE = "the value of a function when its row came"
"""The same of a function whose value is that of the time at which it was computed."""
_INTEGRAL = frozenset({"tinyint", "smallint", "int", "bigint"})
_FLOATING = frozenset({"float", "double"})
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)\Z")

# Deterministic whatever the order of the rows, so that a group may be computed again at any time.
RECOMPUTED = frozenset({
    "sum", "avg", "mean", "try_sum", "try_avg", "min", "max", "count", "bool_or", "bool_and",
    "variance", "var_samp", "var_pop", "stddev", "std", "stddev_samp", "stddev_pop", "median",
    "skewness", "kurtosis", "corr", "covar_pop", "covar_samp", "percentile", "bit_and", "bit_or",
    "bit_xor", "approx_count_distinct", "regr_count", "regr_slope", "regr_intercept", "regr_r2",
    "regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", "collect_list", "array_agg",
    "collect_set", "min_by", "max_by", "first", "first_value", "last", "last_value", "any_value",
    "mode", "listagg", "percentile_cont", "percentile_disc", "count_min_sketch",
    "bitmap_construct_agg", "bitmap_or_agg", "bitmap_and_agg",
})  # fmt: skip
_EXACT, _COUNTED = "percentile, which is exact", "count(*) with GROUP BY"
_DISTINCT = "approx_count_distinct(…), or count(DISTINCT …)"
UNRULED = {
    "percentile_approx": _EXACT,
    "approx_percentile": _EXACT,
    **{
        f"kll_{a}_agg_{t}": _EXACT
        for a in ("sketch", "merge")
        for t in ("bigint", "double", "float")
    },
    "histogram_numeric": f"{_COUNTED} width_bucket(…)",
    "approx_top_k": f"{_COUNTED}, and ORDER BY … LIMIT in a table over it",
    "approx_top_k_accumulate": f"{_COUNTED}, and ORDER BY … LIMIT in a table over it",
    "approx_top_k_combine": f"{_COUNTED}, and ORDER BY … LIMIT in a table over it",
    "hll_sketch_agg": _DISTINCT,
    "hll_union_agg": _DISTINCT,
    **{f"theta_{a}_agg": _DISTINCT for a in ("sketch", "union", "intersection")},
    **{
        f"tuple_{a}_agg_{t}": "sum(…) and count(DISTINCT …)"
        for a in ("sketch", "union", "intersection")
        for t in ("double", "integer")
    },
    **dict.fromkeys(("vector_sum", "vector_avg"), "posexplode, and sum(…) by position"),
    "schema_of_variant_agg": "schema_of_variant(…), and DISTINCT",
    "measure": "the aggregate that the measure means",
}
"""Spark's other aggregates, with what to write instead: their result depends on the order of the
rows within its own error, so that it differs each time it is computed."""
_ORDERED = frozenset({
    "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp",
    "timestamp_ntz", "string", "boolean",
})  # fmt: skip
_SUMMED_DIGITS = 27
"""Spark sums decimals of this many digits as one of 37, and two of those are added without
rounding."""
_ONE, _NOTHING = Literal("1"), Literal("0")


class Kind(StrEnum):
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class StateColumn:
    """A stored partial result: `value` is summed (or its extreme taken) over a group's rows."""

    id: str
    type: str
    kind: Kind
    value: Expr


@dataclass(frozen=True, slots=True)
class Kept:
    """An aggregate kept from state: its state columns, and its value from them (and `__dt_n`).

    `outside` is the state column that counts the values which the others leave out: of a group
    that has any, the value is the query's own, computed again from its rows.
    """

    state: tuple[StateColumn, ...]
    result: Expr
    outside: str = ""


def is_floating(type_: str) -> bool:
    return type_ in _FLOATING


def has_exact_order(type_: str) -> bool:
    """Whether values of the type are ordered, and those that are equal are the same."""
    return (type_ in _ORDERED or _DECIMAL.match(type_) is not None) and not is_floating(type_)


def arguments_of(node: Aggregate) -> Project:
    """The aggregate's arguments as columns, so that the analyser can say their types: of the call
    `i` the `j`-th is `i__j`."""
    items = tuple((f"{i}__{j}", a) for i, c in node.calls for j, a in enumerate(c.args))
    return Project(
        node.input,
        (*((k, col(k)) for k in node.keys), *items)
        or tuple((c, col(c)) for c in node.input.columns[:1]),
    )


def argument_types(result: str, call: AggregateCall, types: dict[str, str]) -> tuple[str, ...]:
    """The types of a call's arguments, of those of `arguments_of`."""
    return tuple(types[f"{result}__{j}"] for j in range(len(call.args)))


def keep(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept | None:
    """How `call` is kept from state; None where touched groups are recomputed.

    `result` is the id of its column, `type_` the result's Spark type, `types` its arguments'.
    """
    if call.function in (ONCE, ON_CHANGE):
        return Kept((), col(result))
    if call.distinct and call.function not in ("min", "max"):
        return None
    rule = _RULES.get(call.function)
    return rule(call, result, type_, types) if rule else None


def _counter(name: str, condition: Expr) -> StateColumn:
    return StateColumn(name, "bigint", Kind.SUM, case(condition, _ONE, _NOTHING))


def _present(args: tuple[Expr, ...]) -> Expr:
    """Whether no argument is NULL."""
    present = conjunction(tuple(Postfix(Bracketed(a), "IS NOT NULL") for a in args))
    assert present is not None
    return present


def _count(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept:
    if not call.args:
        return Kept((), col(COUNT))
    counter = _counter(hidden(f"{result}_n"), _present(call.args))
    return Kept((counter,), col(counter.id))


def _count_if(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept:
    counter = _counter(hidden(f"{result}_n"), call.args[0])
    return Kept((counter,), col(counter.id))


def wide(type_: str) -> str | None:
    """The type that sums of `type_` are kept in, where it cannot overflow before the result."""
    if type_ in ("tinyint", "smallint", "int"):
        return "bigint"
    if type_ == "bigint":
        return "decimal(37,0)"
    match = _DECIMAL.match(type_)
    if match and int(match[2]) <= _SUMMED_DIGITS:
        return f"decimal(37,{match[2]})"
    return None


def _inside(arg: Expr, type_: str) -> Expr | None:
    """Whether a decimal of more digits than can be summed has no more of them; None: it has not
    by its type."""
    match = _DECIMAL.match(type_)
    if match is None or int(match[1]) <= _SUMMED_DIGITS:
        return None
    limit = 10 ** (_SUMMED_DIGITS - int(match[2]))
    low, high = (Literal(f"{sign}{limit}.0") for sign in ("-", ""))
    return Bracketed(Infix(Infix(arg, ">", low), "AND", Infix(arg, "<", high)))


def _sum_state(
    call: AggregateCall, result: str, kept_in: str, type_: str
) -> tuple[StateColumn, ...]:
    """The sum, how many values it is of, and how many are outside of what is summed."""
    (arg,) = call.args
    counter = _counter(hidden(f"{result}_n"), _present(call.args))
    name, inside = hidden(f"{result}_s"), _inside(arg, type_)
    if inside is None:
        return StateColumn(name, kept_in, Kind.SUM, Cast(arg, kept_in.upper())), counter
    narrow = kept_in.replace("37", str(_SUMMED_DIGITS), 1).upper()
    value = case(inside, Cast(arg, narrow))
    others = _counter(hidden(f"{result}_o"), Prefix("NOT", inside))
    return StateColumn(name, kept_in, Kind.SUM, value), counter, others


def _kept_sum(state: tuple[StateColumn, ...], result: Expr) -> Kept:
    return Kept(state, result, state[2].id if len(state) > 2 else "")


def _sum(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept | None:
    kept_in = wide(types[0])
    if kept_in is None:
        return None
    state = total, counter, *_ = _sum_state(call, result, kept_in, types[0])
    return _kept_sum(state, _of_some(counter, Cast(col(total.id), type_.upper())))


def _of_some(counter: StateColumn, value: Expr) -> Expr:
    """The value of what is counted; NULL of nothing."""
    return case(Infix(col(counter.id), ">", _NOTHING), value)


def _avg(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept | None:
    """Integers as Spark does, a double quotient; decimals exactly, by quotient and remainder.

    A decimal quotient of Spark's keeps too few digits to be rounded a second time, so the
    remainder is divided separately: exact for fewer than 10¹² rows in a group.
    """
    kept_in = wide(types[0])
    if kept_in is None:
        return None
    state = total, counter, *_ = _sum_state(call, result, kept_in, types[0])
    s, n = col(total.id), col(counter.id)
    if types[0] in _INTEGRAL:
        return _kept_sum(state, _of_some(counter, Infix(Cast(s, "DOUBLE"), "/", n)))
    match = _DECIMAL.match(types[0])
    assert match, types
    precision, scale = int(match[1]), int(match[2])
    if precision - scale > 18 or scale > 9:
        return None
    whole = Infix(s, "DIV", n)
    left = Infix(s, "-", Cast(Infix(Bracketed(whole), "*", n), "DECIMAL(37,0)"))
    rest = Infix(Cast(left, f"DECIMAL({16 + scale},{scale + 4})"), "/", Cast(n, "DECIMAL(12,0)"))
    value = Cast(Infix(Cast(whole, "DECIMAL(18,0)"), "+", rest), type_.upper())
    return _kept_sum(state, _of_some(counter, value))


def _bool(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept:
    either = call.function == "bool_or"
    (arg,) = call.args
    closed = Bracketed(arg)
    hits = _counter(hidden(f"{result}_t"), closed if either else Prefix("NOT", closed))
    counter = _counter(hidden(f"{result}_n"), _present(call.args))
    found = Infix(col(hits.id), ">" if either else "=", _NOTHING)
    return Kept((hits, counter), _of_some(counter, found))


def _extreme(call: AggregateCall, result: str, type_: str, types: tuple[str, ...]) -> Kept | None:
    if types[0] not in _ORDERED and not _DECIMAL.match(types[0]):
        return None
    state = StateColumn(hidden(f"{result}_x"), types[0], Kind(call.function), call.args[0])
    return Kept((state,), col(state.id))


_RULES = {
    "count": _count,
    "count_if": _count_if,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "bool_or": _bool,
    "bool_and": _bool,
    "min": _extreme,
    "max": _extreme,
}
SUPPORTED = RECOMPUTED | frozenset(_RULES)
_WEIGHT = col(WEIGHT)


def _sum_change(x: Expr, zero: Expr) -> Expr:
    added = ((Infix(_WEIGHT, ">", _NOTHING), x),)
    return Call("SUM", (Case(None, added, Infix(zero, "-", Bracketed(x))),))


def _extreme_added(name: str) -> Callable[[Expr, Expr], Expr]:
    return lambda x, zero: Call(name, (case(Infix(_WEIGHT, ">", _NOTHING), x),))


WEIGHTED: dict[Kind, Callable[[Expr, Expr], Expr]] = {
    Kind.SUM: _sum_change,
    Kind.MIN: _extreme_added("MIN"),
    Kind.MAX: _extreme_added("MAX"),
}
"""By a value and the zero of its type."""


def weighted(state: StateColumn) -> Expr:
    """The state's change over weighted rows. What goes is subtracted: Spark rounds the negative of
    a decimal to 34 digits."""
    return WEIGHTED[state.kind](state.value, Cast(_NOTHING, state.type.upper()))


def removed(state: StateColumn) -> Expr:
    """The extreme among the deleted rows, which decides whether the group is computed again."""
    gone = case(Infix(_WEIGHT, "<", _NOTHING), state.value)
    return Call(state.kind.value.upper(), (gone,))


def initial(state: StateColumn) -> Expr:
    """The state of a whole group."""
    return Call(state.kind.value.upper(), (state.value,))
