"""The shop that the tests of sinks deliver from, and the file that they deliver to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.engine_lab import Lab
from tests.spark.sinks.shop import Shop


@pytest.fixture
def shop(quick_lab: Lab, tmp_path: Path) -> Shop:
    made = Shop(quick_lab, tmp_path)
    quick_lab.table("orders", "id INT, city STRING, price INT", "1, 'Ulm', 10", "2, 'Bonn', 20")
    return made
