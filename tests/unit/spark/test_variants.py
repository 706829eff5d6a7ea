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


def hollow(values: pa.Array) -> pa.Array:
    """The values as Spark sends them: what lies under a NULL is NULL."""
    kind, mask = values.type, values.is_null()
    if pa.types.is_struct(kind):
        parts = [hollow(part) for part in values.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if pa.types.is_map(kind):
        items = hollow(values.items)
        return pa.MapArray.from_arrays(values.offsets, values.keys, items, type=kind, mask=mask)
    if pa.types.is_list(kind):
        inner = hollow(values.values)
        return pa.ListArray.from_arrays(values.offsets, inner, type=kind, mask=mask)
    return values


@pytest.mark.parametrize(("kind", "values"), CASES, ids=lambda c: str(c)[:30])
def test_rows_fit_the_types_of_pyspark(kind: T.DataType, values: list[Any]) -> None:
    shape = to_arrow_schema(T.StructType([T.StructField("v", kind)]))
    opened = pa.schema([_open(f) for f in shape])
    rows = pa.table([hollow(pa.array(values, opened.field("v").type))], schema=opened)
    for some in (rows, rows.slice(1), rows.slice(1, 1), rows.slice(0, 0)):
        filled = fill_variants(some)
        assert filled.schema == some.schema
        cast = filled.cast(shape)
        cast.validate(full=True)
        assert cast.to_pylist() == some.to_pylist()
