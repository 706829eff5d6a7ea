"""How wide a text is, in pixels of a sans serif and in cells of a terminal, and how to shorten it.

The pixel widths are those of a wide face (DejaVu Sans, Verdana), so that a text that fits here fits
in any face that a notebook has.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

# thousandths of an em of DejaVu Sans, from space to tilde
_ASCII = (
    *(318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337),
    *(636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531),
    *(1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787),
    *(603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500),
    *(500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612),
    *(635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838),
)
_EM, _OTHER, _BOLD = 1.05, 0.84, 1.12
BARS = "▁▂▃▄▅▆▇█"


def pixels(text: str, size: float, *, bold: bool = False) -> float:
    """Upper estimate of the width of a line at a font size in pixels."""
    ems = sum(0.0 if unicodedata.combining(c) else _ems(c) for c in text)
    return ems * size * (_BOLD if bold else 1)


def _ems(char: str) -> float:
    if " " <= char <= "~":
        return _ASCII[ord(char) - 32] / 1000
    return _EM if unicodedata.east_asian_width(char) in "WFA" or ord(char) > 0xFFFF else _OTHER


def wrap(text: str, width: float, size: float, lines: int) -> list[str]:
    """The text in at most `lines` lines of `width` pixels, broken at spaces; … if there is more."""
    wrapped: list[str] = []
    words = text.split()
    while words and len(wrapped) < lines - 1 and pixels(words[0], size) <= width:
        taken = 1
        while taken < len(words) and pixels(" ".join(words[: taken + 1]), size) <= width:
            taken += 1
        wrapped.append(" ".join(words[:taken]))
        words = words[taken:]
    return [*wrapped, fit(" ".join(words), width, size)] if words else wrapped


def fit(text: str, width: float, size: float, *, bold: bool = False, middle: bool = False) -> str:
    """The text, or as much of it as fits in `width` pixels, with … at the end or in the middle."""
    if pixels(text, size, bold=bold) <= width:
        return text
    low, high = 0, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        short = _shorten(text, kept, middle)
        low, high = (kept, high) if pixels(short, size, bold=bold) <= width else (low, kept - 1)
    return _shorten(text, low, middle)


def _shorten(text: str, kept: int, middle: bool) -> str:
    head = (kept + 1) // 2 if middle else kept
    return text[:head].rstrip() + "…" + (text[len(text) - (kept - head) :] if kept > head else "")


def cells(text: str) -> int:
    """Columns that a terminal gives the line."""
    return sum(_cell(c) for c in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or char in "\u200c\u200d\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit_cells(text: str, width: int) -> str:
    """The text, or as much of it as fits in `width` columns with …"""
    if cells(text) <= width:
        return text
    kept, used = "", 1
    for char in text:
        used += _cell(char)
        if used > width:
            break
        kept += char
    return kept + "…"


def aligned(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[int] = frozenset(),
    widest: int = 48,
) -> list[str]:
    """Lines of a text table with a rule under its header; columns in `right` are flush right, and
    none is wider than `widest`."""
    table = [[fit_cells(cell, widest) for cell in row] for row in (header, *rows)]
    widths = [max(cells(row[i]) for row in table) for i in range(len(header))]
    columns = [(width, i in right) for i, width in enumerate(widths)]
    lines = [
        "  ".join(_pad(c, *column) for c, column in zip(row, columns, strict=True)) for row in table
    ]
    return [line.rstrip() for line in (lines[0], "  ".join("─" * w for w in widths), *lines[1:])]


def _pad(text: str, width: int, right: bool) -> str:
    space = " " * (width - cells(text))
    return space + text if right else text + space


def sparkline(values: Sequence[float]) -> str:
    """One bar per value, from zero to the largest."""
    top = max(values, default=0.0)
    return "".join(BARS[min(7, int(v / top * 7.999))] if top > 0 else BARS[0] for v in values)
