"""Derivatives and rewrites against DuckDB: Δ(Q) = Q(new) − Q(old) on random bags."""

from __future__ import annotations

from random import Random

import pytest

from dt_jupyter.ivm import (
    OPERATORS,
    Aggregate,
    AggregateCall,
    End,
    Expr,
    Filter,
    Generate,
    Infix,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    WindowCall,
    at,
    col,
    differentiate,
    equality,
    expr,
    monotone,
    scans,
    simplify,
    walk,
)
from dt_jupyter.model.hidden import WEIGHT
from tests.unit.ivm_lab import (
    Law,
    Search,
    derivative,
    each_pass_is_the_same,
    in_order,
    restricted,
    simplified,
    simplified_again_is_the_same,
    simplified_is_the_same,
)
from tests.unit.small_worlds import SOURCES, Duck, World, random_rows


def world(old: dict[str, list], new: dict[str, list]) -> World:  # type: ignore[type-arg]
    empty: dict[str, list] = {s: [] for s in SOURCES}  # type: ignore[type-arg]
    return World(empty | old, empty | old | new)


def scan(source: str, prefix: str) -> Scan:
    return Scan(source, tuple((f"{prefix}{i}", c) for i, c in enumerate(SOURCES[source])))


def change(rel: Rel, w: World) -> dict[tuple[int | None, ...], int]:
    return Duck(w).weights(differentiate(rel, w.changed))


# -- small tables, before and after ---------------------------------------------------------------


def test_an_update_that_leaves_the_filter_is_a_delete() -> None:
    rugs = Filter(scan("s", "p"), (expr("{x} = 1", x=col("p1")),))
    w = world({"s": [(1, 1), (2, 2)]}, {"s": [(1, 0), (2, 2)]})
    assert change(rugs, w) == {(1, 1): -1}


def test_rows_that_meet_in_a_join_by_changes_on_both_sides_come_once() -> None:
    joined = Join((scan("s", "p"), scan("t", "q")), (equality(col("p0"), col("q0")),))
    w = world({"s": [], "t": [(1, 7)]}, {"s": [(1, 5)], "t": [(1, 8), (1, 8)]})
    assert change(joined, w) == {(1, 5, 1, 8): 2}


def test_a_self_join_sees_the_change_on_both_of_its_sides() -> None:
    joined = Join((scan("s", "p"), scan("s", "q")), (equality(col("p0"), col("q0")),))
    w = world({"s": [(1, 0)]}, {"s": [(1, 0), (1, 1)]})
    assert change(joined, w) == {(1, 0, 1, 1): 1, (1, 1, 1, 0): 1, (1, 1, 1, 1): 1}


def matched(kind: MatchKind, *on: Expr) -> Match:
    return Match(scan("s", "p"), scan("t", "q"), kind, (("p0", "q0"),), on)


def test_the_first_partner_of_a_row_replaces_its_nulls_and_the_last_one_leaves_them() -> None:
    w = world({"s": [(1, 1), (2, 2)], "t": [(2, 8)]}, {"t": [(1, 7), (1, 9)]})
    assert change(matched(MatchKind.LEFT), w) == {
        (1, 1, None, None): -1,
        (1, 1, 1, 7): 1,
        (1, 1, 1, 9): 1,
        (2, 2, 2, 8): -1,
        (2, 2, None, None): 1,
    }
    assert change(matched(MatchKind.SEMI), w) == {(1, 1): 1, (2, 2): -1}
    assert change(matched(MatchKind.ANTI), w) == {(1, 1): -1, (2, 2): 1}


def test_one_more_partner_is_no_change_of_a_semi_join() -> None:
    w = world({"s": [(1, 1)], "t": [(1, 7)]}, {"t": [(1, 7), (1, 8)]})
    assert change(matched(MatchKind.SEMI), w) == change(matched(MatchKind.ANTI), w) == {}


def test_a_row_whose_key_is_null_has_no_partner() -> None:
    w = world({"t": [(None, 7)]}, {"s": [(None, 1)]})
    assert change(matched(MatchKind.LEFT), w) == {(None, 1, None, None): 1}
    assert change(matched(MatchKind.ANTI), w) == {(None, 1): 1}


def test_a_partner_that_fails_the_further_condition_is_none() -> None:
    bought = Infix(col("p1"), "<", col("q1"))
    w = world({"s": [(1, 5)]}, {"t": [(1, 4)]})
    assert change(matched(MatchKind.LEFT, bought), w) == {}
    assert change(matched(MatchKind.LEFT), w) == {(1, 5, None, None): -1, (1, 5, 1, 4): 1}


def windowed(function: str, frame: str = "", *, total: bool = True) -> Window:
    call = WindowCall("w", expr(function, x=col("p1")), (col("p1"),), frame, total, total)
    return Window(scan("s", "p"), ("p0",), (call,))


