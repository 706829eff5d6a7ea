"""The names of a dynamic table's columns: those of its query, or those that the statement lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dt_jupyter.model import Name, count_of, error
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.spark import is_storable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField


def checked_names(
    spark: SparkSession, table: Name, listed: Sequence[str], fields: Sequence[StructField]
) -> tuple[str, ...]:
    """The names of columns of a query's `fields`. DT-1111 where the list has another number of
    them, DT-1104 for a name that comes twice, DT-1114 for a reserved one, DT-1116 for a type that
    cannot be stored."""
    names = tuple(listed) or tuple(f.name for f in fields)
    if len(names) != len(fields):
        given, actual = count_of(len(names), "name"), count_of(len(fields), "column")
        raise error("DT-1111", given=given, actual=actual)
    repeated = [n for n, k in Counter(n.lower() for n in names).items() if k > 1]
    if repeated:
        raise error("DT-1104", name=repeated[0])
    for name in names:
        if is_hidden(name):
            raise error("DT-1114", name=name)
    for column in fields:
        if not is_storable(spark, column.dataType):
            problem = f"{column.name} has type {column.dataType.simpleString()}"
            raise error("DT-1116", name=table, problem=problem)
    return names
