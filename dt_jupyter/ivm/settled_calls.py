"""Aggregate calls whose answer depends on the order of rows, with an order in their text.

The order is that of the values that a call reads: so a group may be computed again at any time, on
any machine, with the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from dt_jupyter.ivm.aggregates import SUPPORTED, UNRULED
from dt_jupyter.ivm.expr import Expr, ExpressionFacts, SortOrder, case, expr
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import AggregateCall

PICKS = frozenset({"first", "first_value", "last", "last_value", "any_value"})
"""Aggregates that give the value of one row; those of one SELECT give that of the same row."""
_KNOWN = "count, sum, avg, min, max"


@dataclass(frozen=True)
class CallParts:
    """The parts of an aggregate call: `order` is that of WITHIN GROUP, `condition` that of FILTER,
    `facts` what Spark says of its value."""

    name: str
    args: tuple[Expr, ...]
    order: tuple[SortOrder, ...] = ()
    condition: Expr | None = None
    distinct: bool = False
    ignores_nulls: bool = False
    facts: ExpressionFacts | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SettledCall:
    """`text` computes a call, of `args` as far as they are of the row."""

    args: tuple[Expr, ...]
    text: Expr


def make_call(parts: CallParts, text: Expr, picked: tuple[Expr, ...]) -> AggregateCall:
    """A call whose text as it is written is `text`; FILTER (WHERE p) is CASE WHEN p in its
    arguments. `picked` are the values that the calls of the SELECT pick from one row."""
    settled = settle_call(parts, picked)
    if settled is not None:
        said = settled.text.as_said(text.facts)
        return AggregateCall(parts.name, settled.args, said, parts.distinct)
    if parts.condition is None:
        return AggregateCall(parts.name, parts.args, text, parts.distinct)
    if not parts.args:
        return AggregateCall("count_if", (parts.condition,), text, parts.distinct)
    chosen = case(parts.condition, parts.args[0])
    return AggregateCall(parts.name, (chosen, *parts.args[1:]), text, parts.distinct)


def require_rule(name: str) -> None:
    """Raises Refused, with what to write instead, where an aggregate has no rule."""
    if name not in SUPPORTED:
        raise refuse(Refusal.AGGREGATE, what=name, known=UNRULED.get(name, _KNOWN))


def picked_values(calls: Iterable[CallParts]) -> tuple[Expr, ...]:
    """What first, last, any_value and kin among calls pick, each once."""
    return tuple(dict.fromkeys(p.args[0] for p in calls if p.name in PICKS and p.args))


def settle_call(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall | None:
    """The call with its order in the text; None for one that is computed as it is written.

    `picked` are the values that the calls of the SELECT pick from a row: one order for all.
    """
    rule = _RULES.get(parts.name)
    if rule is None:
        return None
    if len(parts.args) not in _ARITY.get(parts.name, (1,)) or not (parts.args or parts.order):
        what = f"{parts.name} with {len(parts.args)} arguments"
        raise refuse(Refusal.AGGREGATE, what=what, known="the arguments that Spark has for it")
    return rule(parts, picked)


def _text(parts: CallParts, template: str, **fields: Expr) -> Expr:
    """The template with its fields filled in, and FILTER where it has `$`."""
    if parts.condition is None:
        return expr(template.replace("$", ""), **fields)
    return expr(template.replace("$", " FILTER (WHERE {p})"), p=parts.condition, **fields)


def _pick(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall:
    """The first or the last row in the order of all that is picked from it, NULLs last."""
    (x,) = parts.args
    fields = ", ".join(f"({{y{i}}}) IS NULL, ({{y{i}}})" for i in range(len(picked)))
    by = f"STRUCT({fields})"
    if parts.ignores_nulls:
        by = f"CASE WHEN ({{x}}) IS NOT NULL THEN {by} END"
    function = "MAX_BY" if parts.name.startswith("last") else "MIN_BY"
    values = {f"y{i}": y for i, y in enumerate(picked)}
    return SettledCall((x, *picked), _text(parts, f"{function}({{x}}, {by})$", x=x, **values))


def _mode(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall:
    """Of values that are equally frequent the smallest, or the first in the order given."""
    if parts.distinct or len(parts.order) > 1:
        raise refuse(Refusal.AGGREGATE, what="mode of several columns or DISTINCT", known="mode(x)")
    if parts.order:
        (by,) = parts.order
        text = _text(parts, "MODE() WITHIN GROUP (ORDER BY {by})$", by=by)
        return SettledCall((by.value,), text)
    x = parts.args[0]
    return SettledCall((x,), _text(parts, "MODE({x}, TRUE)$", x=x))


def _percentile(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall:
    if len(parts.order) != 1:
        raise refuse(Refusal.AGGREGATE, what=parts.name, known="WITHIN GROUP (ORDER BY …)")
    by = parts.order[0]
    text = parts.name.upper() + "({share}) WITHIN GROUP (ORDER BY {by})$"
    return SettledCall((by.value,), _text(parts, text, share=parts.args[0], by=by))


def _listagg(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall:
    """In the order given; what ties, or all, in the order of the values themselves."""
    x, *separator = parts.args
    by = parts.order if parts.distinct and parts.order else (*parts.order, x)
    fields = {f"y{i}": y for i, y in enumerate(by)}
    text = "LISTAGG(" + ("DISTINCT " if parts.distinct else "") + "{x}"
    text += ", {s})" if separator else ")"
    text += f" WITHIN GROUP (ORDER BY {', '.join('{' + f + '}' for f in fields)})$"
    fields |= dict(zip("s", separator, strict=False))
    return SettledCall((x, *(o.value for o in parts.order)), _text(parts, text, x=x, **fields))


def _by(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall:
    """Of rows that tie the one with the smaller value (of max_by: the larger)."""
    x, y, *count = parts.args
    if count:
        return _first_by(parts)
    text = "({x}, CASE WHEN ({y}) IS NOT NULL THEN STRUCT({y}, {x}) END)$"
    return SettledCall((x, y), _text(parts, parts.name.upper() + text, x=x, y=y))


def _first_by(parts: CallParts) -> SettledCall:
    """min_by and max_by of several rows; of none it is NULL."""
    x, y, count = parts.args
    rows = "COLLECT_LIST(CASE WHEN ({y}) IS NOT NULL THEN NAMED_STRUCT('y', {y}, 'x', {x}) END)$"
    direction = "TRUE" if parts.name == "min_by" else "FALSE"
    text = f"TRANSFORM(SLICE(SORT_ARRAY({rows}, {direction}), 1, {{n}}), r -> r.x)"
    some = f"CASE WHEN COUNT({{y}})$ > 0 THEN {text} END"
    return SettledCall((x, y), _text(parts, some, x=x, y=y, n=count))


def _list(parts: CallParts, picked: tuple[Expr, ...]) -> SettledCall:
    x = parts.args[0]
    word = "DISTINCT " if parts.distinct else ""
    text = "SORT_ARRAY(" + parts.name.upper() + "(" + word + "{x})$)"
    return SettledCall((x,), _text(parts, text, x=x))


_ARITY = {"mode": (0, 1, 2), "listagg": (1, 2), "min_by": (2, 3), "max_by": (2, 3),
          "percentile_cont": (1,), "percentile_disc": (1,)}  # fmt: skip
"""How many arguments a call has, where that is not one."""
_RULES: dict[str, Callable[[CallParts, tuple[Expr, ...]], SettledCall]] = {
    **dict.fromkeys(PICKS, _pick),
    **dict.fromkeys(("percentile_cont", "percentile_disc"), _percentile),
    **dict.fromkeys(("collect_list", "array_agg", "collect_set"), _list),
    "mode": _mode,
    "listagg": _listagg,
    "min_by": _by,
    "max_by": _by,
}
