"""A text goes to Spark in a form that each release reads as the session did that defined it."""

from __future__ import annotations

import pytest

from dt_jupyter.sources.pinned_text import portable
from dt_jupyter.spark import DROPS_QUOTES, KEEPS_BACKSLASHES

TEXT = """SELECT 'it''s', "a""b", r'c\\' FROM t -- don''t"""


@pytest.mark.parametrize(
    ("drops", "keeps", "sent"),
    [
        ("false", "false", """SELECT 'it\\'s', "a\\"b", r'c\\' FROM t -- don''t"""),
        ("true", "false", TEXT),
        ("false", "true", TEXT),
    ],
)
def test_doubled_quotes_are_sent_as_the_session_read_them(
    drops: str, keeps: str, sent: str
) -> None:
    assert portable(TEXT, {DROPS_QUOTES: drops, KEEPS_BACKSLASHES: keeps}) == sent


def test_settings_of_a_lake_that_is_older_leave_the_text() -> None:
    assert portable(TEXT, {}) == TEXT
