"""The oracle's own reader of tables against Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.delta_files import local_frame
from tests.spark.rows import exact

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("vectors", [False, True], ids=["copies", "vectors"])
def test_every_version_is_read_as_spark_reads_it_or_not_at_all(
    quick_spark: SparkSession, lake_dir: Path, vectors: bool
) -> None:
    table = f"delta.`{lake_dir}`"
    script = (
        f"CREATE TABLE {table} (id INT, at TIMESTAMP, n DECIMAL(5, 1), l ARRAY<INT>) USING delta"
        f" TBLPROPERTIES (delta.enableDeletionVectors = {vectors})",
        f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES"
        " (1, TIMESTAMP '0001-01-03 00:00:00', 1.5, array(1, NULL)),"
        " (2, TIMESTAMP '9999-12-30 23:00:00', NULL, NULL), (2, NULL, -0.1, array())",
        f"UPDATE {table} SET n = n + 1 WHERE id = 1",
        f"DELETE FROM {table} WHERE at IS NULL",
        f"ALTER TABLE {table} ADD COLUMN x INT",
        f"INSERT INTO {table} VALUES (3, NULL, 3, NULL, 7)",
    )
    for statement in script:
        quick_spark.sql(statement)
    left = []
    for version in range(len(script)):
        read = quick_spark.read.format("delta").option("versionAsOf", version).load(str(lake_dir))
        found = local_frame(quick_spark, str(lake_dir), version)
        if found is None:
            left.append(version)
        else:
            assert found.schema == read.schema
            sides = ([exact(tuple(r)) for r in frame.collect()] for frame in (found, read))
            assert sorted(next(sides), key=repr) == sorted(next(sides), key=repr)
    assert left == ([2, 3, 4, 5] if vectors else [4, 5]), "vectors and added columns are Spark's"
