"""Subqueries in conditions and expressions, unnested into joins with what they select.

EXISTS and IN become semi joins, their negations anti joins, a scalar subquery a column that is
joined in: by the columns it is correlated on, or as the one row that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from dt_jupyter.ivm import (
    NULL,
    Aggregate,
    Bracketed,
    Expr,
    Infix,
    Join,
    Literal,
    MatchKind,
    Postfix,
    Prefix,
    Project,
    Refusal,
    Rel,
    Split,
    ask_for_absence,
    ask_for_rows,
    case,
    col,
    equality,
    expr as template,
    mark_partners,
    match,
    one_row_each,
    refuse,
    with_columns,
)
from dt_jupyter.sql.binding.aggregation import is_aggregate
from dt_jupyter.sql.binding.generators import is_generator
from dt_jupyter.sql.binding.limit_clause import without_limit
from dt_jupyter.sql.binding.scope import Scope


@dataclass(frozen=True)
class Bound:
    """A subquery: `items` are the ids of its columns, `pairs` equate expressions of the scope
    around it with its own columns, `rest` are further conditions over both.

    `grouped` says that it is one row always, an aggregate without GROUP BY; `empty` are then the
    values of its items where there are no rows. `distinct` is still to be done.
    """

    rel: Rel
    items: tuple[str, ...]
    pairs: tuple[tuple[Expr, str], ...] = ()
    rest: tuple[Expr, ...] = ()
    grouped: bool = False
    empty: tuple[Expr, ...] = ()
    distinct: bool = False

    @property
    def correlated(self) -> bool:
        return bool(self.pairs or self.rest)


Bind = Callable[[exp.Expr, Scope], Bound]
"""Binds a subquery that may read the columns of a scope."""


def _tested(query: exp.Expr) -> exp.Expr:
    """A query of which only is asked whether it has rows: without its LIMIT, and without items
    that say nothing of that."""
    query = without_limit(query)
    asked = query.args
    items = query.expressions if isinstance(query, exp.Select) else []
    more = any(asked.get(k) for k in ("group", "having", "qualify", "limit", "offset"))
    if (
        more
        or not items
        or any(is_aggregate(n) or is_generator(n) for i in items for n in i.walk())
    ):
        return query
    query = query.copy()
    query.set("expressions", [exp.alias_(exp.Literal.number(1), "one", quoted=True)])
    return query


def has_subquery(node: exp.Expr) -> bool:
    return any(isinstance(n, exp.Query) for n in node.walk())


def filter_by(scope: Scope, conjunct: exp.Expr, bind: Bind) -> None:
    """Keeps the rows for which a conjunct with subqueries is true."""
    node, negated = conjunct.unnest(), False
    while isinstance(node, exp.Not):
        node, negated = node.this.unnest(), not negated
    if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
        _exists(scope, bind(_tested(node.this), scope), negated)
    elif isinstance(node, exp.In) and node.args.get("query"):
        if negated:
            _not_in(scope, node, bind)
        else:
            _semi(scope, _in(scope, node, bind), MatchKind.SEMI)
    else:
        attach(scope, conjunct, bind, _rejects_null)
        scope.filter([scope.scalar(conjunct)])


def attach(
    scope: Scope,
    node: exp.Expr,
    bind: Bind,
    rejects_null: Callable[[exp.Expr, exp.Expr], bool] = lambda root, n: False,
) -> None:
    """Joins in the value of each subquery of an expression; `known` then has its column.

    IN and NOT IN of a subquery are never NULL outside of WHERE: both are FALSE there, as Spark's
    existence joins have it.
    """
    for inner in node.walk(prune=lambda n: isinstance(n, exp.Query) or n in scope.known):
        if inner in scope.known:
            continue
        if isinstance(inner, exp.Exists) and isinstance(inner.this, exp.Query):
            scope.known[inner] = _mark(scope, bind(_tested(inner.this), scope))
        elif _is_not_in(inner):
            _require_truth(node, inner.this.unnest())
            scope.known[inner] = _no_partner(scope, inner.this.unnest(), bind)
        elif isinstance(inner, exp.In) and inner.args.get("query"):
            _require_truth(node, inner)
            scope.known[inner] = _mark(scope, _in(scope, inner, bind))
        elif isinstance(inner, exp.Any | exp.All) and isinstance(inner.this, exp.Query):
            raise refuse(Refusal.SUBQUERY, what="a comparison with ANY or ALL (subquery)")
        elif isinstance(inner, exp.Subquery) and not _is_judged(inner):
            scope.known[inner] = _value(scope, bind(inner, scope), rejects_null(node, inner))


def _is_judged(node: exp.Expr) -> bool:
    """Whether the subquery belongs to an EXISTS or IN."""
    parent = node.parent
    return isinstance(parent, exp.Exists) or (
        isinstance(parent, exp.In) and node is parent.args.get("query")
    )


def _is_not_in(node: exp.Expr) -> bool:
    inner = node.this.unnest() if isinstance(node, exp.Not) else None
    return isinstance(inner, exp.In) and bool(inner.args.get("query"))


def _require_truth(root: exp.Expr, node: exp.Expr) -> None:
    """Refused where the answer of an IN is compared, or is one for NULL: what Spark makes of it
    depends on how it is simplified."""
    if node.this.find(exp.Null):
        raise refuse(Refusal.SUBQUERY, what="IN (subquery) of a NULL")
    parent = node if node is root else node.parent
    while isinstance(parent, exp.Paren) and parent is not root:
        parent = parent.parent
    plain = isinstance(parent, exp.Connector | exp.Not | exp.In)
    of_case = isinstance(parent, exp.Case) and parent.this is not None
    if of_case or (isinstance(parent, exp.Predicate) and not plain):
        raise refuse(Refusal.SUBQUERY, what="IN (subquery) that is compared with a value")


def _rejects_null(root: exp.Expr, node: exp.Expr) -> bool:
    """Whether the condition is not true where the subquery is NULL."""
    inner: exp.Expr | None = node.parent
    while isinstance(inner, exp.Paren | exp.Mul | exp.Add | exp.Sub | exp.Neg):
        inner = inner.parent
    compared = isinstance(inner, exp.EQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.NEQ)
    return compared and inner is root.unnest()


def _in(scope: Scope, node: exp.In, bind: Bind) -> Bound:
    """The subquery of `x IN (…)`, with its items among the pairs."""
    bound = bind(node.args["query"], scope)
    left = node.this.unnest()
    values = left.expressions if isinstance(left, exp.Tuple) else [left]
    if len(values) != len(bound.items):
        raise refuse(Refusal.SUBQUERY, what="IN with another number of columns")
    if bound.grouped and bound.correlated:
        raise refuse(Refusal.SUBQUERY, what="IN over a correlated aggregate")
    own = tuple((scope.scalar(v), i) for v, i in zip(values, bound.items, strict=True))
    return Bound(bound.rel, bound.items, (*own, *bound.pairs), bound.rest)


def split_of(bound: Bound) -> Split:
    return Split(tuple((a, col(b)) for a, b in bound.pairs), bound.rest)


def _semi(scope: Scope, bound: Bound, kind: MatchKind) -> None:
    scope.rel = match(scope.ids, scope.rel, bound.rel, kind, split_of(bound))


def _exists(scope: Scope, bound: Bound, negated: bool) -> None:
    if bound.grouped:
        raise refuse(Refusal.SUBQUERY, what="EXISTS over an aggregate, which is always true")
    if bound.correlated:
        _semi(scope, bound, MatchKind.ANTI if negated else MatchKind.SEMI)
        return
    some = _any(scope, bound.rel)
    scope.filter([Prefix("NOT", col(some)) if negated else col(some)])


def _any(scope: Scope, rel: Rel) -> str:
    """A column that says whether a relation has rows, joined in as one row."""
    fact, some = ask_for_rows(scope.ids, rel)
    scope.join(fact)
    return some


def _not_in(scope: Scope, node: exp.In, bind: Bind) -> None:
    """x NOT IN (B) is true where B has no rows, or x is not NULL, B has no NULL, and no row of B
    is x: an anti join, and whether B is empty and whether it has NULLs, joined in as one row."""
    bound = _in(scope, node, bind)
    if len(bound.pairs) != 1 or bound.rest:
        _semi(scope, _that_may_be(bound), MatchKind.ANTI)
        return
    value = scope.column(bound.pairs[0][0])
    _semi(scope, Bound(bound.rel, bound.items, ((col(value), bound.items[0]),)), MatchKind.ANTI)
    scope.filter([_is_false(scope, node, value, bind)])


def _is_false(scope: Scope, node: exp.In, value: str, bind: Bind) -> Expr:
    """Whether x IN (B) is FALSE, and not NULL, of a row that has no partner in B."""
    again = bind(node.args["query"], scope)
    (item,) = again.items
    facts, is_false = ask_for_absence(scope.ids, again.rel, col(item), col(value))
    scope.join(facts)
    return is_false


def _no_partner(scope: Scope, node: exp.In, bind: Bind) -> str:
    """A column that says whether x NOT IN (B) is true."""
    bound = _in(scope, node, bind)
    if len(bound.pairs) != 1 or bound.rest:
        maybe = _mark(scope, _that_may_be(bound))
        return scope.column(Prefix("NOT", col(maybe)), "mark")
    value = scope.column(bound.pairs[0][0])
    there = _mark(scope, replace(bound, pairs=((col(value), bound.pairs[0][1]),)))
    is_false = _is_false(scope, node, value, bind)
    both = Infix(Prefix("NOT", col(there)), "AND", Bracketed(is_false))
    return scope.column(both, "mark")


def _that_may_be(bound: Bound) -> Bound:
    """The rows of `x IN (B)` that may be x, whose comparison is true or NULL, among those that
    the correlation leaves."""
    count = len(bound.items)
    equal = " AND ".join(f"{{a{i}}} = {{b{i}}}" for i in range(count))
    own = {f"a{i}": a for i, (a, _) in enumerate(bound.pairs[:count])}
    theirs = {f"b{i}": col(b) for i, (_, b) in enumerate(bound.pairs[:count])}
    maybe = template(f"COALESCE({equal}, TRUE)", **own, **theirs)
    return replace(bound, pairs=bound.pairs[count:], rest=(*bound.rest, maybe))


def _mark(scope: Scope, bound: Bound) -> str:
    """A column that says whether the row has a partner."""
    if not bound.correlated:
        return _any(scope, bound.rel)
    if bound.grouped:
        raise refuse(Refusal.SUBQUERY, what="EXISTS over an aggregate, which is always true")
    scope.rel, mark = mark_partners(scope.ids, scope.rel, bound.rel, split_of(bound))
    return mark


def _value(scope: Scope, bound: Bound, rejects_null: bool) -> str:
    """The column of a scalar subquery's value."""
    if len(bound.items) != 1:
        raise refuse(Refusal.SUBQUERY, what="a scalar subquery with several columns")
    if bound.rest:
        raise refuse(Refusal.NON_EQUI_JOIN, what="scalar subquery")
    if not bound.pairs:
        if bound.grouped:
            scope.join(bound.rel)
            return bound.items[0]
        rel, value = _one_row(scope, bound, ())
        made = scope.ids.new("value")
        scope.join(Project(rel, ((made, value),)))
        return made
    keys = tuple(dict.fromkeys(b for _, b in bound.pairs))
    if not bound.grouped:
        return _value_of_keys(scope, bound, *_one_row(scope, bound, keys), rejects_null)
    return _value_of_keys(scope, bound, bound.rel, col(bound.items[0]), rejects_null)


