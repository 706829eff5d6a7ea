"""Every change upstream of a stream: it gives exactly the rows that came and went, or says that it
is stale."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.experiments import SOURCE_CHANGED
from tests.spark.engine_lab import Lab
from tests.upstream_ddl.stream_cases import (
    COLUMN_CASES,
    DYNAMIC_CASES,
    LAYOUT_CASES,
    TABLE_CASES,
    VIEW_CASES,
    StreamCase,
)
from tests.upstream_ddl.stream_scenes import streams_played

pytestmark = SOURCE_CHANGED
_AT_EACH_CHANGE = (
    (COLUMN_CASES, "column widened", True),
    (COLUMN_CASES, "field dropped that the view does not read", False),
    (VIEW_CASES, "other rows", True),
    (VIEW_CASES, "a function that it calls replaced", False),
)
_CHAPTERS = {
    "columns": COLUMN_CASES,
    "layout": LAYOUT_CASES,
    "tables": TABLE_CASES,
    "views": VIEW_CASES,
    "dynamic tables": DYNAMIC_CASES,
}


@pytest.mark.nightly
def test_what_happens_upstream_of_streams(quick_lab: Lab) -> None:
    chosen = [
        (next(c for c in cases if c.what == what), keyed) for cases, what, keyed in _AT_EACH_CHANGE
    ]
    problems = streams_played(quick_lab, chosen)
    assert not problems, "\n".join(problems)
    for source in ("s1_t", "s1_w"):  # as a stream does
        assert quick_lab.sql(f"SELECT count(*) FROM {source} CHANGES AT (VERSION => 1)") == [(5,)]


@pytest.mark.nightly
@pytest.mark.parametrize("keyed", [True, False], ids=["keyed", "tracked"])
@pytest.mark.parametrize("cases", _CHAPTERS.values(), ids=_CHAPTERS.keys())
def test_every_change_upstream_of_streams(
    quick_lab: Lab, cases: Sequence[StreamCase], keyed: bool
) -> None:
    problems = streams_played(quick_lab, [(case, keyed) for case in cases])
    assert not problems, "\n".join(problems)
