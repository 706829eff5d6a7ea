"""The aggregates that are evaluated here: a closed list.

A sum of doubles is that of Spark where the rows come in the same order; neither promises one. So it
is evaluated for a group, whose row is replaced by its key, and never over a window, whose rows are
found again by all their values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.expressions import ScalarRule, Scalars, Value, node_name
from dt_jupyter.evaluation.kinds import BIGINT, DOUBLE
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS

_EXACT_IN_DOUBLES = 1 << 53


def _sum(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    if value.kind == DOUBLE and not s.over:
        return Value(f"SUM({value.sql})", DOUBLE)
    kind = kinds.sum_kind(value.kind)
    return Value(f"CAST(SUM({value.sql}){s.over} AS {kind.sql})", kind)


def _count(s: Scalars, node: exp.Expr) -> Value:
    this = node.this
    if isinstance(this, exp.Star) and not any(this.args.values()):
        return Value(f"COUNT(*){s.over}", BIGINT)
    if isinstance(this, exp.Distinct):
        if len(this.expressions) != 1 or this.args.get("on") or s.over:
            raise LeftOut("COUNT(DISTINCT) of several columns")
        value = s(this.expressions[0])
        if not value.kind.is_compared:
            raise LeftOut(f"COUNT(DISTINCT) of {value.kind.name}")
        return Value(f"COUNT(DISTINCT {value.sql})", BIGINT)
    if node.expressions:
        raise LeftOut("COUNT of several columns")
    return Value(f"COUNT({s(this).sql}){s.over}", BIGINT)


def _extreme(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    if not value.kind.is_compared:
        raise LeftOut(f"an extreme of {value.kind.name}")
    extreme = f"{node_name(node)}({value.sql}){s.over}"
    if not value.kind.is_float:
        return Value(extreme, value.kind)
    zero = f"bool_or({value.sql} = 0 AND {{}}signbit({value.sql})){s.over}"
    either = f"{extreme} = 0 AND {zero.format('')} AND {zero.format('NOT ')}"
    return Value(f"CASE WHEN {either} THEN error('0.0 or -0.0') ELSE {extreme} END", value.kind)


def _first(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    if value.kind == kinds.VOID:
        raise LeftOut("FIRST of NULL")
    row = f"FIRST({value.place.row})" if value.place is not None else ""
    return Value(f"FIRST({value.sql})", value.kind, place=value.place, row=row)


def _average(s: Scalars, node: exp.Expr) -> Value:
    value, total = s(node.this), _sum(s, node)
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


def _over_rows(translate: Callable[[Scalars, exp.Expr], Value]) -> Callable[..., Value]:
    """What an aggregate is of has no aggregate in it."""
    return lambda s, node: translate(replace(s, rules=SCALARS), node)


_COUNTED = frozenset({"this", "expressions", "big_int"})
GROUPED: Mapping[type[exp.Expr], ScalarRule] = {
    **SCALARS,
    exp.Sum: ScalarRule(_over_rows(_sum)),
    exp.Count: ScalarRule(_over_rows(_count), _COUNTED),
    exp.Avg: ScalarRule(_over_rows(_average)),
    exp.Min: ScalarRule(_over_rows(_extreme)),
    exp.Max: ScalarRule(_over_rows(_extreme)),
    exp.First: ScalarRule(_over_rows(_first)),
    exp.AnyValue: ScalarRule(_over_rows(_first)),
}
"""The closed list."""
