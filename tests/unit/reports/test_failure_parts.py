"""The last failure of a table in parts, from what the history keeps of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dt_jupyter.model import RefreshState
from dt_jupyter.reports import failure_report
from dt_jupyter.reports.failure_parts import find_expression
from tests.unit.catalog_lab import Lab, definition, failure, table

QUERY = "SELECT k,\n       100 / (v - 1) AS share\nFROM orders"
DIVIDED = (
    "[DT-2105] The refresh of a failed: [DIVIDE_BY_ZERO] Division by zero, in 100 / (`v` - 1), "
    "for example of the row k = 3, v = 1. Use try_divide, or NULLIF on the divisor."
)


def report(lab: Lab, error: str, code: str = "DT-2105") -> tuple[str | None, ...]:
    made = table("a", definition=definition(QUERY))
    record = replace(failure(lab.begin(1)), state=RefreshState.FAILED, error=error, error_code=code)
    found = failure_report(made, record)
    place = QUERY[found.place.start : found.place.end] if found.place else None
    return found.sentence[:16], found.expression, found.row, place, found.steps[0]


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    made = Lab(tmp_path_factory.mktemp("lake"))
    made.make("a")
    return made


def test_expression_row_and_place_are_found(lab: Lab) -> None:
    assert report(lab, DIVIDED) == (
        "The refresh of a",
        "100 / (`v` - 1)",
        "k = 3, v = 1",
        "100 / (v - 1",
        "Edit the definition, or correct the rows of the source.",
    )


def test_what_is_not_said_is_left_out(lab: Lab) -> None:
    told = "[DT-2102] Source orders of a no longer exists."
    assert report(lab, told, "DT-2102") == (
        "Source orders of", None, None, None, "Create the source again, or UNDROP it.",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("(100 / (`v` - 1))", "100 / (v - 1"),
        ("V - 1", "v - 1"),
        ("nothing", None),
        ("", None),
        ("k", None),  # it is there twice
    ],
)
def test_an_expression_is_found_where_it_stands_once(expression: str, place: str | None) -> None:
    query = f"{QUERY} k"
    found = find_expression(query, expression)
    assert (query[found.start : found.end] if found else None) == place
