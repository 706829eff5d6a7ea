"""Parameters come from variables as values, and only plain ones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy
import pandas
import pyarrow
import pytest

from dt_jupyter.model import DTError, Span, error
from dt_jupyter.notebook.variables import parameters, with_frame_hint


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


@pytest.mark.parametrize("value", [["x", "y"], (1, 2), numpy.arange(3), []])
def test_a_list_is_an_array(value: object) -> None:
    found = parameters("SELECT :v", {"v": value})["v"]
    assert list(found) == list(value)  # type: ignore[call-overload]
    assert not isinstance(found, numpy.ndarray)


@pytest.mark.parametrize("value", [[[1]], {"a": 1}, object(), numpy.ones((2, 2))])
def test_what_is_not_plain_is_refused(value: object) -> None:
    with pytest.raises(DTError) as caught:
        parameters("SELECT :v", {"v": value})
    assert caught.value.code == "DT-1003"
    assert caught.value.span == Span(7, 9)


FRAMES = {
    "pandas": pandas.DataFrame({"id": [1]}),
    "a subclass": type("Own", (pandas.DataFrame,), {})({"id": [1]}),
    "arrow": pyarrow.table({"id": [1]}),
    "polars": type("DataFrame", (), {"__module__": "polars.dataframe.frame"})(),
    "lazy": type("LazyFrame", (), {"__module__": "polars.lazyframe.frame"})(),
    "spark": type("DataFrame", (), {"sparkSession": 1})(),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_table_that_is_a_variable_is_named_with_the_line_that_stores_it(kind: str) -> None:
    missing, line = error("DT-1101", name="pdf", hint=""), 'dt.load("pdf", pdf)'
    found = with_frame_hint(missing.at("FROM pdf", Span(5, 8)), {"pdf": FRAMES[kind]})
    assert isinstance(found, DTError)
    assert line in found.hint
    assert found.span == Span(5, 8)
    with pytest.raises(DTError) as caught:
        parameters("SELECT * FROM :pdf", {"pdf": FRAMES[kind]})
    assert line in caught.value.hint


@pytest.mark.parametrize("value", [3, "orders", None, [1], type("DataFrame", (), {})()])
def test_a_variable_of_another_kind_explains_no_missing_table(value: object) -> None:
    missing = error("DT-1101", name="x", hint="")
    assert with_frame_hint(missing, {"x": value}) is missing
    other = error("DT-1113", name="pdf")
    assert with_frame_hint(other, {"pdf": pandas.DataFrame()}) is other
