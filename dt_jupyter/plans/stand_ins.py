"""Empty tables that stand for those of a text while its plan is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dt_jupyter.spark import Catalyst

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


@contextmanager
def standing_tables(
    spark: SparkSession, schemas: Mapping[str, StructType]
) -> Iterator[Mapping[str, str]]:
    """Temporary views of classic Spark with these schemas, by the same keys, for as long as the
    block runs."""
    with Catalyst.of(spark).empty_views(schemas) as views:
        yield views
