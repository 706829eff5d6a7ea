"""Which names are taken: dynamic tables, streams, sinks, tables and views share one space of names.

A stream is not a view of Spark's, and a dynamic table is more than one, so no catalog alone
decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    Name,
    name_taken,
)
from dt_jupyter.spark import RelationKind, lookup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def holder(
    catalog: Catalog, spark: SparkSession, name: Name, *, temporary: bool = True
) -> str | None:
    """The kind of what has the name: dynamic table, stream, sink, table, view, and where asked
    for a temporary view; None: it is free."""
    if catalog.get(name) is not None:
        return "dynamic table"
    if catalog.find_stream(name) is not None:
        return "stream"
    if catalog.find_sink(name) is not None:
        return "sink"
    relation = lookup(spark, name)
    if relation is None or (relation.kind is RelationKind.TEMPORARY_VIEW and not temporary):
        return None
    return relation.kind.value


def require_free(
    catalog: Catalog, spark: SparkSession, name: Name, *, temporary: bool = True
) -> None:
    """DT-1105 where the name is taken."""
    kind = holder(catalog, spark, name, temporary=temporary)
    if kind is not None:
        raise name_taken(kind, name, same=False)
