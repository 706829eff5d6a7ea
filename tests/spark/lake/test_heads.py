"""What a creation looks at before its first refresh: a few rows, as Spark has them, and no more."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dt_jupyter.definition.define as define
from dt_jupyter.lake import head
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.spark.jobs import count_jobs, run_cancellable
from tests.spark.engine_lab import Lab
from tests.spark.lake_tables import make
from tests.spark.refresh.test_oracle_random import COLUMNS, value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def plain(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(list(r.items())) for r in rows)


def test_the_values_are_those_that_spark_reads(spark: SparkSession, lake_dir: Path) -> None:
    """All types, NULLs, partitions, and rows that a deletion vector hides."""
    columns = ", ".join(f"{c} {t}" for c, t in COLUMNS.items())
    log = make(spark, lake_dir / "t", columns, feed=True, more="PARTITIONED BY (day)")
    rng, table = random.Random(3), sql_table(log.path)
    rows = [", ".join(value(t, rng) for t in COLUMNS.values()) for _ in range(30)]
    spark.sql(f"INSERT INTO {table} VALUES ({'), ('.join(rows)})")
    spark.sql(f"DELETE FROM {table} WHERE v > 1")

    found, few = head(log, 1000), head(log, 4)
    assert found is not None
    assert few is not None
    assert plain(found.to_pylist()) == plain(spark.table(table).toArrow().to_pylist())
    assert few.num_rows == 4
    assert set(plain(few.to_pylist())) <= set(plain(found.to_pylist()))


def test_what_does_not_travel_is_left_to_spark(spark: SparkSession, lake_dir: Path) -> None:
    mapped = make(spark, lake_dir / "mapped", "`a b` INT", feed=True, mapped=True)
    short = make(spark, lake_dir / "short", "a VARCHAR(3)", feed=True)
    for log in (mapped, short):
        spark.sql(f"INSERT INTO {sql_table(log.path)} VALUES (1)")
        assert head(log, 5) is None


def test_a_creation_compiles_once_and_samples_without_a_job(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.table("item", "id INT, v INT", "1, 1", "2, 2")
    compiled: list[str] = []
    sampled: list[int] = []
    compile_query, sample = define.compile_query, define.Definer._sample

    def compiling(*args: Any) -> Any:
        compiled.append(args[1].text)
        return compile_query(*args)

    def sampling(self: Any, spark: Any, source: Any, of: Any) -> Any:
        rows = run_cancellable(spark, "sampling", "", lambda: sample(self, spark, source, of))
        assert count_jobs(spark, "sampling") == 0
        sampled.append(len(rows))
        return rows

    monkeypatch.setattr(define, "compile_query", compiling)
    monkeypatch.setattr(define.Definer, "_sample", sampling)
    query = "SELECT v, count(*) AS n FROM item GROUP BY v"
    lab.dynamic_table("d", query)
    assert (compiled, sampled) == ([query], [2])

    lab.sql("ALTER TABLE item ADD COLUMN w INT")
    lab.insert("item", "3, 3, 3")
    lab.refresh("d")
    assert compiled == [query, query]
    lab.verified("d")
