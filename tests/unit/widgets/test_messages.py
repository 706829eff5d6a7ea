"""The static pictures have the figures that the live views have: one file of messages and what is
drawn from them, which the tests of the browser's half read too."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from dt_jupyter.model import TargetLag
from dt_jupyter.widgets import graph_svg, sawtooth
from dt_jupyter.widgets.graph import is_late, plan_graph
from dt_jupyter.widgets.lag import _percent, lag_summary
from dt_jupyter.wire.live_messages import FrontiersMessage
from dt_jupyter.wire.messages import GraphMessage, GraphNode, LagMessage
from dt_jupyter.wire.units import count, duration
from tests.unit.widgets_lab import Reader

FILE = Path(__file__).parents[3] / "labextension" / "testing" / "messages.json"
KNOWN = json.loads(FILE.read_text("utf-8"))
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"
WORDS = {"duration": duration, "count": count, "percent": _percent}


def read(kind: Any, value: Any) -> Any:
    """A value of a message from its JSON."""
    if isinstance(kind, types.UnionType):
        kinds = [k for k in typing.get_args(kind) if k is not types.NoneType]
        return None if value is None else read(kinds[0], value)
    if typing.get_origin(kind) is tuple:
        return tuple(read(typing.get_args(kind)[0], item) for item in value)
    if kind is TargetLag:
        return TargetLag(None if value == "DOWNSTREAM" else value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{f.name: read(hints[f.name], value[f.name]) for f in fields(kind)})
    return kind(value) if issubclass(kind, Enum) else value


GRAPH: GraphMessage = read(GraphMessage, KNOWN["graph"]["message"])
FIGURES = KNOWN["graph"]["expected"]
LAGS = [(case["message"], case["expected"]) for case in KNOWN["lag"]]
lags = pytest.mark.parametrize(
    ("message", "expected"), LAGS, ids=[case["about"] for case in KNOWN["lag"]]
)


def close(expected: float | None) -> Any:
    return expected if expected is None else pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (GraphMessage, KNOWN["graph"]["message"]),
        (FrontiersMessage, KNOWN["frontiers"]["message"]),
        *((LagMessage, message) for message, _ in LAGS),
    ],
)
def test_the_messages_are_what_the_kernel_sends(kind: Any, message: dict[str, Any]) -> None:
    assert read(kind, message).to_json() == message


def test_boxes_lie_in_these_layers() -> None:
    layers = {box.name: box.layer for box in plan_graph(GRAPH).boxes}
    assert layers == {name: figures["layer"] for name, figures in FIGURES.items()}


@pytest.mark.parametrize("node", GRAPH.nodes, ids=lambda node: node.name)
def test_a_card_has_these_words(node: GraphNode) -> None:
    figures = FIGURES[node.name]
    shown = Reader(graph_svg(GraphMessage((node,), ()))).texts
    wanted = [figures[part] for part in ("mode", "outcome", "lag", "rows")]
    assert [text for text in wanted if text and text not in shown] == []


@pytest.mark.parametrize("node", GRAPH.nodes, ids=lambda node: node.name)
def test_a_bar_has_this_share_and_colour(node: GraphNode) -> None:
    figures = FIGURES[node.name]
    svg = ElementTree.fromstring(graph_svg(GraphMessage((node,), ())))
    bars = [rect for rect in svg.iter(f"{SVG}rect") if rect.get("height") == "4"]
    assert is_late(node) == (figures["token"] == "bad")
    if figures["share"] is None:
        assert len(bars) <= 1
        return
    track, filled = bars
    share = float(filled.attrib["width"]) / float(track.attrib["width"])
    assert share == pytest.approx(min(figures["share"], 1), abs=0.001)
    assert filled.attrib["class"] == f"dtj-f-{figures['token']}"


@lags
def test_the_teeth_of_a_lag(message: dict[str, Any], expected: dict[str, Any]) -> None:
    saw = sawtooth(read(LagMessage, message))
    teeth = [
        ((t.start - NOON).total_seconds(), (t.end - NOON).total_seconds(), t.low, t.peak)
        for t in saw.teeth
    ]
    assert teeth == [pytest.approx(tuple(tooth), abs=1e-6) for tooth in expected["teeth"]]


@lags
def test_the_figures_of_a_lag(message: dict[str, Any], expected: dict[str, Any]) -> None:
    saw = sawtooth(read(LagMessage, message))
    assert (saw.teeth[-1].peak if saw.teeth else None) == close(expected["now"])
    assert (saw.worst.peak if saw.worst else None) == close(expected["worst"])
    assert saw.mean == close(expected["mean"])
    assert saw.within == close(expected["within"])
    assert len(saw.above) == expected["above"]
    assert lag_summary(read(LagMessage, message)) == expected["summary"]


@pytest.mark.parametrize("word", WORDS)
def test_numbers_in_words(word: str) -> None:
    known = KNOWN["units"][word]
    assert [[value, WORDS[word](value)] for value, _ in known] == known
