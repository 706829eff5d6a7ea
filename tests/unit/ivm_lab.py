"""The oracle of the algebra: laws over random relations on small bags, asked of DuckDB.

`Q(new) − Q(old)` is compared with the derivative as weighted bags; nothing of ours computes the
wanted side but the rendering, which DuckDB then runs. A law is one statement for each relation,
prepared once and run on several worlds: its rows are what differs.
"""

from __future__ import annotations

import atexit
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from random import Random
from typing import TypeVar

import duckdb

from dt_jupyter.ivm import (
    Aggregate,
    Call,
    End,
    Expr,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Sizes,
    Top,
    Union,
    Window,
    WindowCall,
    arranged,
    at,
    col,
    differentiate,
    directed,
    expr,
    restrict,
    rewrite,
    simplify,
    walk,
)
from dt_jupyter.ivm.simplify import PASSES
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql.emit.render import Renderer

T = TypeVar("T")
Row = tuple[int | None, ...]
SOURCES: Mapping[str, tuple[str, ...]] = {
    "s": ("a", "b"),
    "t": ("a", "b"),
    "u": ("x y", 'q"`', "select"),
}


def duck_quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- Spark's words as DuckDB's ---------------------------------------------------------------------

_QUOTED = re.compile(r'"(?:[^"]|"")*"|`((?:[^`]|``)*)`')
_WORDS = (
    ("<=>", "IS NOT DISTINCT FROM"),
    ("LEFT SEMI JOIN", "SEMI JOIN"),
    ("LEFT ANTI JOIN", "ANTI JOIN"),
)
_VIEW = re.compile(
    r'LATERAL VIEW( OUTER)? (POS)?EXPLODE\((.*?)\) e AS ("[^"]*"(?:, "[^"]*")*)', re.IGNORECASE
)
_ARRAY = re.compile(r"\bARRAY\(", re.IGNORECASE)


def to_duck(text: str) -> str:
    """Spark's spelling of what the renderer writes itself, as DuckDB spells it."""
    text = _QUOTED.sub(_quoted, text)
    for spark, duck in _WORDS:
        text = text.replace(spark, duck)
    return _ARRAY.sub("list_value(", _VIEW.sub(_unnested, text))


def _quoted(name: re.Match[str]) -> str:
    return name[0] if name[0].startswith('"') else duck_quote(name[1].replace("``", "`"))


def _unnested(view: re.Match[str]) -> str:
    outer, pos, array, names = view.groups()
    position = "unnest(range(len(l))), " if pos else ""
    rows = f"LATERAL (SELECT {position}unnest(l) FROM (SELECT {array} AS l)) e({names})"
    return f"LEFT JOIN {rows} ON TRUE" if outer else f", {rows}"


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One DuckDB for the process: making one costs more than all that is asked of it. Its
    optimiser takes longer than it saves on bags of four rows. NULLs are ordered as in Spark."""
    db = duckdb.connect()
    db.execute("SET threads = 1")
    db.execute("PRAGMA disable_optimizer")
    db.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    atexit.register(_close)
    return db


def _close() -> None:
    connection().close()
    connection.cache_clear()


# -- worlds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Each source at both ends; `noise` are rows that came and went within the interval."""

    old: Mapping[str, list[Row]]
    new: Mapping[str, list[Row]]
    noise: Mapping[str, list[Row]] = field(default_factory=dict)

    @property
    def changed(self) -> frozenset[str]:
        return frozenset(s for s in SOURCES if Counter(self.old[s]) != Counter(self.new[s]))

    def delta(self, source: str) -> list[Row]:
        before, after = Counter(self.old[source]), Counter(self.new[source])
        rows = [(*r, 1) for r in (after - before).elements()]
        rows += [(*r, -1) for r in (before - after).elements()]
        for row in self.noise.get(source, []):
            rows += [(*row, 1), (*row, -1)]
        return rows

    def rows(self, source: str, end: End) -> list[Row]:
        if end is End.DELTA:
            return self.delta(source)
        return list((self.old if end is End.OLD else self.new)[source])


def literal_rows(columns: tuple[str, ...], rows: list[Row]) -> str:
    """A relation of integers, written out."""
    listed = rows or [(None,) * len(columns)]
    values = ", ".join(
        "(" + ", ".join("NULL::INTEGER" if v is None else str(v) for v in r) + ")" for r in listed
    )
    names = ", ".join(map(duck_quote, columns))
    return f"(SELECT * FROM (VALUES {values}) v({names}){'' if rows else ' WHERE FALSE'})"


