"""Which SELECT becomes a local row."""

from __future__ import annotations

import pytest

from dt_jupyter.sql.text.local_rows import without_job


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("SELECT TRUE", "SELECT * FROM VALUES (TRUE) AS has_data(`true`)"),
        ("SELECT TRUE AS `a``(b)`", "SELECT * FROM VALUES (TRUE) AS has_data(`a``(b)`)"),
        (" select false AS ok ;", "SELECT * FROM VALUES (false) AS has_data(`ok`)"),
    ],
)
def test_one_truth_is_a_local_row(text: str, row: str) -> None:
    assert without_job(text) == row


@pytest.mark.parametrize("text", ["SELECT TRUE, 1", "SELECT TRUE FROM t", "SELECT NOT TRUE"])
def test_all_else_stays_as_it_is(text: str) -> None:
    assert without_job(text) == text
