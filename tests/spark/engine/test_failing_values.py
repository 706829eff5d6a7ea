"""A value that Spark cannot compute: the expression, one row of which, one advice.

All conditions are tried in `tests/nightly`.
"""

from __future__ import annotations

import pytest

from tests.spark.engine_lab import Lab
from tests.spark.failing_values import FAILING, check_told, error_of, make_table

SOME = ("CAST(s AS INT)", "CAST(big AS INT)", "a[1]", "map(nullif(n, 0), 2)", "to_date(s, 'd')")


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Lab:
    make_table(shared_lab)
    return shared_lab


@pytest.mark.parametrize("expression", SOME)
def test_a_value_is_told_with_its_row(lab: Lab, expression: str) -> None:
    check_told(lab, expression, FAILING[expression])


def test_a_branch_that_is_not_taken_is_not_blamed(lab: Lab) -> None:
    told = str(
        error_of(lab, "SELECT CASE WHEN id = 2 THEN n + 1 ELSE id / (n - 1) END FROM failing")
    )
    assert "for example of the row id = 1, s = 5" in told
