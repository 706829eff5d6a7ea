"""Derivatives and rewrites against DuckDB: Δ(Q) = Q(new) − Q(old) on random bags."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dt_jupyter.ivm import (
    OPERATORS,
    WEIGHT,
    Aggregate,
    End,
    Filter,
    Join,
    Project,
    Rel,
    Restrict,
    Scan,
    Union,
    at,
    col,
    differentiate,
    expr,
    restrict,
    scans,
    simplify,
    walk,
)
from dt_jupyter.ivm.simplify import PASSES
from tests.unit.ivm_lab import (
    SOURCES,
    Duck,
    World,
    check_derivative,
    relations,
    worlds,
)

FAST = settings(
    max_examples=100, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


def world(old: dict[str, list], new: dict[str, list]) -> World:  # type: ignore[type-arg]
    empty: dict[str, list] = {s: [] for s in SOURCES}  # type: ignore[type-arg]
    return World(empty | old, empty | old | new)


def scan(source: str, prefix: str) -> Scan:
    return Scan(source, tuple((f"{prefix}{i}", c) for i, c in enumerate(SOURCES[source])))


# -- small tables, before and after ---------------------------------------------------------------


def test_an_update_that_leaves_the_filter_is_a_delete() -> None:
    rugs = Filter(scan("s", "p"), (expr("{x} = 1", x=col("p1")),))
    w = world({"s": [(1, 1), (2, 2)]}, {"s": [(1, 0), (2, 2)]})
    assert Duck(w).weights(differentiate(rugs, w.changed)) == {(1, 1): -1}


def test_rows_that_meet_in_a_join_by_changes_on_both_sides_come_once() -> None:
    joined = Join((scan("s", "p"), scan("t", "q")), (expr("{x} = {y}", x=col("p0"), y=col("q0")),))
    w = world({"s": [], "t": [(1, 7)]}, {"s": [(1, 5)], "t": [(1, 8), (1, 8)]})
    assert Duck(w).weights(differentiate(joined, w.changed)) == {(1, 5, 1, 8): 2}


def test_a_self_join_sees_the_change_on_both_of_its_sides() -> None:
    joined = Join((scan("s", "p"), scan("s", "q")), (expr("{x} = {y}", x=col("p0"), y=col("q0")),))
    w = world({"s": [(1, 0)]}, {"s": [(1, 0), (1, 1)]})
    assert Duck(w).weights(differentiate(joined, w.changed)) == {
        (1, 0, 1, 1): 1, (1, 1, 1, 0): 1, (1, 1, 1, 1): 1,
    }  # fmt: skip


def test_nothing_changed_is_no_relation_at_all() -> None:
    union = Union((scan("s", "p"), scan("t", "q")), ("x", "y"))
    assert differentiate(union, frozenset()) is None


def test_a_term_of_an_unchanged_source_is_not_made() -> None:
    joined = Join((scan("s", "p"), scan("t", "q")), ())
    delta = differentiate(joined, frozenset({"t"}))
    assert delta is not None
    assert [(s.source, s.end) for s in scans(delta)] == [("t", End.DELTA), ("s", End.NEW)]


def test_the_change_of_a_join_starts_at_the_change() -> None:
    members = tuple(scan(s, s) for s in SOURCES)
    delta = differentiate(Join(members, ()), frozenset(SOURCES))
    assert isinstance(delta, Union)
    for term in delta.members:
        assert scans(term)[0].end is End.DELTA
        assert [s.end for s in scans(term)].count(End.DELTA) == 1


# -- the laws, on random relations ----------------------------------------------------------------


@FAST
@given(relations(), worlds())
def test_the_derivative_is_the_difference(rel: Rel, w: World) -> None:
    check_derivative(rel, w)


@FAST
@given(relations(), worlds())
def test_a_source_said_to_have_changed_may_be_the_same(rel: Rel, w: World) -> None:
    check_derivative(rel, w, frozenset(SOURCES))


@FAST
@given(relations(), worlds())
def test_simplifying_keeps_rows_and_columns_and_derivatives(rel: Rel, w: World) -> None:
    simple, duck = simplify(rel), Duck(w)
    assert simple.columns == rel.columns
    assert duck.bag(at(simple, End.NEW)) == duck.bag(at(rel, End.NEW))
    check_derivative(simple, w)


@settings(FAST, max_examples=60)
@given(relations(), worlds(), st.sampled_from(PASSES))
def test_each_pass_alone_keeps_the_rows(rel: Rel, w: World, rule: object) -> None:
    from dt_jupyter.ivm import rewrite

    duck, after = Duck(w), rewrite(rel, rule)  # type: ignore[arg-type]
    assert duck.bag(at(after, End.NEW)) == duck.bag(at(rel, End.NEW))


KEYS = st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 2))] * 2), max_size=3)


@FAST
@given(relations(depth=4, scans=4), worlds(), KEYS, st.data())
def test_a_restriction_means_the_same_wherever_it_is_pushed(
    rel: Rel, w: World, keys: list[tuple[int | None, int | None]], data: st.DataObject
) -> None:
    count = data.draw(st.integers(1, min(2, len(rel.columns))))
    columns = data.draw(st.permutations(rel.columns))[:count]
    on = tuple((c, f"k{i}") for i, c in enumerate(columns))
    duck = Duck(w)
    duck.put_keys(("k0", "k1"), list(keys))
    pushed = restrict(rel, "keys", on)
    places = [rel.columns.index(c) for c in columns]
    wanted_keys = {k[:count] for k in keys}
    wanted = Counter({
        r: n for r, n in duck.bag(at(rel, End.NEW)).items()
        if tuple(r[i] for i in places) in wanted_keys
    })  # fmt: skip
    assert duck.bag(at(pushed, End.NEW)) == wanted
    assert duck.bag(at(Restrict(rel, "keys", on), End.NEW)) == wanted
    check_restricted(duck, rel, pushed, places, wanted_keys, w)


def check_restricted(
    duck: Duck,
    rel: Rel,
    pushed: Rel,
    places: list[int],
    keys: set[tuple[int | None, ...]],
    w: World,
) -> None:
    """Δ(R ⋉ K) = ΔR ⋉ K"""
    everything = duck.weights(differentiate(rel, w.changed))
    wanted = {r: n for r, n in everything.items() if tuple(r[i] for i in places) in keys}
    assert duck.weights(differentiate(pushed, w.changed)) == wanted


@pytest.mark.slow
@settings(FAST, max_examples=3000)
@given(relations(depth=6, scans=6), worlds())
def test_the_derivative_is_the_difference_at_length(rel: Rel, w: World) -> None:
    check_derivative(rel, w)
    check_derivative(simplify(rel), w)


def test_the_random_relations_reach_every_operator_below_an_aggregate() -> None:
    met: set[type[Rel]] = set()
    depths: set[int] = set()

    @FAST
    @given(relations())
    def collect(rel: Rel) -> None:
        met.update(type(n) for n in walk(rel))
        depths.add(_depth(rel))

    collect()
    # Aggregates have an oracle of their own, restrictions are made by rules.
    assert met == set(OPERATORS) - {Aggregate, Restrict}
    assert max(depths) >= 5


def _depth(rel: Rel) -> int:
    return 1 + max((_depth(i) for i in rel.inputs), default=-1)


def test_pruning_reads_no_column_that_nothing_uses() -> None:
    wide = Project(scan("u", "p"), (("x", col("p1")),))
    (source,) = scans(simplify(wide))
    assert source.reads == (("p1", SOURCES["u"][1]),)


def test_a_filter_that_reads_one_side_of_a_join_meets_the_change_first() -> None:
    joined = Join((scan("s", "p"), scan("t", "q")), (expr("{x} = {y}", x=col("p0"), y=col("q0")),))
    simple = simplify(Filter(joined, (expr("{x} > 1", x=col("q1")),)))
    assert isinstance(simple, Join)
    assert [type(m) for m in simple.members] == [Scan, Filter]


def test_the_weight_column_is_last() -> None:
    delta = differentiate(Project(scan("s", "p"), (("x", col("p0")),)), frozenset({"s"}))
    assert delta is not None
    assert delta.columns == ("x", WEIGHT)
