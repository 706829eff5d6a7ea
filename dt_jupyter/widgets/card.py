"""The card of a dynamic table that was created or described."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dt_jupyter.model import RefreshMode, SchedulingState
from dt_jupyter.widgets.graph import NOT_REFRESHED
from dt_jupyter.widgets.html_frame import shell, unstyled
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.tables import result_footer, result_table, result_text
from dt_jupyter.wire import CardMessage, Column, instant


def card_html(message: CardMessage) -> str:
    """Name, mode and why, lag, upstream, schema, first rows, and what the guards checked."""
    token = "full" if message.refresh_mode is RefreshMode.FULL else "incremental"
    pills = [" ", _pill(_mode(message), token)]
    if message.scheduling_state is SchedulingState.SUSPENDED:
        pills += [" ", _pill("SUSPENDED", "warn")]
    elif message.held_back:
        pills += [" ", _pill(NOT_REFRESHED, "warn")]
    name = element("b", one_line(message.name), class_="dtj-name")
    head = element("div", name, *pills, class_="dtj-head")
    rows = [(name, element("dd", text)) for name, text in _facts(message)]
    rows.append(("columns", element("dd", *_columns(message.schema))))
    facts = element(
        "dl", *(joined(element("dt", name), value) for name, value in rows), class_="dtj-facts"
    )
    notes = element("ul", *(element("li", note) for note in message.notes), class_="dtj-notes")
    return shell(
        element(
            "div", head, facts, _sample(message), notes if message.notes else "", class_="dtj-card"
        )
    )


def card_text(message: CardMessage) -> str:
    suspended = " SUSPENDED" if message.scheduling_state is SchedulingState.SUSPENDED else ""
    suspended = suspended or (f" {NOT_REFRESHED}" if message.held_back else "")
    facts = [*_facts(message), ("columns", ", ".join(f"{c.name} {c.type}" for c in message.schema))]
    lines = [f"Dynamic table {one_line(message.name)} [{_mode(message)}]{suspended}"]
    lines += [f"  {name + ':':<16}{one_line(text)}" for name, text in facts]
    if message.sample:
        lines += ["", result_text(message.sample)]
    return "\n".join([*lines, *(f"  · {one_line(note)}" for note in message.notes)])


def _mode(message: CardMessage) -> str:
    automatic = message.declared_mode is RefreshMode.AUTO is not message.refresh_mode
    return f"AUTO → {message.refresh_mode}" if automatic else str(message.refresh_mode)


def _facts(message: CardMessage) -> list[tuple[str, str]]:
    at = instant(message.data_timestamp) if message.data_timestamp else "not initialised yet"
    standing = [("standing", message.held_back)] if message.held_back else []
    return [
        *standing,
        ("why", message.mode_reason),
        ("target lag", str(message.target_lag)),
        ("warehouse", message.warehouse),
        ("upstream", ", ".join(message.upstream) or "none"),
        ("data timestamp", at),
    ]


def _sample(message: CardMessage) -> Markup:
    if message.sample is None:
        return Markup("")
    footer = element(
        "div",
        result_footer(message.sample),
        class_="dtj-soft",
        style="font-size:12px;margin-top:4px",
    )
    return joined(result_table(message.sample), footer)


def _columns(schema: Sequence[Column]) -> Iterator[Markup]:
    for i, column in enumerate(schema):
        if i:
            yield unstyled(", ")
        kind = element("span", f" {one_line(column.type)}", class_="dtj-soft")
        yield element("span", one_line(column.name), kind, class_="dtj-col")


def _pill(text: str, token: str) -> Markup:
    return element("span", text, class_=f"dtj-pill dtj-c-{token}")
