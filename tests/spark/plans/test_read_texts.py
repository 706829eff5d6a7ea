"""Queries read from their plans have the rows that Spark gives their texts."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from dt_jupyter.ivm import simplify
from dt_jupyter.model import quote
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_relation import read_query_document, relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.spark import Catalyst, builtin_functions
from dt_jupyter.sql import Renderer
from tests.cases import some
from tests.recorded_plans import column_names
from tests.unit.small_queries import TABLES, VIEWS, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: dict[str, tuple[Any, ...]] = {
    "INT": (0, 1, 2, 3, None),
    "STRING": ("a", "b", "c", None),
    "ARRAY<INT>": (None, [], [1], [1, 2], [None, 3]),
}
OPEN = frozenset({
    "SELECT id, (SELECT collect_list(id) FROM u WHERE u.k = t.k) AS l FROM t",
    "SELECT id, (SELECT explode(array(id)) FROM u WHERE u.k = t.k LIMIT 1) AS m FROM t",
})  # fmt: skip
"""Texts that leave an order open."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """With a few rows, some of them twice, in each table."""
    made, rng = spark.newSession(), Random(5)
    made.conf.set("spark.sql.session.timeZone", "UTC")
    for name, ddl in TABLES.items():
        kinds = [column.split()[-1] for column in ddl.split(", ")]
        rows = [tuple(rng.choice(VALUES[k]) for k in kinds) for _ in range(8)]
        made.createDataFrame([*rows, *rows[:2]], ddl).coalesce(1).createOrReplaceTempView(
            quote(name)
        )
    for name, text in VIEWS.items():
        made.sql(f"CREATE TEMPORARY VIEW {name} AS {text}")
    return made


def rewritten(session: SparkSession, text: str) -> str:
    """The query as its relation renders it."""
    known = {name: PlanSource(name, column_names(ddl)) for name, ddl in TABLES.items()}
    document = read_query_document(Catalyst.of(session), text)
    rel = simplify(relation_of_plan(read_document(document), known, builtin_functions(session)))
    items = ", ".join(f"{quote(c)} AS c{i}" for i, c in enumerate(rel.columns))
    return f"SELECT {items} FROM ({Renderer(lambda scan: quote(scan.source))(rel)})"


def rows(session: SparkSession, text: str) -> Counter[str] | None:
    """None where the query fails, as it may for a subquery of two rows."""
    from pyspark.errors import PySparkException

    try:
        return Counter(repr(tuple(row)) for row in session.sql(text).collect())
    except PySparkException as e:
        if e.getCondition() in ("SCALAR_SUBQUERY_TOO_MANY_ROWS", "USER_RAISED_EXCEPTION"):
            return None
        raise


@pytest.mark.parametrize("text", some(12, [*texts("read_by_plan.sql"), *texts("queries.sql")]))
def test_a_query_that_is_read_has_the_rows_of_its_text(session: SparkSession, text: str) -> None:
    own = rows(session, rewritten(session, text))
    assert text in OPEN or own == rows(session, text)
