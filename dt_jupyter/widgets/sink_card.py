"""The card of a sink that was created or described."""

from __future__ import annotations

from collections.abc import Iterator

from dt_jupyter.widgets.errors import error_block, error_text
from dt_jupyter.widgets.graph import lag_words
from dt_jupyter.widgets.html_frame import shell
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.sink_words import SINK_TOKENS, sink_facts, store_text
from dt_jupyter.widgets.tables import Cell, row, table
from dt_jupyter.widgets.typeset import aligned
from dt_jupyter.wire import SinkDelivery, SinkMessage, duration, instant

_HEADER = ("STATE", "ACTION", "TRIGGER", "START", "DURATION", "LOADED", "STORED", "DELETED",
           "BYTES", "RETRIES")  # fmt: skip
_RIGHT = frozenset(range(4, 10))
_SHOWN = 5


def sink_html(message: SinkMessage) -> str:
    """Name, state and why, store, lag, the newest deliveries, and the statement that makes it."""
    sink = message.standing
    head = element(
        "div",
        element("b", one_line(message.name), class_="dtj-name"),
        " ",
        _pill(sink.state, SINK_TOKENS[sink.state]),
        " ",
        _pill(store_text(sink), "incremental"),
        class_="dtj-head",
    )
    rows = (joined(element("dt", n), element("dd", one_line(v))) for n, v in _facts(message))
    notes = element("ul", *(element("li", note) for note in message.notes), class_="dtj-notes")
    return shell(
        element(
            "div",
            head,
            error_block(message.error) if message.error else "",
            element("dl", *rows, class_="dtj-facts"),
            _history(message),
            notes if message.notes else "",
            class_="dtj-card",
        )
    )


def sink_text(message: SinkMessage) -> str:
    sink = message.standing
    lines = [f"Sink {one_line(message.name)} [{store_text(sink)}] {sink.state}"]
    lines += [f"  {name + ':':<19}{one_line(text)}" for name, text in _facts(message)]
    if message.error is not None:
        lines += ["", error_text(message.error)]
    if message.deliveries:
        shown = [_words(done) for done in message.deliveries[:_SHOWN]]
        lines += ["", *aligned(_HEADER, shown, right=_RIGHT)]
    return "\n".join([*lines, *(f"  · {one_line(note)}" for note in message.notes)])


def _facts(message: SinkMessage) -> Iterator[tuple[str, str]]:
    node = message.node
    yield from sink_facts(node)
    yield "target lag", str(node.target_lag)
    if node.lag_seconds is not None:
        yield "lag", lag_words(node)
    yield "key", ", ".join(message.key) or "as declared"
    if message.reductions:
        yield "reduced", ", ".join(message.reductions)
    if message.delta_updates:
        yield "delivers", "changes, which are added to the target"
    if node.warehouse:
        yield "warehouse", node.warehouse
    if message.comment:
        yield "comment", message.comment


def _history(message: SinkMessage) -> Markup:
    if not message.deliveries:
        return Markup("")
    header = [Cell(h, "dtj-num" if i in _RIGHT else None) for i, h in enumerate(_HEADER)]
    rows = [row(_cells(done), i) for i, done in enumerate(message.deliveries[:_SHOWN])]
    return table(header, rows)


def _cells(done: SinkDelivery) -> list[Cell]:
    return [Cell(w, "dtj-num" if i in _RIGHT else None) for i, w in enumerate(_words(done))]


def _words(done: SinkDelivery) -> list[str]:
    took = duration((done.end - done.start).total_seconds()) if done.end else ""
    numbers = (done.loaded, done.stored, done.deleted, done.bytes, done.retries)
    return [
        str(done.state), str(done.action or ""), str(done.trigger), instant(done.start), took,
        *(f"{n:,}" for n in numbers),
    ]  # fmt: skip


def _pill(text: str, token: str) -> Markup:
    return element("span", one_line(text), class_=f"dtj-pill dtj-c-{token}")
