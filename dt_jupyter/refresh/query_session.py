"""A session made ready for the user's own text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model import Definition, SourceKind, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def list_anew(spark: SparkSession, definition: Definition) -> None:
    """Sources that are not Delta are read as they are now: a session keeps their list of files."""
    for source in definition.sources:
        if source.kind is not SourceKind.FOREIGN:
            continue
        if source.name.schema == "delta":
            spark.catalog.refreshByPath(source.name.table)
        elif spark.catalog.tableExists(source.name.sql):
            spark.catalog.refreshTable(source.name.sql)


def use_schema(spark: SparkSession, definition: Definition) -> None:
    """Bare names that no frontier pins mean what they meant where the table was created; a
    session of ours may be in the schema of another table."""
    if spark.catalog.databaseExists(quote(definition.current_schema)):
        spark.sql(f"USE {quote(definition.current_schema)}")
