"""Values of parameters written out mean what Spark's own binding makes of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from dt_jupyter.spark import bind_parameters, binding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST = timedelta(days=106751990, hours=23, microseconds=1)
VALUES: list[Any] = [
    None, True, False, 0, 7, -7, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 1.5, -0.0,
    float("inf"), float("nan"), 1e300, Decimal("1.50"), Decimal("-0.01"), "", "it's \\n \n 😀",
    "-- no comment", b"", b"\x00'\xff", date(1900, 1, 1), date(9999, 12, 31),
    datetime(2024, 2, 29, 12, 0, 0, 1), datetime(2024, 2, 29, tzinfo=UTC),
    timedelta(0), timedelta(microseconds=-1), timedelta(days=1, seconds=61), LONGEST,
    timedelta(days=-9_999, microseconds=-1), [1, 2], ["a", "it's"],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_each_value_is_the_one_that_spark_binds(quick_spark: SparkSession, value: object) -> None:
    spark, text = quick_spark, "SELECT :v AS v"
    with binding(spark, {"v": value}):
        bound = spark.sql(text, args={"v": value})
    written = spark.sql(bind_parameters(text, {"v": value}))
    assert repr(written.collect()) == repr(bound.collect())
    if not isinstance(value, Decimal):  # it has as many digits as were written, and not 38
        assert written.dtypes == bound.dtypes


@pytest.mark.parametrize("value", [-5, Decimal("-5"), -(2**40)])
def test_a_negative_number_after_a_minus_begins_no_comment(
    quick_spark: SparkSession, value: object
) -> None:
    ((found,),) = quick_spark.sql(bind_parameters("SELECT 1 -:v", {"v": value})).collect()
    assert found == 1 - value  # type: ignore[operator]
