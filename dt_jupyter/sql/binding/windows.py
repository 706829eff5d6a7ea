"""Window functions: calls grouped by their partitions, their order made total where it decides."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from dt_jupyter.ivm import SETTLING, SUPPORTED, Expr, Refusal, Window, WindowCall, refuse
from dt_jupyter.sql.binding.scalars import function_name
from dt_jupyter.sql.binding.scope import Scope

_RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_BY_ROW = frozenset({"row_number", "ntile", "lag", "lead"})
_PICKS = frozenset({"first_value", "first", "last_value", "last", "nth_value", "any_value"})
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def windows(nodes: Iterable[exp.Expr]) -> list[exp.Window]:
    """The window calls in expressions, each once."""
    walked = (m for n in nodes for m in n.walk(prune=lambda m: isinstance(m, exp.Query)))
    return list(dict.fromkeys(m for m in walked if isinstance(m, exp.Window)))


def bind_windows(scope: Scope, select: exp.Select, nodes: Iterable[exp.Expr]) -> None:
    """Computes the window calls of a SELECT: one `Window` for each set of partition columns."""
    named = {w.alias_or_name or w.name: w for w in select.args.get("windows") or ()}
    groups: dict[tuple[str, ...], list[tuple[exp.Window, WindowCall]]] = {}
    for node in windows(nodes):
        whole = _with_name(node, named)
        keys = tuple(
            sorted({scope.column(scope.scalar(p)) for p in whole.args.get("partition_by") or ()})
        )
        groups.setdefault(keys, []).append((node, _call(scope, whole)))
    for keys, calls in groups.items():
        scope.rel = Window(scope.rel, keys, tuple(c for _, c in calls))
        scope.known.update({n: c.id for n, c in calls})


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
    inner = node.this
    bare = inner.this if isinstance(inner, exp.IgnoreNulls | exp.RespectNulls) else inner
    bare = bare.this if isinstance(bare, exp.Filter) else bare
    name = function_name(bare)
    order = node.args.get("order")
    terms = tuple(scope.scalar(o) for o in order.expressions) if order else ()
    frame = _frame(node.args.get("spec"))
    function = _function(scope, inner)
    made = scope.ids.new("w")
    if name in _RANKS:
        return WindowCall(made, function, terms, frame, total=False, settles=False)
    if name in _BY_ROW:
        return WindowCall(made, function, terms, frame, total=True, settles=True)
    if name in _PICKS:
        if terms and not frame.startswith("ROWS") and not _from_start(name, frame):
            raise refuse(Refusal.NON_DETERMINISTIC, what=f"{name}() over rows that tie")
        return WindowCall(
            made, function, terms, frame or ("" if terms else _WHOLE), total=True, settles=True
        )
    if name not in SUPPORTED and not isinstance(bare, exp.AggFunc):
        raise refuse(Refusal.WINDOW, what=f"{name}()")
    if name not in SUPPORTED:
        raise refuse(Refusal.AGGREGATE, what=name, known="count, sum, avg, min, max")
    open_ = name in SETTLING
    if not terms and not frame:
        return WindowCall(made, function, (), _WHOLE, total=True, settles=open_)
    by_row = frame.startswith("ROWS")
    if open_ and not by_row:
        raise refuse(Refusal.NON_DETERMINISTIC, what=f"{name}() over rows that tie")
    return WindowCall(made, function, terms, frame, total=by_row, settles=by_row)


def _from_start(name: str, frame: str) -> bool:
    """The first row of a frame that begins with the partition is the same for all that tie."""
    first = name in ("first_value", "first", "any_value")
    if first:
        return not frame or "UNBOUNDED PRECEDING" in frame
    return frame.endswith("UNBOUNDED FOLLOWING")


def _function(scope: Scope, node: exp.Expr) -> Expr:
    """The call's text; its arguments are checked like any scalar, the function by its name."""
    inner = node.this if isinstance(node, exp.IgnoreNulls | exp.RespectNulls) else node
    for argument in inner.iter_expressions():
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
    text = value.sql(dialect="spark") if isinstance(value, exp.Expr) else str(value).upper()
    return f"{text} {side}".upper() if side else text
