"""Outputs that are not trusted: nothing is lost, no words run together, a picture is seen."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import get_args
from xml.etree import ElementTree

import pytest

from dt_jupyter.model import ActivityState, Progress
from dt_jupyter.notebook.views import Static
from dt_jupyter.widgets import Folded, Picture, Running, graph_svg, show
from dt_jupyter.widgets.html_frame import LARGEST_IMAGE
from dt_jupyter.wire import ExplanationMessage
from dt_jupyter.wire.messages import Message
from tests.unit.sanitizer import GONE, Seen, jupyterlab, look, sanitize, sparing
from tests.unit.widgets_lab import GALLERY, Reader, random_graph

SHOWN = {name: show(message) for name, message in GALLERY.items()}
OUTPUTS: dict[str, str] = {
    **{name: shown.html for name, shown in SHOWN.items()},
    **{
        f"static-{name}": Static(shown)._repr_mimebundle_()["text/html"]
        for name, shown in SHOWN.items()
    },
    "folded": Folded("Details", "org.apache.spark.SparkException\n\tat org.apache…").html,
    "running": Running(
        ActivityState(
            "Refreshing d",
            12.0,
            Progress(2, 1, 8, 5, 12),
            (ActivityState("up", 3.0, ended=True), ActivityState("d", 9.0)),
        )
    ).html,
}
"""The HTML of everything that a cell can show."""
PICTURES = [name for name in OUTPUTS if name.endswith(("graph", "lag"))]
RULES = {"jupyterlab": jupyterlab, "sparing": sparing}


def untrusted(name: str, rules: str = "jupyterlab") -> Seen:
    return look(sanitize(OUTPUTS[name], RULES[rules]()))


def test_every_kind_of_message_is_looked_at() -> None:
    assert {type(message) for message in GALLERY.values()} == {
        *get_args(Message),
        ExplanationMessage,
    }


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("name", OUTPUTS)
def test_no_words_run_together(name: str, rules: str) -> None:
    assert untrusted(name, rules).touching == []


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name not in PICTURES])
def test_no_text_is_lost(name: str) -> None:
    told = "".join(Reader(OUTPUTS[name]).text.split())
    assert told
    assert "".join(untrusted(name).text.split()) == told


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_seen_with_its_text(name: str) -> None:
    picture = SHOWN[name.removeprefix("static-")]
    assert isinstance(picture, Picture)
    for rules in RULES:
        (source,) = untrusted(name, rules).images
        kind, _, data = source.partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert b64decode(data).decode() == picture.svg
        assert ElementTree.fromstring(b64decode(data)).tag.endswith("}svg")
    assert untrusted(name).text.strip() == f"As text\n\n{picture.text}"


@pytest.mark.parametrize("name", ["history", "result", "card"])
def test_rows_stay_a_table(name: str) -> None:
    assert untrusted(name, "sparing").tags >= {"table", "thead", "tbody", "tr", "th", "td"}


def test_types_stand_apart_from_the_names_of_columns() -> None:
    assert re.search(r"\bid\nbigint\n+name\nstring\b", untrusted("result").text)
    assert "id bigint, name string" in untrusted("card").text


def test_a_very_large_drawing_is_not_held_twice() -> None:
    large = random_graph(400, 1)
    assert len(graph_svg(large)) > LARGEST_IMAGE
    picture = show(large)
    seen = look(sanitize(picture.html, jupyterlab()))
    assert seen.images == []
    assert seen.text.strip() == picture.text


def test_the_sanitizer_is_that_of_jupyterlab() -> None:
    rules = jupyterlab()
    assert {"table", "td", "pre", "img", "details", "small"} <= rules.tags
    assert not {"svg", "style", "script", "iframe", "rect"} & rules.tags
    assert rules.keeps("td", "colspan")
    assert rules.keeps("img", "src")
    assert rules.keeps("div", "hidden")
    assert not rules.keeps("div", "role")
    assert sanitize('<p hidden="">a</p><p hidden="hidden">b</p>', rules) == (
        '<p>a</p><p hidden="hidden">b</p>'
    )
    left = sanitize('<p onclick="x">a<svg><text>b</text></svg><style>c</style></p>', rules)
    assert left.replace(GONE, "") == "<p>ab</p>"


def test_what_runs_together_is_found() -> None:
    assert look("<th>id<span>int</span></th><th>day</th>").touching == [("id", "int")]
    left = sanitize("<svg><title>a</title><desc>b</desc></svg>", jupyterlab())
    assert look(left).touching == [("a", "b")]
    assert look("<b>DT-1</b>: gone<br>x<i hidden>y</i>").touching == []