def test_a_new_row_moves_the_numbers_of_its_partition_only() -> None:
    w = world({"s": [(1, 5), (1, 7), (2, 5)]}, {"s": [(1, 5), (1, 6), (1, 7), (2, 5)]})
    assert change(windowed("ROW_NUMBER()"), w) == {(1, 7, 2): -1, (1, 6, 2): 1, (1, 7, 3): 1}


def test_rows_without_a_partition_key_are_a_partition() -> None:
    w = world({"s": [(None, 5)]}, {"s": [(None, 5), (None, 1)]})
    assert change(windowed("SUM({x})", total=False), w) == {
        (None, 5, 5): -1,
        (None, 1, 1): 1,
        (None, 5, 6): 1,
    }


def test_equal_rows_have_each_a_number_of_their_own() -> None:
    w = world({"s": [(1, 5), (1, 5)]}, {"s": [(1, 5)]})
    assert change(windowed("ROW_NUMBER()"), w) == {(1, 5, 2): -1}


def test_a_better_row_pushes_another_out_of_the_top() -> None:
    top = Top(scan("s", "p"), (expr("{x} DESC", x=col("p1")),), 2)
    w = world({"s": [(1, 5), (2, 7), (3, 1)]}, {"s": [(1, 5), (2, 7), (3, 6)]})
    assert change(top, w) == {(1, 5): -1, (3, 6): 1}


def test_a_row_of_which_nothing_is_made_is_kept_by_outer() -> None:
    some = expr("explode(CASE WHEN {x} > 0 THEN array({x}, {y}) END)", x=col("p0"), y=col("p1"))
    w = world({"s": [(1, 5)]}, {"s": [(0, 5)]})
    assert change(Generate(scan("s", "p"), some, ("e",)), w) == {(1, 5, 1): -1, (1, 5, 5): -1}
    assert change(Generate(scan("s", "p"), some, ("e",), outer=True), w) == {
        (1, 5, 1): -1,
        (1, 5, 5): -1,
        (0, 5, None): 1,
    }


def test_rows_of_the_query_itself_do_not_change() -> None:
    rows = Rows("(VALUES (1, 2))", ("x", "y"))
    assert differentiate(rows, frozenset(SOURCES)) is None
    w = world({}, {"s": [(1, 1)]})
    assert change(Union((rows, scan("s", "p")), ("a", "b")), w) == {(1, 1): 1}


def test_nothing_changed_is_no_relation_at_all() -> None:
    union = Union((scan("s", "p"), scan("t", "q")), ("x", "y"))
    assert differentiate(union, frozenset()) is None
    for kind in MatchKind:
        assert differentiate(matched(kind), frozenset("u")) is None


def test_a_term_of_an_unchanged_source_is_not_made() -> None:
    joined = Join((scan("s", "p"), scan("t", "q")), ())
    delta = differentiate(joined, frozenset({"t"}))
    assert delta is not None
    assert [(s.source, s.end) for s in scans(delta)] == [("t", End.DELTA), ("s", End.NEW)]
    left = differentiate(matched(MatchKind.LEFT), frozenset({"s"}))
    assert left is not None
    assert [(s.source, s.end) for s in scans(left)] == [("s", End.DELTA), ("t", End.NEW)]


def test_the_change_of_a_join_starts_at_changes_and_reads_the_last_member_once() -> None:
    *others, last = SOURCES
    members = tuple(scan(s, s) for s in (*others, last))
    delta = differentiate(Join(members, ()), frozenset(SOURCES))
    assert isinstance(delta, Union)
    for node in walk(delta):
        if isinstance(node, Join):
            assert scans(node.members[0])[0].end is End.DELTA
            assert all(s.end is not End.DELTA for m in node.members[1:] for s in scans(m))
    read = [s.end for s in scans(delta) if s.source == last]
    assert sorted(read) == [End.DELTA, End.OLD]


def test_what_a_change_reads_of_both_ends_is_restricted_to_its_keys() -> None:
    """Of a source that is read whole, a refresh costs what the source costs."""
    for rel in (matched(MatchKind.LEFT), matched(MatchKind.ANTI), windowed("ROW_NUMBER()")):
        delta = differentiate(rel, frozenset(SOURCES))
        assert delta is not None
        for node in walk(delta):
            for below in node.inputs:
                if isinstance(below, Scan) and below.end is not End.DELTA:
                    assert isinstance(node, Restrict)


# -- the laws, on random relations ----------------------------------------------------------------


QUICK = Search(range(300))


def test_the_derivative_is_the_difference() -> None:
    QUICK(derivative)


def test_a_simplified_relation_has_a_derivative_that_is_the_difference() -> None:
    Search(range(50))(simplified)


def test_simplifying_keeps_rows_and_columns() -> None:
    Search(range(100), settled=True)(simplified_is_the_same)


def test_each_pass_alone_keeps_the_rows() -> None:
    Search(range(75))(each_pass_is_the_same)


