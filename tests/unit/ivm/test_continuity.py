"""What an expression makes of a float that is equal only within a tolerance."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Project
from dt_jupyter.ivm.continuity import decider_in, only_null_tests
from tests.recorded_plans import RecordedPlans
from tests.unit.expressions import read

MOVES = (
    "s + 1", "-(s) * 2e-3", "s / g", "ABS(s)", "`SQRT`(s)", "(s + (g))",
    "GREATEST(s, 0)", "ARRAY(s, 1)[0]", "CAST(s AS DOUBLE)", "COALESCE(s, -1)",
    "COALESCE(s / g, 0)", "NVL2(s, s, 0)", "IF(s IS NULL, 1, s)", "POW(s, 2)",
    "CASE WHEN g > 1 THEN s * 1.5D ELSE 0 END", "CASE WHEN s IS NOT NULL THEN s END",
    "CASE WHEN g = 'it''s WHEN (' THEN s END", "s - CASE WHEN g IS NULL THEN 0 END",
    "CASE g WHEN 1 THEN s END",
)  # fmt: skip
DECIDES = {
    "NULLIF(s, 1)": "nullif()", "COALESCE(NULLIF(s, 0.1D), -1)": "nullif()", "s % 1": "%",
    "s DIV 2": "DIV", "SIGN(s - 1)": "sign()", "ROUND(s, 2)": "round()",
    "FLOOR(s)": "floor()", "s = 1": "=", "CASE WHEN s > 1 THEN 1 END": ">",
    "CASE s WHEN 1 THEN 2 END": "CASE", "CASE g WHEN s THEN 2 END": "CASE",
    "CAST(s AS DECIMAL(3, 2))": "cast()", "CAST(s AS STRING)": "cast()",
    "COALESCE(g / s, 0)": "/", "ABS(s) IS NULL": "abs()",
    "NULLIF(s, 1) IS NULL": "nullif()", "a_function(s)":
    "a_function()", "IF(s > 1, 1, s)": ">", "POW(2, s)": "pow()", "s BETWEEN 0 AND 1":
    "BETWEEN", "ARRAY(1, 2)[s]": "[", "CASE WHEN g = CASE WHEN s > 1 THEN 1 END THEN 1 END":
    "=", "ABS(s % 1) + g": "%", "TRANSFORM(ARRAY(s), x -> x)": "transform()",
}  # fmt: skip
TESTS = ("s IS NULL", "(s) IS NOT NULL AND g > 1", "NOT (s IS NULL)", "1 - s IS NULL")
UNSTABLE = frozenset({"s"})


@pytest.mark.parametrize("text", MOVES)
def test_what_only_moves_with_its_argument_decides_nothing(text: str) -> None:
    assert decider_in(read(text), UNSTABLE) is None


def test_the_fields_of_a_struct_are_named_in_its_calls() -> None:
    bound = RecordedPlans.of(__file__).relation(
        "SELECT STRUCT(s, 1) AS r FROM t", {"t": "s DOUBLE"}
    )
    assert isinstance(bound, Project)
    ((_, e),) = bound.items
    assert e.columns
    assert decider_in(e, e.columns) is None


@pytest.mark.parametrize("text", DECIDES)
def test_what_a_last_bit_can_change_decides(text: str) -> None:
    assert decider_in(read(text), UNSTABLE) == DECIDES[text]


@pytest.mark.parametrize("text", DECIDES)
def test_by_other_columns_nothing_is_decided(text: str) -> None:
    assert decider_in(read(text), frozenset({"other"})) is None


@pytest.mark.parametrize("text", TESTS)
def test_whether_a_value_is_null_does_not_depend_on_its_last_bit(text: str) -> None:
    assert only_null_tests(read(text), UNSTABLE)


@pytest.mark.parametrize("text", ["NULLIF(s, 1) IS NULL", "s IS NULL OR s > 2", "s > 2"])
def test_a_test_of_what_decides_is_no_test_for_null(text: str) -> None:
    assert not only_null_tests(read(text), UNSTABLE)
