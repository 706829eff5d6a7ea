"""Which of Spark's types a Delta table takes, and what they are made of, here and in Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

_NEVER = frozenset({
    "NullType", "TimeType", "DayTimeIntervalType", "YearMonthIntervalType", "CalendarIntervalType",
    "GeometryType", "GeographyType",
})  # fmt: skip
"""By name: not every release of Spark has all of them."""
_CHECKED = "spark.databricks.delta.schema.typeCheck.enabled"
_PLAIN = "UTF8_BINARY"


def is_storable(spark: SparkSession, kind: DataType) -> bool:
    """Whether a Delta table takes a column of the type; strings of a collation where the session
    lets Delta take what it does not know (Delta's UnsupportedDataTypes)."""
    for part in parts_of_type(kind):
        if type(part).__name__ in _NEVER:
            return False
        if getattr(part, "collation", _PLAIN) != _PLAIN and _is_checked(spark):
            return False
    return True


def parts_of_type(kind: DataType) -> Iterator[DataType]:
    """The type and those that it is made of."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    yield kind
    inner: list[DataType] = []
    if isinstance(kind, ArrayType):
        inner = [kind.elementType]
    elif isinstance(kind, MapType):
        inner = [kind.keyType, kind.valueType]
    elif isinstance(kind, StructType):
        inner = [f.dataType for f in kind.fields]
    for each in inner:
        yield from parts_of_type(each)


def spark_arrow_schema(schema: StructType) -> pa.Schema:
    """The schema that Arrow has for rows of Spark, timestamps in UTC: PySpark 4.2 takes the time
    zone's name, older ones have no other zone."""
    from pyspark.sql.pandas.types import to_arrow_schema

    names_zone = "timezone" in signature(to_arrow_schema).parameters
    options: dict[str, Any] = {"timezone": "UTC"} if names_zone else {}
    return to_arrow_schema(schema, **options)


def _is_checked(spark: SparkSession) -> bool:
    return str(spark.conf.get(_CHECKED, "true")).lower() != "false"
