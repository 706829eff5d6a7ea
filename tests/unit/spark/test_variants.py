"""Rows with NULL variants, as PySpark wants them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from dt_jupyter.spark.variants import _open, fill_variants

ONE = {"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}
STRUCT = T.StructType([T.StructField("x", T.VariantType()), T.StructField("y", T.IntegerType())])
CASES: list[tuple[T.DataType, list[Any]]] = [
    (T.VariantType(), [ONE, None, ONE]),
    (T.VariantType(), [None, None, None]),
    (STRUCT, [{"x": ONE, "y": 1}, {"x": None, "y": None}, None]),
    (T.ArrayType(T.VariantType()), [[ONE, None], None, []]),
    (T.MapType(T.StringType(), T.VariantType()), [[("a", ONE), ("b", None)], None, []]),
    (T.ArrayType(STRUCT), [[{"x": None, "y": 2}, None], [], None]),
    (T.IntegerType(), [1, None, 3]),
]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=lambda c: str(c)[:30])
def test_rows_fit_the_types_of_pyspark(kind: T.DataType, values: list[Any]) -> None:
    shape = to_arrow_schema(T.StructType([T.StructField("v", kind)]))
    opened = pa.schema([_open(f) for f in shape])
    rows = pa.table([pa.array(values, opened.field("v").type)], schema=opened)
    for some in (rows, rows.slice(1), rows.slice(1, 1), rows.slice(0, 0)):
        filled = fill_variants(some)
        assert filled.schema == some.schema
        cast = filled.cast(shape)
        cast.validate(full=True)
        assert cast.to_pylist() == some.to_pylist()
