"""Retention intervals in every spelling that Delta reads."""

from __future__ import annotations

import pytest

from dt_jupyter.model import parse_interval
from tests.spark.intervals import NO_LENGTH, REFUSED, SPELLINGS

DAY = 86_400


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling(text: str) -> None:
    assert parse_interval(text) == SPELLINGS[text]


@pytest.mark.parametrize("text", [*REFUSED, *NO_LENGTH])
def test_what_is_no_interval_has_no_default(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_interval(text)
