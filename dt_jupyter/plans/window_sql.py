"""What stands in OVER (…) of a window function of Spark's plans."""

from __future__ import annotations

from collections.abc import Callable

from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode

_FRAMELESS = frozenset({
    "RowNumber", "Rank", "DenseRank", "PercentRank", "CumeDist", "NTile", "Lag", "Lead",
})  # fmt: skip
"""Their frame is their own."""
_START, _HERE, _END = "UNBOUNDED PRECEDING", "CURRENT ROW", "UNBOUNDED FOLLOWING"
_NAMED = {"UnboundedPreceding": _START, "CurrentRow": _HERE, "UnboundedFollowing": _END}


def window_clause(call: SparkNode, spec: SparkNode, sql: Callable[[SparkNode], str]) -> str:
    """The partition, the order and the frame, which is left out where it is the usual one."""
    *_, frame = spec.children
    partition, order = spec.trees("partitionSpec"), spec.trees("orderSpec")
    parts = []
    if partition:
        parts.append(f"PARTITION BY {', '.join(map(sql, partition))}")
    if order:
        parts.append(f"ORDER BY {', '.join(map(sql, order))}")
    if call.kind not in _FRAMELESS and (text := _frame(frame, bool(order), sql)):
        parts.append(text)
    return " ".join(parts)


def _frame(frame: SparkNode, ordered: bool, sql: Callable[[SparkNode], str]) -> str:
    if frame.kind != "SpecifiedWindowFrame":
        return ""
    kind = "ROWS" if frame.word("frameType") == "RowFrame" else "RANGE"
    low, high = (_bound(b, sql) for b in frame.children)
    usual = ("RANGE", _START, _HERE) if ordered else ("ROWS", _START, _END)
    return "" if (kind, low, high) == usual else f"{kind} BETWEEN {low} AND {high}"


def _bound(node: SparkNode, sql: Callable[[SparkNode], str]) -> str:
    if node.kind in _NAMED:
        return _NAMED[node.kind]
    if node.kind == "Cast" and not node.fields["explicit"]:
        return _bound(node.child, sql)
    if node.kind == "UnaryMinus":
        return f"{sql(node.child)} PRECEDING"
    if node.kind != "Literal":
        raise NoForm("a window whose frame is computed")
    text = sql(node)
    return f"{text[1:]} PRECEDING" if text.startswith("-") else f"{text} FOLLOWING"
