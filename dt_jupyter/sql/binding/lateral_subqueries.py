"""LATERAL (SELECT …): a subquery of FROM that reads the columns of the relations before it."""

from __future__ import annotations

from sqlglot import exp

from dt_jupyter.ivm import (
    NULL,
    Aggregate,
    Expr,
    Literal,
    MatchKind,
    Postfix,
    Project,
    Refusal,
    Split,
    case,
    col,
    match,
    refuse,
    with_columns,
)
from dt_jupyter.sql.binding.generators import is_generator
from dt_jupyter.sql.binding.joins import From
from dt_jupyter.sql.binding.scope import Scope, conjuncts
from dt_jupyter.sql.binding.subqueries import Bind, Bound, equal_values, split_of


def join_lateral(made: From, node: exp.Join, scope: Scope, bind: Bind) -> None:
    """Joins in the rows that the subquery has for each row; `scope` is what it may read.

    Without a FROM of its own it is one row of expressions; an aggregate without GROUP BY is one row
    too; anything else is joined by what it is correlated on.
    """
    lateral, side = node.this, str(node.side or "").upper()
    kind, query = str(node.kind or "").upper(), lateral.this.this
    odd = node.args.get("using") or node.args.get("method")
    if odd or side not in ("", "LEFT") or kind not in ("", "INNER", "CROSS", "OUTER"):
        raise refuse(Refusal.LATERAL, what="a lateral join that is neither inner nor LEFT")
    names = _names(lateral, query)
    if _is_one_row(query):
        _add_items(made, query, scope, lateral.alias, names)
    else:
        bound = bind(lateral.this, scope)
        if len(names) != len(bound.items):
            raise refuse(Refusal.LATERAL, what="a lateral subquery whose columns are not named")
        if bound.grouped and bound.correlated:
            _add_aggregates(made, bound, lateral.alias, names)
        else:
            _add_rows(made, node, bound, names)
            return
    if not _is_true(node.args.get("on")):
        raise refuse(Refusal.LATERAL, what="a condition on a lateral subquery of one row")


def _names(lateral: exp.Lateral, query: exp.Expr) -> tuple[str, ...]:
    alias = lateral.args.get("alias")
    given = tuple(c.name for c in alias.args.get("columns") or ()) if alias else ()
    return given or (tuple(query.named_selects) if isinstance(query, exp.Query) else ())


def _is_true(on: exp.Expr | None) -> bool:
    return on is None or (isinstance(on, exp.Boolean) and bool(on.this))


def _is_one_row(query: exp.Expr) -> bool:
    """SELECT of expressions, and nothing else."""
    if not isinstance(query, exp.Select):
        return False
    others = [k for k, v in query.args.items() if v and k not in ("expressions", "kind")]
    computed = [e.unalias() for e in query.expressions]
    plain = not any(e.find(exp.AggFunc, exp.Window, exp.Query) for e in computed)
    return not others and plain and not any(is_generator(e) for e in computed)


def _add_items(
    made: From, query: exp.Expr, scope: Scope, table: str, names: tuple[str, ...]
) -> None:
    items = tuple(
        (made.ids.new(name), scope.scalar(item.unalias()))
        for name, item in zip(names, query.expressions, strict=True)
    )
    made.replace(with_columns(made.rel, items))
    made.columns.update({(table, n): i for n, (i, _) in zip(names, items, strict=True)})


def _add_aggregates(made: From, bound: Bound, table: str, names: tuple[str, ...]) -> None:
    """One row for each row before: where nothing is aggregated, the values of no rows."""
    if bound.rest:
        raise refuse(Refusal.NON_EQUI_JOIN, what="lateral subquery with an aggregate")
    there, before = made.ids.new("there"), made.rel.columns
    right = with_columns(bound.rel, ((there, Literal("TRUE")),))
    joined = match(made.ids, made.rel, right, MatchKind.LEFT, split_of(bound))
    items = tuple(
        (made.ids.new(name), _value(there, item, empty))
        for name, item, empty in zip(names, bound.items, bound.empty, strict=True)
    )
    made.replace(Project(joined, (*((c, col(c)) for c in before), *items)))
    made.columns.update({(table, n): i for n, (i, _) in zip(names, items, strict=True)})


def _value(there: str, item: str, empty: Expr) -> Expr:
    if empty == NULL:
        return col(item)
    return case(Postfix(col(there), "IS NULL"), empty, col(item))


def _add_rows(made: From, node: exp.Join, bound: Bound, names: tuple[str, ...]) -> None:
    """An inner or a left join by what the subquery is correlated on and by the condition of ON."""
    if bound.distinct and bound.rest:
        raise refuse(Refusal.LATERAL, what="a lateral SELECT DISTINCT by other than equal columns")
    rel = Aggregate(bound.rel, bound.rel.columns, ()) if bound.distinct else bound.rel
    left = made.rel
    made.columns.update({(node.this.alias, n): i for n, i in zip(names, bound.items, strict=True)})
    condition = node.args.get("on")
    wanted = [] if condition is None or _is_true(condition) else conjuncts(condition)
    more = tuple(map(made.bound, wanted))
    on = split_of(bound)
    if str(node.side or "").upper() == "LEFT":
        rest = (*on.rest, *more)
        made.replace(match(made.ids, left, rel, MatchKind.LEFT, Split(on.pairs, rest)))
        return
    equal = tuple(equal_values(a, b) for a, b in on.pairs)
    made.members.append(rel)
    made.on += [*equal, *on.rest, *more]
