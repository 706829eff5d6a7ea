"""VARIANT columns as Arrow has them, where values of them are NULL.

PySpark 4.2 gives both parts of a variant the type NOT NULL, which Arrow also holds against what
is under a NULL variant: `toArrow` and `createDataFrame` fail on one. Rows that come from Spark
have parts that may be NULL; those that go to it have empty bytes there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.stored_types import parts_of_type, spark_arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def collect_arrow(frame: DataFrame) -> pa.Table:
    """The rows of a frame, as its `toArrow`; in columns with variants every part may be NULL."""
    from pyspark.sql.types import VariantType

    if not any(isinstance(part, VariantType) for part in parts_of_type(frame.schema)):
        return frame.toArrow()
    import pyarrow as pa

    shape = pa.schema([_open(f) for f in spark_arrow_schema(frame.schema)])
    return _received(frame).cast(shape)


def _received(frame: Any) -> pa.Table:
    """The rows as Spark sends them."""
    import pyarrow as pa

    if is_connect(frame.sparkSession):
        return frame._to_table()[0]
    return pa.Table.from_batches(frame._collect_as_arrow(empty_list_if_zero_records=False))


def _open(field: pa.Field) -> pa.Field:
    """The field with NULL allowed in every part of it, but in the keys of maps."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([_open(f) for f in kind])
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_field, _open(kind.item_field))
    elif pa.types.is_list(kind):
        kind = pa.list_(_open(kind.value_field))
    return field.with_type(kind).with_nullable(True)


def fill_variants(rows: pa.Table) -> pa.Table:
    """The rows with empty bytes under each variant that is NULL."""
    import pyarrow as pa

    for i, field in enumerate(rows.schema):
        if _has_variant(field.type):
            filled = [_filled(chunk) for chunk in rows.column(i).chunks]
            rows = rows.set_column(i, field, pa.chunked_array(filled, field.type))
    return rows


def _is_variant(kind: pa.DataType) -> bool:
    from pyspark.sql.pandas.types import is_variant

    return bool(is_variant(kind))


def _has_variant(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_struct(kind) and _is_variant(kind):
        return True
    fields = (kind.field(i) for i in range(kind.num_fields))
    return pa.types.is_nested(kind) and any(_has_variant(f.type) for f in fields)


def _filled(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    kind = values.type
    if not _has_variant(kind):
        return values
    mask = values.is_null()
    if pa.types.is_struct(kind):
        parts = [values.field(i) for i in range(kind.num_fields)]
        inner = [p.fill_null(b"") for p in parts] if _is_variant(kind) else map(_filled, parts)
        return pa.StructArray.from_arrays(list(inner), fields=list(kind), mask=mask)
    whole = pa.concat_arrays([values])  # a slice's offsets do not take a mask
    if pa.types.is_map(kind):
        items = _filled(whole.items)
        return pa.MapArray.from_arrays(whole.offsets, whole.keys, items, type=kind, mask=mask)
    return pa.ListArray.from_arrays(whole.offsets, _filled(whole.values), type=kind, mask=mask)
