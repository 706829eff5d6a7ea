"""The aggregates that are evaluated here: a closed list."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from dt_jupyter.evaluation import kinds
from dt_jupyter.evaluation.expressions import ScalarRule, Scalars, Value, node_name
from dt_jupyter.evaluation.kinds import BIGINT
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS


def _sum(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    kind = kinds.sum_kind(value.kind)
    return Value(f"CAST(SUM({value.sql}) AS {kind.sql})", kind)


def _count(s: Scalars, node: exp.Expr) -> Value:
    this = node.this
    if isinstance(this, exp.Star) and not any(this.args.values()):
        return Value("COUNT(*)", BIGINT)
    if isinstance(this, exp.Distinct):
        if len(this.expressions) != 1 or this.args.get("on"):
            raise LeftOut("COUNT(DISTINCT) of several columns")
        value = s(this.expressions[0])
        if not value.kind.is_compared:
            raise LeftOut(f"COUNT(DISTINCT) of {value.kind.name}")
        return Value(f"COUNT(DISTINCT {value.sql})", BIGINT)
    if node.expressions:
        raise LeftOut("COUNT of several columns")
    return Value(f"COUNT({s(this).sql})", BIGINT)


def _extreme(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    if not value.kind.is_compared:
        raise LeftOut(f"an extreme of {value.kind.name}")
    return Value(f"{node_name(node)}({value.sql})", value.kind)


def _first(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    if value.kind == kinds.VOID:
        raise LeftOut("FIRST of NULL")
    return Value(f"FIRST({value.sql})", value.kind)


def _over_rows(translate: Callable[[Scalars, exp.Expr], Value]) -> Callable[..., Value]:
    """What an aggregate is of has no aggregate in it."""
    return lambda s, node: translate(Scalars(s.columns, SCALARS, s.functions), node)


_COUNTED = frozenset({"this", "expressions", "big_int"})
GROUPED: Mapping[type[exp.Expr], ScalarRule] = {
    **SCALARS,
    exp.Sum: ScalarRule(_over_rows(_sum)),
    exp.Count: ScalarRule(_over_rows(_count), _COUNTED),
    exp.Min: ScalarRule(_over_rows(_extreme)),
    exp.Max: ScalarRule(_over_rows(_extreme)),
    exp.First: ScalarRule(_over_rows(_first)),
    exp.AnyValue: ScalarRule(_over_rows(_first)),
}
"""The closed list."""
