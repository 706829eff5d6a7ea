"""The functions over windows that are evaluated here: a closed list.

Rows that tie are as many rows with the same values: who reads them cannot tell them apart. No sum
of doubles is on it, which depends on the order of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from dt_jupyter.evaluation.expressions import (
    Scalars,
    Value,
    natural_number,
    node_name,
)
from dt_jupyter.evaluation.groups import AGGREGATES, GROUPED
from dt_jupyter.evaluation.kinds import DOUBLE, INT, VOID
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.ivm import Call, Expr, SortOrder
from dt_jupyter.sql import Over

_RANKS = {"row_number": "row_number", "rank": "rank", "dense_rank": "dense_rank"}
_SHARES = frozenset({"percent_rank", "cume_dist"})
_PLACES = {"first": "first_value", "last": "last_value"}
_MOVED = {"lag": "lag", "lead": "lead"}
_OVER_GROUPS = AGGREGATES.keys() - {"first", "any_value"}
_BOUND = r"(UNBOUNDED (?:PRECEDING|FOLLOWING)|CURRENT ROW|(\d+) (?:PRECEDING|FOLLOWING))"
_FRAME = re.compile(f"(ROWS|RANGE) BETWEEN {_BOUND} AND {_BOUND}")
_MOST_ROWS = (1 << 31) - 1


def window_value(s: Scalars, node: Over) -> Value:
    """A function over a window; `s` has the rules of scalars."""
    call = node.function
    if not isinstance(call, Call):
        raise LeftOut(f"{node_name(call)} over a window")
    over = f" OVER ({_specification(s, node)})"
    if call.function in _OVER_GROUPS:
        return replace(s, rules=GROUPED, over=over)(call)
    rule = WINDOWED.get(call.function)
    if rule is None:
        raise LeftOut(f"{node_name(call)} over a window")
    if call.distinct or not rule.least <= len(call.args) <= rule.most:
        raise LeftOut(f"{node_name(call)} with more")
    return rule.translate(s, call, over)


@dataclass(frozen=True, slots=True)
class WindowRule:
    """How a function over a window is translated, and how many arguments it may have."""

    translate: Callable[[Scalars, Call, str], Value]
    least: int = 0
    most: int = 0


def _rank(s: Scalars, call: Call, over: str) -> Value:
    return Value(f"CAST({_RANKS[call.function]}(){over} AS INTEGER)", INT)


def _share(s: Scalars, call: Call, over: str) -> Value:
    return Value(f"{call.function}(){over}", DOUBLE)


def _ntile(s: Scalars, call: Call, over: str) -> Value:
    return Value(f"CAST(ntile({_count(call.args[0])}){over} AS INTEGER)", INT)


def _place(s: Scalars, call: Call, over: str) -> Value:
    value = _typed(s(call.args[0]))
    return Value(f"{_PLACES[call.function]}({value.sql}){over}", value.kind)


def _nth_value(s: Scalars, call: Call, over: str) -> Value:
    value = _typed(s(call.args[0]))
    return Value(f"nth_value({value.sql}, {_count(call.args[1])}){over}", value.kind)


def _typed(value: Value) -> Value:
    if value.kind == VOID:
        raise LeftOut("NULL without a type")
    return value


def _count(node: Expr) -> int:
    number = natural_number(node)
    if number is None:
        raise LeftOut("a window's number")
    return number


def _moved(s: Scalars, call: Call, over: str) -> Value:
    """LAG and LEAD."""
    name, (of, *rest) = _MOVED[call.function], call.args
    value, places = _typed(s(of)), _count(rest[0]) if rest else 1
    other = s(rest[1]) if rest[1:] else None
    if other is None:
        return Value(f"{name}({value.sql}, {places}){over}", value.kind)
    if other.kind not in (value.kind, VOID):
        raise LeftOut(f"{node_name(call)} with a default of {other.kind.name}")
    return Value(f"{name}({value.sql}, {places}, {s.cast(other, value.kind)}){over}", value.kind)


def _specification(s: Scalars, node: Over) -> str:
    texts = []
    if node.partition:
        texts.append(f"PARTITION BY {', '.join(_compared(s, p) for p in node.partition)}")
    if node.order:
        texts.append(f"ORDER BY {order_by(s, node.order)}")
    if node.frame:
        texts.append(_frame(node.frame))
    return " ".join(texts)


def _compared(s: Scalars, node: Expr) -> str:
    value = s(node)
    if not value.kind.is_compared:
        raise LeftOut(f"a partition by {value.kind.name}")
    return value.sql


def order_by(s: Scalars, terms: Iterable[Expr]) -> str:
    """What stands behind ORDER BY, of a window or of a statement; a term that says no more is
    ascending, its NULLs first."""
    texts = []
    for term in map(_as_term, terms):
        value = s(term.value)
        if not value.kind.is_compared:
            raise LeftOut(f"an order of {value.kind.name}")
        direction = "DESC" if term.descending else "ASC"
        nulls = "FIRST" if term.nulls_first else "LAST"
        texts.append(f"{value.sql} {direction} NULLS {nulls}")
    return ", ".join(texts)


def _as_term(e: Expr) -> SortOrder:
    return e if isinstance(e, SortOrder) else SortOrder(e, descending=False, nulls_first=True)


def _frame(text: str) -> str:
    found = _FRAME.fullmatch(text)
    numbers = [n for n in (found[3], found[5]) if n] if found is not None else []
    if found is None or not all(0 < int(n) <= _MOST_ROWS for n in numbers):
        raise LeftOut("a window's frame")
    if numbers and found[1] == "RANGE":
        raise LeftOut("a window's frame")
    return text


WINDOWED: Mapping[str, WindowRule] = {
    **dict.fromkeys(_RANKS, WindowRule(_rank)),
    **dict.fromkeys(_SHARES, WindowRule(_share)),
    "ntile": WindowRule(_ntile, 1, 1),
    **dict.fromkeys(_MOVED, WindowRule(_moved, 1, 3)),
    **dict.fromkeys(_PLACES, WindowRule(_place, 1, 1)),
    "nth_value": WindowRule(_nth_value, 2, 2),
}
"""The closed list, besides aggregates."""
