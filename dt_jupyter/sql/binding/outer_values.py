"""Correlated subqueries of which one row, or some first ones, belong to each row around them,
found by other conditions than equal columns.

The distinct values of the columns that they read around them are joined to their rows, so that
they are grouped by these, and joined in by them as what is correlated on equal columns (Neumann,
Kemper: Unnesting Arbitrary Queries, 2015).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dt_jupyter.ivm import Aggregate, Bracketed, Join, Project, Split, col, equality
from dt_jupyter.sql.binding.scope import Scope

_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_STRICT = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul,
    exp.Interval, exp.Var,
)  # fmt: skip


def reject_null(conditions: Sequence[exp.Expr]) -> bool:
    """Whether none is true where a column of it is NULL."""
    return all(
        isinstance(c, _COMPARED)
        and all(isinstance(n, _STRICT) or n is c for n in c.unnest().walk())
        for c in conditions
    )


def join_outer_values(scope: Scope, correlation: Split) -> Split:
    """Joins the values around a subquery to its rows; the correlation is of equal columns then.

    The conditions are none that a NULL of these columns makes true: it finds no rows either way.
    """
    assert scope.outer is not None
    around = scope.outer.columns.values()
    conditions = [equality(Bracketed(a), Bracketed(b)) for a, b in correlation.pairs]
    conditions += correlation.rest
    read = dict.fromkeys(c for c in around if any(c in e.columns for e in conditions))
    names = {c: scope.ids.new("outer") for c in read}
    values = Project(scope.outer.rel, tuple((new, col(c)) for c, new in names.items()))
    distinct = Aggregate(values, tuple(names.values()), ())
    on = tuple(e.renamed(names) for e in conditions)
    scope.rel = Join((scope.rel, distinct), on)
    return Split(tuple((col(c), col(new)) for c, new in names.items()), ())
