"""Rows that are read range by range from the files are those that Spark reads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from dt_jupyter.lake import NotSupported, RowPlace, RowRanges, TableLog
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.spark import confs
from tests.cases import some
from tests.spark.lake_tables import bag, make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "id BIGINT, p STRING, d DATE, t TIMESTAMP, n DECIMAL(9, 2), f DOUBLE, b BINARY, ok BOOLEAN, "
    "l ARRAY<INT>, s STRUCT<a: INT, b: STRING>"
)
ROWS = (
    "SELECT id, element_at(array('a', NULL, 'b c', 'ä/%20=x', ''), CAST(id % 5 AS INT) + 1), "
    "date_add(DATE'2024-02-28', CAST(id % 4 AS INT)), timestamp_micros(id * 1000001), "
    "CAST(id / 7 AS DECIMAL(9, 2)), IF(id % 6 = 0, NULL, id / 3), "
    "CAST(CAST(id AS STRING) AS BINARY), id % 3 = 0, array(CAST(id AS INT), NULL), "
    "IF(id % 9 = 0, NULL, named_struct('a', CAST(id AS INT), 'b', 'x')) "
    "FROM range({first}, {end})"
)


def ranges(log: TableLog) -> RowRanges:
    return RowRanges(log, log.version(), log.metadata().columns)


def rows_of(spark: SparkSession, log: TableLog, size: int) -> list[tuple[object, ...]]:
    """Read in ranges of `size` rows, each by a new reader or by the one before."""
    found, start, tables = ranges(log), RowPlace(), list[pa.Table]()
    while True:
        end = found.end_of(start, size, 1 << 30)
        tables += found.read(start, end)
        if end is None:
            break
        start = end
        if random.Random(repr(start)).random() < 0.3:
            found = ranges(log)
    return [tuple(row) for row in spark.createDataFrame(pa.concat_tables(tables)).collect()]


@pytest.mark.parametrize("partitioned", some(1, [True, False]))
def test_the_rows_are_those_that_spark_reads(
    spark: SparkSession, lake_dir: Path, partitioned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "PARTITIONED BY (p, d)" if partitioned else ""
    log = make(spark, lake_dir / "t", COLUMNS, feed=False, vectors=True, more=more)
    table = sql_table(log.path)
    for first, end in ((0, 60), (60, 90)):
        spark.sql(f"INSERT INTO {table} {ROWS.format(first=first, end=end)}")
    spark.sql(f"DELETE FROM {table} WHERE id % 7 = 2 OR id IN (59, 60, 89)")
    spark.sql(f"UPDATE {table} SET f = -0.0 WHERE id % 10 = 1")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN y MAP<STRING, INT>")
    spark.sql(f"INSERT INTO {table} SELECT *, map('k', 1) FROM ({ROWS.format(first=90, end=99)})")
    assert any(Path(log.path).rglob("deletion_vector*.bin")), "else this shows less"
    wanted = bag(spark.sql(f"SELECT * FROM {table}").collect())
    for size in (4, 1000):
        assert bag(rows_of(spark, log, size)) == wanted
    monkeypatch.setattr(RowRanges, "_live", lambda self, place, rows: rows)
    assert bag(rows_of(spark, log, 1000)) != wanted, "rows that are gone are not caught"


def test_old_times_and_dates_are_read_or_left_to_spark(spark: SparkSession, lake_dir: Path) -> None:
    log = make(spark, lake_dir / "t", "id INT, t TIMESTAMP, d DATE", feed=False)
    table = sql_table(log.path)
    with confs(spark, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        spark.sql(f"INSERT INTO {table} VALUES (1, TIMESTAMP'2024-01-02 03:04:05.678901', NULL)")
    wanted = bag(spark.sql(f"SELECT * FROM {table}").collect())
    assert bag(rows_of(spark, log, 10)) == wanted
    with confs(spark, {"spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY"}):
        spark.sql(f"INSERT INTO {table} VALUES (2, NULL, DATE'1200-01-01')")
    with pytest.raises(NotSupported, match="another calendar"):
        ranges(log)
