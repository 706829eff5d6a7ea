"""Rows that a refresh computes once and reads several times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dt_jupyter.refresh.held_frames import HeldFrames
from dt_jupyter.spark import is_connect, leave_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def classic(quick_spark: SparkSession) -> SparkSession:
    if is_connect(quick_spark):
        pytest.skip("Connect shows no plan of its own")
    return quick_spark


def executed(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())  # type: ignore[union-attr]


def test_frames_that_read_each_other_have_plans_of_bounded_size(classic: SparkSession) -> None:
    """Eight of them, each of which reads the one before three times."""
    held, sizes = HeldFrames(), list[int]()
    name = held.hold(classic.range(5).selectExpr("id", "id % 2 AS k"))
    for _ in range(8):
        three = f"SELECT a.id, b.k FROM {name} a JOIN {name} b USING (id) JOIN {name} c USING (id)"
        name = held.hold(classic.sql(three))
        sizes.append(executed(classic.table(name)).count("InMemoryRelation"))
    assert 1 < sizes[0] < sizes[1] < 20, "the first have their plans"
    assert max(sizes[2:]) == 1
    assert sorted(map(tuple, classic.table(name).collect())) == [(i, i % 2) for i in range(5)]
    held.release()


def test_rows_without_their_plan_are_the_same(classic: SparkSession) -> None:
    frame = classic.range(100).selectExpr("id", "IF(id = 7, NULL, 'x') AS `a b`")
    bare = leave_plan(frame)
    assert bare.schema == frame.schema
    assert bare.collect() == frame.collect()
    assert "Range" not in executed(bare)
    sizes = [f._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() for f in (frame, bare)]  # type: ignore[union-attr]
    assert sizes[0] == sizes[1]
