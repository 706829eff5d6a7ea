"""Small Delta tables for the lake's tests, changes to them, and the oracle: EXCEPT ALL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake import TableLog, plan_changes, relation, snapshot_sql
from dt_jupyter.lake.change.change_plan import ChangePlan
from dt_jupyter.lake.change.relation import Relation
from dt_jupyter.lake.change.small_changes import Small
from dt_jupyter.lake.paths import sql_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dt_jupyter.lake.read.kept_columns import KeptColumns

LOCAL = Small()
NOT_LOCAL = Small(rows=-1, bytes=-1)


def make(
    spark: SparkSession,
    path: Path,
    columns: str,
    *,
    feed: bool,
    vectors: bool = True,
    mapped: bool = False,
    tracked: bool = False,
    more: str = "",
) -> TableLog:
    """An empty table, with or without change feed, deletion vectors, column mapping and row
    tracking."""
    extra = "'delta.columnMapping.mode' = 'name', " if mapped else ""
    extra += "'delta.enableRowTracking' = 'true', " if tracked else ""
    spark.sql(
        f"CREATE TABLE {sql_table(path)} ({columns}) USING delta {more} TBLPROPERTIES ({extra}"
        f"'delta.enableChangeDataFeed' = '{str(feed).lower()}', "
        f"'delta.enableDeletionVectors' = '{str(vectors).lower()}')"
    )
    return TableLog(path)


def bag(rows: list[Any]) -> Counter[str]:
    """Rows as a multiset of their exact texts: −0.0 is not 0.0, NaN equals NaN."""
    return Counter(repr(tuple(r)) for r in rows)


def weighted(rows: list[Any]) -> Counter[str]:
    """Rows whose last column is a weight, consolidated."""
    total: Counter[str] = Counter()
    for row in rows:
        *values, weight = tuple(row)
        total[repr(tuple(values))] += weight
    return Counter({k: n for k, n in total.items() if n})


def contents(spark: SparkSession, log: TableLog, version: int, columns: list[str]) -> Counter[str]:
    """The rows of a snapshot; columns that were renamed since are read by their old names."""
    return bag(spark.sql(f"SELECT * FROM {snapshot_sql(log.path, version, columns)}").collect())


def difference(old: Counter[str], new: Counter[str]) -> Counter[str]:
    """The oracle: new EXCEPT ALL old, less old EXCEPT ALL new."""
    return Counter({k: new[k] - old[k] for k in new | old if new[k] != old[k]})


def change(
    spark: SparkSession,
    log: TableLog,
    after: int,
    upto: int,
    columns: list[str],
    small: Small,
    kept: KeptColumns | None = None,
) -> tuple[ChangePlan, Relation, list[Any]]:
    """The plan, the relation and its rows."""
    plan = plan_changes(log, after, upto, columns)
    found = relation(spark, log, plan, columns, view_prefix="probe", small=small, kept=kept)
    return plan, found, spark.sql(f"SELECT * FROM {found}").collect()
