"""Window functions of Spark's plans: their order made total where it decides."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.ivm import (
    PEER_EDGES,
    STAR,
    UP_TO_PEERS,
    WHOLE_PARTITION,
    Call,
    Expr,
    Ids,
    Infix,
    WindowCall,
    case,
    col,
    settle_window,
)
from dt_jupyter.plans.function_names import called_function
from dt_jupyter.plans.group_reader import call_text, take_call_apart
from dt_jupyter.plans.plan_tree import SparkNode, read_facts
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
    is_aggregate = function.kind == "AggregateExpression"
    bare = function.child if is_aggregate else function
    name = called_function(bare, reader.builtins) or bare.kind.lower()
    ignores = bool(bare.fields.get("ignoreNulls"))
    if name in PEER_EDGES and orders and not ignores and frame in PEER_EDGES[name]:
        more = tuple(reader.read(o.child) for o in orders)
        call = _written(function, reader, ids.new("w"), (), "")
        return ReadWindow((_settled(name, function, reader, call),), col(call.id), more)
    if name == "nth_value" and orders and frame in UP_TO_PEERS:
        return _nth(bare, reader, ids, terms, ignores)
    call = _written(function, reader, ids.new("w"), terms, frame)
    return ReadWindow((_settled(name, function, reader, call),), col(call.id))


def _written(
    function: SparkNode, reader: ScalarReader, made: str, terms: tuple[Expr, ...], frame: str
) -> WindowCall:
    text = _function(function, reader)
    return WindowCall(made, text, terms, frame, total=False, settles=False)


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
    counted = Call("COUNT", (x if ignores else STAR,))
    rows, value = ids.new("w"), ids.new("w")
    calls = (
        WindowCall(rows, counted, terms, "", total=False, settles=False),
        WindowCall(
            value, _function(call, reader), terms, WHOLE_PARTITION, total=True, settles=True
        ),
    )
    return ReadWindow(calls, case(Infix(col(rows), ">=", offset), col(value)))


def _function(function: SparkNode, reader: ScalarReader) -> Expr:
    return _called(function, reader).as_said(read_facts(function))


def _called(function: SparkNode, reader: ScalarReader) -> Expr:
    if function.kind == "AggregateExpression":
        if function.child.kind in ("First", "Last", "AnyValue", "Mode"):
            return reader.call_of(function.child)
        return call_text(take_call_apart(function, reader))
    if function.kind in ("Rank", "DenseRank", "PercentRank", "CumeDist", "RowNumber"):
        return Call(str(called_function(function, reader.builtins)).upper(), ())
    return reader.window_call(function)


def _settled(name: str, function: SparkNode, reader: ScalarReader, call: WindowCall) -> WindowCall:
    whole = function.kind == "AggregateExpression"
    return settle_window(call, name, lambda: take_call_apart(function, reader) if whole else None)