def _columns(source: str, end: End) -> tuple[str, ...]:
    return (*SOURCES[source], WEIGHT) if end is End.DELTA else SOURCES[source]


@dataclass(frozen=True)
class Duck:
    """The relations of one world, written out, as DuckDB reads them."""

    world: World

    def place(self, scan: Scan) -> str:
        rows = self.world.rows(scan.source, scan.end)
        return literal_rows(_columns(scan.source, scan.end), rows)

    def rows(self, rel: Rel) -> list[Row]:
        """The rows of a relation, in the order of its columns."""
        columns = ", ".join(duck_quote(c) for c in rel.columns)
        text = Renderer(self.place, quote=duck_quote)(rel)
        found = connection().execute(to_duck(f"SELECT {columns} FROM ({text})")).fetchall()
        return [tuple(r) for r in found]

    def bag(self, rel: Rel) -> Counter[Row]:
        return Counter(self.rows(rel))

    def weights(self, rel: Rel | None) -> dict[Row, int]:
        """A weighted relation summed up, zeros dropped."""
        total: Counter[Row] = Counter()
        for *row, weight in self.rows(rel) if rel is not None else []:
            assert weight in (1, -1), weight
            total[tuple(row)] += weight
        return {r: w for r, w in total.items() if w}


VALUES = (None, 0, 0, 1, 1, 2)


def random_rows(
    rng: Random, width: int, most: int, values: Sequence[int | None] = VALUES
) -> list[Row]:
    """Few rows of few values: most keys meet, many rows are equal, many values NULL."""
    return [tuple(rng.choice(values) for _ in range(width)) for _ in range(rng.randint(0, most))]


def random_world(rng: Random, changed: frozenset[str]) -> World:
    """The sources of `changed` lose and gain rows, or stay; some have rows that came and went."""
    old, new, noise = {}, {}, {}
    for source, columns in SOURCES.items():
        old[source] = random_rows(rng, len(columns), 5)
        new[source] = list(old[source])
        if source in changed:
            if rng.random() < 0.8:
                kept = [r for r in old[source] if rng.random() < 0.6]
                new[source] = kept + random_rows(rng, len(columns), 3)
            noise[source] = random_rows(rng, len(columns), 1) if rng.random() < 0.3 else []
    return World(old, new, noise)


CHANGES = tuple(frozenset(c) for n in range(1, 4) for c in combinations(sorted(SOURCES), n))
POOL = 30
"""Worlds for each set of changed sources."""


@cache
def pool() -> tuple[World, ...]:
    """Worlds by number, in tables of DuckDB: POOL for each of CHANGES, in that order."""
    rng = Random(1)
    worlds = tuple(random_world(rng, c) for c in CHANGES for _ in range(POOL))
    for source in SOURCES:
        for end in End:
            columns = ("world", *_columns(source, end))
            rows = [(i, *r) for i, w in enumerate(worlds) for r in w.rows(source, end)]
            text = (
                f"CREATE TEMP TABLE {source}_{end} AS SELECT * FROM {literal_rows(columns, rows)}"
            )
            connection().execute(text)
    return worlds


def pooled(scan: Scan) -> str:
    """The relation of a scan in the world $w."""
    return f"(SELECT * FROM {scan.source}_{scan.end} WHERE world = $w)"


# -- laws -----------------------------------------------------------------------------------------


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
            rel = _Maker(rng, self.settled, list(self.shape), aggregates=self.aggregates).rel(depth)
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


# -- random relations -----------------------------------------------------------------------------

