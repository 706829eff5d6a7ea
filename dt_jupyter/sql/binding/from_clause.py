"""FROM with its joins, those in brackets too, as one relation and the columns that it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from dt_jupyter.ivm import Ids, Refusal, refuse
from dt_jupyter.sql.binding.joins import From, VisibleRelation, name_columns
from dt_jupyter.sql.binding.lateral_subqueries import join_lateral
from dt_jupyter.sql.binding.scope import NamedRelation, Scope, conjuncts, own_columns
from dt_jupyter.sql.binding.subqueries import Bind


class Lateral(Protocol):
    """What binds the subqueries of a scope: `ids` of a definition, and Spark's functions."""

    ids: Ids
    builtins: frozenset[str]


def open_brackets(tree: exp.Expr) -> None:
    """FROM (a JOIN b …) JOIN c … without the brackets, which say nothing there; the same for
    those around one table. The tree is changed in place."""
    for bracket in reversed(list(tree.find_all(exp.Subquery))):
        while _is_bracket(bracket) and (around := _only_holding(bracket)):
            around.replace(bracket)
        table = bracket.this
        first = isinstance(bracket.parent, exp.From)
        joins = table.args.get("joins") if _is_bracket(bracket) else None
        more = {k for k, v in bracket.args.items() if v} - {"this", "joins"}
        if not _is_bracket(bracket) or more or (joins and not first):
            continue
        own = [*(joins or []), *(bracket.args.get("joins") or [])]
        select = bracket.find_ancestor(exp.Select)
        bracket.replace(table)
        table.set("joins", None)
        if own and select is not None:
            select.set("joins", [*own, *(select.args.get("joins") or [])])


def lift_outer_conditions(select: exp.Select, outer: Scope) -> None:
    """Moves what the ON of an inner join says of columns around the subquery into its WHERE, where
    it means the same: unless a later join extends rows of the left side. The tree is changed in
    place."""
    first = _first(select)
    joins = [*(first.args.get("joins") or []), *(select.args.get("joins") or [])]
    if any(map(_is_bracket, (first, *(j.this for j in joins)))):
        return
    for i, join in enumerate(joins):
        if join.args.get("on") is None or not _is_inner(join) or any(map(_extends, joins[i + 1 :])):
            continue
        parts = conjuncts(join.args["on"])
        moved = [
            p for p in parts if any((c.table, c.name) in outer.columns for c in own_columns(p))
        ]
        if moved:
            kept = [p for p in parts if p not in moved]
            join.set("on", exp.and_(*kept, copy=False) if kept else None)
            select.where(*moved, copy=False)


def _first(select: exp.Select) -> exp.Expr:
    from_ = select.args.get("from_") or select.args["from"]
    first: exp.Expr = from_.this
    return first


def _is_inner(join: exp.Join) -> bool:
    plain = not join.side and str(join.kind or "").upper() in ("", "INNER", "CROSS")
    return plain and not isinstance(join.this, exp.Lateral)


def _extends(join: exp.Join) -> bool:
    return str(join.side or "").upper() in ("RIGHT", "FULL")


def _is_bracket(node: exp.Expr) -> bool:
    return isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table)


def _only_holding(node: exp.Expr) -> exp.Expr | None:
    """The brackets around a node that hold nothing else."""
    parent = node.parent
    beside = [v for v in parent.args.values() if v] if isinstance(parent, exp.Subquery) else []
    return parent if beside == [node] else None


def bind_from(
    binder: Lateral,
    first: exp.Expr,
    joins: list[exp.Join],
    relation: Callable[[exp.Expr], NamedRelation],
    bind: Bind,
    outer: Scope | None,
) -> From:
    """A relation and what is joined to it; `relation` binds what stands there by itself."""

    def found(node: exp.Expr) -> VisibleRelation:
        if not _is_bracket(node):
            return name_columns(node.alias_or_name, relation(node))
        inside = node.this.args.get("joins") or []
        if node.args.get("alias") or any(isinstance(j.this, exp.Lateral) for j in inside):
            raise refuse(Refusal.EXPRESSION, what="joins in brackets with a name or a LATERAL")
        made = bind_from(binder, node.this, inside, relation, bind, outer)
        return VisibleRelation(made.rel, made.columns)

    made = From(binder.ids, binder.builtins)
    made.add(found(first))
    for lateral in first.args.get("laterals") or []:
        made.lateral(lateral)
    for join in joins:
        if isinstance(join.this, exp.Lateral) and isinstance(join.this.this, exp.Subquery):
            scope = Scope(binder.ids, binder.builtins, made.rel, made.columns, outer)
            join_lateral(made, join, scope, bind)
        elif isinstance(join.this, exp.Lateral):
            made.lateral_join(join)
        else:
            made.join(join, found(join.this))
    return made
