"""Static pictures of dynamic tables: frozen wire messages in, SVG, HTML and text out.

A message holds all that its picture shows, the same message is drawn the same, every string is
escaped, and nothing is loaded from anywhere. `show(message)` is what a notebook cell returns.
"""

from dt_jupyter.widgets.card import card_html, card_text
from dt_jupyter.widgets.errors import error_html, error_text
from dt_jupyter.widgets.graph import graph_svg
from dt_jupyter.widgets.graph_words import graph_dot, graph_text
from dt_jupyter.widgets.lag import lag_svg, lag_text
from dt_jupyter.widgets.messages import (
    CardMessage,
    Column,
    ErrorMessage,
    GraphEdge,
    GraphMessage,
    GraphNode,
    HistoryMessage,
    HistoryRow,
    LagMessage,
    NodeKind,
    RefreshPoint,
    ReportMessage,
    ResultMessage,
    Underline,
)
from dt_jupyter.widgets.picture import Panel, Picture, show
from dt_jupyter.widgets.sawtooth import sawtooth
from dt_jupyter.widgets.tables import history_html, history_text, result_html, result_text

__all__ = [
    "CardMessage", "Column", "ErrorMessage", "GraphEdge", "GraphMessage", "GraphNode",
    "HistoryMessage", "HistoryRow", "LagMessage", "NodeKind", "Panel", "Picture", "RefreshPoint",
    "ReportMessage", "ResultMessage", "Underline", "card_html", "card_text",
    "error_html", "error_text", "graph_dot", "graph_svg", "graph_text", "history_html",
    "history_text", "lag_svg", "lag_text", "result_html", "result_text", "sawtooth", "show",
]  # fmt: skip