def _value_of_keys(scope: Scope, bound: Bound, rel: Rel, value: Expr, rejects_null: bool) -> str:
    """The value joined in by the columns that the subquery is correlated on; `value` is computed
    above the join, so that a key of no row here cannot fail."""
    empty = bound.empty[0] if bound.empty else None
    if rejects_null and (empty is None or empty == NULL):
        on = tuple(equal_values(a, col(b)) for a, b in bound.pairs)
        scope.rel = Join((scope.rel, rel), on)
        return scope.column(value, "value")
    if empty is None or empty == NULL:
        scope.rel = match(scope.ids, scope.rel, rel, MatchKind.LEFT, split_of(bound))
        return scope.column(value, "value")
    there = scope.ids.new("there")
    right = with_columns(rel, ((there, Literal("TRUE")),))
    scope.rel = match(scope.ids, scope.rel, right, MatchKind.LEFT, split_of(bound))
    return scope.column(case(Postfix(col(there), "IS NULL"), empty, value), "value")


def equal_values(a: Expr, b: Expr) -> Expr:
    return equality(a if a.column else Bracketed(a), b)


def _one_row(scope: Scope, bound: Bound, keys: tuple[str, ...]) -> tuple[Rel, Expr]:
    """One row for each key, and its value; a second row is the error that Spark makes of it."""
    (item,) = bound.items
    rel = Aggregate(bound.rel, bound.rel.columns, ()) if bound.distinct else bound.rel
    groups, values = one_row_each(scope.ids, rel, keys, (item,))
    return groups, values[item]
