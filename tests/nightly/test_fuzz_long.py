"""The fuzz of every change with many seeds: hostile input without Spark, and on an engine."""

from __future__ import annotations

import os

import pytest

import tests.spark.test_fuzz as on_spark
import tests.unit.test_fuzz as alone
from tests.spark.engine_lab import Lab
from tests.spark.test_fuzz import target

__all__ = ["target"]
SEEDS = range(int(os.environ.get("DT_JUPYTER_SEEDS", "40")))
ENGINE_SEEDS = range(int(os.environ.get("DT_JUPYTER_SEEDS", "8")))
"""Each takes minutes."""
STATEMENTS = 600


@pytest.mark.parametrize("seed", SEEDS)
def test_without_spark(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alone, "SEED", seed)
    alone.test_statements()
    alone.test_lines_of_magics()


@pytest.mark.parametrize("seed", ENGINE_SEEDS)
def test_on_an_engine(target: Lab, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_spark, "SEED", seed)
    monkeypatch.setattr(on_spark, "CASES", STATEMENTS)
    on_spark.test_statements(target)
    on_spark.test_the_python_api(target)
    on_spark.test_what_the_engine_gave_back(target)
    target.sql("DROP DYNAMIC TABLE IF EXISTS after")
    on_spark.test_what_is_there_is_as_it_was(target)
