"""Arrow rows as DataFrames that the engine's own statements read.

`SparkSession.createDataFrame` of classic PySpark 4.2 makes its session the active one, of this
thread in Java and of all in Python: code that asks for the active session afterwards (pandas on
Spark, a second `connect`) would be given one of the engine's. What it calls for rows of Arrow does
not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.session_confs import confs
from dt_jupyter.spark.stored_types import spark_arrow_schema
from dt_jupyter.spark.variants import fill_variants

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

FEW = 1_000
"""Up to this number of rows are in the plan itself, where Spark's optimizer may compute with
them."""

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
    whole = fill_variants(rows.combine_chunks()) if rows.num_rows else rows.schema.empty_table()
    if is_connect(spark):
        return spark.createDataFrame(whole, *(() if schema is None else (schema,)))
    from pyspark.sql.pandas.conversion import SparkConversionMixin

    return SparkConversionMixin.createDataFrame(spark, whole, schema)


def rows_frame(spark: SparkSession, rows: Iterable[tuple[object, ...]], schema: str) -> DataFrame:
    """Python's rows under a schema in Spark's words. They are in the plan itself: showing them
    takes no job, unlike a list that is given to PySpark."""
    import pyarrow as pa
    from pyspark.sql.types import StructType

    struct = StructType.fromDDL(schema)
    assert isinstance(struct, StructType)
    shape = spark_arrow_schema(struct)
    columns = list(zip(*rows, strict=True)) or [()] * len(shape)
    arrays = [pa.array(values, f.type) for values, f in zip(columns, shape, strict=True)]
    return whole_frame(spark, pa.Table.from_arrays(arrays, schema=shape), struct)


def empty_frame(spark: SparkSession, schema: StructType) -> DataFrame:
    """No rows."""
    if is_connect(spark):
        return spark.createDataFrame([], schema)
    from pyspark.sql import DataFrame

    session: Any = spark
    kind = session._jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
    none = session._jsc.emptyRDD()
    return DataFrame(session._jsparkSession.createDataFrame(none, kind), spark)


def as_text(column: Column, kind: str) -> Column:
    """A value of a column of that type as Spark writes it: binary ones in hexadecimal digits."""
    from pyspark.sql import functions as f

    return f.hex(column) if kind == "binary" else column.cast("string")
