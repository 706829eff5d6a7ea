"""Whether two plans of classic Spark are the same, by Spark's own rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark import as_active

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
_RULES = tuple(
    f"{_OPTIMIZER}.{name}$"
    for name in (
        "EliminateResolvedHint", "ReplaceExpressions", "ReplaceDistinctWithAggregate",
        "ReplaceDeduplicateWithAggregate", "CombineUnions", "PushDownPredicates", "ColumnPruning",
        "CollapseProject", "ConstantFolding", "RemoveRedundantAliases", "RemoveNoopOperators",
    )
)  # fmt: skip
_PASSES = 2


def same_plan(spark: SparkSession, one: Any, other: Any) -> bool:
    """Whether two analysed plans come to the same one: as they are, by the few rules that undo
    what writing a plan as text does to it, or by the whole optimizer."""
    with as_active(spark):
        return any(a.sameResult(b) for a, b in _simplified(spark, one, other))


def _simplified(spark: SparkSession, one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    yield one, other
    yield _by_rules(spark, one), _by_rules(spark, other)
    session: Any = spark
    optimizer = session._jsparkSession.sessionState().optimizer()
    for _ in range(_PASSES):
        one, other = optimizer.execute(one), optimizer.execute(other)
        yield one, other


def _by_rules(spark: SparkSession, plan: Any) -> Any:
    from py4j.java_gateway import JavaClass

    session: Any = spark
    client = session._jvm._gateway_client
    for _ in range(_PASSES):
        for rule in _RULES:
            plan = getattr(JavaClass(rule, client), "MODULE$").apply(plan)
    return plan
