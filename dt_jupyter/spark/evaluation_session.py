"""What of a session's settings decides whether a statement is evaluated in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.spark.session_confs import read_confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_USUAL = {
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
}
"""What the evaluation takes for granted of a session: other decimals have other digits."""
_ZONE = "spark.sql.session.timeZone"
_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Z", "+00:00"})
_UNUSUAL = "decimals have another meaning in its session"


@dataclass(frozen=True, slots=True)
class EvaluationSession:
    """`left_out` says why no statement is evaluated in this process, empty where some are;
    `is_utc`: local time is UTC."""

    left_out: str
    is_utc: bool


def read_evaluation_session(spark: SparkSession) -> EvaluationSession:
    confs = read_confs(spark, (*_USUAL, _ZONE))
    is_usual = all(confs.get(name, value) == value for name, value in _USUAL.items())
    return EvaluationSession("" if is_usual else _UNUSUAL, confs[_ZONE] in _UTC)
