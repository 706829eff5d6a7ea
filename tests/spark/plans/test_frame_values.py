"""What DataFrames hold of values of their own: bytes, arrays, structs with a field more or less."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pyspark.sql import DataFrame, functions as F

from tests.spark.engine_lab import Lab, refused


def _rows(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))


@pytest.mark.nightly
def test_values_and_fields_of_structs_are_kept_incrementally(quick_lab: Lab) -> None:
    lab, spark = quick_lab, quick_lab.spark
    lab.table(
        "t",
        "id INT, b BINARY, a STRUCT<x: INT, y: STRUCT<z: STRING, w: INT>>",
        "1, X'00ff27', named_struct('x', 1, 'y', named_struct('z', 'p', 'w', 2))",
        "2, NULL, NULL",
        "3, X'', named_struct('x', NULL, 'y', NULL)",
    )
    odd = np.array(["a,b", "c'\\"])

    def t() -> DataFrame:
        return spark.table("t")

    made: dict[str, Callable[[], DataFrame]] = {
        "bytes_": lambda: t().where(F.col("b") == F.lit(b"\x00\xff'")).withColumn("e", F.lit(b"")),
        "numbers": lambda: t().select("id", F.lit(np.array([1.5, 2.0])).alias("l")),
        "texts": lambda: t().select("id", F.lit(odd).alias("l"), F.lit([1, None]).alias("m")),
        "wider": lambda: t().select(
            "id", F.col("a").withField("x", F.lit(5)).withField("n", F.col("id") + 1).alias("a")
        ),
        "inner": lambda: t().withColumn("a", F.col("a").withField("y.z", F.upper("a.y.z"))),
        "odd_names": lambda: t().select(F.struct(F.col("id").alias("p-q'"), "b").alias("s")).join(
            t().select("id"), F.col("id") == F.col("s")["p-q'"] + 1, "left"
        ),
        "less": lambda: t().select("id", F.col("a").dropFields("y.w").alias("a")),
        "both": lambda: t().select(
            F.col("a").dropFields("x", "y.w").withField("q", F.lit(None).cast("int")).alias("a")
        ),
        "again": lambda: t().withColumn("a", F.col("a").withField("k", F.col("id"))).select(
            F.col("a").dropFields("x").alias("a"), F.col("a.k").alias("k")
        ),
    }  # fmt: skip
    for name, frame in made.items():
        lab.engine.create(name, frame(), target_lag="1 hour")
        assert lab.mode(name) == "INCREMENTAL", (name, lab.why(name))
    lab.insert("t", "4, X'00ff27', named_struct('x', 4, 'y', named_struct('z', 'q', 'w', NULL))")
    lab.sql("DELETE FROM t WHERE id = 1; UPDATE t SET a = NULL WHERE id = 3")
    for name, frame in made.items():
        assert (name, lab.refresh(name)) == (name, "INCREMENTAL")
        assert _rows(spark.table(name)) == _rows(frame()), name
        assert spark.table(name).schema.simpleString() == frame().schema.simpleString()


def test_descriptions_and_sessions_are_refused_with_what_to_write(quick_lab: Lab) -> None:
    lab, spark = quick_lab, quick_lab.spark
    lab.table("t", "id INT, at TIMESTAMP", "1, TIMESTAMP'2024-01-01 10:00:00'", "2, NULL")
    t = spark.table("t")
    for frame, words in (
        (t.describe("id"), "describe() and summary() (select the aggregates"),
        (t.select("id").summary(), "describe() and summary() (select the aggregates"),
        (t.groupBy(F.session_window("at", "5 minutes")).count(), "GROUP BY session_window"),
    ):
        with refused("DT-1125") as found:
            lab.engine.create("no", frame)
        assert words in str(found[0])
    text = "SELECT count(*) AS n FROM t GROUP BY session_window(at, '5 minutes')"
    lab.dynamic_table("sessions", text)
    assert lab.mode("sessions") == "FULL"
