"""The session and the labs of the tests on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.conftest import (
    homes,
    lab,
    lake_dir,
    other_storage,
    quick_lab,
    quick_spark,
    shared_lab,
    spark,
)

__all__ = [
    "homes",
    "lab",
    "lake_dir",
    "other_storage",
    "quick_lab",
    "quick_spark",
    "shared_lab",
    "spark",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.nightly)
