"""TPC-DS' texts by what is kept incrementally."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.plans import shapes_of, survey
from tests.spark.definition.tpcds_texts import tpcds_texts

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SAMPLE = ("q1", "q12", "q22", "q53", "q92", "q93")
"""A correlated value, an order by what is not shown, a rollup, a window over groups, a table
that is read twice, a product in an ELSE."""
FLOATING = 2
"""Filters on a standard deviation: FULL, and said so."""


@pytest.mark.nightly
def test_texts_of_tpcds_are_incremental(spark: SparkSession, tmp_path: Path) -> None:
    found = survey(spark, tpcds_texts(), shapes_of(spark, "tpcds", tmp_path))
    assert (found.texts, found.unknown, found.read) == (103, 0, 103)
    assert found.incremental == 103 - FLOATING
    assert all(s.startswith("FLOATING_AGGREGATE_DECIDES") for s in found.refused)
