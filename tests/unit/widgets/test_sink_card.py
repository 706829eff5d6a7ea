"""The card of a sink in a cell, as HTML and as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dt_jupyter.widgets import show
from dt_jupyter.wire import SinkMessage
from tests.unit.widgets_lab import SINK, Reader, sink, source

WORDS = (
    "app_delays", "RETRYING", "postgresql → delays", "postgresql://db.example.org:5432/app",
    "7 of 9", "6 min 40 s of 5 min", "carrier, origin", "flights SUM", "5 minutes",
    "2013-01-04 12:00:30 UTC", "DT-6110", "2,100", "Sink app_delays created on delays",
)  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_a_card_says_where_a_sink_delivers_to_how_it_stands_and_why(word: str) -> None:
    shown = show(SINK)
    assert word in Reader(shown.html).text
    assert word in shown.text


def test_only_the_newest_deliveries_are_on_the_card() -> None:
    assert show(SINK).text.count("2013-01-04 11:5") < len(SINK.deliveries) + 3
    assert Reader(show(SINK).html).tags.count("tr") == 1 + 5
    assert "INITIAL" not in show(SINK).text


def test_a_sink_that_was_never_delivered_says_so() -> None:
    node = sink("s", lag=None)
    assert node.sink is not None
    new = replace(node.sink, last=None, version=None, newest=None)
    message = replace(SINK, node=replace(node, sink=new), deliveries=(), error=None, notes=())
    assert "none yet" in show(message).text
    assert "table" not in Reader(show(message).html).tags


def test_the_node_of_a_sink_stands_somewhere() -> None:
    with pytest.raises(ValueError, match="has its state"):
        replace(SINK, node=source("s"))
    assert isinstance(SINK, SinkMessage)
