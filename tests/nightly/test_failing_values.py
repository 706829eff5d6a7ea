"""Every condition that Spark has for a value that it cannot compute is told with a row."""

from __future__ import annotations

import pytest

from dt_jupyter.failures.words import VALUE_HINTS
from tests.spark.engine_lab import Lab
from tests.spark.failing_values import FAILING, check_told, make_table

OF_INTERVALS = {"INTERVAL_ARITHMETIC_OVERFLOW"}
"""Raised of sums of months beyond 32 bits."""


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Lab:
    make_table(shared_lab)
    return shared_lab


@pytest.mark.parametrize(("expression", "condition"), FAILING.items(), ids=FAILING)
def test_a_value_is_told_with_its_row(lab: Lab, expression: str, condition: str) -> None:
    check_told(lab, expression, condition)


def test_there_is_an_expression_for_each_condition() -> None:
    assert set(FAILING.values()) == VALUE_HINTS.keys() - OF_INTERVALS
