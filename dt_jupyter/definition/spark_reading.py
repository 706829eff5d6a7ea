"""A query that our reader does not read, read by Spark: its analysed plan as a text that it binds.

The text is kept beside the user's own, which is what is shown, exported, and read again whenever
what it reads has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.ivm import Refusal, Refused
from dt_jupyter.model import Definition, Name, quote
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.plans import FromText, NoForm, standing_tables, write_frame_query
from dt_jupyter.sources import name_of, pinned
from dt_jupyter.spark import is_connect
from dt_jupyter.sql import table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_OF_THE_TEXT = frozenset({
    Refusal.EXPRESSION, Refusal.LATERAL, Refusal.SUBQUERY, Refusal.SET_OPERATION, Refusal.PIVOT,
    Refusal.TABLE_FUNCTION, Refusal.GROUPING_SETS, Refusal.LIMIT, Refusal.WINDOW,
    Refusal.NON_EQUI_JOIN, Refusal.AGGREGATE, Refusal.TIES,
})  # fmt: skip
"""Refusals that may be of how a query is written; the others are of what it means."""


def may_be_read(spark: SparkSession, refused: Refused) -> bool:
    """Whether Spark's plan may say what our reader did not understand. The plan of Connect says
    no more than the text."""
    return refused.refusal in _OF_THE_TEXT and not is_connect(spark)


def read_unparsed(spark: SparkSession, query: str, builtins: Collection[str]) -> str:
    """The text of a query that only Spark parses, over the tables that there are; "" where it has
    none."""
    try:
        return write_frame_query(spark, spark.sql(query), builtins)
    except (NoForm, PySparkException, RecursionError):
        return ""


def read_by_plan(
    spark: SparkSession,
    definition: Definition,
    schemas: Mapping[str, StructType],
    builtins: Collection[str],
    expanded: Callable[[str], str],
) -> str:
    """The text of a definition over sources with these schemas, by id; "" where it has none.
    Views are looked through, and `expanded` puts in what functions of SQL return."""
    sources = {s.name: s for s in definition.sources}
    views = {v.name: expanded(v.text) for v in definition.views}

    def named(parts: tuple[str, ...]) -> Name:
        return name_of(parts, definition.current_schema)

    with standing_tables(spark, {s: _public(f) for s, f in schemas.items()}) as standing:
        names = {standing[s.table_id]: FromText(s.name.sql, s.name.table) for s in sources.values()}
        try:
            text = pinned(
                expanded(definition.query),
                lambda p: quote(standing[sources[named(p)].table_id]),
                lambda p: views.get(named(p)),
            )
            read = write_frame_query(spark, spark.sql(text), builtins, names)
            known = all(named(parts) in sources for parts, *_ in table_places(read))
            return read if known else ""
        except (NoForm, Refused, PySparkException, RecursionError):
            return ""


def _public(schema: StructType) -> StructType:
    from pyspark.sql.types import StructType

    return StructType([f for f in schema.fields if not is_hidden(f.name)])
