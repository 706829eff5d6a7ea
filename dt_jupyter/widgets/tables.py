"""Tables of rows: the refresh history and results of queries, and reports, as HTML and as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from decimal import Decimal

from dt_jupyter.model import RefreshState, count_of
from dt_jupyter.widgets.change_order import is_number
from dt_jupyter.widgets.glyphs import ACTION_TOKENS, STATE_TOKENS
from dt_jupyter.widgets.html_frame import shell
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.typeset import aligned, sparkline
from dt_jupyter.wire import (
    Column,
    HistoryMessage,
    HistoryRow,
    ReportMessage,
    ResultMessage,
    duration,
)

_HISTORY = ("NAME", "ACTION", "STATE", "TRIGGER", "DATA_TIMESTAMP", "DURATION",
           "INSERTED", "DELETED", "READ", "REASON")  # fmt: skip
_HISTORY_RIGHT = frozenset({5, 6, 7, 8})
_REASON = 160  # columns of a terminal that a reason may take
HTML_ROWS, TEXT_ROWS = 100, 50
"""Rows of a result that are written into a page, and into a terminal; the grid has all."""
_METER = 48.0  # pixels of the longest duration
_CHANGES = {"INSERT": "dtj-insert", "DELETE": "dtj-delete"}


@dataclass(frozen=True, slots=True)
class Cell:
    """Content, class, style and whole text of a table cell."""

    content: str
    class_: str | None = None
    style: str | None = None
    title: str | None = None


def table(header: Sequence[Cell], rows: Sequence[str], style: str | None = None) -> Markup:
    """A scrolling HTML table; the rows are `row` elements."""
    heads = (element("th", c.content, scope="col", class_=c.class_, style=c.style) for c in header)
    head = element("thead", element("tr", *heads))
    whole = element("table", head, element("tbody", *rows), class_="dtj-t")
    return element("div", whole, class_="dtj-scroll", style=style)


def row(cells: Sequence[Cell], index: int, class_: str = "") -> Markup:
    """A row of a table; every other one is shaded."""
    shade = "dtj-even" if index % 2 else ""
    style = " ".join(filter(None, (shade, class_)))
    inside = (
        element("td", c.content, class_=c.class_, style=c.style, title=c.title) for c in cells
    )
    return element("tr", *inside, class_=style or None)


def history_html(message: HistoryMessage) -> str:
    """Refreshes, a row each, with the duration also as a bar and the reason below; the name only
    where there are several."""
    first = 1 if len({refresh.name for refresh in message.rows}) == 1 else 0
    longest = max((refresh.duration or 0.0 for refresh in message.rows), default=0.0)
    shown = _HISTORY[:-1]  # the reason has a separate line, or it would not fit
    header = [Cell(h, "dtj-num" if i in _HISTORY_RIGHT else None) for i, h in enumerate(shown)]
    header = header[first:]
    rows = [
        joined(row(_history_cells(refresh, longest)[first:], i), _why(refresh, i, first))
        for i, refresh in enumerate(message.rows)
    ]
    title = element("div", message.title, class_="dtj-title")
    return shell(title, table(header, rows) if rows else _soft("no refresh yet"))


def history_text(message: HistoryMessage) -> str:
    """The same as aligned text, and the durations as a sparkline."""
    if not message.rows:
        return f"{one_line(message.title)}: no refresh yet"
    lines = aligned(
        _HISTORY,
        [_history_words(refresh) for refresh in message.rows],
        right=_HISTORY_RIGHT,
        widest=_REASON,
    )
    durations = [refresh.duration for refresh in message.rows if refresh.duration is not None]
    spark = (
        [f"durations {sparkline(durations[-60:])} up to {duration(max(durations))}"]
        if durations
        else []
    )
    return "\n".join([one_line(message.title), *lines, *spark])


def _history_cells(refresh: HistoryRow, longest: float) -> list[Cell]:
    words = _history_words(refresh)
    cells = [Cell(w, "dtj-num" if i in _HISTORY_RIGHT else None) for i, w in enumerate(words)]
    if refresh.action:
        cells[1] = Cell(_pill(refresh.action, ACTION_TOKENS[refresh.action]))
    trouble = refresh.state not in (RefreshState.SUCCEEDED, RefreshState.SCHEDULED)
    cells[2] = Cell(
        element(
            "span",
            refresh.state,
            class_=f"dtj-c-{STATE_TOKENS[refresh.state]}",
            style="font-weight:600" if trouble else None,
        )
    )
    if refresh.duration is not None and longest > 0:
        width = max(1.0, _METER * refresh.duration / longest)
        pad = _METER - width
        bar = element(
            "span", class_="dtj-meter", style=f"width:{width:.1f}px;margin-right:{pad:.1f}px"
        )
        cells[5] = Cell(joined(words[5], bar), "dtj-num")
    return cells[:-1]


def _why(refresh: HistoryRow, index: int, first: int) -> Markup:
    if not refresh.reason:
        return Markup("")
    shade = "dtj-why dtj-even" if index % 2 else "dtj-why"
    reason = element("td", one_line(refresh.reason), colspan=len(_HISTORY) - 2, class_="dtj-wrap")
    indent = () if first else (element("td"),)
    return element("tr", *indent, reason, class_=shade)


def _history_words(refresh: HistoryRow) -> tuple[str, ...]:
    at = refresh.data_timestamp.astimezone(UTC)
    stamp = at.isoformat(sep=" ", timespec="milliseconds" if at.microsecond else "seconds")
    took = "" if refresh.duration is None else duration(refresh.duration)
    counts = (refresh.rows_inserted, refresh.rows_deleted, refresh.rows_read)
    return (
        one_line(refresh.name),
        refresh.action or "",
        refresh.state,
        refresh.trigger or "",
        stamp.replace("+00:00", "Z"),
        took,
        *("" if c is None else f"{c:,}" for c in counts),
        one_line(refresh.reason or ""),
    )


def report_html(message: ReportMessage) -> str:
    """The lines as they are, however long."""
    title = element("div", one_line(message.title), class_="dtj-title")
    return shell(title, element("pre", "\n".join(map(one_line, message.lines)), class_="dtj-query"))


def report_text(message: ReportMessage) -> str:
    return "\n".join(map(one_line, (message.title, *message.lines)))


def result_html(message: ResultMessage) -> str:
    """Rows with the columns' types; NULL differs from a string, a change row is marked at its
    edge."""
    title = element("div", message.title, class_="dtj-title") if message.title else ""
    shown = _first(message, HTML_ROWS)
    return shell(title, result_table(shown), _soft(result_footer(shown)))


def result_table(message: ResultMessage) -> Markup:
    right = [is_number(column) for column in message.columns]
    header = [column_head(column, r) for column, r in zip(message.columns, right, strict=True)]
    action = next((i for i, c in enumerate(message.columns) if c.name == "$ACTION"), None)
    rows = [
        row(
            [value_cell(value, r) for value, r in zip(values, right, strict=True)],
            i,
            "" if action is None else _CHANGES.get(values[action] or "", ""),
        )
        for i, values in enumerate(message.rows)
    ]
    return table(header, rows)


def result_text(message: ResultMessage) -> str:
    header = [one_line(column.name) for column in message.columns]
    right = frozenset(i for i, column in enumerate(message.columns) if is_number(column))
    shown = _first(message, TEXT_ROWS)
    rows = [[plain_value(v) for v in values] for values in shown.rows]
    title = [one_line(message.title)] if message.title else []
    body = aligned(header, rows, right=right) if header else []
    return "\n".join([*title, *body, result_footer(shown)])


def plain_value(value: str | None) -> str:
    """A value in a terminal: NULL, an empty text and the text NULL differ."""
    if value is None:
        return "NULL"
    return f"'{value}'" if value in ("", "NULL") else one_line(value)


def _first(message: ResultMessage, most: int) -> ResultMessage:
    """With `most` rows at most, and a note if there are more."""
    if len(message.rows) <= most:
        return message
    return replace(message, rows=message.rows[:most], marks=message.marks[:most], truncated=True)


def result_footer(message: ResultMessage) -> str:
    """How many rows are shown, and what was read."""
    count = len(message.rows)
    rows = f"the first {count_of(count, 'row')}" if message.truncated else count_of(count, "row")
    return f"{rows} · {one_line(message.note)}" if message.note else rows


def column_head(column: Column, right: bool) -> Cell:
    kind = element("small", one_line(column.type), class_="dtj-type")
    return Cell(joined(one_line(column.name), element("br"), kind), "dtj-num" if right else None)


def value_cell(value: str | None, right: bool) -> Cell:
    if value is None:
        return Cell(element("em", "NULL", class_="dtj-null"), "dtj-num" if right else None)
    return Cell(one_line(value), "dtj-num" if right else None)


_DIGITS = 6


def short_floats(column: Column, *values: str | None) -> list[str | None]:
    """Values of a float column with six significant digits, and all before the point; as they are
    where two would then look the same."""
    if column.type not in ("float", "double"):
        return list(values)
    short = [None if value is None else _short_float(value) for value in values]
    return short if len(set(short)) == len(set(values)) else list(values)


def _short_float(text: str) -> str:
    mantissa, _, exponent = text.partition("E")
    whole, _, rest = mantissa.lstrip("-").partition(".")
    if not whole.isdigit() or len((whole + rest).strip("0")) <= _DIGITS:
        return text
    kept = max(_DIGITS, len(whole.lstrip("0")))
    number = f"{Decimal(mantissa):.{kept}}" if exponent else f"{Decimal(text):.{kept}g}"
    return f"{number}E{exponent}" if exponent else number


def _pill(text: str, token: str) -> Markup:
    return element("span", text, class_=f"dtj-pill dtj-c-{token}")


def _soft(text: str) -> Markup:
    return element("div", text, class_="dtj-soft", style="font-size:12px;margin-top:4px")
