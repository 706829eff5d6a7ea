"""What a notebook cell shows: a picture, or a panel of HTML, each with its text form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from dt_jupyter.widgets.card import card_html, card_text
from dt_jupyter.widgets.errors import error_html, error_text
from dt_jupyter.widgets.explanation_words import explanation_html, explanation_text
from dt_jupyter.widgets.graph import graph_svg
from dt_jupyter.widgets.graph_words import graph_dot, graph_text
from dt_jupyter.widgets.html_frame import drawing, page
from dt_jupyter.widgets.lag import lag_svg, lag_text
from dt_jupyter.widgets.markup import Markup
from dt_jupyter.widgets.mime_bundle import chosen_types, mime_bundle
from dt_jupyter.widgets.sink_card import sink_html, sink_text
from dt_jupyter.widgets.tables import (
    history_html,
    history_text,
    report_html,
    report_text,
    result_html,
    result_text,
)
from dt_jupyter.wire import (
    CardMessage,
    ErrorMessage,
    ExplanationMessage,
    GraphMessage,
    HistoryMessage,
    LagMessage,
    ReportMessage,
    ResultMessage,
    SinkMessage,
)

PanelMessage = (
    HistoryMessage
    | CardMessage
    | SinkMessage
    | ResultMessage
    | ReportMessage
    | ErrorMessage
    | ExplanationMessage
)


@dataclass(frozen=True)
class Picture:
    """A graph or a lag sawtooth: `svg`, `text`, `html`, and for a graph `dot`."""

    message: GraphMessage | LagMessage

    @cached_property
    def svg(self) -> str:
        return (
            graph_svg(self.message)
            if isinstance(self.message, GraphMessage)
            else lag_svg(self.message)
        )

    @cached_property
    def text(self) -> str:
        return (
            graph_text(self.message)
            if isinstance(self.message, GraphMessage)
            else lag_text(self.message)
        )

    @property
    def dot(self) -> str | None:
        """Graphviz's DOT text of a graph; None of a sawtooth, which is not a graph."""
        return graph_dot(self.message) if isinstance(self.message, GraphMessage) else None

    @property
    def html(self) -> str:
        return drawing(Markup(self.svg), self.text)

    @property
    def bundle(self) -> dict[str, Any]:
        """What it is in each type that a front end may show."""
        return mime_bundle(self.text, self.html)

    def save(self, path: str | Path) -> Path:
        """Write `.svg`, `.html`, `.txt` or `.dot`, by the path's suffix; ValueError for another."""
        kinds = {
            ".svg": self.svg,
            ".html": page(Markup(self.html), "Dynamic tables"),
            ".txt": self.text + "\n",
        }
        dot = self.dot if Path(path).suffix.lower() == ".dot" else None
        return _write(path, kinds | ({".dot": dot} if dot is not None else {}))

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        return chosen_types(self.bundle, include, exclude)


@dataclass(frozen=True)
class Panel:
    """A history, card, result, report, error or explanation: `html` and `text`; rows also as what
    a grid is made of."""

    message: PanelMessage

    @cached_property
    def html(self) -> str:
        match self.message:
            case HistoryMessage():
                return history_html(self.message)
            case CardMessage():
                return card_html(self.message)
            case SinkMessage():
                return sink_html(self.message)
            case ResultMessage():
                return result_html(self.message)
            case ReportMessage():
                return report_html(self.message)
            case ErrorMessage():
                return error_html(self.message)
            case ExplanationMessage():
                return explanation_html(self.message)

    @cached_property
    def text(self) -> str:
        match self.message:
            case HistoryMessage():
                return history_text(self.message)
            case CardMessage():
                return card_text(self.message)
            case SinkMessage():
                return sink_text(self.message)
            case ResultMessage():
                return result_text(self.message)
            case ReportMessage():
                return report_text(self.message)
            case ErrorMessage():
                return error_text(self.message)
            case ExplanationMessage():
                return explanation_text(self.message)

    @property
    def bundle(self) -> dict[str, Any]:
        """What it is in each type that a front end may show."""
        rows = self.message if isinstance(self.message, ResultMessage) else None
        return mime_bundle(self.text, self.html, rows)

    def save(self, path: str | Path) -> Path:
        """Write `.html` or `.txt`, by the path's suffix; ValueError for another."""
        return _write(
            path, {".html": page(Markup(self.html), "Dynamic tables"), ".txt": self.text + "\n"}
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        return chosen_types(self.bundle, include, exclude)


@overload
def show(message: GraphMessage | LagMessage) -> Picture: ...
@overload
def show(message: PanelMessage) -> Panel: ...
def show(message: GraphMessage | LagMessage | PanelMessage) -> Picture | Panel:
    """The message as something that a notebook, a terminal and a file can show."""
    if isinstance(message, GraphMessage | LagMessage):
        return Picture(message)
    return Panel(message)


def _write(path: str | Path, kinds: Mapping[str, str]) -> Path:
    target = Path(path)
    text = kinds.get(target.suffix.lower())
    if text is None:
        raise ValueError(f"{target.suffix or 'no suffix'}: give one of {', '.join(kinds)}")
    target.write_text(text, encoding="utf-8")
    return target
