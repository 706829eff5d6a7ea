"""Window functions of Spark's plans: their order made total where it decides."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.ivm import (
    BY_ROW,
    OF_ALL_ROWS,
    ORDERED_THEMSELVES,
    PEER_EDGES,
    PICKED_ROWS,
    RANKS,
    SETTLING,
    UP_TO_PEERS,
    WHOLE_PARTITION,
    Call,
    Expr,
    Ids,
    Refusal,
    WindowCall,
    col,
    expr,
    is_alike_for_peers,
    make_call,
    refuse,
    require_rule,
)
from dt_jupyter.plans.function_names import sql_function
from dt_jupyter.plans.group_reader import call_text, take_call_apart
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.scalar_reader import ScalarReader
from dt_jupyter.plans.window_sql import window_clause


@dataclass(frozen=True)
class ReadWindow:
    """The calls of one window expression, the value over them, and by what its rows are
    partitioned besides the partition that it says."""

    calls: tuple[WindowCall, ...]
    value: Expr
    more: tuple[Expr, ...] = ()


def read_window(node: SparkNode, reader: ScalarReader, ids: Ids) -> ReadWindow:
    """A window expression."""
    function, spec = node.children
    orders = spec.trees("orderSpec")
    terms = tuple(reader.order(o) for o in orders)
    frame = _frame(function, spec, reader)
    whole = function.kind == "AggregateExpression"
    call = function.child if whole else function
    name = sql_function(call.kind, reader.builtins) or call.kind.lower()
    ignores = bool(call.fields.get("ignoreNulls"))
    if name in PEER_EDGES and orders and not ignores and frame in PEER_EDGES[name]:
        more = tuple(reader.read(o.child) for o in orders)
        made = _call(name, function, reader, ids.new("w"), (), "")
        return ReadWindow((made,), col(made.id), more)
    if name == "nth_value" and orders and frame in UP_TO_PEERS:
        return _nth(call, reader, ids, terms, ignores)
    made = _call(name, function, reader, ids.new("w"), terms, frame)
    return ReadWindow((made,), col(made.id))


def _frame(function: SparkNode, spec: SparkNode, reader: ScalarReader) -> str:
    clause = window_clause(function, spec, reader.sql)
    at = max(clause.find("ROWS BETWEEN"), clause.find("RANGE BETWEEN"))
    return clause[at:] if at >= 0 else ""


def _nth(
    call: SparkNode, reader: ScalarReader, ids: Ids, terms: tuple[Expr, ...], ignores: bool
) -> ReadWindow:
    """NTH_VALUE up to the rows that tie: that row of the whole partition in a settled order, if
    the frame has as many rows."""
    x, offset = (reader.read(c) for c in call.children[:2])
    counted = expr("COUNT({x})", x=x) if ignores else expr("COUNT(*)")
    rows, value = ids.new("w"), ids.new("w")
    calls = (
        WindowCall(rows, counted, terms, "", total=False, settles=False),
        WindowCall(
            value, _function(call, reader), terms, WHOLE_PARTITION, total=True, settles=True
        ),
    )
    text = "CASE WHEN {r} >= {n} THEN {v} END"
    return ReadWindow(calls, expr(text, r=col(rows), n=offset, v=col(value)))


def _function(function: SparkNode, reader: ScalarReader) -> Expr:
    if function.kind == "AggregateExpression":
        if function.child.kind in ("First", "Last", "AnyValue", "Mode"):
            return reader.call_of(function.child)
        return call_text(take_call_apart(function, reader))
    if function.kind in ("Rank", "DenseRank", "PercentRank", "CumeDist", "RowNumber"):
        return Call(str(sql_function(function.kind, reader.builtins)).upper(), ())
    return reader.window_call(function)


def _call(
    name: str,
    function: SparkNode,
    reader: ScalarReader,
    made: str,
    terms: tuple[Expr, ...],
    frame: str,
) -> WindowCall:
    text = _function(function, reader)
    if name in RANKS:
        return WindowCall(made, text, terms, frame, total=False, settles=False)
    if name in BY_ROW:
        return WindowCall(made, text, terms, frame, total=True, settles=True)
    if name in PICKED_ROWS:
        if terms and not frame.startswith("ROWS") and not is_alike_for_peers(name, frame):
            raise refuse(Refusal.TIES, what=f"{name}()")
        frame = frame or ("" if terms else WHOLE_PARTITION)
        return WindowCall(made, text, terms, frame, total=True, settles=True)
    if function.kind != "AggregateExpression":
        raise refuse(Refusal.WINDOW, what=f"{name}()")
    parts = take_call_apart(function, reader)
    name = parts.name
    require_rule(name)
    open_ = name in SETTLING
    if name in ORDERED_THEMSELVES and not (name == "listagg" and terms):
        if len(parts.args) > 2:
            raise refuse(Refusal.WINDOW, what=f"{name}() of several rows")
        text = make_call(parts, text, ()).text
        return WindowCall(made, text, terms, frame, total=False, settles=open_)
    if name in OF_ALL_ROWS:
        return WindowCall(made, text, terms, frame, total=False, settles=False)
    if not terms and not frame:
        return WindowCall(made, text, (), WHOLE_PARTITION, total=True, settles=open_)
    by_row = frame.startswith("ROWS")
    if open_ and not by_row:
        raise refuse(Refusal.TIES, what=f"{name}()")
    return WindowCall(made, text, terms, frame, total=by_row, settles=by_row)
