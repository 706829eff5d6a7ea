"""The oracle of the algebra: laws over random relations on small bags, asked of DuckDB.

`Q(new) − Q(old)` is compared with the derivative as weighted bags; nothing of ours computes the
wanted side but the rendering, which DuckDB then runs. A law is one statement for each relation,
prepared once and run on several worlds: its rows are what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import pytest

from dt_jupyter.ivm import (
    End,
    Rel,
    Restrict,
    Rows,
    Sizes,
    arranged,
    at,
    differentiate,
    directed,
    restrict,
    rewrite,
    simplify,
    walk,
)
from dt_jupyter.ivm.simplify import PASSES
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql.emit.render import Renderer
from tests.unit.random_relations import Maker
from tests.unit.small_worlds import (
    CHANGES,
    POOL,
    SOURCES,
    Row,
    World,
    connection,
    duck_quote,
    literal_rows,
    pool,
    pooled,
    random_rows,
    to_duck,
)


@dataclass(frozen=True)
class Term:
    """A relation, or the text of one, in a sum that should be empty; `weight` is SQL."""

    rel: Rel | str
    weight: str

    @property
    def text(self) -> str:
        if isinstance(self.rel, str):
            return self.rel
        return Renderer(pooled, keys=str, quote=duck_quote)(self.rel)


PLUS, MINUS = "1", "-1"
CHANGE = f"CASE WHEN {WEIGHT} IN (1, -1) THEN -{WEIGHT} ELSE error('a weight') END"
"""The weights of a change on the other side of the equation."""

Law = Callable[[Rel, frozenset[str], Random], Sequence[Sequence[Term]]]
"""The sums that should be empty for a relation of which some sources change."""


@dataclass
class Broken(AssertionError):
    """A law that does not hold for `rel`: what differs, with its weight."""

    rel: Rel
    world: World
    differs: list[Row]

    def __str__(self) -> str:
        text = Renderer(lambda s: s.source)(self.rel)
        return f"{text}\n\n{self.rel!r}\n\n{self.world}\n\ndiffers in {self.differs}"


def statement(law: Law, rel: Rel, changed: frozenset[str], rng: Random) -> str:
    """The law as one query for `world` $w, whose rows are what its sums hold."""
    named = ", ".join(map(duck_quote, rel.columns))
    members = [
        f"SELECT {i} AS sum, {named}, {t.weight} AS {WEIGHT} FROM ({t.text})"
        for i, terms in enumerate(law(rel, changed, rng))
        for t in terms
    ]
    by = ", ".join(str(i + 1) for i in range(len(rel.columns) + 1))
    return (
        f"SELECT sum, {named}, SUM({WEIGHT}) FROM ({' UNION ALL '.join(members)}) GROUP BY {by}"
        f" HAVING SUM({WEIGHT}) <> 0 AND $w::INTEGER >= 0"
    )


def differs(statement: str, worlds: Iterable[int]) -> tuple[int, list[Row]] | None:
    """The first of the worlds where the query has rows, and those."""
    pool()
    connection().execute("PREPARE law AS " + to_duck(statement))
    for world in worlds:
        found = connection().execute(f"EXECUTE law(w := {world})").fetchall()
        if found:
            return world, found
    return None


@dataclass(frozen=True)
class Search:
    """Random relations, each in some worlds, in search of one that breaks a law.

    `settled`: every order that decides names all columns, so that a rewrite may drop those that
    nothing reads and yet keep the rows. `shape`: the operators from the root downwards.
    `aggregates`: also what only stages have a change of.
    """

    seeds: range
    depth: int = 5
    worlds: int = 2
    largest: int = 100
    settled: bool = False
    shape: tuple[str, ...] = ()
    aggregates: bool = False

    @cache  # noqa: B019 (a search is a value, and there are few)
    def relation(self, seed: int) -> Rel:
        """One whose change is not larger than that: the time goes with its operators."""
        rng = Random(seed)
        while True:
            depth = rng.randint(max(1, len(self.shape)), self.depth)
            rel = Maker(rng, self.settled, list(self.shape), aggregates=self.aggregates).rel(depth)
            if self._size(rel) <= self.largest:
                return rel

    def _size(self, rel: Rel) -> int:
        if self.aggregates:
            return 5 * nodes(rel)
        delta = differentiate(rel, frozenset(SOURCES))
        return nodes(delta) if delta else 0

    def statement(self, law: Law, rel: Rel, seed: int) -> str:
        rng = Random(-1 - seed)
        return statement(law, rel, rng.choice(CHANGES), rng)

    def differs(self, statement: str, seed: int) -> tuple[int, list[Row]] | None:
        """In some of the worlds with the changes that the seed stands for."""
        rng = Random(-1 - seed)
        first = CHANGES.index(rng.choice(CHANGES)) * POOL
        return differs(statement, rng.sample(range(first, first + POOL), self.worlds))

    def __call__(self, law: Law) -> None:
        """Raises the smallest part of a relation that breaks the law."""
        for seed in self.seeds:
            rel = self.relation(seed)
            if not self.differs(self.statement(law, rel, seed), seed):
                continue
            for part in sorted(walk(rel), key=nodes):
                if found := self.differs(self.statement(law, part, seed), seed):
                    raise Broken(part, pool()[found[0]], found[1])


def nodes(rel: Rel) -> int:
    """How many operators a relation has, with the keys of its restrictions."""
    keys = (n.keys for n in walk(rel) if isinstance(n, Restrict) and isinstance(n.keys, Rel))
    return len(list(walk(rel))) + sum(map(nodes, keys))


def derivative(rel: Rel, changed: frozenset[str], _: Random) -> list[list[Term]]:
    """Q₁ − Q₀ − Δ(Q) = ∅"""
    return [difference(rel, changed)]


def difference(rel: Rel, changed: frozenset[str]) -> list[Term]:
    delta = differentiate(rel, changed)
    ends = [Term(at(rel, End.NEW), PLUS), Term(at(rel, End.OLD), MINUS)]
    if delta is None:
        return ends
    assert delta.columns == (*rel.columns, WEIGHT)
    return [*ends, Term(delta, CHANGE)]


def simplified(rel: Rel, changed: frozenset[str], _: Random) -> list[list[Term]]:
    """Other rows may be taken where rows tie, but always the same: Δ holds."""
    simple = simplify(rel)
    assert simple.columns == rel.columns
    return [difference(simple, changed)]


def simplified_is_the_same(rel: Rel, changed: frozenset[str], _: Random) -> list[list[Term]]:
    return [[Term(at(simplify(rel), End.NEW), PLUS), Term(at(rel, End.NEW), MINUS)]]


def simplified_again_is_the_same(rel: Rel, changed: frozenset[str], _: Random) -> list[list[Term]]:
    """What a stage computes is what it was cut from, also where rows tie."""
    simple = simplify(rel)
    return [[Term(at(simplify(simple), End.NEW), PLUS), Term(at(simple, End.NEW), MINUS)]]


def each_pass_is_the_same(rel: Rel, changed: frozenset[str], rng: Random) -> list[list[Term]]:
    after = rewrite(rel, rng.choice(PASSES))
    return [[Term(at(after, End.NEW), PLUS), Term(at(rel, End.NEW), MINUS)]]


def in_order(rel: Rel, changed: frozenset[str], rng: Random) -> list[list[Term]]:
    """In whatever order a join is gone through, its rows are the same, and so is their change."""
    rows = {s: rng.choice((1, 10, 10**6)) for s in SOURCES}
    moved = {s: rng.choice((0, 5, 10**6, None)) for s in sorted(changed)}
    sizes = Sizes(rows.__getitem__, moved, lambda source, column: "int")
    simple = simplify(rel)
    ordered = arranged(simple, sizes)
    assert ordered.columns == simple.columns
    same = [Term(at(ordered, End.NEW), PLUS), Term(at(simple, End.NEW), MINUS)]
    delta = differentiate(ordered, changed)
    ends = [Term(at(ordered, End.NEW), PLUS), Term(at(ordered, End.OLD), MINUS)]
    if delta is None:
        return [same, ends]
    led = directed(delta, sizes)
    assert led.columns == (*rel.columns, WEIGHT)
    return [same, [*ends, Term(led, CHANGE)]]


def restricted(rel: Rel, changed: frozenset[str], rng: Random) -> list[list[Term]]:
    """R ⋉ K means the same wherever it is pushed, and Δ(R ⋉ K) = ΔR ⋉ K."""
    columns = rng.sample(rel.columns, rng.randint(1, min(2, len(rel.columns))))
    names = tuple(f"k{i}" for i in range(len(columns)))
    text = literal_rows(names, random_rows(rng, len(names), 2 + 2 * len(names), (None, 0, 1, 2)))
    pairs = tuple(zip(columns, names, strict=True))
    keys = rng.choice((text, Rows(text, names)))
    pushed = restrict(rel, keys, pairs)
    wanted = [Term(_by_hand(at(rel, End.NEW), pairs, text), PLUS), Term(at(pushed, End.NEW), MINUS)]
    delta, of_pushed = differentiate(rel, changed), differentiate(pushed, changed)
    if delta is None or of_pushed is None:
        assert delta is of_pushed
        return [wanted]
    moved = [Term(_by_hand(delta, pairs, text), WEIGHT), Term(of_pushed, CHANGE)]
    return [wanted, moved]


def _by_hand(rel: Rel, on: tuple[tuple[str, str], ...], keys: str) -> str:
    equal = " AND ".join(f"x.{duck_quote(a)} IS NOT DISTINCT FROM k.{duck_quote(b)}" for a, b in on)
    text = Term(rel, PLUS).text
    return f"SELECT * FROM ({text}) x WHERE EXISTS (SELECT 1 FROM {keys} k WHERE {equal})"


# -- mutants --------------------------------------------------------------------------------------

Patch = Callable[[pytest.MonkeyPatch], None]
"""Puts a mutant in its place."""


def caught(
    law: Law, patch: Patch, *, settled: bool = False, shape: str = "", seeds: int = 400
) -> bool:
    """Whether a search finds a difference; what the mutant does not reach is not run."""
    search = Search(range(seeds), 4, 3, settled=settled, shape=tuple(shape.split()))
    for seed in search.seeds:
        rel = search.relation(seed)
        sound = search.statement(law, rel, seed)
        with pytest.MonkeyPatch.context() as m:
            patch(m)
            mutated = search.statement(law, rel, seed)
        if mutated != sound and search.differs(mutated, seed):
            return True
    return False
