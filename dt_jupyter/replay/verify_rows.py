"""Two results compared row by row: exactly by content, then what differs within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.definition import differing, sentence
from dt_jupyter.ivm import Refused
from dt_jupyter.model import Name, error, quote
from dt_jupyter.model.hidden import HASH, RANK, hidden
from dt_jupyter.spark import rows_frame
from dt_jupyter.sql import content_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COMPARED = 20_000
"""Rows of either side that differ exactly and are then compared within a tolerance."""
TOLERANCE = 1e-9
"""Relative, of floats; all else is compared exactly."""
_LEFT, _RIGHT, _OFF, _MANY = hidden("left"), hidden("right"), hidden("off"), hidden("many")


@dataclass(frozen=True)
class Comparison:
    """`rows` of the left side, all compared. `difference` is None where both are equal, else a
    sentence; `wrong` is the first row that is not as it should be, with what is wrong about it
    ("too many" or "missing"). `tolerance` is the one by which floats were found equal, 0 where
    all rows are equal exactly."""

    rows: int
    difference: str | None
    wrong: tuple[str, tuple[Any, ...]] | None
    tolerance: float


def compare(
    spark: SparkSession,
    left: DataFrame,
    right: DataFrame,
    columns: list[tuple[str, str]],
    name: Name,
) -> Comparison:
    """The left side against the right one, whose columns (name, type) are the same in number.
    DT-1116 for a type without an exact text."""
    names = [n for n, _ in columns]
    listed = ", ".join(map(quote, names))
    left.toDF(*names).createOrReplaceTempView(_LEFT)
    right.toDF(*names).createOrReplaceTempView(_RIGHT)
    try:
        hashes = content_hash(columns)
    except Refused as e:
        raise error("DT-1116", name=name, problem=e.reason.sentence) from e
    hashed = ", ".join(f"{h} AS {c}" for h, c in zip(hashes, HASH, strict=True))
    h1, h2 = HASH
    # Of what is equal one row is left, with the rows that were: they are counted on the way.
    count = "\n".join(
        (
            f"SELECT IF(n <> 0, {h1}, NULL) AS {h1}, IF(n <> 0, {h2}, NULL) AS {h2}, n,",
            " CAST(SUM(rows) AS BIGINT) AS rows",
            f"FROM (SELECT {h1}, {h2}, SUM(n) AS n, SUM(rows) AS rows FROM (",
            f"SELECT {hashed}, 1 AS n, 1 AS rows FROM {_LEFT}",
            f"UNION ALL SELECT {hashed}, -1 AS n, 0 AS rows FROM {_RIGHT}",
            f") GROUP BY {h1}, {h2}) GROUP BY 1, 2, 3",
        )
    )
    groups = [tuple(r) for r in spark.sql(count).limit(2 * COMPARED).collect()]
    off = [(a, b, n) for a, b, n, _ in groups if n]
    rows = sum(many for *_, many in groups)
    if len(groups) == 2 * COMPARED:
        rows = spark.sql(f"SELECT COUNT(*) FROM {_LEFT}").collect()[0][0]
    if not off:
        return Comparison(rows, None, None, 0.0)
    too_many, missing = _explained(spark, off, hashed, listed)
    found = sentence(too_many, missing)
    wrong = ("too many", too_many[0]) if too_many else ("missing", missing[0]) if missing else None
    return Comparison(rows, found, wrong, 0.0 if found else TOLERANCE)


def _explained(
    spark: SparkSession, off: list[tuple[Any, ...]], hashed: str, listed: str
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows behind hashes that occur more often on one side, less those that are close."""
    h1, h2 = HASH
    schema = f"{h1} bigint, {h2} bigint, n bigint"
    rows_frame(spark, off, schema).createOrReplaceTempView(_OFF)
    sides = []
    for side, sign in ((_LEFT, ">"), (_RIGHT, "<")):
        text = (
            f"SELECT {listed} FROM (SELECT t.*, ROW_NUMBER() OVER (PARTITION BY t.{h1}, t.{h2}"
            f" ORDER BY t.{h1}) AS {RANK}, o.n AS {_MANY}"
            f" FROM (SELECT *, {hashed} FROM {side}) t"
            f" JOIN {_OFF} o ON t.{h1} = o.{h1} AND t.{h2} = o.{h2} AND o.n {sign} 0)"
            f" WHERE {RANK} <= ABS({_MANY})"
        )
        sides.append([tuple(r.asDict(recursive=True).values()) for r in spark.sql(text).collect()])
    return differing(sides[0], sides[1], TOLERANCE)
