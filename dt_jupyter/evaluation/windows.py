"""The functions over windows that are evaluated here: a closed list.

Rows that tie are as many rows with the same values: who reads them cannot tell them apart. No sum
of doubles is on it, which depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from dt_jupyter.evaluation.expressions import (
    ScalarRule,
    Scalars,
    Value,
    has_only,
    natural_number,
    node_name,
)
from dt_jupyter.evaluation.groups import GROUPED
from dt_jupyter.evaluation.kinds import DOUBLE, INT, VOID
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS

_RANKS: Mapping[type[exp.Expr], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank",
}  # fmt: skip
_SHARES: Mapping[type[exp.Expr], str] = {
    exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist",
}
_PLACES: Mapping[type[exp.Expr], str] = {
    exp.FirstValue: "first_value", exp.First: "first_value", exp.LastValue: "last_value",
    exp.Last: "last_value",
}  # fmt: skip
_OVER_GROUPS = (exp.Sum, exp.Count, exp.Avg, exp.Min, exp.Max)
_BOUNDS = frozenset({"UNBOUNDED", "CURRENT ROW"})


def _window(s: Scalars, node: exp.Expr) -> Value:
    function, over = node.this, f" OVER ({_specification(s, node)})"
    kind = type(function)
    if not has_only(function, *_KNOWN):
        raise LeftOut(f"{node_name(function)} with more")
    if kind in _RANKS and not function.expressions:
        return Value(f"CAST({_RANKS[kind]}(){over} AS INTEGER)", INT)
    if kind in _SHARES and not function.expressions:
        return Value(f"{_SHARES[kind]}(){over}", DOUBLE)
    if kind == exp.Ntile:
        return Value(f"CAST(ntile({_count(function.this)}){over} AS INTEGER)", INT)
    if kind in (exp.Lag, exp.Lead):
        return _moved(s, function, over)
    if kind in _PLACES:
        value = _typed(s(function.this))
        return Value(f"{_PLACES[kind]}({value.sql}){over}", value.kind)
    if kind == exp.NthValue:
        value = _typed(s(function.this))
        return Value(f"nth_value({value.sql}, {_count(function.args['offset'])}){over}", value.kind)
    if kind in _OVER_GROUPS:
        return replace(s, rules=GROUPED, over=over)(function)
    raise LeftOut(f"{node_name(function)} over a window")


_KNOWN = frozenset({"this", "offset", "default", "expressions", "big_int"})


def _typed(value: Value) -> Value:
    if value.kind == VOID:
        raise LeftOut("NULL without a type")
    return value


def _count(node: exp.Expr | None) -> int:
    number = natural_number(node)
    if number is None:
        raise LeftOut("a window's number")
    return number


def _moved(s: Scalars, function: exp.Expr, over: str) -> Value:
    value, offset = _typed(s(function.this)), function.args.get("offset")
    places = 1 if offset is None else _count(offset)
    name, default = node_name(function).lower(), function.args.get("default")
    if default is None:
        return Value(f"{name}({value.sql}, {places}){over}", value.kind)
    other = s(default)
    if other.kind not in (value.kind, VOID):
        raise LeftOut(f"{node_name(function)} with a default of {other.kind.name}")
    return Value(f"{name}({value.sql}, {places}, {s.cast(other, value.kind)}){over}", value.kind)


def _specification(s: Scalars, node: exp.Expr) -> str:
    if not has_only(node, *_PARTS):
        raise LeftOut("a window with more")
    texts = []
    if partition := node.args.get("partition_by"):
        texts.append(f"PARTITION BY {', '.join(_compared(s, p) for p in partition)}")
    order = node.args.get("order")
    if order is not None:
        texts.append(f"ORDER BY {order_by(s, order)}")
    if spec := node.args.get("spec"):
        texts.append(_frame(spec))
    return " ".join(texts)


_PARTS = frozenset({"this", "partition_by", "order", "spec", "over"})


def _compared(s: Scalars, node: exp.Expr) -> str:
    value = s(node)
    if not value.kind.is_compared:
        raise LeftOut(f"a partition by {value.kind.name}")
    return value.sql


def order_by(s: Scalars, order: exp.Expr) -> str:
    """What stands behind ORDER BY, of a window or of a statement."""
    if not has_only(order, "expressions"):
        raise LeftOut("ORDER BY with more")
    texts = []
    for item in order.expressions:
        if not has_only(item, "this", "desc", "nulls_first"):
            raise LeftOut("ORDER BY with more")
        value = s(item.this)
        if not value.kind.is_compared:
            raise LeftOut(f"an order of {value.kind.name}")
        direction = "DESC" if item.args.get("desc") else "ASC"
        nulls = "FIRST" if item.args.get("nulls_first") else "LAST"
        texts.append(f"{value.sql} {direction} NULLS {nulls}")
    return ", ".join(texts)


def _frame(spec: exp.Expr) -> str:
    kind, sides = spec.args.get("kind"), []
    if spec.args.get("exclude") or kind not in ("ROWS", "RANGE"):
        raise LeftOut("a window's frame")
    for bound in ("start", "end"):
        side, at = spec.args.get(f"{bound}_side") or "", spec.args.get(bound)
        if isinstance(at, exp.Literal) and kind == "ROWS":
            at = str(_count(at))
        elif at not in _BOUNDS:
            raise LeftOut("a window's frame")
        sides.append(f"{at} {side}".strip())
    return f"{kind} BETWEEN {sides[0]} AND {sides[1]}"


WINDOWED: Mapping[type[exp.Expr], ScalarRule] = {
    **SCALARS,
    exp.Window: ScalarRule(_window, _PARTS),
}
"""The closed list for the columns of a SELECT without groups."""
