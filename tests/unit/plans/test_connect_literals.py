"""Literals of Spark Connect's plans as SQL: messages without a server."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from dt_jupyter.plans import NoForm

proto = pytest.importorskip("pyspark.sql.connect.proto")

from pyspark.sql.connect.types import pyspark_types_to_proto_types as typed  # noqa: E402

from dt_jupyter.plans.connect_literal import connect_literal  # noqa: E402

Literal = proto.Expression.Literal
HALF = T.StructType([T.StructField("a b", T.IntegerType())])


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ({"null": typed(T.NullType())}, "NULL"),
        ({"null": typed(HALF)}, "CAST(NULL AS STRUCT<`a b`: INT>)"),
        ({"binary": b"\x00\xff'"}, "X'00FF27'"),
        ({"boolean": True}, "TRUE"),
        ({"byte": -128}, "-128Y"),
        ({"short": 5}, "5S"),
        ({"integer": -(2**31)}, "-2147483648"),
        ({"long": 2**63 - 1}, "9223372036854775807L"),
        ({"float": 0.1}, "0.1F"),
        ({"float": 16777216.0}, "16777216F"),
        ({"float": float("nan")}, "CAST('nan' AS FLOAT)"),
        ({"double": 1e-7}, "1e-07D"),
        ({"double": float("-inf")}, "CAST('-inf' AS DOUBLE)"),
        ({"decimal": Literal.Decimal(value="1.5", precision=10, scale=0)},
         "CAST('1.5' AS DECIMAL(10,1))"),
        ({"decimal": Literal.Decimal(value="1E+3")}, "1000BD"),
        ({"decimal": Literal.Decimal(value="-0.001")}, "-0.001"),
        ({"string": "it's"}, "'it\\'s'"),
        ({"date": -1}, "DATE'1969-12-31'"),
        ({"timestamp": 1}, "TIMESTAMP'1970-01-01 00:00:00.000001Z'"),
        ({"timestamp_ntz": -1}, "TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'"),
        ({"year_month_interval": -14}, "INTERVAL '-1-2' YEAR TO MONTH"),
        ({"year_month_interval": 24, "data_type": typed(T.YearMonthIntervalType(0, 0))},
         "INTERVAL '2' YEAR"),
        ({"day_time_interval": 5}, "INTERVAL '0 00:00:00.000005' DAY TO SECOND"),
        ({"day_time_interval": -5_400_000_000, "data_type": typed(T.DayTimeIntervalType(1, 2))},
         "INTERVAL '-1:30' HOUR TO MINUTE"),
        ({"day_time_interval": 61_000_000, "data_type": typed(T.DayTimeIntervalType(2, 3))},
         "INTERVAL '1:01.000000' MINUTE TO SECOND"),
        ({"array": Literal.Array(element_type=typed(T.DateType()), elements=[Literal(date=0)])},
         "CAST(array(DATE'1970-01-01') AS ARRAY<DATE>)"),
        ({"map": Literal.Map(keys=[Literal(string="k")], values=[Literal(long=1)]),
          "data_type": typed(T.MapType(T.StringType(), T.LongType()))},
         "CAST(map('k', 1L) AS MAP<STRING, BIGINT>)"),
        ({"struct": Literal.Struct(struct_type=typed(HALF), elements=[Literal(integer=1)])},
         "CAST(named_struct('a b', 1) AS STRUCT<`a b`: INT>)"),
    ],
)  # fmt: skip
def test_a_literal_has_its_type_and_value(kind: dict[str, Any], sql: str) -> None:
    assert connect_literal(Literal(**kind)) == sql


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ({"calendar_interval": Literal.CalendarInterval(days=1)}, "calendar_interval"),
        ({"time": Literal.Time(nano=1)}, "time"),
        ({"specialized_array": Literal.SpecializedArray()}, "specialized_array"),
        ({"decimal": Literal.Decimal(value="NaN")}, "NaN"),
        ({"date": 10_000_000}, "after 9999"),
        ({"timestamp": 2**62}, "after 9999"),
        ({"timestamp_ntz": -(2**62)}, "before the year 1"),
        ({}, "None"),
    ],
)
def test_a_literal_without_a_form_is_refused_by_name(kind: dict[str, Any], words: str) -> None:
    with pytest.raises(NoForm, match=words):
        connect_literal(Literal(**kind))


def test_every_kind_of_literal_is_known() -> None:
    """A kind that a later Spark has is refused until it is written here."""
    (told,) = Literal.DESCRIPTOR.oneofs
    assert {f.name for f in told.fields} == {
        "null", "binary", "boolean", "byte", "short", "integer", "long", "float", "double",
        "decimal", "string", "date", "timestamp", "timestamp_ntz", "calendar_interval",
        "year_month_interval", "day_time_interval", "array", "map", "struct",
        "specialized_array", "time",
    }  # fmt: skip
