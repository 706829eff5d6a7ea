"""The relation that an analysed plan of classic Spark means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from dt_jupyter.ivm import Rel
from dt_jupyter.plans.plan_document import read_java_plan
from dt_jupyter.plans.plan_leaves import PlanLeaves
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.relation_reader import RelationReader
from dt_jupyter.plans.subquery_rules import join_subqueries
from dt_jupyter.sql import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def relation_of_plan(
    spark: SparkSession,
    analysed: Any,
    tables: Mapping[str, Table],
    builtins: Collection[str],
    functions: Collection[str] = (),
) -> Rel:
    """The relation of a plan over temporary views that stand for `tables`, by their names;
    `functions` are the user's. Refused where the plan has no form in the algebra."""
    plan = join_subqueries(spark, analysed)
    tree = read_java_plan(spark, plan)
    with PlanLeaves.of(spark, plan, {}) as leaves:

        def local_rows(node: SparkNode) -> str:
            found = leaves.stored(node)
            assert found is not None
            return found.text

        return RelationReader(tables, builtins, functions, local_rows).read(tree)
