"""The session and the lake that the tests on Spark use; it is other processes that are killed."""

from tests.spark.conftest import (
    homes,
    lab,
    lake_dir,
    other_storage,
    quick_lab,
    quick_spark,
    spark,
)

__all__ = ["homes", "lab", "lake_dir", "other_storage", "quick_lab", "quick_spark", "spark"]
