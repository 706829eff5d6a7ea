"""What Spark or Delta does not know by name, and what is near: schemas, functions, properties."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.model import did_you_mean
from dt_jupyter.spark import builtin_functions

if TYPE_CHECKING:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

_PROPERTIES = (
    "appendOnly autoOptimize.autoCompact autoOptimize.optimizeWrite checkpointInterval "
    "checkpointPolicy columnMapping.mode dataSkippingNumIndexedCols dataSkippingStatsColumns "
    "deletedFileRetentionDuration enableChangeDataFeed enableDeletionVectors "
    "enableInCommitTimestamps enableRowTracking enableTypeWidening isolationLevel "
    "logRetentionDuration minReaderVersion minWriterVersion randomizeFilePrefixes "
    "setTransactionRetentionDuration targetFileSize"
)
"""Delta's table properties, without their prefix.  Source: docs.delta.io/table-properties."""


@dataclass(frozen=True)
class MissingName:
    """A name that a failure says is not there, in words, and a hint at one that is."""

    name: str
    problem: str
    hint: str


def missing_name(e: PySparkException, spark: SparkSession) -> MissingName | None:
    """What is missing by name; None for another failure."""
    condition = (e.getCondition() or "").partition(".")[0]
    if condition == _OF_MERGE:
        return _column_of_merge(e.getMessageParameters() or {})
    if condition not in _MISSING:
        return None
    fact, problem, known = _MISSING[condition]
    name = (e.getMessageParameters() or {}).get(fact, "").replace("`", "")
    name = name if condition == _PROPERTY else name.rpartition(".")[2]
    hint = did_you_mean(name, sorted(known(spark)))
    return MissingName(name, problem.format(name), hint)


def _column_of_merge(facts: Mapping[str, str]) -> MissingName | None:
    """Delta names the first expression that it cannot resolve, and all columns, with tables."""
    name = facts.get("sqlExpr", "").replace("`", "")
    if not _COLUMN.fullmatch(name):
        return None
    paths = [c.split(".") for c in facts.get("cols", "").replace("`", "").split(", ")]
    table, _, column = name.rpartition(".")
    known = {path[-1] for path in paths if not table or path[-2:-1] == [table]}
    known = known or {path[-1] for path in paths}
    hint = did_you_mean(column, sorted(known)) or f"Known columns: {', '.join(sorted(known))}."
    return MissingName(name, f"column {name} does not exist", hint)


_OF_MERGE = "DELTA_MERGE_UNRESOLVED_EXPRESSION"
_COLUMN = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def _schemas(spark: SparkSession) -> Iterable[str]:
    return [row[0] for row in spark.sql("SHOW SCHEMAS").collect()]


def _properties(_: SparkSession) -> Iterable[str]:
    return [f"delta.{name}" for name in _PROPERTIES.split()]


_PROPERTY = "DELTA_UNKNOWN_CONFIGURATION"
_MISSING: Mapping[str, tuple[str, str, Callable[[SparkSession], Iterable[str]]]] = {
    "SCHEMA_NOT_FOUND": ("schemaName", "schema {} does not exist", _schemas),
    "UNRESOLVED_ROUTINE": ("routineName", "function {} does not exist", builtin_functions),
    _PROPERTY: ("config", "{} is not a table property of Delta", _properties),
}
"""By Spark's condition: the fact that has the name, what is said of it, and what is known."""
