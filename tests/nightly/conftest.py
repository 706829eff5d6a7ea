"""The session and the labs of the tests on Spark."""

from __future__ import annotations

from tests.spark.conftest import (
    lab,
    lake_dir,
    quick_lab,
    quick_spark,
    shared_lab,
    spark,
)

__all__ = ["lab", "lake_dir", "quick_lab", "quick_spark", "shared_lab", "spark"]
