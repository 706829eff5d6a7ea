"""The aggregates that are evaluated here: a closed list.

A sum of doubles is that of Spark where the rows come in the same order; neither promises one. So it
is evaluated for a group, whose row is replaced by its key, and never over a window, whose rows are
found again by all their values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.expressions import CallRule, Rules, Scalars, Value, node_name
from dt_jupyter.evaluation.kinds import BIGINT, DOUBLE
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS
from dt_jupyter.ivm import STAR, Call

_EXACT_IN_DOUBLES = 1 << 53


def _sum(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if value.kind == DOUBLE and not s.over:
        return Value(f"SUM({value.sql})", DOUBLE)
    kind = kinds.sum_kind(value.kind)
    return Value(f"CAST(SUM({value.sql}){s.over} AS {kind.sql})", kind)


def _count(s: Scalars, call: Call) -> Value:
    (arg,) = call.args
    if arg == STAR:
        return Value(f"COUNT(*){s.over}", BIGINT)
    value = s(arg)
    if not call.distinct:
        return Value(f"COUNT({value.sql}){s.over}", BIGINT)
    if s.over:
        raise LeftOut("COUNT(DISTINCT) over a window")
    if not value.kind.is_compared:
        raise LeftOut(f"COUNT(DISTINCT) of {value.kind.name}")
    return Value(f"COUNT(DISTINCT {value.sql})", BIGINT)


def _extreme(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if not value.kind.is_compared:
        raise LeftOut(f"an extreme of {value.kind.name}")
    extreme = f"{node_name(call)}({value.sql}){s.over}"
    if not value.kind.is_float:
        return Value(extreme, value.kind)
    zero = f"bool_or({value.sql} = 0 AND {{}}signbit({value.sql})){s.over}"
    either = f"{extreme} = 0 AND {zero.format('')} AND {zero.format('NOT ')}"
    return Value(f"CASE WHEN {either} THEN error('0.0 or -0.0') ELSE {extreme} END", value.kind)


def _first(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if value.kind == kinds.VOID:
        raise LeftOut("FIRST of NULL")
    row = f"FIRST({value.place.row})" if value.place is not None else ""
    return Value(f"FIRST({value.sql})", value.kind, place=value.place, row=row)


def _average(s: Scalars, call: Call) -> Value:
    value, total = s(call.args[0]), _sum(s, call)
    counted = Value(f"COUNT({value.sql}){s.over}", BIGINT)
    if value.kind.is_integer:
        return _average_of_integers(s, value, counted)
    if value.kind == DOUBLE:
        divided_by = s.cast(counted, DOUBLE)
        sql = f"CASE WHEN {counted.sql} = 0 THEN NULL ELSE {total.sql} / {divided_by} END"
        return Value(sql, DOUBLE)
    number = kinds.as_decimal(BIGINT)
    kind = kinds.average_kind(value.kind)
    divided = s.call(
        "over",
        exact.arithmetic("/", total.kind, number, kind),
        (total, Value(s.cast(counted, number), number)),
        kind,
    )
    return Value(f"CASE WHEN {counted.sql} = 0 THEN NULL ELSE {divided.sql} END", kind)


def _average_of_integers(s: Scalars, value: Value, counted: Value) -> Value:
    """Spark adds doubles: where their sum is not exact it depends on the order of the rows."""
    most = f"SUM(abs(CAST({value.sql} AS HUGEINT))){s.over}"
    total = f"SUM({s.cast(value, DOUBLE)}){s.over}"
    return Value(
        f"CASE WHEN {most} > {_EXACT_IN_DOUBLES} THEN error('inexact') "
        f"WHEN {counted.sql} = 0 THEN NULL ELSE {total} / {s.cast(counted, DOUBLE)} END",
        DOUBLE,
    )


def _over_rows(translate: Callable[[Scalars, Call], Value]) -> Callable[[Scalars, Call], Value]:
    """What an aggregate is of has no aggregate in it."""
    return lambda s, call: translate(replace(s, rules=SCALARS), call)


AGGREGATES: Mapping[str, CallRule] = {
    "sum": CallRule(_over_rows(_sum)),
    "count": CallRule(_over_rows(_count), distinct=True),
    "avg": CallRule(_over_rows(_average)),
    **dict.fromkeys(("min", "max"), CallRule(_over_rows(_extreme))),
    **dict.fromkeys(("first", "any_value"), CallRule(_over_rows(_first))),
}
GROUPED = Rules(SCALARS.nodes, {**SCALARS.calls, **AGGREGATES})
"""The closed list."""