_SCALARS: tuple[Callable[[Expr, Expr], Expr], ...] = (
    lambda x, y: x,
    lambda x, y: x,
    lambda x, y: expr("{x} + 1", x=x),
    lambda x, y: expr("COALESCE({x}, {y})", x=x, y=y),
    lambda x, y: expr("CASE WHEN {x} > 0 THEN {y} END", x=x, y=y),
    lambda x, y: expr("1"),
)
_PREDICATES: tuple[Callable[[Expr, Expr], Expr], ...] = (
    lambda x, y: expr("{x} > 0", x=x),
    lambda x, y: expr("{x} IS NULL OR {y} = 1", x=x, y=y),
    lambda x, y: expr("{x} = {y}", x=x, y=y),
    lambda x, y: expr("NOT ({x} = 2)", x=x),
    lambda x, y: expr("{x} < {y}", x=x, y=y),
)
_GENERATORS: tuple[tuple[str, int], ...] = (
    ("explode(array({x}, {y}))", 1),
    ("explode(CASE WHEN {x} > 0 THEN array({x}, {y}) WHEN {x} = 0 THEN array() END)", 1),
    ("EXPLODE(CASE WHEN {x} IS NULL THEN ARRAY({y}) END)", 1),
    ("posexplode(CASE WHEN {x} > 0 THEN array({x}, {y}) WHEN {x} = 0 THEN array() END)", 2),
)
_BY_ROW = ("ROW_NUMBER()", "LAG({x})", "LEAD({x}, 1, 0)", "NTILE(2)", "FIRST_VALUE({x})")
_RANKS = ("RANK()", "DENSE_RANK()")
_OVER = ("SUM({x})", "COUNT(*)", "MAX({x})")
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_ROWS = "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
_DIRECTIONS = ("{x}", "{x} ASC", "{x} DESC", "{x} DESC NULLS FIRST", "{x} ASC NULLS LAST")
_KINDS = {
    "project": 3, "filter": 3, "join": 4, "union": 3, "match": 6, "generate": 2, "window": 3,
    "top": 2, "aggregate": 5,
}  # fmt: skip


