"""Random tables, queries and changes: as users run them, with generated code, and for long."""

from __future__ import annotations

import pytest

from tests.experiments import RANDOM_LIVES
from tests.spark.engine_lab import Lab
from tests.spark.refresh.test_oracle_random import drift, drive


@RANDOM_LIVES
@pytest.mark.compiled
@pytest.mark.parametrize("seed", [0, 7, 13])
def test_random_tables_queries_and_changes_as_users_run_them(lab: Lab, seed: int) -> None:
    drive(lab, seed)


@RANDOM_LIVES
@pytest.mark.parametrize("seed", range(200, 206))
def test_random_tables_queries_and_changes(lab: Lab, seed: int) -> None:
    drive(lab, seed)


@RANDOM_LIVES
def test_no_drift_over_forty_batches(quick_lab: Lab) -> None:
    drift(quick_lab, 40, 10)
