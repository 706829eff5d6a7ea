"""The condition of a frozen region: what it may be, what it reads, and its text at a time.

A table with one has two kinds of rows. Those of which the condition is true are as they were when
they were first seen so; all others are the query's of which it is not true. NULL is not true.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.definition.analysis_errors import analyser_words
from dt_jupyter.definition.query_meaning import (
    CallableFunctions,
    QueryText,
    empty_relation,
    read_meaning,
)
from dt_jupyter.failures import is_syntax_error
from dt_jupyter.ivm import Expr, Refusal, Refused, find_shrinking, refuse
from dt_jupyter.model import (
    Definition,
    DTError,
    FrozenRegion,
    Name,
    Source,
    SourceKind,
    Span,
    Timestamp,
    did_you_mean,
    error,
    quote,
)
from dt_jupyter.model.hidden import hidden
from dt_jupyter.plans import read_document, read_filter_condition, read_query_document
from dt_jupyter.sources import at_time
from dt_jupyter.spark import Catalyst
from dt_jupyter.sql import column_words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

TableColumns = tuple[tuple[str, str, str | None], ...]
"""The name, the type and the comment of each column."""
_ROWS, _VALUE = "rows", hidden("value")
_ANY_TIME = Timestamp(0)
_PLAIN = "Use the columns of the table, constants and functions that give the same for the same."


def require_region(
    spark: SparkSession,
    name: Name,
    region: FrozenRegion,
    columns: TableColumns,
    builtins: frozenset[str],
) -> None:
    """DT-1139 for a condition that is not one of a row's own columns, DT-1140 for one whose region
    might lose rows over time."""
    text = _at(region.where, _ANY_TIME, "UTC")
    _require_boolean(spark, name, text, columns)
    query, functions = _selecting(text, region.where), CallableFunctions(builtins, frozenset())
    try:
        condition = read_condition(spark, region.where, columns, builtins)
        read_meaning(spark, query, functions, {_ROWS: _schema(columns)})
    except Refused as e:
        subquery = e.refusal is Refusal.SUBQUERY
        problem = "it has a subquery" if subquery else e.reason.sentence
        found = error("DT-1139", name=name, problem=problem, hint=e.hint or _PLAIN)
        raise found.at(region.where, e.place) from e
    shrinking = find_shrinking(condition)
    if shrinking is not None:
        place = _place_in(region.where, shrinking.place, len(_before(columns)))
        raise error("DT-1140", name=name).at(region.where, place)


def read_condition(
    spark: SparkSession, where: str, columns: TableColumns, builtins: frozenset[str]
) -> Expr:
    """A condition as Spark reads it over these columns, by their names. Refused where Spark has
    no plan of it, or it has a subquery."""
    text = f"{_before(columns)}{where}\n)"
    try:
        document = read_query_document(Catalyst.of(spark), text)
    except PySparkException as e:
        what = f"Spark has no plan of it ({analyser_words(e)})"
        raise refuse(Refusal.EXPRESSION, what=what) from e
    return read_filter_condition(read_document(document), builtins)


def _before(columns: TableColumns) -> str:
    """What Spark reads before a condition."""
    return f"SELECT * FROM {empty_relation(_schema(columns))} AS {_ROWS} WHERE ("


def _place_in(where: str, place: Span | None, before: int) -> Span | None:
    """The place in a condition of a place in a text that contains it; None where that is not known,
    or Spark counts some characters twice."""
    if place is None or max(where) > "\uffff":
        return None
    return Span(place.start - before, place.end - before)


def columns_of_region(region: FrozenRegion | None, names: tuple[str, ...]) -> frozenset[str] | None:
    """The columns that the condition may read, by its words, which needs no session: all that it
    reads are among them; None where there is no region."""
    if region is None:
        return None
    words = column_words(region.where)
    return frozenset(n for n in names if n.lower() in words)


def frozen_at(definition: Definition, t: Timestamp) -> str | None:
    """The condition of the rows that are frozen at a data timestamp, which is never NULL; None
    where there is no region."""
    if definition.frozen is None:
        return None
    zone = definition.settings.get("spark.sql.session.timeZone", "UTC")
    return f"COALESCE(({_at(definition.frozen.where, t, zone)}\n), FALSE)"


def without_frozen(text: str, definition: Definition, t: Timestamp) -> str:
    """A query of the definition's rows without those that belong to its frozen region."""
    frozen = frozen_at(definition, t)
    if frozen is None:
        return text
    names = ", ".join(quote(n) for n, _, _ in definition.columns)
    return f"SELECT * FROM (\n{text}\n) AS {_ROWS}({names})\nWHERE NOT {frozen}"


def _at(where: str, t: Timestamp, zone: str) -> str:
    return at_time(where, t, zone)


def _selecting(text: str, where: str) -> QueryText:
    name = Name("default", _ROWS)
    sources = {name: Source(name, SourceKind.FOREIGN, _ROWS, None)}
    query = f"SELECT * FROM {_ROWS} WHERE ({text}\n)"
    return QueryText(query, name.schema, sources, {}, written=where)


def _schema(columns: TableColumns) -> StructType:
    from pyspark.sql.types import StructType

    shape = ", ".join(f"{quote(n)} {kind}" for n, kind, _ in columns)
    struct = StructType.fromDDL(shape)
    assert isinstance(struct, StructType)
    return struct


def _require_boolean(
    spark: SparkSession,
    name: Name,
    text: str,
    columns: TableColumns,
) -> None:
    items = ", ".join(f"CAST(NULL AS {t}) AS {quote(n)}" for n, t, _ in columns)
    query = f"SELECT *, ({text}\n) AS {_VALUE} FROM (SELECT {items}) AS {_ROWS}"
    try:
        kind = spark.sql(query).schema[-1].dataType.simpleString()
    except AnalysisException as e:
        raise _told(e, name, columns) from e
    if kind != "boolean":
        problem = f"it is {kind}, and not a condition"
        raise error("DT-1139", name=name, problem=problem, hint="Compare: day < DATE'2026-01-01'.")


def _told(e: AnalysisException, name: Name, columns: TableColumns) -> DTError:
    facts = e.getMessageParameters() or {}
    if (e.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
        column = facts.get("objectName", "?").replace("`", "")
        hint = did_you_mean(column, [n for n, _, _ in columns], _PLAIN)
        problem = f"the table has no column {column}"
        return error("DT-1139", name=name, problem=problem, hint=hint)
    first = re.sub(r"^\[[\w.]+\]\s*|\s*SQLSTATE: \w+.*$", "", str(e).strip().splitlines()[0])
    problem = "it is not a condition" if is_syntax_error(e) else first.rstrip(".")
    return error("DT-1139", name=name, problem=problem, hint=_PLAIN)
