"""The options of `dt.create` and of the decorator."""

from __future__ import annotations

from typing import Any

import pytest

from dt_jupyter.engine.frame_definition import _options
from dt_jupyter.model import Name
from tests.unit.catalog_lab import refused


def test_a_frozen_region_and_the_table_that_fills_it() -> None:
    found = _options({"frozen": " g < 2 ", "backfill": "past", "target_lag": None})
    assert (found["frozen"], found["backfill"]) == ("g < 2", "past")
    named = _options({"frozen": "g < 2", "backfill": Name("a", "past")})
    assert named["backfill"] == Name("a", "past")
    assert "frozen" not in _options({"frozen": None})


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"backfill": "past"}, "DT-1141"),
        ({"frozen": ""}, "DT-1003"),
        ({"frozen": True}, "DT-1003"),
        ({"frozen": "g < 2", "backfill": 3}, "DT-1003"),
        ({"frozens": "g < 2"}, "DT-1002"),
    ],
)
def test_what_is_no_region_is_refused(given: dict[str, Any], code: str) -> None:
    with refused(code):
        _options(given)
