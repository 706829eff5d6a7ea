"""Empty tables that stand for those of a text while its plan is looked at: nothing is read, and
every reference to a source is told from all others, whatever its columns are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dt_jupyter.model.hidden import unique_view
from dt_jupyter.spark import empty_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_MARK = "dt_source"


@contextmanager
def standing_tables(
    spark: SparkSession, schemas: Mapping[str, StructType]
) -> Iterator[Mapping[str, str]]:
    """Temporary views of classic Spark with these schemas, by the same keys, for as long as the
    block runs."""
    views: dict[str, str] = {}
    try:
        for key, schema in schemas.items():
            views[key] = unique_view("standing")
            empty_frame(spark, _marked(schema, key)).createOrReplaceTempView(views[key])
        yield views
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def _marked(schema: StructType, key: str) -> StructType:
    """The columns with a note of what they are of, which a plan shows."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(f.name, f.dataType, f.nullable, {**f.metadata, _MARK: key})
            for f in schema.fields
        ]
    )
