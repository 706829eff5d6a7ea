"""TPC-H's texts read by Spark instead of by our own reader: the same tables come of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench import tiny
from bench.data import change
from bench.tpch import queries
from tests.spark.engine_lab import Lab, quick, without_check

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


def test_the_plans_of_the_texts_are_kept_as_the_texts_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        without_check(patched)
        lab = Lab.open(spark, tmp_path)
        tiny.load(lab.engine)
        wanted = queries(tiny.SCALE)
        for name, query in wanted.items():
            lab.engine.create(name, spark.sql(query), target_lag="1 hour")
        modes = {name: lab.mode(name) for name in wanted}
        assert modes == dict.fromkeys(wanted, "INCREMENTAL")
        for name, query in wanted.items():
            assert sorted(map(str, lab.rows(name))) == sorted(map(str, lab.sql(query))), name
        change(lab.engine, 0.1, "mixed", 0)
        for name in wanted:
            assert lab.refresh(name) in ("INCREMENTAL", "NO_DATA")
        lab.verified(*wanted)
        lab.close()
