"""A script that is laid out says the same: the same words and comments, in the same order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.model import DTError
from dt_jupyter.sql import cell_parts, format_cell, format_script, tokens
from dt_jupyter.sql.text.layout import same_words

KNOWN = [
    text
    for name in ("queries.sql", "refused.sql")
    for text in (Path(__file__).parents[1] / name).read_text("utf-8").split("\n\n")
    if text.strip()
]

PLAIN = """SELECT a b FROM t WHERE AND OR BETWEEN 1 2.5 ( ) , . * = JOIN LEFT ON GROUP BY HAVING
ORDER LIMIT WITH AS UNION ALL ; -- /* :: -> CASE WHEN END LATERAL VIEW IS DISTINCT WITHIN
INTERVAL - + VALUES CREATE DYNAMIC TABLE TARGET_LAG DELETE INSERT INTO EXTRACT"""
WORDS = [*PLAIN.split(), "'x  y'", "`q q`"]
PIECES = st.lists(
    st.sampled_from([*WORDS, "--c\n", "/* c */", "/* a /* b */ c */", "$$ d  d $$", "r'\\n'"]),
    max_size=40,
)
GAPS = st.sampled_from([" ", "\n", "  \n\t", ""])


@pytest.mark.parametrize("text", KNOWN, ids=range(len(KNOWN)))
def test_what_is_laid_out_says_the_same_and_stays_as_it_is(text: str) -> None:
    made = format_script(text)
    assert made is not None
    assert [(w.kind, w.text) for w in tokens(made)] == [(w.kind, w.text) for w in tokens(text)]
    assert format_script(made) == made


@settings(max_examples=300, deadline=None)
@given(PIECES, st.data())
def test_no_text_becomes_another_one(words: list[str], data: st.DataObject) -> None:
    text = "".join(word + data.draw(GAPS) for word in words)
    try:
        made = format_script(text)
    except DTError:  # a text or a comment that does not end
        return
    assert made is None or same_words(made, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a -- x\n", "SELECT a"),
        ("SELECT a /* x */", "SELECT a /* y */"),
        ("SELECT a b", "SELECT ab"),
        ("SELECT 'a  b'", "SELECT 'a b'"),
        ("SELECT a, b", "SELECT b, a"),
    ],
)
def test_other_words_or_comments_are_seen(one: str, other: str) -> None:
    assert not same_words(one, other)


def test_clauses_stand_on_lines_and_long_lists_below_each_other() -> None:
    text = (
        "create dynamic table d target_lag = '1 minute' as select k, /* the sum */ sum(v) as s "
        "from t left join u on t.k = u.k where v between 1 and 2 and k > 0 group by k"
    )
    assert format_script(text) == (
        "create dynamic table d\n  target_lag = '1 minute'\nas\n"
        "select k, /* the sum */ sum(v) as s\nfrom t\nleft join u on t.k = u.k\n"
        "where v between 1 and 2\n  and k > 0\ngroup by k"
    )


def test_of_a_cell_only_the_sql_is_laid_out() -> None:
    cell = "%%dynamic_table d --target-lag '1 minute'\nselect a from t where a > 1\n"
    assert format_cell(cell) == (
        "%%dynamic_table d --target-lag '1 minute'\nselect a\nfrom t\nwhere a > 1\n"
    )
    line = "%dt SELECT a FROM t WHERE a > 1"
    assert format_cell(line) == line


@pytest.mark.parametrize(
    ("cell", "kinds"),
    [
        ("SELECT 1", ["script"]),
        ("%%dt\nSELECT 1", ["script"]),
        ("\n %%dt -o x\nSELECT 1", ["script"]),
        ("%%dynamic_table a\nSELECT 1", ["definition"]),
        ("%%changes s\norders", ["changes"]),
        ("%dt SELECT 1\n%dt SHOW STREAMS", ["command", "command"]),
    ],
)
def test_the_parts_of_a_cell_are_where_they_say(cell: str, kinds: list[str]) -> None:
    parts = cell_parts(cell)
    assert [str(part.kind) for part in parts] == kinds
    for part in parts:
        assert cell[part.offset : part.offset + len(part.text)] == part.text
        assert cell[part.line_offset : part.line_offset + len(part.line)] == part.line
