"""Window functions: calls grouped by their partitions, their order made total where it decides."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dt_jupyter.ivm import (
    PEER_EDGES,
    SUPPORTED,
    UNRULED,
    UP_TO_PEERS,
    WHOLE_PARTITION,
    Call,
    CallParts,
    Expr,
    Infix,
    Raw,
    Refusal,
    Window,
    WindowCall,
    case,
    col,
    refuse,
    require_rule,
    settle_window,
)
from dt_jupyter.sql.binding.aggregate_calls import bare_call, call_name
from dt_jupyter.sql.binding.aggregation import bound_parts
from dt_jupyter.sql.binding.scope import Scope
from dt_jupyter.sql.dialect import WholeSpark


def windows(nodes: Iterable[exp.Expr]) -> list[exp.Window]:
    """The window calls in expressions, each once."""
    walked = (m for n in nodes for m in n.walk(prune=lambda m: isinstance(m, exp.Query)))
    return list(dict.fromkeys(m for m in walked if isinstance(m, exp.Window)))


def bind_windows(scope: Scope, select: exp.Select, nodes: Iterable[exp.Expr]) -> None:
    """Computes the window calls of a SELECT: one `Window` for each set of partition columns."""
    named = {w.alias_or_name or w.name: w for w in select.args.get("windows") or ()}
    groups: dict[tuple[str, ...], list[WindowCall]] = {}
    found: dict[exp.Window, Expr] = {}
    for node in windows(nodes):
        whole = _over_peers(_with_name(node, named))
        keys = tuple(
            sorted({scope.column(scope.scalar(p)) for p in whole.args.get("partition_by") or ()})
        )
        calls, found[node] = _nth(scope, whole) or _alone(_call(scope, whole))
        groups.setdefault(keys, []).extend(calls)
    for keys, own in groups.items():
        scope.rel = Window(scope.rel, keys, tuple(own))
    scope.known.update({n: scope.column(value, "w") for n, value in found.items()})


def _alone(call: WindowCall) -> tuple[list[WindowCall], Expr]:
    return [call], col(call.id)


def _over_peers(node: exp.Window) -> exp.Window:
    """The last row of a frame that ends with the rows that tie is the last of those; so is the
    first of one that begins with them. Both are asked of those rows alone."""
    inner, order = node.this, node.args.get("order")
    edge = PEER_EDGES.get(call_name(bare_call(inner)))
    if edge is None or not order or isinstance(inner, exp.IgnoreNulls):
        return node
    if _frame(node.args.get("spec")) not in edge:
        return node
    peers = node.copy()
    terms = [o.this.copy() for o in order.expressions]
    peers.set("partition_by", [*(peers.args.get("partition_by") or ()), *terms])
    peers.set("order", None)
    peers.set("spec", None)
    return peers


def _nth(scope: Scope, node: exp.Window) -> tuple[list[WindowCall], Expr] | None:
    """NTH_VALUE up to the rows that tie: that row of the whole partition in a settled order, if
    the frame has as many rows."""
    inner, order = node.this, node.args.get("order")
    bare = bare_call(inner)
    if not isinstance(bare, exp.NthValue) or not order:
        return None
    if _frame(node.args.get("spec")) not in UP_TO_PEERS:
        return None
    terms = tuple(scope.scalar(o) for o in order.expressions)
    x = scope.scalar(bare.this)
    counted = Call("COUNT", (x if isinstance(inner, exp.IgnoreNulls) else Raw(("*",)),))
    rows, value = scope.ids.new("w"), scope.ids.new("w")
    calls = [
        WindowCall(rows, counted, terms, "", total=False, settles=False),
        WindowCall(
            value, _function(scope, inner), terms, WHOLE_PARTITION, total=True, settles=True
        ),
    ]
    there = Infix(col(rows), ">=", scope.scalar(bare.args["offset"]))
    return calls, case(there, col(value))


def _with_name(node: exp.Window, named: dict[str, exp.Window]) -> exp.Window:
    """OVER w, with what the WINDOW clause says of w."""
    name = node.args.get("alias")
    if name is None:
        return node
    base = named.get(name.name)
    if base is None:
        raise refuse(Refusal.EXPRESSION, what=f"the window {name.name} is not defined")
    whole = node.copy()
    for part in ("partition_by", "order", "spec"):
        if not whole.args.get(part) and base.args.get(part):
            value = base.args[part]
            whole.set(part, [v.copy() for v in value] if isinstance(value, list) else value.copy())
    return whole


def _call(scope: Scope, node: exp.Window) -> WindowCall:
    inner = node.this.copy()
    bare = bare_call(inner)
    name = call_name(bare)
    order = node.args.get("order")
    terms = tuple(scope.scalar(o) for o in order.expressions) if order else ()
    frame = _frame(node.args.get("spec"))
    function = _function(scope, inner)
    call = WindowCall(scope.ids.new("w"), function, terms, frame, total=False, settles=False)
    return settle_window(call, name, lambda: _aggregate(scope, inner, name))


def _aggregate(scope: Scope, node: exp.Expr, name: str) -> CallParts | None:
    """An aggregate taken apart; None for what is none."""
    known = name in SUPPORTED or name in UNRULED
    if not known and not isinstance(bare_call(node), exp.AggFunc):
        return None
    require_rule(name)
    return bound_parts(node, scope.lookup, scope.known, scope.builtins)


def _function(scope: Scope, node: exp.Expr) -> Expr:
    """The call's text; its arguments are checked like any scalar, the function by its name."""
    for argument in bare_call(node).iter_expressions():
        if not isinstance(argument, exp.Star | exp.Distinct | exp.Where):
            scope.scalar(argument)
    return scope.text(node)


def _frame(spec: exp.Expr | None) -> str:
    if spec is None:
        return ""
    kind = str(spec.args["kind"]).upper()
    start = _bound(spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    return f"{kind} BETWEEN {start} AND {end}"


def _bound(value: object, side: object) -> str:
    if isinstance(value, exp.Expr) and value.find(exp.Column):
        raise refuse(Refusal.WINDOW, what="with a frame that depends on a column")
    text = value.sql(dialect=WholeSpark) if isinstance(value, exp.Expr) else str(value).upper()
    return f"{text} {side}".upper() if side else text