@pytest.mark.nightly
def test_the_order_of_a_joins_members_is_no_part_of_its_meaning() -> None:
    Search(range(60))(in_order)


def test_a_restriction_means_the_same_wherever_it_is_pushed() -> None:
    Search(range(60), depth=4, worlds=1, largest=60)(restricted)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("law", "count"),
    [
        (derivative, 700),
        (simplified, 250),
        (each_pass_is_the_same, 250),
        (simplified_is_the_same, 300),
        (simplified_again_is_the_same, 300),
        (restricted, 250),
        (in_order, 250),
    ],
)
def test_the_laws_at_length(law: Law, count: int) -> None:
    settled = law is simplified_is_the_same
    Search(range(10_000, 10_000 + count), depth=6, largest=150, settled=settled)(law)


# -- what is searched -----------------------------------------------------------------------------


def test_the_random_relations_reach_every_operator_under_every_other() -> None:
    """In the search that the derivatives go through each time."""
    made = [QUICK.relation(seed) for seed in QUICK.seeds]
    met = {(type(n), type(i)) for r in made for n in walk(r) for i in n.inputs}
    # Aggregates have an oracle of their own, restrictions are made by rules.
    below = set(OPERATORS) - {Aggregate, Restrict}
    assert met == {(a, b) for a in below - {Scan, Rows} for b in below}
    deep = {type(n) for r in made if _depth(r) >= 4 for n in walk(r)}
    assert deep == below


def test_the_random_matches_have_every_form() -> None:
    search = Search(range(500))
    matches = [n for s in search.seeds for n in walk(search.relation(s)) if isinstance(n, Match)]
    assert {(m.kind, len(m.pairs), bool(m.on)) for m in matches} == {
        (k, p, o) for k in MatchKind for p in (0, 1, 2) for o in (False, True)
    }


def _depth(rel: Rel) -> int:
    return 1 + max((_depth(i) for i in rel.inputs), default=-1)


# -- forms ----------------------------------------------------------------------------------------


def test_pruning_reads_no_column_that_nothing_uses() -> None:
    wide = Project(scan("u", "p"), (("x", col("p1")),))
    (source,) = scans(simplify(wide))
    assert source.reads == (("p1", SOURCES["u"][1]),)


def test_pruning_leaves_out_a_window_that_nothing_uses() -> None:
    (source,) = scans(simplify(Project(windowed("ROW_NUMBER()"), (("x", col("p1")),))))
    assert source.reads == (("p1", "b"),)


def test_pruning_keeps_the_one_row_of_an_aggregate_that_nothing_uses() -> None:
    count = Aggregate(scan("t", "q"), (), (("n", AggregateCall("count", (), expr("COUNT(*)"))),))
    beside = Project(Join((scan("s", "p"), count), ()), (("x", col("p0")),))
    duck = Duck(world({}, {"s": [(1, 1)]}))
    assert duck.rows(at(simplify(beside), End.NEW)) == [(1,)]


def test_a_filter_that_reads_one_side_of_a_join_meets_the_change_first() -> None:
    joined = Join((scan("s", "p"), scan("t", "q")), (equality(col("p0"), col("q0")),))
    simple = simplify(Filter(joined, (expr("{x} > 1", x=col("q1")),)))
    assert isinstance(simple, Join)
    assert [type(m) for m in simple.members] == [Scan, Filter]


def test_the_weight_column_is_last() -> None:
    delta = differentiate(Project(scan("s", "p"), (("x", col("p0")),)), frozenset({"s"}))
    assert delta is not None
    assert delta.columns == ("x", WEIGHT)


# -- monotone -------------------------------------------------------------------------------------


def test_added_rows_only_add_rows_to_what_is_monotone() -> None:
    told = 0
    for seed in range(400):
        rel = Search(range(0), depth=4).relation(seed)
        rng = Random(seed)
        old = {s: random_rows(rng, len(c), 3) for s, c in SOURCES.items()}
        new = {s: old[s] + random_rows(rng, len(c), 2) for s, c in SOURCES.items()}
        if monotone(rel):
            told += 1
            duck = Duck(World(old, new))
            assert duck.bag(at(rel, End.OLD)) <= duck.bag(at(rel, End.NEW))
    assert told > 50


@pytest.mark.parametrize("kind", [Match, Window, Top, Aggregate])
def test_what_may_take_rows_back_is_not_monotone(kind: type[Rel]) -> None:
    example = {
        Match: matched(MatchKind.ANTI),
        Window: windowed("ROW_NUMBER()"),
        Top: Top(scan("s", "p"), (), 1),
        Aggregate: Aggregate(scan("s", "p"), ("p0",), ()),
    }
    assert not monotone(Filter(example[kind], (expr("TRUE"),)))
    assert monotone(Filter(scan("s", "p"), (expr("TRUE"),)))
