"""The widest and the deepest queries on real Spark: each a dynamic table or a coded refusal,
through creation with its check, EXPLAIN, a refresh after changes and `verify`; Spark lives on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from dt_jupyter.model import DTError, RefreshAction, RefreshState
from tests.spark.engine_lab import QUICK, Lab
from tests.unit.monsters import MONSTERS, TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACTIONS = {RefreshAction.INCREMENTAL, RefreshAction.REINITIALIZE, RefreshAction.FULL}
UNBOUNDED = {"explodes of explodes", "cross joins"}
"""Their rows are a product: what anyone asks for who writes them; they are asked for EXPLAIN."""

BEYOND_SPARK = {"AND of 1,000"}
"""Of these Spark's own evaluation of the text takes minutes, or overflows its stack."""


@pytest.fixture(scope="module")
def wide(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    made = Lab.open(spark, tmp_path_factory.mktemp("lake"))
    for key, value in QUICK.items():  # of the oracle: Spark takes minutes to compile some
        spark.conf.set(key, value)
    for name, columns in TABLES.items():
        made.table(name, ", ".join(f"{c} INT" for c in columns))
        row = ", ".join("1" for _ in columns)
        other = ", ".join("2" for _ in columns)
        made.insert(name, row, other)
    yield made
    made.close()
    for key in QUICK:
        spark.conf.unset(key)


def _unused_key(name: str) -> str:
    """A value that no other monster inserts: equal keys in forty joined tables are a product."""
    return str(3 + list(MONSTERS).index(name))


def code_or_none(lab: Lab, name: str, query: str) -> str | None:
    """The code that refuses a table; None where it was made."""
    try:
        lab.dynamic_table(name, query)
    except DTError as e:
        return e.code
    return None


@pytest.mark.parametrize("name", [n for n in MONSTERS if n not in UNBOUNDED])
def test_a_monster_lives_or_is_refused(wide: Lab, name: str) -> None:
    table = f"m{list(MONSTERS).index(name)}"
    before = wide.names()
    if code_or_none(wide, table, MONSTERS[name]) is not None:
        assert wide.names() == before
        return
    made = wide.engine.table(table)
    assert made.mode_reason.code
    assert str(wide.engine.explain(table))
    for source in {s.name.table for s in made.definition.sources}:
        wide.insert(source, ", ".join(_unused_key(name) for _ in TABLES[source]))
    record = wide.record(table)
    assert (record.state, record.error) == (RefreshState.SUCCEEDED, None)
    assert record.action in ACTIONS
    if name not in BEYOND_SPARK:
        wide.verified(table)
    wide.sql(f"DROP DYNAMIC TABLE {table}")


@pytest.mark.parametrize("name", sorted(UNBOUNDED))
def test_a_product_is_checked_and_explained_in_bounded_work(wide: Lab, name: str) -> None:
    wide.dynamic_table("p", MONSTERS[name], "INITIALIZE = ON_SCHEDULE")
    assert str(wide.engine.explain("p"))
    wide.sql("DROP DYNAMIC TABLE p")


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
def test_skewed_keys_are_no_product_in_the_check(wide: Lab, kind: str) -> None:
    """A thousand rows of one key in each of ten tables; the table itself is not filled."""
    for i in range(10):
        wide.table(f"s{i}", "k INT, v INT")
        wide.sql(f"INSERT INTO s{i} SELECT 1, id FROM range(1000)")
    joins = " ".join(f"{kind} s{i} ON s0.k = s{i}.k" for i in range(1, 10))
    query = f"SELECT s0.k, s9.v FROM s0 {joins}"
    wide.dynamic_table("skewed", query, "INITIALIZE = ON_SCHEDULE")
    assert wide.mode("skewed") == "INCREMENTAL"
    wide.sql("DROP DYNAMIC TABLE skewed")
    for i in range(10):
        wide.sql(f"DROP TABLE s{i}")


def test_spark_lives(wide: Lab) -> None:
    assert wide.spark.range(3).count() == 3
    with pytest.raises(PySparkException):
        wide.spark.sql("SELECT raise_error('x')").collect()
