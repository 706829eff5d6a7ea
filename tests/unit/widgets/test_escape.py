"""No text becomes an element, an attribute, a script or a control: every payload in every field."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dt_jupyter.model import RefreshMode, RefreshState, SinkState, TargetLag
from dt_jupyter.widgets import Panel, Picture, graph_dot, show
from dt_jupyter.widgets.markup import clean, element, one_line, raw_css
from dt_jupyter.wire import (
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
    ReportMessage,
    ResultMessage,
    SinkMessage,
    Underline,
)
from dt_jupyter.wire.messages import Message
from dt_jupyter.wire.schema import redact
from tests.unit.widgets_lab import NOON, Reader, done, failed, graph, sink, skipped, source, table

PAYLOADS = [
    'a"b',
    "a`b",
    "x'); drop table t;--",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</pre><b>",
    "javascript:alert(1)",
    "\u202egnp.exe\u202c",
    "../../etc/passwd",
    "file:///etc/passwd",
    "%2e%2e/",
    "tbl\0x",
    "\x1b[31mred\x1b[0m",
    "]]>",
    "<!--",
    "&lt;b&gt;",
    "&#x3c;script>",
    "{{7*7}}",
    '=cmd|"/c calc"!A1',
    "' onmouseover='alert(1)",
    '" style="background:url(//x)',
    "\ud800",
    "e\u0301",
    "a\u2028b",
    "x" * 3000,
    "\n\n",
    "",
]
TAGS = frozenset(
    [
        "div",
        "em",
        "style",
        "svg",
        "title",
        "desc",
        "g",
        "rect",
        "circle",
        "path",
        "text",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "b",
        "small",
        "br",
        "dl",
        "dt",
        "dd",
        "ul",
        "li",
        "u",
        "details",
        "summary",
    ]
)
ATTRIBUTES = frozenset(
    [
        "class",
        "hidden",
        "xmlns",
        "role",
        "aria-label",
        "width",
        "height",
        "viewbox",
        "font-family",
        "style",
        "fill",
        "stroke",
        "x",
        "y",
        "r",
        "rx",
        "cx",
        "cy",
        "d",
        "font-size",
        "font-weight",
        "text-anchor",
        "transform",
        "stroke-width",
        "stroke-dasharray",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-opacity",
        "fill-opacity",
        "scope",
        "colspan",
    ]
)


def graph_of(text: str) -> Message:
    """The text as name, reason and error of one node, and at both ends of edges."""
    full = GraphNode(
        text,
        NodeKind.DYNAMIC_TABLE,
        None,
        RefreshMode.AUTO,
        RefreshMode.FULL,
        text,
        None,
        RefreshState.FAILED,
        TargetLag(1.0),
        3.0,
        NOON,
        1,
    )
    nodes = (source("begin"), full, table("end", error=text), source(text + "2", NodeKind.VIEW))
    edges = (GraphEdge("begin", text), GraphEdge(text, "end"), GraphEdge(text + "2", "end"))
    return GraphMessage(nodes, edges, NOON)


def lag_of(text: str) -> Message:
    points = (
        done(0, 1, 2),
        replace(failed(3, 4, 5), detail=text),
        replace(skipped(6), detail=text),
    )
    return LagMessage(text, 1.0, points)


def history_of(text: str) -> Message:
    return HistoryMessage((HistoryRow(text, RefreshState.FAILED, NOON, reason=text),), text)


def result_of(text: str) -> Message:
    return ResultMessage((Column(text, text),), ((text,), (None,)), True, text, text)


def card_of(text: str) -> Message:
    rows = result_of(text)
    assert isinstance(rows, ResultMessage)
    return CardMessage(
        text,
        RefreshMode.AUTO,
        RefreshMode.FULL,
        text,
        (Column(text, text),),
        TargetLag(1.0),
        text,
        (text,),
        data_timestamp=NOON,
        sample=rows,
        notes=(text,),
    )


def error_of(text: str) -> Message:
    return ErrorMessage(text, text, text, f"a {text} b", Underline(1, 3, len(text)), text)


def report_of(text: str) -> Message:
    return ReportMessage(text, (text, f"  {text}"))


def sinks_of(text: str) -> Message:
    """The text as name of a sink and as all that a store may say."""
    below = sink(f"s{text}", SinkState.PAUSED, below=text, error=text, text=text)
    return GraphMessage((source(text), below), (GraphEdge(text, below.name),), NOON)


def sink_of(text: str) -> Message:
    failed = ErrorMessage(text, text, text, details=text)
    node = sink(text, SinkState.RETRYING, error=text, text=text)
    done = node.sink.last if node.sink is not None else None
    assert done is not None
    told = (text,)
    return SinkMessage(text, node, NOON, told, told, True, 2, text, (done,), text, told, failed)


BUILDERS = [
    graph_of, lag_of, history_of, result_of, report_of, card_of, error_of, sinks_of, sink_of,
]  # fmt: skip


def images(shown: Picture | Panel) -> list[str]:
    """What images may show: the drawing itself."""
    if isinstance(shown, Panel):
        return []
    return [f"data:image/svg+xml;base64,{b64encode(shown.svg.encode()).decode()}"]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_stay_text(build: Callable[[str], Message], payload: str) -> None:
    shown = show(build(payload))
    read = Reader(shown.html)
    drawn = isinstance(shown, Picture)
    assert set(read.tags) <= (TAGS | {"img"} if drawn else TAGS)
    names = {name for name, _ in read.attributes}
    assert names <= (ATTRIBUTES | {"src", "alt"} if drawn else ATTRIBUTES)
    assert [value for name, value in read.attributes if name == "src"] == images(shown)
    plain = Reader(show(build("plain")).html)
    assert plain.styles == read.styles
    assert not any(
        "url(" in v or "@import" in v for n, v in read.attributes if n in ("style", "class")
    )
    for form in (shown.html, shown.text):
        assert not [c for c in form if c != "\n" and (ord(c) < 32 or "\u202a" <= c <= "\u202e")]
        form.encode("utf-8")  # no lone surrogate
    json.dumps(show(build(payload)).message.to_json())


@pytest.mark.parametrize("payload", ["<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>'])
@pytest.mark.parametrize("build", BUILDERS)
def test_payloads_are_shown_as_they_are(build: Callable[[str], Message], payload: str) -> None:
    assert payload in Reader(show(build(payload)).html).text


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("build", [graph_of, lag_of, sinks_of])
def test_svg_is_well_formed_xml(build: Callable[[str], Message], payload: str) -> None:
    shown = show(build(payload))
    assert isinstance(shown, Picture)
    root = ElementTree.fromstring(shown.svg)
    names = {node.tag.partition("}")[2] for node in root.iter()}
    assert names <= TAGS
    assert not [a for node in root.iter() for a in node.attrib if a.startswith("on") or "href" in a]


@pytest.mark.parametrize("payload", [p for p in PAYLOADS if p])
def test_dot_keeps_its_lines(payload: str) -> None:
    message = graph([table(payload), table("end")], f"{payload} > end")
    plain = graph([table("q"), table("end")], "q > end")
    assert len(graph_dot(message).splitlines()) == len(graph_dot(plain).splitlines())


def test_the_reader_would_see_an_injection() -> None:
    read = Reader('<div><img src="x" onerror="alert(1)"></img></div>')
    assert not set(read.tags) <= TAGS
    assert not {name for name, _ in read.attributes} <= ATTRIBUTES


def test_names_that_differ_look_different() -> None:
    twins = ["tblx", "tbl\0x", "tbl\u202ex", "tbl\x01x"]
    assert len({one_line(name) for name in twins}) == len(twins)
    assert one_line("tbl\0x") == "tbl␀x"
    assert clean("naïve 日本 🚂 👩\u200d🔧") == "naïve 日本 🚂 👩\u200d🔧"


@pytest.mark.parametrize(
    "name", ["onclick", "href", "src", "data_x", "xlink:href", "formaction", "a b"]
)
def test_attributes_that_act_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        element("div", **{name: "x"})


@pytest.mark.parametrize("css", ["a{}</style>", "a{background:url(x)}", "@import 'x'"])
def test_style_sheets_name_nothing_outside(css: str) -> None:
    with pytest.raises(ValueError, match="style sheet"):
        raw_css(css)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cannot reach postgresql://ann:s3cr3t@db/x", "cannot reach postgresql://ann:***@db/x"),
        ("jdbc:x;password=s3cr3t;user=a", "jdbc:x;password=***;user=a"),
        ("Password: s3cr3t", "Password: ***"),
        ("password = secret://env/PG, secret:s3cr3t", "password = secret://env/PG, secret:***"),
        ("(password = 'secret://env/NAME')", "(password = 'secret://env/NAME')"),
        ("at 12:00 a@b.org see http://h/x", "at 12:00 a@b.org see http://h/x"),
    ],
)
def test_passwords_are_taken_out(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_no_form_of_a_message_shows_a_password() -> None:
    told = "postgresql://ann:s3cr3t@db/x"
    messages: list[Message] = [
        graph([table("t", RefreshState.FAILED, error=told, why=told)]),
        HistoryMessage((HistoryRow("t", RefreshState.FAILED, NOON, reason=told),)),
        ErrorMessage("DT-1", told, told, details=told),
        LagMessage("t", 1.0, (replace(failed(0, 1, 2), detail=told),)),
        graph([table("t"), sink("s", SinkState.PAUSED, error=told, text=told)], "t > s"),
    ]
    for message in messages:
        shown = show(message)
        forms = [shown.html, shown.text, json.dumps(message.to_json())]
        assert not [form for form in forms if "s3cr3t" in form]
        assert "ann:***@db" in forms[0]
