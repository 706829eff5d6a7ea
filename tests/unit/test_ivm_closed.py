"""The set of operators is closed: each has a derivative, a row id, what rewrites it, a rendering, a
line in EXPLAIN, and something broken that its oracle catches. The operators are found by looking
for the classes, so that a new one fails here until it has all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from dt_jupyter.ivm import (
    DERIVATIVES,
    IDENTIFIED,
    OPERATORS,
    WEIGHT,
    Aggregate,
    Bag,
    Call,
    End,
    Filter,
    Generate,
    Group,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Stage,
    Top,
    Union,
    Window,
    WindowCall,
    at,
    col,
    compile_stages,
    differentiate,
    expr,
    flows,
    restrict,
    scans,
    simplify,
    walk,
)
from dt_jupyter.ivm.explain import Size, estimated, tree
from dt_jupyter.ivm.simplify import prune
from dt_jupyter.sql.emit.render import RENDERED, Renderer
from tests.unit import test_ivm_groups, test_ivm_mutants
from tests.unit.ivm_lab import Duck, Search, World

A = Scan("s", (("a", "a"), ("b", "b")))
B = Scan("t", (("c", "a"), ("d", "b")))
SAME = expr("{a} = {c}", a=col("a"), c=col("c"))
NUMBER = WindowCall("w", expr("ROW_NUMBER()"), (col("b"),), "", True, True)
SAMPLES: dict[type[Rel], Rel] = {
    Scan: A,
    Rows: Rows("(VALUES (1, 2))", ("r", "q")),
    Project: Project(A, (("p", expr("{x} + 1", x=col("a"))), ("b", col("b")))),
    Filter: Filter(A, (expr("{x} > 0", x=col("b")),)),
    Join: Join((A, B), (SAME,)),
    Match: Match(A, B, MatchKind.LEFT, (("a", "c"),)),
    Union: Union((A, B), ("u", "v")),
    Generate: Generate(A, expr("EXPLODE(ARRAY({x}, 1))", x=col("a")), ("e",)),
    Window: Window(A, ("a",), (NUMBER,)),
    Top: Top(A, (col("a"),), 2),
    Aggregate: Aggregate(A, ("a",), (("n", Call("count", (), expr("COUNT(*)"))),)),
    Restrict: Restrict(A, B, (("a", "c"),)),
}
WORLD = World(
    {"s": [(1, 1), (1, None), (None, 2)], "t": [(1, 1), (2, 2)], "u": []},
    {"s": [(1, 1), (2, 1), (2, 1), (None, 3)], "t": [(2, 2)], "u": []},
)
SEARCH = Search(range(0), aggregates=True)
KINDS = pytest.mark.parametrize("kind", OPERATORS)


def operators(kind: type[Rel] = Rel) -> Iterator[type[Rel]]:
    """The classes of operators that the package has, however they come by it."""
    for found in kind.__subclasses__():
        if found.__module__.startswith("dt_jupyter."):
            yield found
        yield from operators(found)


@dataclass(frozen=True)
class Odd(Rel):
    """An operator that nothing knows."""

    input: Rel

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return Odd(*inputs)


def test_every_operator_of_the_package_is_in_every_list() -> None:
    found = set(operators())
    assert found
    assert found == set(OPERATORS) == set(SAMPLES)
    assert found == set(DERIVATIVES) == set(RENDERED) == set(IDENTIFIED)


def test_every_operator_has_something_broken_that_its_oracle_catches() -> None:
    broken = {kind for kind, _ in test_ivm_mutants.RULES.values()}
    broken |= {Restrict} if test_ivm_mutants.restriction_dropped else set()
    broken |= {Aggregate} if test_ivm_groups.MUTANTS else set()
    assert broken == set(operators())


def test_the_random_relations_are_made_of_every_operator_of_a_query() -> None:
    """What rules make, not queries, is searched by laws of its own."""
    made = {type(n) for seed in range(200) for n in walk(SEARCH.relation(seed))}
    assert made == set(operators()) - {Restrict}


@KINDS
def test_an_operator_gives_back_what_it_is_made_of(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    assert rel.with_inputs(rel.inputs) == rel
    assert len(set(rel.columns)) == len(rel.columns)
    assert at(at(rel, End.OLD), End.NEW) == rel
    assert all(s.end is End.OLD for s in scans(at(rel, End.OLD)))


@KINDS
def test_an_operator_has_a_derivative_with_weights(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    assert differentiate(rel, frozenset()) is None
    if kind is Rows:
        assert differentiate(rel, WORLD.changed) is None
        return
    delta = differentiate(rel, WORLD.changed)
    assert delta is not None
    assert delta.columns == (*rel.columns, WEIGHT)
    duck = Duck(WORLD)
    before, after = (duck.bag(at(rel, end)) for end in (End.OLD, End.NEW))
    gone = {r: -n for r, n in (before - after).items()}
    assert duck.weights(delta) == dict(after - before) | gone


@KINDS
def test_an_operator_is_pruned_and_simplified_to_the_same_rows(kind: type[Rel]) -> None:
    rel, duck = SAMPLES[kind], Duck(WORLD)
    assert simplify(rel).columns == rel.columns
    assert duck.bag(simplify(rel)) == duck.bag(rel)
    for column in rel.columns:
        pruned = prune(rel, frozenset({column}))
        assert column in pruned.columns
        shown = ((column, col(column)),)
        assert duck.bag(Project(pruned, shown)) == duck.bag(Project(rel, shown))


@KINDS
def test_an_operator_is_restricted_to_keys(kind: type[Rel]) -> None:
    rel, duck = SAMPLES[kind], Duck(WORLD)
    for place, column in enumerate(rel.columns):
        restricted = restrict(rel, Rows("(VALUES (1), (NULL))", ("k",)), ((column, "k"),))
        assert restricted.columns == rel.columns
        wanted = [r for r in duck.rows(rel) if r[place] in (1, None)]
        assert sorted(map(str, duck.rows(restricted))) == sorted(map(str, wanted))
        assert any(isinstance(n, Restrict) for n in walk(restricted))


@KINDS
def test_an_operator_is_kept_by_stages(kind: type[Rel]) -> None:
    """Restrictions are made after the stages are cut."""
    rel = SAMPLES[kind]
    if kind is Restrict:
        return
    stages = compile_stages(rel, rel.columns, lambda r: dict.fromkeys(r.columns, "int"))
    assert [n for n, _ in stages[-1].outputs] == list(rel.columns)
    assert isinstance(stages[-1].top, Group if kind is Aggregate else Bag)
    assert not any(isinstance(n, Aggregate) for s in stages for n in walk(s.input))


@KINDS
def test_an_operator_has_a_line_in_explain(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    nodes = tree((Stage("stage:0", rel, Bag(), ()),), {}, {"s": Size(9, 1)})
    assert len(nodes) == 1 + len(list(walk(rel)))
    assert nodes[1].operator


@KINDS
def test_an_operator_says_what_flows_into_its_columns(kind: type[Rel]) -> None:
    rel = SAMPLES[kind]
    assert flows(rel).keys() >= set(rel.columns)


UNKNOWN: dict[str, Callable[[Rel], object]] = {
    "derivative": lambda rel: differentiate(rel, WORLD.changed),
    "pruning": lambda rel: prune(rel, frozenset(rel.columns)),
    "simplifying": simplify,
    "rendering": Renderer(lambda s: s.source),
    "line in EXPLAIN": lambda rel: tree((Stage("stage:0", rel, Bag(), ()),), {}, {}),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_an_operator_that_nothing_knows_does_not_pass_unseen(what: str) -> None:
    UNKNOWN[what](A)
    with pytest.raises((KeyError, AssertionError, TypeError)):
        UNKNOWN[what](Odd(A))


def test_an_operator_that_nothing_knows_is_restricted_from_above() -> None:
    odd = Odd(A)
    assert restrict(odd, "keys", (("a", "k"),)) == Restrict(odd, "keys", (("a", "k"),))
    assert estimated(odd, {"s": Size(3, 1)}) == Size(3, 1)
