"""An error about a value, with a row that has it, where the text of the query says where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.failures import is_of_values
from dt_jupyter.model import DTError
from dt_jupyter.sql import failing_row_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOLD = re.compile(
    r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\](?: .*, in (?P<expression>.+)\.\Z)?", re.DOTALL
)
_SHOWN, _LONGEST = 4, 120


def with_offending_row(e: DTError, spark: SparkSession, query: str) -> DTError:
    """The error of a `query`, with the first columns of one row of which it cannot compute a
    value; the error itself where that is not what went wrong, or no such row is found."""
    problem = str(e.facts.get("problem", ""))
    match = _TOLD.match(problem)
    if match is None or not is_of_values(match["condition"]):
        return e
    texts = failing_row_queries(query, match["expression"]) or failing_row_queries(query)
    row = next(filter(None, (_first(spark, text) for text in texts)), None)
    if row is None:
        return e
    facts = {**e.facts, "problem": f"{problem.rstrip('.')}, for example of the row {row}."}
    return DTError(e.code, facts, e.query, e.span, e.details)


def _first(spark: SparkSession, text: str) -> str | None:
    try:
        row = spark.sql(text).first()
    except PySparkException:  # what the text reads is known to its statement alone
        return None
    if row is None:
        return None
    values = list(row.asDict().items())[:_SHOWN]
    shown = ", ".join(f"{name} = {'NULL' if v is None else v}" for name, v in values)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
