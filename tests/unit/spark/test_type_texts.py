"""Types as SQL."""

from __future__ import annotations

from pyspark.sql import types as T

from dt_jupyter.spark import type_text


def test_names_of_fields_are_quoted_where_sql_has_them_only_so() -> None:
    inner = T.StructType([T.StructField("a-b`", T.IntegerType()), T.StructField("c", T.DateType())])
    kind = T.MapType(T.StringType(), T.ArrayType(inner))
    assert type_text(kind) == "map<string,array<struct<`a-b```:int,c:date>>>"
    plain = T.StructType([T.StructField("x", T.DecimalType(4, 2))])
    assert type_text(plain) == plain.simpleString()
