"""FROM with its joins, those in brackets too, as one relation and the columns that it shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sqlglot import exp

from dt_jupyter.ivm import Refusal, refuse
from dt_jupyter.sql.binding.joins import From, VisibleRelation, name_columns
from dt_jupyter.sql.binding.lateral_subqueries import join_lateral
from dt_jupyter.sql.binding.scope import Ids, NamedRelation, Scope
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
