"""The layout of the graph: cards apart, edges along the flow, few crossings, always the same."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.widgets import layout
from dt_jupyter.widgets.graph import Direction, plan_graph
from dt_jupyter.widgets.layout import Box, GraphLayout, Placed, assign_layers, layered, spread
from tests.unit.widgets_lab import flights, random_graph


def boxes(names: str) -> list[Box]:
    return [Box(name, 100, 40) for name in names]


def edges(text: str) -> list[tuple[str, str]]:
    return [(pair[0], pair[1]) for pair in text.split()]


def meet(one: Placed, two: Placed) -> bool:
    return (
        one.x < two.x + two.width
        and two.x < one.x + one.width
        and one.y < two.y + two.height
        and two.y < one.y + one.height
    )


def check(plan: GraphLayout, rightward: bool) -> None:
    """No two boxes meet, all is inside, and every edge goes on along the flow from the border of
    its source to that of its target."""
    assert not [(a.name, b.name) for a, b in combinations(plan.boxes, 2) if meet(a, b)]
    for box in plan.boxes:
        assert box.x >= -1e-6
        assert box.y >= -1e-6
        assert box.x + box.width <= plan.width + 1e-6
        assert box.y + box.height <= plan.height + 1e-6
    placed = {box.name: box for box in plan.boxes}
    along = 0 if rightward else 1
    for route in plan.routes:
        one, two = placed[route.source], placed[route.target]
        ways = [point[along] for point in route.points]
        assert ways == sorted(ways)
        assert ways[0] < ways[-1]
        assert ways[0] == pytest.approx(one.x + one.width if rightward else one.y + one.height)
        assert ways[-1] == pytest.approx(two.x if rightward else two.y)
        assert one.layer < two.layer


def test_layers_are_longest_paths_and_sources_stand_next_to_their_readers() -> None:
    layers = assign_layers(list("abcdx"), edges("ab bc ac xc cd"))
    assert layers == {"a": 0, "b": 1, "c": 2, "x": 1, "d": 3}


def test_boxes_without_edges_are_spread_over_the_layers() -> None:
    layers = assign_layers(list("abcdef"), edges("ab"))
    assert [layers[name] for name in "cdef"] == [0, 1, 0, 1]


def test_a_graph_that_needs_no_crossing_has_none() -> None:
    plan = layered(boxes("abcdefgh"), edges("ah bg cf de"), rightward=True)
    assert plan.crossings == 0
    tree = layered(boxes("abcdefg"), edges("ag af be bd ca cb"), rightward=False)
    assert tree.crossings == 0


def test_a_complete_pair_of_layers_has_exactly_its_crossing() -> None:
    assert layered(boxes("abcd"), edges("ac ad bc bd"), rightward=True).crossings == 1


def test_a_chain_is_straight() -> None:
    plan = layered(boxes("abc"), edges("ab bc"), rightward=False)
    assert len({box.x for box in plan.boxes}) == 1
    assert all(x == plan.routes[0].points[0][0] for r in plan.routes for x, _ in r.points)


def test_an_edge_given_twice_is_drawn_once() -> None:
    assert len(layered(boxes("ab"), edges("ab ab"), rightward=True).routes) == 1


def test_nothing_at_all() -> None:
    assert layered([], [], rightward=True) == GraphLayout((), (), 0, 0, 0)


def runs_into(plan: GraphLayout, rightward: bool) -> list[tuple[str, str, str]]:
    """Edges whose straight ways past a layer run over a card, with the card."""
    found = []
    for route in plan.routes:
        for start, end in zip(route.points[1:-1:2], route.points[2:-1:2], strict=True):
            assert start[rightward] == end[rightward]
            (x0, y0), (x1, y1) = start, end
            way = Placed("", x0, y0, x1 - x0 + 0.01, y1 - y0 + 0.01, 0)
            found += [(route.source, route.target, b.name) for b in plan.boxes if meet(way, b)]
    return found


@pytest.mark.parametrize("direction", ["right", "down"])
def test_a_long_edge_goes_past_the_cards_of_the_layers_between(direction: Direction) -> None:
    for seed in range(6):
        plan = plan_graph(random_graph(40, seed), direction)
        assert max(len(route.points) for route in plan.routes) > 4
        assert runs_into(plan, direction == "right") == []


@pytest.mark.parametrize("rule", ["_sweep", "_exchange"])
def test_each_rule_of_the_order_takes_crossings_away(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def total() -> int:
        return sum(plan_graph(random_graph(30, seed), "right").crossings for seed in range(8))

    with_rule = total()
    monkeypatch.setattr(layout, rule, lambda *_: False)
    assert with_rule < total()


@pytest.mark.parametrize("direction", ["right", "down"])
@pytest.mark.parametrize("size", [1, 2, 13, 60, 200])
def test_cards_are_apart_and_edges_go_on(size: int, direction: Direction) -> None:
    check(plan_graph(random_graph(size, seed=size), direction), direction == "right")


@pytest.mark.parametrize("direction", ["right", "down"])
def test_the_flights(direction: Direction) -> None:
    plan = plan_graph(flights(), direction)
    check(plan, direction == "right")
    assert plan.crossings <= 2


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=18),
            st.booleans(),
        )
    )
)
@settings(max_examples=150)
def test_any_acyclic_graph(case: tuple[int, list[tuple[int, int]], bool]) -> None:
    size, pairs, rightward = case
    some = [Box(str(i), 50 + 13 * i, 90 - 7 * i) for i in range(size)]
    ups = [(str(min(p)), str(max(p))) for p in pairs if p[0] != p[1]]
    check(layered(some, ups, rightward=rightward), rightward)


def test_the_order_of_the_sweeps_beats_the_order_given() -> None:
    """Twisted pairs: as given, all edges cross; after ordering, none."""
    names = [f"{side}{i}" for side in "ab" for i in range(8)]
    twisted = [(f"a{i}", f"b{7 - i}") for i in range(8)] + [
        (f"a{i}", f"b{6 - i}") for i in range(7)
    ]
    plan = layered([Box(n, 10, 10) for n in names], twisted, rightward=False)
    assert plan.crossings == 0


@pytest.mark.parametrize(
    ("wanted", "gaps", "expected"),
    [
        ([0, 100], [10], [0, 100]),  # far enough: as wanted
        ([5, 5], [10], [0, 10]),  # too near: apart on both sides alike
        ([9, 0, 0], [6, 6], [-3, 3, 9]),  # one block
        ([0, 1, 50], [5, 5], [-2, 3, 50]),
    ],
)
def test_spread_is_the_least_squares_place(
    wanted: list[float], gaps: list[float], expected: list[float]
) -> None:
    assert spread(wanted, [1.0] * len(wanted), gaps) == pytest.approx(expected)


def test_spread_moves_the_light_one() -> None:
    assert spread([0, 0], [9.0, 1.0], [10]) == pytest.approx([-1, 9])
