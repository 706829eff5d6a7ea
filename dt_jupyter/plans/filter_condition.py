"""The condition of a filter, as Spark reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dt_jupyter.ivm import Expr, Refusal, refuse
from dt_jupyter.plans.expression_reader import ExpressionReader
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_facts import plan_columns
from dt_jupyter.plans.plan_tree import SparkNode


def read_filter_condition(plan: SparkNode, builtins: Collection[str]) -> Expr:
    """The condition of the plan of `SELECT * FROM a relation WHERE condition`, over columns by
    their names, with the casts that Spark adds and with what asks for the time. Refused where it
    has a subquery, or no form."""
    found = plan
    while found.kind in ("Project", "SubqueryAlias"):
        found = found.child
    condition = found.tree("condition") if found.kind == "Filter" else None
    if condition is None:
        raise refuse(Refusal.SUBQUERY, what="a subquery in this place")
    columns = {c.id: c.name for c in plan_columns(found.child)}
    try:
        return ExpressionReader(columns, builtins, _no_query).read(condition)
    except NoForm as e:
        raise refuse(Refusal.EXPRESSION, what=e.what) from None


def _no_query(plan: SparkNode, outer: Mapping[int, str]) -> str:
    raise refuse(Refusal.SUBQUERY, what="a subquery in this place")
