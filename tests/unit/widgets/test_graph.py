"""The graph of dynamic tables as a picture, as text and as DOT."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from dt_jupyter.model import RefreshMode, RefreshState, SinkState
from dt_jupyter.widgets import graph_dot, graph_svg, graph_text
from dt_jupyter.widgets.graph import COMPACT_FROM, facts, is_late, mode_text, summary
from dt_jupyter.wire import GraphEdge, GraphMessage
from tests.unit.widgets_lab import NOON, Reader, flights, graph, random_graph, sink, source, table

ERRORS = {SinkState.RETRYING: "DT-6110: no answer", SinkState.PAUSED: "DT-6130: two rows"}
SVG = "{http://www.w3.org/2000/svg}"


def test_a_card_shows_name_state_mode_action_lag_and_rows() -> None:
    shown = Reader(graph_svg(graph([source("flights"), table("delays")], "flights > delays"))).texts
    for text in (
        "delays",
        "auto → incremental",
        "INCREMENTAL",
        "lag 42 s of 5 min",
        "1,200 rows",
        "flights",
        "table · 337k rows",
        "as of 2013-01-04 12:00:00 UTC",
    ):
        assert text in shown, text


@pytest.mark.parametrize(
    ("node", "shown"),
    [
        (table("t", RefreshState.FAILED, error="DT-2105: boom"), ["FAILED", "DT-2105: boom"]),
        (table("t", RefreshState.UPSTREAM_FAILED), ["UPSTREAM_FAILED"]),
        (table("t", RefreshState.EXECUTING), ["EXECUTING"]),
        (table("t", suspended=True), ["SUSPENDED"]),
        (table("t", None, action=None, lag=None), ["not initialised", "target 5 min"]),
        (table("t", target=None), ["lag 42 s · downstream"]),
        (
            table("t", mode=RefreshMode.FULL, why="TOP_K: needs FULL"),
            ["auto → full", "TOP_K: needs FULL"],
        ),
    ],
)
def test_what_needs_a_look_is_on_the_card(node: object, shown: list[str]) -> None:
    texts = Reader(graph_svg(graph([node]))).texts  # type: ignore[list-item]
    assert set(shown) <= set(texts)


def test_a_table_that_nothing_refreshes_is_amber_in_the_picture_and_the_texts() -> None:
    why = "Not refreshed: no target lag, and nothing reads it."
    idle = replace(table("t", target=None), held_back=why, error=f"NO_READER: {why}")
    message = graph([idle, table("u")])
    svg = graph_svg(message)
    assert {"NOT REFRESHED", "Not refreshed: no target lag, and nothing", "reads it."} <= set(
        Reader(svg).texts
    )
    assert 'stroke="#9a6700"' in svg
    assert "#cf222e" not in svg.split("</style>")[1], "nothing has failed"
    assert summary(message).endswith("1 NOT REFRESHED")
    assert "SUCCEEDED NOT REFRESHED" in graph_text(message)
    assert "NOT REFRESHED" in graph_dot(message)
    assert f"standing: {why}" in facts(idle)
    assert "error:" not in facts(idle)
    assert "NOT REFRESHED" not in graph_text(graph([replace(idle, held_back=None)]))


def bar(lag: float, target: float) -> tuple[float, str]:
    """Share and colour of the lag's bar."""
    svg = ElementTree.fromstring(graph_svg(graph([table("t", lag=lag, target=target)])))
    track, filled = [r for r in svg.iter(f"{SVG}rect") if r.get("height") == "4"]
    return float(filled.attrib["width"]) / float(track.attrib["width"]), filled.attrib["class"]


@pytest.mark.parametrize(
    ("lag", "share", "colour"),
    [(30, 0.5, "ok"), (54, 0.9, "warn"), (60, 1.0, "warn"), (61, 1.0, "bad"), (6000, 1.0, "bad")],
)
def test_the_bar_is_the_lag_as_a_share_of_the_target(lag: float, share: float, colour: str) -> None:
    width, drawn = bar(lag, 60)
    assert width == pytest.approx(share, abs=0.001)
    assert drawn == f"dtj-f-{colour}"


def test_a_failure_is_drawn_down_the_graph() -> None:
    svg = ElementTree.fromstring(graph_svg(flights()))
    broken = {
        group.findtext(f"{SVG}title")
        for group in svg.iter(f"{SVG}g")
        for path in group.findall(f"{SVG}path")
        if path.get("class") == "dtj-s-bad" and path.get("stroke-dasharray")
    }
    assert broken == {"worst → alerts"}


