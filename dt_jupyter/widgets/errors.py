"""An error in a few lines: code, sentence, the query with the place underlined, hint; details
folded."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.widgets.html_frame import shell, unstyled
from dt_jupyter.widgets.markup import Markup, clean, element, joined, one_line
from dt_jupyter.widgets.typeset import cells
from dt_jupyter.wire import ErrorMessage

_CONTEXT = 2  # lines of the query shown before and after the place
_REACH = 100  # characters shown on either side of the place on its line


@dataclass(frozen=True, slots=True)
class QueryLine:
    """A line of the query; [start, end) is underlined in it, None where nothing is."""

    number: int
    text: str
    place: tuple[int, int] | None = None


def error_html(message: ErrorMessage) -> str:
    return shell(error_block(message))


def error_block(message: ErrorMessage) -> Markup:
    """The part of an error that another card shows."""
    code = element("b", message.code, class_="dtj-code")
    told = element("div", code, unstyled(" "), message.sentence)
    hint = (
        element("div", element("span", "Hint: ", class_="dtj-soft"), message.hint)
        if message.hint
        else ""
    )
    query = _query(message) if message.query and message.underline else ""
    trace = element("pre", message.details, class_="dtj-trace") if message.details else ""
    details = element("details", element("summary", "Details"), trace) if trace else ""
    page = _page(message)
    return element("div", told, query, hint, details, page, class_="dtj-error", role="alert")


def _page(message: ErrorMessage) -> Markup | str:
    """The page of its code, closed."""
    if message.page is None:
        return ""
    summary = element("summary", f"About {message.code}")
    return element("details", summary, element("pre", message.page, class_="dtj-trace"))


def error_text(message: ErrorMessage) -> str:
    """The same for a terminal, with a caret below the place; the details stay away."""
    lines = [f"{one_line(message.code)}: {one_line(message.sentence)}"]
    shown = query_lines(message)
    digits = len(str(shown[-1].number)) if shown else 0
    for line in shown:
        lines.append(f"  {line.number:>{digits}} | {line.text}")
        if line.place:
            start, end = line.place
            before, under = cells(line.text[:start]), cells(line.text[start:end])
            lines.append(f"  {' ' * digits} | {' ' * before}{'^' * max(under, 1)}")
    return "\n".join(lines + ([f"Hint: {one_line(message.hint)}"] if message.hint else []))


def query_lines(message: ErrorMessage) -> list[QueryLine]:
    """The lines around the place, cleaned for showing; a place that extends to the next line is
    underlined to the end of its line, and one past the text at its end."""
    if not message.query or not message.underline:
        return []
    lines = message.query.replace("\r\n", " \n").split("\n")
    index = min(max(message.underline.line, 1), len(lines)) - 1
    first, last = max(index - _CONTEXT, 0), min(index + _CONTEXT + 1, len(lines))
    found = [QueryLine(i + 1, _flat(lines[i])[: 2 * _REACH]) for i in range(first, last)]
    return [
        _placed(message, lines[index], line.number) if line.number == index + 1 else line
        for line in found
    ]


def _placed(message: ErrorMessage, text: str, number: int) -> QueryLine:
    """The line of the place; a very long one is cut around it."""
    assert message.underline is not None
    start = min(max(message.underline.column - 1, 0), len(text))
    end = min(start + max(message.underline.length, 1), max(len(text), start + 1))
    cut = max(0, start - _REACH)
    head, tail = ("…" if cut else ""), ("…" if len(text) > end + _REACH else "")
    kept = _flat(text[cut : end + _REACH])
    shift = len(head) - cut
    return QueryLine(number, head + kept + tail, (start + shift, end + shift))


def _flat(line: str) -> str:
    return clean(line.replace("\t", " ").replace("\r", " "))


def _query(message: ErrorMessage) -> Markup:
    lines = query_lines(message)
    digits = len(str(lines[-1].number))
    return element(
        "pre", joined(*(_query_line(line, digits) for line in lines)), class_="dtj-query"
    )


def _query_line(line: QueryLine, digits: int) -> Markup:
    number = element("span", f"{line.number:>{digits}}  ", class_="dtj-soft")
    if line.place is None:
        return joined(number, line.text, "\n")
    start, end = line.place
    under = element("u", line.text[start:end] or " ")
    return joined(number, line.text[:start], under, line.text[end:], "\n")
