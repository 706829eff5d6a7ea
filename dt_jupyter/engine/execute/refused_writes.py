"""What Spark and Delta say of a table that is made twice, or given rows of another width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from dt_jupyter.model import DTError, Name, Named, count_of, error, name_taken
from dt_jupyter.sources import holder
from dt_jupyter.sql import SparkKind, SparkStatement, tokens

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from dt_jupyter.sources import Sources

_TAKEN = ("TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS")
_WIDTHS = (
    "DELTA_METADATA_MISMATCH", "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
    "INSERT_COLUMN_ARITY_MISMATCH",
)  # fmt: skip
_SHOWN = 12
_STARTS = frozenset(("SELECT", "VALUES", "WITH", "FROM", "TABLE", "MAP", "REDUCE"))


def refused_write(
    e: PySparkException, sources: Sources, statement: SparkStatement
) -> DTError | None:
    """DT-1105 for a name that is taken, DT-1109 for a DROP of the other kind, DT-1165 for rows of
    another width; None for any other failure."""
    condition, target = (e.getCondition() or "").partition(".")[0], statement.target
    if condition == "SCHEMA_ALREADY_EXISTS":
        name = (e.getMessageParameters() or {}).get("schemaName", "").replace("`", "")
        return name_taken(Named.SCHEMA, name, "Use IF NOT EXISTS, or another name.")
    if target is None:
        return None
    if condition in _TAKEN:
        kind = holder(sources.catalog, sources.spark, target) or "table"
        return name_taken(kind, target, same=False)
    if condition == "WRONG_COMMAND_FOR_OBJECT_TYPE":
        return _of_other_kind(e.getMessageParameters() or {}, target)
    plain = statement.kind is SparkKind.INSERT and "PARTITION" not in statement.text.upper()
    if condition in _WIDTHS and plain:
        return _other_width(sources.spark, statement.text, target)
    return None


def _of_other_kind(facts: Any, name: Name) -> DTError:
    instead = str(facts.get("alternative", ""))
    kind, expected = ("table", "view") if "TABLE" in instead else ("view", "table")
    return error("DT-1109", name=name, kind=kind, expected=expected, hint=f"Use {instead}.")


def _other_width(spark: SparkSession, text: str, name: Name) -> DTError | None:
    """By the columns that the statement lists, or else the table's, and those of its query."""
    listed, query = _read_insert(text)
    columns = [f"{f.name} {f.dataType.simpleString()}" for f in spark.table(name.sql).schema]
    try:
        given = len(spark.sql(query).columns)
    except AnalysisException:  # it has parameters, or is refused itself
        return None
    wanted = listed or len(columns)
    if given == wanted:
        return None
    more = ", …" if len(columns) > _SHOWN else ""
    return error(
        "DT-1165",
        table=name,
        given=given,
        wanted=count_of(wanted, "value"),
        columns=", ".join(columns[:_SHOWN]) + more,
    )


def _read_insert(text: str) -> tuple[int, str]:
    """How many columns an INSERT lists, 0 for none, and its query."""
    words, depth, listed = tokens(text), 0, 0
    for i, word in enumerate(words):
        depth += word.sign("(") - word.sign(")")
        listed += depth == 1 and (word.sign("(") or word.sign(","))
        if i > 1 and depth == 0 and word.upper in _STARTS and words[i - 1].upper != "INTO":
            return listed, text[word.start :]
    return 0, text
