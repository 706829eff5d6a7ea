"""The relation that a query means, by Spark's plan of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dt_jupyter.ivm import Rel
from dt_jupyter.plans.plan_document import write_document
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.relation_reader import RelationReader
from dt_jupyter.plans.special_times import refuse_special_literals
from dt_jupyter.plans.subquery_rules import join_subqueries
from dt_jupyter.spark import Catalyst
from dt_jupyter.sql import deep, refuse_large


def read_query_document(catalyst: Catalyst, text: str) -> str:
    """The document of the plan of a query, whose subqueries are joins. PySpark's AnalysisException
    or ParseException where Spark does not take the text; Refused where a plan does not tell what it
    says."""
    refuse_special_literals(text)
    return write_document(catalyst, join_subqueries(catalyst, catalyst.analyse(text)))


def relation_of_plan(
    plan: SparkNode,
    tables: Mapping[str, PlanSource],
    builtins: Collection[str],
    functions: Collection[str] = (),
) -> Rel:
    """The relation of the plan of a query, whose subqueries are joins, over `tables`, by the marks
    of their columns or the names of their views; `functions` are the user's. Refused where the plan
    has no form in the algebra, or comes to too many operators."""

    def read() -> Rel:
        rel = RelationReader(tables, builtins, functions).read(plan)
        refuse_large(rel)
        return rel

    return deep(read)