@dataclass
class _Maker:
    """Makes relations whose column ids are unique, with at most `scans` sources in all and at
    most `ends` operators whose derivative asks for both ends (each doubles what is above)."""

    rng: Random
    settled: bool = False
    shape: list[str] = field(default_factory=list)
    aggregates: bool = False
    scans: int = 5
    ends: int = 3
    ids: int = 0

    def id(self) -> str:
        self.ids += 1
        return f"c{self.ids}"

    def some(self, options: Sequence[T], least: int, most: int) -> tuple[T, ...]:
        """Different ones, as many as there are."""
        count = self.rng.randint(least, most)
        return tuple(self.rng.sample(options, min(count, len(options))))

    def column(self, columns: tuple[str, ...]) -> Expr:
        return col(self.rng.choice(columns))

    def predicate(self, columns: tuple[str, ...]) -> Expr:
        return self.rng.choice(_PREDICATES)(self.column(columns), self.column(columns))

    def rel(self, depth: int) -> Rel:
        if depth == 0:
            return self.rows() if self.rng.random() < 0.15 else self.scan()
        left_out = {"match", "window", "top"} if self.ends < 1 else set()
        left_out |= {"join", "union", "match"} if self.scans < 2 else set()
        left_out |= set() if self.aggregates else {"aggregate"}
        kinds = [k for k in _KINDS if k not in left_out]
        (kind,) = self.rng.choices(kinds, [_KINDS[k] for k in kinds])
        kind = self.shape.pop(0) if self.shape else kind
        self.ends -= kind in ("match", "window", "top")
        make: Callable[[int], Rel] = getattr(self, kind)
        return make(depth - 1)

    def scan(self) -> Rel:
        source = self.rng.choice(sorted(SOURCES))
        self.scans -= 1
        return Scan(source, tuple((self.id(), c) for c in SOURCES[source]))

    def rows(self) -> Rel:
        self.scans -= 1
        values = random_rows(self.rng, 2, 2) or [(1, None)]
        listed = ", ".join(
            f"({'CAST(NULL AS INT)' if x is None else x}, {y or 0})" for x, y in values
        )
        return Rows(f"(VALUES {listed})", (self.id(), self.id()))

    def project(self, depth: int) -> Rel:
        below = self.rel(depth)
        items = [
            (self.id(), self.rng.choice(_SCALARS)(*(self.column(below.columns) for _ in "xy")))
            for _ in range(self.rng.randint(1, 3))
        ]
        return Project(below, tuple(items))

    def filter(self, depth: int) -> Rel:
        below = self.rel(depth)
        count = self.rng.randint(1, 2)
        return Filter(below, tuple(self.predicate(below.columns) for _ in range(count)))

    def members(self, depth: int) -> tuple[Rel, Rel]:
        """One of full depth, on either side."""
        spare = self.scans
        self.scans = max(1, spare // 2)
        used = self.scans
        first = self.rel(depth)
        self.scans = max(1, spare - used + self.scans)
        second = self.rel(self.rng.randint(0, depth))
        return (first, second) if self.rng.random() < 0.5 else (second, first)

    def join(self, depth: int) -> Rel:
        members = self.members(depth)
        columns = tuple(c for m in members for c in m.columns)
        pairs = 0 if self.rng.random() < 0.15 else self.rng.randint(1, 2)
        first, second = (m.columns for m in members)
        on = [expr("{x} = {y}", x=self.column(first), y=self.column(second)) for _ in range(pairs)]
        on += [self.predicate(columns) for _ in range(self.rng.randint(0, 1))]
        return Join(members, tuple(on))

    def match(self, depth: int) -> Rel:
        left, right = self.members(depth)
        pairs = 0 if self.rng.random() < 0.15 else self.rng.randint(1, 2)
        both = (*left.columns, *right.columns)
        read = self.rng.choice((None, None, left.columns, right.columns, both))
        return Match(
            left,
            right,
            self.rng.choice(tuple(MatchKind)),
            tuple(
                zip(
                    self.some(left.columns, pairs, pairs),
                    self.some(right.columns, pairs, pairs),
                    strict=False,
                )
            ),
            (self.predicate(read),) if read else (),
        )

    def union(self, depth: int) -> Rel:
        members = self.members(depth)
        width = min(len(m.columns) for m in members)
        cut = tuple(
            m
            if len(m.columns) == width
            else Project(m, tuple((self.id(), col(c)) for c in m.columns[:width]))
            for m in members
        )
        return Union(cut, tuple(self.id() for _ in range(width)))

    def generate(self, depth: int) -> Rel:
        below = self.rel(depth)
        text, width = self.rng.choice(_GENERATORS)
        generator = expr(text, x=self.column(below.columns), y=self.column(below.columns))
        ids = tuple(self.id() for _ in range(width))
        return Generate(below, generator, ids, outer=self.rng.random() < 0.5)

    def window(self, depth: int) -> Rel:
        below = self.rel(depth)
        by = self.some(below.columns, 0, 2)
        calls = tuple(self.call(below.columns) for _ in range(self.rng.randint(1, 3)))
        return Window(below, by, calls)

    def call(self, columns: tuple[str, ...]) -> WindowCall:
        """As the binder makes them: what depends on the order of rows that tie is `total`."""
        form = self.rng.choice((_BY_ROW, _RANKS, _OVER))
        function = expr(self.rng.choice(form), x=self.column(columns))
        if form is _RANKS:
            return WindowCall(self.id(), function, self.order(columns, 1, 2), "", False, False)
        if form is _BY_ROW:
            return WindowCall(self.id(), function, self.total(columns, 0), "", True, True)
        frame = self.rng.choice(("", _ROWS, _WHOLE))
        if frame == _WHOLE:
            return WindowCall(self.id(), function, (), frame, True, False)
        if frame == _ROWS:
            return WindowCall(self.id(), function, self.total(columns, 1), frame, True, True)
        return WindowCall(self.id(), function, self.order(columns, 1, 2), "", False, False)

    def aggregate(self, depth: int) -> Rel:
        below = self.rel(depth)
        keys = self.some(below.columns, 0, 2)
        count = self.rng.randint(0 if keys else 1, 2)
        return Aggregate(below, keys, tuple((self.id(), self.called(below)) for _ in range(count)))

    def called(self, below: Rel) -> Call:
        name = self.rng.choice(("sum", "count", "min", "max"))
        x, distinct = self.column(below.columns), self.rng.random() < 0.2
        form = f"{name}(DISTINCT {{x}})" if distinct else f"{name}({{x}})"
        return Call(name, (x,), expr(form, x=x), distinct)

    def top(self, depth: int) -> Rel:
        below = self.rel(depth)
        order = self.total(below.columns, 0)
        count = self.rng.choice((None, 0, 1, 1, 2, 3))
        return Top(below, order, count, self.rng.choice((0, 0, 1)))

    def total(self, columns: tuple[str, ...], least: int) -> tuple[Expr, ...]:
        """An order that rows may tie in; settled, one that all columns decide."""
        return self.order(
            columns, len(columns) if self.settled else least, len(columns) if self.settled else 2
        )

    def order(self, columns: tuple[str, ...], least: int, most: int) -> tuple[Expr, ...]:
        return tuple(
            expr(self.rng.choice(_DIRECTIONS), x=col(c)) for c in self.some(columns, least, most)
        )
