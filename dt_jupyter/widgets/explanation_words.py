"""An explanation of a dynamic table: mode and why, what the next refresh does, its statements."""

from __future__ import annotations

from dt_jupyter.model import RefreshMode
from dt_jupyter.widgets.html_frame import shell
from dt_jupyter.widgets.markup import Markup, clean, element, joined, one_line
from dt_jupyter.wire import ExplanationMessage, redact

OPEN = 2
"""Statements that are shown unfolded."""


def explanation_text(message: ExplanationMessage) -> str:
    lines = [f"{one_line(message.name)} [{message.refresh_mode}]"]
    lines += [f"  {name + ':':<14}{text}" for name, text in _facts(message)]
    for title, sql in message.steps:
        lines += ["", f"-- {one_line(title)}", clean(sql)]
    return "\n".join(lines)


def explanation_html(message: ExplanationMessage) -> str:
    token = "full" if message.refresh_mode is RefreshMode.FULL else "incremental"
    pill = element("span", message.refresh_mode, class_=f"dtj-pill dtj-c-{token}")
    name = element("b", one_line(message.name), class_="dtj-name")
    rows = (joined(element("dt", n), element("dd", t)) for n, t in _facts(message))
    facts = element("dl", *rows, class_="dtj-facts")
    steps = (_step(title, sql, index < OPEN) for index, (title, sql) in enumerate(message.steps))
    head = element("div", name, " ", pill, class_="dtj-head")
    return shell(element("div", head, facts, *steps, class_="dtj-card"))


def _facts(message: ExplanationMessage) -> tuple[tuple[str, str], ...]:
    columns = ", ".join(f"{c.name} {c.type}" for c in message.schema)
    named = (
        ("note", message.note),
        ("why", redact(message.mode_reason)),
        ("hint", message.hint),
        ("next refresh", message.action or ""),
        ("checked on", message.checked),
        ("reads", ", ".join(message.upstream) or "nothing"),
        ("columns", columns),
    )
    return tuple((name, one_line(text)) for name, text in named if text)


def _step(title: str, sql: str, unfolded: bool) -> Markup:
    text = element("pre", clean(sql), class_="dtj-query")
    return element("details", element("summary", one_line(title)), text, open=unfolded)
