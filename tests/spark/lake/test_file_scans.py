"""A version of a table that is scanned by the files of its log, as refreshes do, has the rows that
Delta itself finds, and no Spark job looks for them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.lake import LiveFiles, Protocol, TableLog, files_view, scan_refusal
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.spark import job_group
from tests.cases import some

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("quick_spark")

FIRST = "INSERT INTO {t} VALUES (1, 'a b', 0.5), (2, NULL, double('NaN')), (3, '%20=/', -0.0)"
KINDS = {
    "deletion vectors": ("", "", ["DELETE FROM {t} WHERE id = 2", "DELETE FROM {t} WHERE id = 1"]),
    "partitions": ("PARTITIONED BY (name)", "", ["DELETE FROM {t} WHERE name IS NULL"]),
    "column mapping": (
        "",
        ", 'delta.columnMapping.mode' = 'name'",
        [
            "ALTER TABLE {t} RENAME COLUMN name TO `a, b`",
            "ALTER TABLE {t} DROP COLUMN price",
            "INSERT INTO {t} VALUES (4, 'd')",
        ],
    ),
    "wider types": (
        "",
        ", 'delta.enableTypeWidening' = 'true'",
        [
            "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
            "INSERT INTO {t} VALUES (5000000000, 'e', 1.5)",
        ],
    ),
    "checkpoints": (
        "",
        ", 'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2'",
        [
            "UPDATE {t} SET price = 2 WHERE id = 1",
            "ALTER TABLE {t} ADD COLUMN n INT",
            "OPTIMIZE {t}",
        ],
    ),
}
VECTORS = "'delta.enableDeletionVectors' = 'true'"


@pytest.mark.parametrize("kinds", some(1, [["column mapping", "deletion vectors"], [*KINDS]]))
def test_the_rows_are_those_that_delta_finds(
    spark: SparkSession, lake_dir: Path, kinds: list[str]
) -> None:
    for number, kind in enumerate(kinds):
        layout, properties, statements = KINDS[kind]
        table = sql_table(lake_dir / f"t{number}")
        columns = "id INT, name STRING, price DOUBLE"
        told = f"TBLPROPERTIES ({VECTORS}{properties})"
        spark.sql(f"CREATE TABLE {table} ({columns}) USING delta {layout} {told}")
        for statement in (FIRST, *statements):
            spark.sql(statement.format(t=table))
        log = TableLog(lake_dir / f"t{number}")
        assert scan_refusal(log, log.version()) is None
        for version in range(1, log.version() + 1):
            wanted = Counter(
                map(repr, spark.sql(f"SELECT * FROM {table} VERSION AS OF {version}").collect())
            )
            with job_group(spark, f"scan {number} {version}", "a scan by files"):
                files = LiveFiles(log.path).at(version)
                found = Counter(map(repr, files_view(spark, log, version, files).collect()))
            assert found == wanted, (kind, version)
            assert descriptions(spark, f"scan {number} {version}") == {"a scan by files"}


def descriptions(spark: SparkSession, group: str) -> set[str]:
    """What the jobs of a group say that they are; Delta's own say that they are of Delta."""
    context = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()
    store = context._jsc.sc().statusStore()
    jobs = context.statusTracker().getJobIdsForGroup(group)
    return {str(store.job(job).description().get()) for job in jobs}


def test_a_table_with_a_feature_of_later_is_left_to_delta(
    spark: SparkSession, lake_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sql_table(lake_dir / "t")
    spark.sql(f"CREATE TABLE {table} (id INT) USING delta")
    log = TableLog(lake_dir / "t")
    monkeypatch.setattr(log, "protocol", lambda _: Protocol(frozenset({"rowFences", "clustering"})))
    assert scan_refusal(log, 0) == "the table has the feature rowFences"