def test_every_edge_and_every_node_is_there_with_its_facts() -> None:
    message = flights()
    titles = [
        title.text for title in ElementTree.fromstring(graph_svg(message)).iter(f"{SVG}title")
    ]
    assert {f"{e.source} → {e.target}" for e in message.edges} <= set(titles)
    assert {facts(node) for node in message.nodes} <= set(titles)


def test_it_is_an_image_with_a_name_and_a_description() -> None:
    svg = ElementTree.fromstring(graph_svg(flights()))
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == svg.findtext(f"{SVG}title") == "Dynamic tables"
    assert svg.findtext(f"{SVG}desc") == summary(flights())


def test_the_same_message_is_drawn_the_same() -> None:
    assert graph_svg(flights()) == graph_svg(flights())
    assert graph_svg(random_graph(60, 1)) == graph_svg(random_graph(60, 1))


def test_a_large_graph_has_small_cards() -> None:
    def widest(size: int) -> float:
        svg = ElementTree.fromstring(graph_svg(random_graph(size, 2)))
        return max(float(r.attrib["width"]) for r in svg.iter(f"{SVG}rect"))

    assert widest(COMPACT_FROM) < widest(COMPACT_FROM - 1)


def test_a_narrow_graph_goes_right_and_a_long_one_down() -> None:
    def is_wide(message: GraphMessage) -> bool:
        svg = ElementTree.fromstring(graph_svg(message))
        return float(svg.attrib["width"]) > float(svg.attrib["height"])

    assert is_wide(graph([source("a"), table("b"), table("c")], "a > b > c"))
    chain = [source("a"), *(table(n) for n in "bcdefgh")]
    assert not is_wide(graph(chain, "a > b > c > d > e > f > g > h"))


def test_a_long_name_is_cut_on_the_card_and_whole_in_its_tooltip() -> None:
    name = "analytics.delay_minutes_by_operator_and_hour_of_day_" + "x" * 60 + "_v2"
    shown = Reader(graph_svg(graph([table(name)])))
    cut = [t for t in shown.texts if t.startswith("analytics.") and "…" in t]
    assert len(cut) == 1
    assert cut[0].endswith("_v2")
    assert name in facts(table(name))
    assert facts(table(name)) in shown.texts


def test_an_empty_graph_says_so() -> None:
    assert "nothing yet" in graph_svg(GraphMessage((), ()))
    assert graph_text(GraphMessage((), ())) == "Dynamic tables: nothing yet"


def test_the_sentence() -> None:
    assert summary(flights()) == (
        "8 dynamic tables, 3 tables, 1 view, 1 FAILED, 1 UPSTREAM_FAILED, 1 EXECUTING, "
        "1 SUSPENDED, 1 above target lag"
    )


def delivered() -> GraphMessage:
    """A table with a sink in each state below it."""
    nodes = [table("delays"), *(sink(s.lower(), s, error=ERRORS.get(s)) for s in SinkState)]
    return graph(nodes, *(f"delays > {s.lower()}" for s in SinkState))


def test_a_sink_shows_its_store_state_lag_and_what_it_stored() -> None:
    shown = Reader(graph_svg(delivered())).texts
    for text in ("postgresql → delays", "lag 42 s of 5 min", "1,204 stored", *SinkState):
        assert text in shown, text
    assert summary(delivered()) == ("1 dynamic table, 4 sinks, 1 RETRYING, 1 PAUSED, 1 SUSPENDED")
    told = facts(sink("s", SinkState.RETRYING))
    for text in (
        "store: postgresql://db.example.org:5432/app",
        "delivered version: 7 of 9",
        "1,200 loaded, 1,204 stored, 3 deleted, 20,480 B, tried again 6 times",
        "next try: 2013-01-04 12:00:30 UTC",
    ):
        assert text in told


def test_a_sink_that_fails_has_a_border_and_its_error_in_the_picture_and_the_texts() -> None:
    message = delivered()
    svg = graph_svg(message)
    for token in ("bad", "warn"):
        assert f"dtj-s-{token}" in svg
    for said in ERRORS.values():
        assert said in Reader(svg).texts
        assert said in graph_text(message)
    row = next(line for line in graph_text(message).splitlines() if line.startswith("paused"))
    assert row.split()[:3] == ["paused", "sink", "PAUSED"]
    assert "PAUSED" in graph_dot(message)
    many = GraphMessage(
        (*message.nodes, *(source(f"s{i}") for i in range(COMPACT_FROM))), message.edges
    )
    assert "PAUSED" in Reader(graph_svg(many)).texts


