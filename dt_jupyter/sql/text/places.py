"""Where in a text something is, shown to people: the line, and carets beneath the place."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from dt_jupyter.model import Span

WIDTH = 100  # columns shown of a line
_TAB = 4
_BEFORE = 30  # columns shown before a place in a long line
_CUT = "…"
_BLANKED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # control, bidi and the like: they would lie
_NEWLINES = ("\r\n", "\n", "\r")


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    start, _ = _line_around(text, offset)
    return len(_line_starts(text[:offset])), min(offset, len(text)) - start + 1


def underline(text: str, span: Span) -> str:
    """The line where the span begins, and a line of carets beneath it.

    Tabs are spaces, wide characters take two columns, control and bidi characters are shown as
    `�`; of a line over WIDTH columns the part around the place. A span that goes on in later lines
    is marked to the end of its first, and says how many more. Offsets past the end mean the end.
    """
    begin, stop = min(span.start, len(text)), min(span.end, len(text))
    start, end = _line_around(text, begin)
    cells = [_shown(c) for c in text[start:end]]
    first, last = begin - start, max(begin + 1, min(stop, end)) - start
    more = len(_line_starts(text[begin:stop])) - 1
    left, right = _window(cells, first, last)
    head, tail = _CUT if left else "", _CUT if right < len(cells) else ""
    line = head + "".join(cells[left:right]) + tail
    indent = " " * (len(head) + _width(cells[left:first]))
    carets = "^" * max(1, _width(cells[first : min(last, right)]))
    note = f" … and {more} more line{'s' if more > 1 else ''}" if more > 0 else ""
    return f"{line}\n{indent}{carets}{note}"


def _line_starts(text: str) -> list[int]:
    starts, at = [0], 0
    while at < len(text):
        size = next((len(n) for n in _NEWLINES if text.startswith(n, at)), 0)
        at += size or 1
        if size:
            starts.append(at)
    return starts


def _line_around(text: str, offset: int) -> tuple[int, int]:
    """The line that holds `offset`, without its newline."""
    offset = min(offset, len(text))
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    if start == offset and 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n":
        return _line_around(text, offset - 1)  # between the two halves of a newline
    ends = [at for n in "\r\n" if (at := text.find(n, offset)) >= 0]
    return start, min(ends, default=len(text))


def _shown(character: str) -> str:
    if character == "\t":
        return " " * _TAB
    return "�" if unicodedata.category(character) in _BLANKED else character


def _width(cells: Sequence[str]) -> int:
    """Columns that the cells take in a fixed-width font."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for cell in cells
        for c in cell
    )


def _window(cells: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The cells to show, WIDTH columns at most, the place `first` among them."""
    if _width(cells) <= WIDTH:
        return 0, len(cells)
    left = _back(cells, first, _BEFORE)
    right, room = left, WIDTH
    while right < len(cells) and (room := room - _width(cells[right : right + 1])) >= 0:
        right += 1
    if right == len(cells):
        left = _back(cells, right, WIDTH)
    return left, right


def _back(cells: Sequence[str], index: int, columns: int) -> int:
    """The first cell of the `columns` before `index`."""
    while index > 0 and (columns := columns - _width(cells[index - 1 : index])) >= 0:
        index -= 1
    return index
