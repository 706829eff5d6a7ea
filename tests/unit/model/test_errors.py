"""An error is data: its text is read back, holds one code, and can be said of another statement."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dt_jupyter.model import CATALOGUE, DTError, Span, TargetLag, error, read_error

SENTENCES = {"hint": "Do this.", "problem": "It is wrong.", "sentence": "It is wrong."}


def made(code: str, **more: str) -> DTError:
    facts: dict[str, Any] = {f: SENTENCES.get(f, f"some {f}") for f in CATALOGUE[code].fields}
    return error(code, **facts, **more)


@pytest.mark.parametrize("code", CATALOGUE)
def test_the_text_of_an_error_is_read_back(code: str) -> None:
    for wanted in (made(code), made(code, also="And that."), made(code, instead="Or that.")):
        found = read_error(str(wanted))
        assert found is not None
        assert (found.code, str(found)) == (code, str(wanted))
        assert found.sentence == wanted.sentence


@pytest.mark.parametrize("text", ["", "no code", "[DT-9999] no such code", "[DT-2102] other words"])
def test_a_text_of_no_error_is_none(text: str) -> None:
    assert read_error(text) is None


def test_an_error_in_an_error_has_no_code_of_its_own() -> None:
    inner = error("DT-2102", source="t", name="d")
    outer = error("DT-3306", name="k", problem=inner, hint="")
    twice = error("DT-3306", name="k", problem=f"it ended: {inner}", hint="")
    assert str(outer) == f"[DT-3306] Task k failed: {str(inner).partition('] ')[2]}"
    assert str(twice).count("DT-") == 1


def test_an_error_is_said_otherwise_where_it_was() -> None:
    failure = error("DT-6110", store="S", problem="x").at("a b", Span(2, 3))
    found = failure.but(instead="Nothing was made.")
    assert (found.hint, found.span, found.query) == ("Nothing was made.", Span(2, 3), "a b")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("60", "'60 seconds'"), ("1m", "'1 minutes'"), ("5 min", "'5 minutes'"),
        ("2h", "'2 hours'"), ("10 secs", "'10 seconds'"), ("1d", "'1 days'"),
    ],
)  # fmt: skip
def test_a_short_duration_is_understood_in_the_error(text: str, meant: str) -> None:
    with pytest.raises(DTError) as caught:
        TargetLag.parse(text)
    assert caught.value.hint == f"Did you mean {meant}?"
    TargetLag.parse(meant)


@pytest.mark.parametrize("value", ["1 minute", "60 seconds", 60, 60.0, timedelta(minutes=1)])
def test_a_lag_is_the_same_in_each_form(value: Any) -> None:
    assert TargetLag.of(value) == TargetLag(60.0)


@pytest.mark.parametrize("value", [True, None, "60", 0, -1.0, timedelta(0), "soon"])
def test_what_is_no_lag_is_refused(value: Any) -> None:
    with pytest.raises(DTError) as caught:
        TargetLag.of(value)
    assert caught.value.code == "DT-1003"
