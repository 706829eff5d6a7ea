"""Parameters come from variables as values, and only plain ones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy
import pytest

from dt_jupyter.model import DTError, Span
from dt_jupyter.notebook.variables import parameters


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, Decimal("1.10"), "it's; DROP TABLE t", date(2024, 2, 29),
     datetime(2024, 1, 1, tzinfo=UTC)],
)  # fmt: skip
def test_plain_values_are_passed_as_they_are(value: object) -> None:
    assert parameters("SELECT :v", {"v": value, "w": 1}) == {"v": value}


def test_a_numpy_scalar_is_a_plain_number() -> None:
    found = parameters("SELECT :v", {"v": numpy.int64(7)})
    assert found == {"v": 7}
    assert type(found["v"]) is int


def test_only_what_the_text_names_is_taken() -> None:
    text = "SELECT ':no', x::int, :yes -- :neither"
    assert parameters(text, {"no": [], "yes": 1, "neither": []}) == {"yes": 1}


def test_a_missing_variable_is_placed() -> None:
    with pytest.raises(DTError) as caught:
        parameters("SELECT :gone", {})
    assert caught.value.code == "DT-1113"
    assert caught.value.span == Span(7, 12)


@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), numpy.arange(3)])
def test_what_is_not_plain_is_refused(value: object) -> None:
    with pytest.raises(DTError) as caught:
        parameters("SELECT :v", {"v": value})
    assert caught.value.code == "DT-1003"
    assert caught.value.span == Span(7, 9)