def test_a_long_store_leaves_room_for_the_state() -> None:
    node = sink("s")
    assert node.sink is not None
    long = replace(node, sink=replace(node.sink, target="t" * 200))
    pill = [t for t in Reader(graph_svg(graph([long]))).texts if t.startswith("postgresql → t")]
    assert len(pill) == 1
    assert len(pill[0]) < 40


def test_modes_in_words() -> None:
    assert mode_text(table("t")) == "AUTO → INCREMENTAL"
    assert (
        mode_text(
            replace(table("t"), declared_mode=RefreshMode.FULL, refresh_mode=RefreshMode.FULL)
        )
        == "FULL"
    )
    assert mode_text(replace(table("t"), refresh_mode=None)) == "AUTO"
    assert mode_text(source("s")) == ""


def test_late_is_above_the_target_only() -> None:
    assert not is_late(table("t", lag=60, target=60))
    assert is_late(table("t", lag=60.1, target=60))
    assert not is_late(table("t", lag=1e9, target=None))


def test_text_is_upstream_first_with_what_each_reads() -> None:
    lines = graph_text(flights()).splitlines()
    assert lines[0] == f"Dynamic tables as of 2013-01-04 12:00:00 UTC: {summary(flights())}"
    assert lines[1].split() == [
        "NAME",
        "KIND",
        "STATE",
        "MODE",
        "ACTION",
        "LAG",
        "TARGET",
        "ROWS",
        "READS",
    ]
    rows = {line.split()[0]: line for line in lines[3:]}
    order = list(rows)
    for edge in flights().edges:
        assert order.index(edge.source) < order.index(edge.target)
    assert rows["with_weather"].endswith("by_hour, weather")
    assert "SUCCEEDED SUSPENDED" in rows["monthly"]
    assert "worst: DT-2105: Division by zero" in lines
    assert "ranking: WINDOW_UNPARTITIONED: rank() has no PARTITION BY" in lines


def test_dot_has_every_node_and_edge_under_a_plain_id() -> None:
    dot = graph_dot(graph([source("a"), table("b")], "a > b"))
    assert dot.startswith("digraph dynamic_tables {")
    assert 'n0 [label="a\\ntable"' in dot
    assert 'label="b\\nAUTO → INCREMENTAL\\nSUCCEEDED INCREMENTAL"' in dot
    assert "n0 -> n1" in dot


@pytest.mark.parametrize("name", ["<b>x</b>", 'a"b', "a\\Nb", "a\\", "n0 -> n1", "a\nb"])
def test_dot_takes_a_name_as_a_label_and_nothing_else(name: str) -> None:
    dot = graph_dot(graph([table(name), table("z")], f"{name} > z"))
    plain = graph_dot(graph([table("q"), table("z")], "q > z"))
    assert "label=<" not in dot
    assert len(dot.splitlines()) == len(plain.splitlines())
    assert dot.count(" -> n1\n") == 1


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ("aa", [], "same name"),
        ("a", [("a", "b")], "no node"),
        ("ab", [("a", "b"), ("b", "a")], "cycle"),
        ("a", [("a", "a")], "cycle"),
    ],
)
def test_a_message_that_is_no_graph_cannot_be_built(
    nodes: str, edges: list[tuple[str, str]], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        GraphMessage(tuple(source(n) for n in nodes), tuple(GraphEdge(*e) for e in edges), NOON)


def test_tables_that_swapped_their_names_make_no_cycle() -> None:
    from dt_jupyter.dispatch.static_messages import graph_message
    from dt_jupyter.model import Name, Timestamp
    from dt_jupyter.reports.report_values import GraphNode as Node, GraphReport

    a, b, c = (Name("default", n) for n in "abc")
    nodes = tuple(Node(name, "table") for name in (a, b, c))
    edges = ((a, b), (b, c), (c, a), (a, a), (a, c))
    message = graph_message(GraphReport(nodes, edges, Timestamp(0)))
    assert [(e.source, e.target) for e in message.edges] == [("a", "b"), ("b", "c"), ("a", "c")]
