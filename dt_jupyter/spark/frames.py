"""Arrow rows as DataFrames that the engine's own statements read."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.session_confs import confs
from dt_jupyter.spark.thread_session import keep_active

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

FEW = 1_000
"""So many rows stand in the plan itself, where Spark's optimizer may compute with them."""

_THRESHOLD = "spark.sql.execution.arrow.localRelationThreshold"


def arrow_frame(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """The rows in one partition, so that nothing over such rows alone has to be exchanged.

    More than `FEW` rows stay Arrow until a task reads them: Spark copies the rows of a plan
    whenever it rewrites it.
    """
    if is_connect(spark):
        return whole_frame(spark, rows, schema)
    if rows.num_rows <= FEW:
        return whole_frame(spark, rows, schema).coalesce(1)
    with confs(spark, {_THRESHOLD: "0"}):
        return whole_frame(spark, rows, schema).coalesce(1)


def whole_frame(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """All the rows: of a table whose first two chunks are empty PySpark 4.2 takes none, and one
    without a chunk it refuses where a column is a time."""
    whole = rows.combine_chunks() if rows.num_rows else rows.schema.empty_table()
    return _make_frame(spark, whole, schema)


def rows_frame(spark: SparkSession, rows: Iterable[tuple[object, ...]], schema: str) -> DataFrame:
    """Python's rows under a schema in Spark's words. They stand in the plan itself: to show them
    takes no job, which those of a list that PySpark is given need."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    struct = StructType.fromDDL(schema)
    assert isinstance(struct, StructType)
    shape = to_arrow_schema(struct, timezone="UTC")
    columns = list(zip(*rows, strict=True)) or [()] * len(shape)
    arrays = [pa.array(values, f.type) for values, f in zip(columns, shape, strict=True)]
    return whole_frame(spark, pa.Table.from_arrays(arrays, schema=shape), struct)


def empty_frame(spark: SparkSession, schema: StructType | str) -> DataFrame:
    """No rows under a schema, which may stand in Spark's words."""
    return _make_frame(spark, [], schema)


def _make_frame(spark: SparkSession, rows: Any, schema: StructType | str | None) -> DataFrame:
    given = () if schema is None else (schema,)
    with nullcontext() if is_connect(spark) else keep_active(spark):
        return spark.createDataFrame(rows, *given)


def as_text(column: Column, kind: str) -> Column:
    """A value of a column of that type as Spark writes it: binary ones in hexadecimal digits."""
    from pyspark.sql import functions as f

    return f.hex(column) if kind == "binary" else column.cast("string")
