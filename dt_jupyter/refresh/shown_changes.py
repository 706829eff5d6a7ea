"""What a commit changed of the rows that a table shows, where it hides some of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.lake import (
    Change,
    LakeError,
    Overwrite,
    SmallTables,
    TableLog,
    count_shown_rows,
    hides_rows,
    plan_changes,
    relation,
    snapshot_sql,
)
from dt_jupyter.model import RefreshStatistics
from dt_jupyter.model.hidden import VISIBLE, WEIGHT, hidden
from dt_jupyter.spark import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def count_shown(
    spark: SparkSession,
    log: TableLog,
    small: SmallTables,
    change: Change,
    before: int | None,
    after: int,
    statistics: RefreshStatistics,
) -> RefreshStatistics:
    """The statistics of a commit with the inserted and deleted rows among those that are shown; the
    log counts groups that a HAVING hides too."""
    if not hides_rows(log, after):
        return statistics
    if isinstance(change, Overwrite):
        came = _rows(spark, log, small, after)
        went = _rows_before(log, small, before, statistics.deleted_rows)
    else:
        came, went = _moved(spark, log, small, after)
    return replace(statistics, inserted_rows=came, deleted_rows=went)


def _rows(spark: SparkSession, log: TableLog, small: SmallTables, version: int) -> int:
    found = count_shown_rows(log, small.columns, version)
    if found is not None:
        return found
    text = f"SELECT COUNT(*) FROM {snapshot_sql(log.path, version)} WHERE {VISIBLE}"
    return int(spark.sql(text).collect()[0][0])


def _rows_before(log: TableLog, small: SmallTables, version: int | None, counted: int) -> int:
    """Those that an overwrite replaced; as `counted` where its files or its log are gone."""
    try:
        found = 0 if version is None else count_shown_rows(log, small.columns, version)
    except LakeError:
        return counted
    return counted if found is None else found


def _moved(spark: SparkSession, log: TableLog, small: SmallTables, version: int) -> tuple[int, int]:
    """The rows that one commit inserted and deleted."""
    import pyarrow.compute as pc

    plan = plan_changes(log, version - 1, version, file_diff=not is_connect(spark))
    found = relation(
        spark,
        log,
        plan,
        (VISIBLE,),
        view_prefix=hidden("shown"),
        local_views=False,
        kept=small.columns,
    )
    if found.arrow is None:
        counts = ", ".join(f"COUNT_IF({VISIBLE} AND {WEIGHT} {sign} 0)" for sign in "><")
        came, went = spark.sql(f"SELECT {counts} FROM {found.sql}").collect()[0]
        found.drop(spark)
        return came, went
    weights = found.arrow.filter(found.arrow[VISIBLE])[WEIGHT]
    came, went = (pc.sum(w).as_py() or 0 for w in (pc.greater(weights, 0), pc.less(weights, 0)))
    return came, went
