"""A query that our reader does not read, read by Spark: its analysed plan as a text that it binds.

The text is kept beside the user's own, which is what is shown, exported, and read again whenever
what it reads has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.definition.compile import is_padded
from dt_jupyter.ivm import Refusal, Refused, refuse
from dt_jupyter.model import Definition, Name, quote
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.plans import (
    FromText,
    NoForm,
    read_frame_plan,
    standing_tables,
    write_frame_query,
)
from dt_jupyter.sources import name_of, pinned
from dt_jupyter.spark import DROPS_QUOTES, KEEPS_BACKSLASHES, is_connect
from dt_jupyter.sql import escape_quotes, table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_NO_TEXT = (NoForm, Refused, PySparkException, Py4JJavaError, RecursionError)
"""What reading ends in; Spark's optimizer fails on some plans."""
_OF_THE_TEXT = frozenset({
    Refusal.EXPRESSION, Refusal.LATERAL, Refusal.SUBQUERY, Refusal.SET_OPERATION, Refusal.PIVOT,
    Refusal.TABLE_FUNCTION, Refusal.GROUPING_SETS, Refusal.LIMIT, Refusal.WINDOW,
    Refusal.NON_EQUI_JOIN, Refusal.AGGREGATE, Refusal.TIES, Refusal.GUARD_MISMATCH,
})  # fmt: skip
"""Refusals that may be of how a query is written; the others are of what it means."""

_PADS = "StringRPad"

_OTHER_READING = {
    "spark.sql.caseSensitive": "the session is case sensitive",
    KEEPS_BACKSLASHES: "the session takes a backslash in a string as it is",
}
"""Confs with which a text means something else than our reader reads, and than what we write."""


def refuse_other_reading(definition: Definition, expanded: Callable[[str], str]) -> None:
    """Refused by a definition whose confs are such; `expanded` puts in what functions of SQL
    return."""
    on = {conf for conf, value in definition.settings.items() if value.lower() == "true"}
    for conf, what in _OTHER_READING.items():
        if conf in on:
            raise refuse(Refusal.EXPRESSION, what=what)
    texts = (expanded(t) for t in (definition.query, *(view.text for view in definition.views)))
    if DROPS_QUOTES in on and any(escape_quotes(text) != text for text in texts):
        raise refuse(Refusal.EXPRESSION, what="the session drops '' in a string")


def may_be_read(spark: SparkSession, refused: Refused) -> bool:
    """Whether Spark's plan may say what our reader did not understand. The plan of Connect says
    no more than the text."""
    return refused.refusal in _OF_THE_TEXT and not is_connect(spark)


def read_unparsed(spark: SparkSession, query: str, builtins: Collection[str]) -> str:
    """The text of a query that only Spark parses, over the tables that there are; "" where it has
    none."""
    try:
        return write_frame_query(spark, spark.sql(query), builtins)
    except _NO_TEXT:
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
    try:
        with standing_query(spark, definition, schemas, expanded) as query:
            return query.read(builtins)
    except _NO_TEXT:
        return ""


def padded_text(
    spark: SparkSession,
    definition: Definition,
    schemas: Mapping[str, StructType],
    builtins: Collection[str],
    expanded: Callable[[str], str],
) -> str:
    """The text of a definition with the padding that Spark's analyser adds to strings, since
    columns of its sources are CHAR; "" where it adds none. Refused where there is no such text."""
    if not _pads(spark, definition, schemas, expanded):
        return ""
    text = read_by_plan(spark, definition, schemas, builtins, expanded)
    if not text:
        raise refuse(Refusal.EXPRESSION, what="it compares CHAR columns, which Spark pads")
    return text


def _pads(
    spark: SparkSession,
    definition: Definition,
    schemas: Mapping[str, StructType],
    expanded: Callable[[str], str],
) -> bool:
    """Whether the analyser pads strings; also where that cannot be seen."""
    if not any(is_padded(f) for s in schemas.values() for f in s.fields):
        return False
    if is_connect(spark):
        return True
    plain = {i: _without_metadata(s) for i, s in schemas.items()}
    try:
        counts = []
        for known in (schemas, plain):
            with standing_query(spark, definition, known, expanded) as query:
                counts.append(query.count_paddings())
    except (PySparkException, Py4JJavaError):  # its analyser fails on some texts
        return True
    return counts[0] != counts[1]


@dataclass(frozen=True)
class StandingQuery:
    """A query over empty tables in the place of its sources: its text, and the tables by id."""

    spark: SparkSession
    definition: Definition
    text: str
    tables: Mapping[str, str]

    def count_paddings(self) -> int:
        """How often its plan pads a string."""
        plan = read_frame_plan(self.spark.sql(self.text))
        return sum(node.kind == _PADS for node in plan.everything())

    def read(self, builtins: Collection[str]) -> str:
        """The text of its plan, over the sources' own names; "" where it reads more than those.
        Raises NoForm where it has none."""
        sources = self.definition.sources
        names = {self.tables[s.table_id]: FromText(s.name.sql, s.name.table) for s in sources}
        called = frozenset(f.name for f in self.definition.functions)
        text = write_frame_query(self.spark, self.spark.sql(self.text), builtins, names, called)
        known = {s.name for s in sources}
        schema = self.definition.current_schema
        named = (name_of(parts, schema) for parts, *_ in table_places(text))
        return text if known.issuperset(named) else ""


@contextmanager
def standing_query(
    spark: SparkSession,
    definition: Definition,
    schemas: Mapping[str, StructType],
    expanded: Callable[[str], str],
) -> Iterator[StandingQuery]:
    """The query of a definition over tables without rows, for as long as the block runs; Refused
    where its text cannot be parsed."""
    sources = {s.name: s for s in definition.sources}
    views = {v.name: expanded(v.text) for v in definition.views}

    def named(parts: tuple[str, ...]) -> Name:
        return name_of(parts, definition.current_schema)

    with standing_tables(spark, {s: public_schema(f) for s, f in schemas.items()}) as tables:
        text = pinned(
            expanded(definition.query),
            lambda p: quote(tables[sources[named(p)].table_id]),
            lambda p: views.get(named(p)),
        )
        yield StandingQuery(spark, definition, text, tables)


def public_schema(schema: StructType) -> StructType:
    """The columns that a query may name."""
    from pyspark.sql.types import StructType

    return StructType([f for f in schema.fields if not is_hidden(f.name)])


def _without_metadata(schema: StructType) -> StructType:
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(f.name, f.dataType, f.nullable) for f in schema.fields])
