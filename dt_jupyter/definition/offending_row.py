"""An error about a value, with a row that has it, where the text of the query says where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.failures import is_of_values
from dt_jupyter.model import DTError
from dt_jupyter.sources import KEY, key_names
from dt_jupyter.sql import RowQuery, failing_row_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOLD = re.compile(
    r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\](?: .*, in (?P<expression>.+)\.\Z)?", re.DOTALL
)
_SHOWN, _LONGEST = 4, 120


def with_offending_row(e: DTError, spark: SparkSession, query: str) -> DTError:
    """The error of a statement, with one row for which it cannot compute a value: its declared key
    or else its first column, then what the value is computed from. The error itself where that is
    not what went wrong, or no such row is found."""
    problem = str(e.facts.get("problem", ""))
    match = _TOLD.match(problem)
    if match is None or not is_of_values(match["condition"]):
        return e
    asked = failing_row_queries(query, match["expression"]) or failing_row_queries(query)
    row = next(filter(None, (_first(spark, each) for each in asked)), None)
    if row is None:
        return e
    facts = {**e.facts, "problem": f"{problem.rstrip('.')}, for example of the row {row}."}
    return DTError(e.code, facts, e.query, e.span, e.details)


def _first(spark: SparkSession, asked: RowQuery) -> str | None:
    try:
        row = spark.sql(asked.text).first()
    except PySparkException:  # what the text reads is known to its statement alone
        return None
    if row is None:
        return None
    values: dict[str, object] = {}
    for name, value in zip(row.__fields__, row, strict=True):
        values.setdefault(name.lower(), f"{name} = {'NULL' if value is None else value}")
    first = _key(spark, asked.table) or [next(iter(values))]
    order = dict.fromkeys([*(c.lower() for c in (*first, *asked.columns)), *values])
    shown = ", ".join([str(values[c]) for c in order if c in values][:_SHOWN])
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _key(spark: SparkSession, table: str | None) -> Sequence[str]:
    """The columns of a table's declared key; none where it has none, or is a view."""
    if table is None:
        return ()
    try:
        properties: dict[str, str] = dict(spark.sql(f"SHOW TBLPROPERTIES {table}").collect())
    except PySparkException:
        return ()
    return key_names(properties.get(KEY, ""))
