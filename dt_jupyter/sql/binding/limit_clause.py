"""LIMIT and OFFSET: the first rows of a query in its order, or in that of their contents."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dt_jupyter.ivm import (
    Expr,
    Filter,
    Ids,
    Project,
    Refusal,
    Rel,
    Top,
    Window,
    WindowCall,
    col,
    expr,
    has_all,
    refuse,
)
from dt_jupyter.sql.binding.aggregation import aggregates
from dt_jupyter.sql.binding.scope import Scope
from dt_jupyter.sql.dialect import WholeSpark

Ctes = Mapping[str, exp.Expr]


def top(
    node: exp.Expr,
    rel: Rel,
    names: tuple[str, ...],
    items: Mapping[exp.Expr, str],
    builtins: frozenset[str],
    ctes: Ctes,
) -> Rel:
    """ORDER BY … LIMIT over the named columns of a query; ORDER BY alone changes no bag. Without
    an order the rows are taken in that of their contents."""
    if not any(node.args.get(k) for k in ("limit", "offset", "fetch")):
        return rel
    count, skip = _bounds(node)
    if has_all(rel, count, skip):
        return rel
    terms = _order(node, limit_scope(rel, names, items, builtins), ctes)
    return Top(rel, terms, count, skip)


def limit_scope(
    rel: Rel, names: tuple[str, ...], items: Mapping[exp.Expr, str], builtins: frozenset[str]
) -> Scope:
    """What ORDER BY beside a LIMIT sees: the columns of the query by name, and its items."""
    columns = {("", n): c for n, c in zip(names, rel.columns, strict=False)}
    return Scope(Ids(), builtins, rel, columns, known=dict(items))


def first_of_each(
    node: exp.Expr, scope: Scope, keys: tuple[str, ...], number: str, ctes: Ctes
) -> Rel:
    """The first rows by the ORDER BY of a query for each of these keys; `number` is a new id."""
    count, skip = _bounds(node)
    terms, rel = _order(node, scope, ctes), scope.rel
    call = WindowCall(number, expr("ROW_NUMBER()"), terms, "", total=True, settles=True)
    kept = [expr("{n} > " + str(skip), n=col(number))] if skip else []
    kept += [expr("{n} <= " + str(skip + count), n=col(number))] if count is not None else []
    numbered = Filter(Window(rel, keys, (call,)), tuple(kept)) if kept else rel
    return Project(numbered, tuple((c, col(c)) for c in rel.columns))


def _bounds(node: exp.Expr) -> tuple[int | None, int]:
    """How many rows (None: all) after how many others."""
    if isinstance(node.args.get("limit"), exp.Fetch) or node.args.get("fetch"):
        raise refuse(Refusal.LIMIT, what="FETCH")
    return _number(node.args.get("limit")), _number(node.args.get("offset")) or 0


def _order(node: exp.Expr, scope: Scope, ctes: Ctes) -> tuple[Expr, ...]:
    order = node.args.get("order")
    if order is None and (_is_sorted(node) or any(is_ordered(m, ctes) for m in _members(node))):
        raise refuse(Refusal.LIMIT, what="a LIMIT over rows with an order of their own")
    if order is None or _is_all(order):
        return ()
    return tuple(scope.scalar(o) for o in order.expressions)


def _is_sorted(node: exp.Expr) -> bool:
    """SORT BY and the like: they change no bag, but what a LIMIT takes."""
    return any(node.args.get(k) for k in ("sort", "cluster", "distribute"))


def limited_to(rel: Rel, count: int) -> Rel:
    """The first rows in the order of their contents."""
    return rel if has_all(rel, count, 0) else Top(rel, (), count)


def without_limit(query: exp.Expr) -> exp.Expr:
    """What EXISTS asks of a query: a LIMIT of at least one row says nothing there."""
    inner = query.this if isinstance(query, exp.Subquery) else query
    limit = inner.args.get("limit")
    if limit is None or inner.args.get("offset") or not _number(limit):
        return query
    plain = query.copy()
    for part in ("limit", "order"):
        (plain.this if isinstance(plain, exp.Subquery) else plain).set(part, None)
    return plain


def is_ordered(node: exp.Expr, ctes: Ctes) -> bool:
    """Whether Spark gives the rows of a relation in an order that its text says: a LIMIT above
    takes the first ones in it, though no order of a subquery is promised."""
    if node.args.get("order") or _is_sorted(node):
        return True
    if isinstance(node, exp.Subquery):
        return is_ordered(node.this, ctes)
    if isinstance(node, exp.Table) and node.name in ctes and not node.db:
        visible = dict(list(ctes.items())[: list(ctes).index(node.name)])
        return is_ordered(ctes[node.name].this, visible)
    if not isinstance(node, exp.Select) or _forgets_order(node):
        return False
    return any(is_ordered(m, ctes) for m in _members(node))


def _forgets_order(node: exp.Select) -> bool:
    grouped = any(node.args.get(k) for k in ("group", "having", "distinct"))
    return grouped or any(aggregates(item) for item in node.expressions)


def _members(node: exp.Expr) -> list[exp.Expr]:
    """The relations whose rows a query passes on."""
    if isinstance(node, exp.Subquery):
        return [node.this]
    if not isinstance(node, exp.Select) or _forgets_order(node):
        return []
    from_ = node.args.get("from_") or node.args.get("from")
    joined = [j.this for j in node.args.get("joins") or ()]
    return [from_.this, *joined] if from_ else []


def _is_all(order: exp.Expr) -> bool:
    """ORDER BY ALL, which is the order of rows that tie."""
    first = order.expressions[0]
    if not isinstance(first.this, exp.Var) or first.name.upper() != "ALL":
        return False
    if first.args.get("desc") or not first.args.get("nulls_first"):
        raise refuse(Refusal.LIMIT, what="ORDER BY ALL with a direction")
    return True


def _number(node: exp.Expr | None) -> int | None:
    """The rows that a LIMIT or OFFSET says; None for LIMIT ALL, and where there is none."""
    if node is None:
        return None
    value = node.expression
    if isinstance(value, exp.Var | exp.Column) and value.name.upper() == "ALL":
        return None
    if not isinstance(value, exp.Literal) or value.is_string or not str(value.this).isdigit():
        raise refuse(Refusal.LIMIT, what=f"LIMIT {value.sql(dialect=WholeSpark)[:40]}")
    return int(value.this)
