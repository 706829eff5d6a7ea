"""The line, and carets beneath the place."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from dt_jupyter.model import Span
from dt_jupyter.sql.text.places import WIDTH, position, underline


def width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


@pytest.mark.parametrize(
    ("text", "start", "end", "expected"),
    [
        ("SELECT a FROM t", 7, 8, "SELECT a FROM t\n       ^"),
        ("SELECT a\nFROM tab\nWHERE b", 14, 17, "FROM tab\n     ^^^"),
        ("SELECT a", 8, 8, "SELECT a\n        ^"),
        ("SELECT a", 50, 60, "SELECT a\n        ^"),
        ("", 0, 0, "\n^"),
        ("a\n", 1, 1, "a\n ^"),
        ("a\n", 2, 2, "\n^"),
        ("a\r\nbc\r\n", 3, 5, "bc\n^^"),
        ("\ta\tb", 3, 4, "    a    b\n         ^"),
        ("'日本' x", 5, 6, "'日本' x\n       ^"),
        ("'日本' x", 1, 3, "'日本' x\n ^^^^"),
        ("e\u0301 x", 3, 4, "e\u0301 x\n  ^"),
        ("a\u202eb\0c", 3, 4, "a�b�c\n   ^"),
        ("a (b\nc\nd) e", 2, 9, "a (b\n  ^^ … and 2 more lines"),
        ("a (b\nc) e", 2, 7, "a (b\n  ^^ … and 1 more line"),
    ],
)
def test_underline(text: str, start: int, end: int, expected: str) -> None:
    assert underline(text, Span(start, end)) == expected


@pytest.mark.parametrize("place", [0, 20, 500, 990, 999])
def test_of_a_long_line_the_part_around_the_place(place: int) -> None:
    text = "." * place + "X" + "." * (999 - place)
    line, carets = underline(text, Span(place, place + 1)).split("\n")
    assert WIDTH <= width(line) <= WIDTH + 2
    assert line[carets.index("^")] == "X"
    assert line.startswith("…") is (place > 50)
    assert line.endswith("…") is (place < 950)


def test_a_long_place_is_cut_with_its_line() -> None:
    line, carets = underline("." * 10 + "X" * 500, Span(10, 510)).split("\n")
    assert carets.strip() == "^" * line.count("X")
    assert len(carets) <= WIDTH + 1


TEXTS = st.text(st.sampled_from("ab\t\n\r 日e\u0301\u202e\0"), max_size=300)


@given(TEXTS, st.integers(0, 300), st.integers(0, 300))
def test_always_two_lines_and_a_caret_below_the_place(text: str, start: int, length: int) -> None:
    shown = underline(text, Span(start, start + length))
    line, carets = shown.split("\n")
    assert carets.strip().startswith("^")
    assert width(line) <= WIDTH + 2
    assert carets.index("^") <= width(line)


def test_position() -> None:
    text = "ab\ncd\r\nef"
    assert [position(text, i) for i in (0, 1, 2, 3, 7, 9, 99)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 1),
        (3, 1),
        (3, 3),
        (3, 3),
    ]
