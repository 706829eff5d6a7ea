"""The oracle of the algebra: random relations over small bags, evaluated by DuckDB.

`Q(new) − Q(old)` is compared with the derivative as weighted bags; nothing of ours computes the
wanted side but the rendering, which DuckDB then runs.
"""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
from hypothesis import strategies as st

from dt_jupyter.ivm import (
    WEIGHT,
    End,
    Expr,
    Filter,
    Join,
    Project,
    Rel,
    Scan,
    Union,
    at,
    col,
    differentiate,
    expr,
)
from dt_jupyter.sql.render import Renderer

Row = tuple[int | None, ...]
SOURCES: Mapping[str, tuple[str, ...]] = {
    "s": ("a", "b"), "t": ("a", "b"), "u": ("x y", 'q"`', "select"),
}  # fmt: skip
VALUES = st.one_of(st.none(), st.integers(0, 2))
BAGS = {
    s: st.lists(st.tuples(*[VALUES] * len(columns)), max_size=4) for s, columns in SOURCES.items()
}


def duck_quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_duck(text: str) -> str:
    """Spark's spelling of what the renderer writes itself, as DuckDB spells it."""
    return text.replace("<=>", "IS NOT DISTINCT FROM").replace("LEFT SEMI JOIN", "SEMI JOIN")


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


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One DuckDB for the process: making one costs more than all that is asked of it."""
    db = duckdb.connect()
    db.execute("SET threads = 1")
    atexit.register(_close)
    return db


def _close() -> None:
    connection().close()
    connection.cache_clear()


def literal_rows(columns: tuple[str, ...], rows: list[Row]) -> str:
    """A relation of integers, written out."""
    listed = rows or [(None,) * len(columns)]
    values = ", ".join(
        "(" + ", ".join("NULL::INTEGER" if v is None else str(v) for v in r) + ")" for r in listed
    )
    names = ", ".join(map(duck_quote, columns))
    return f"(SELECT * FROM (VALUES {values}) v({names}){'' if rows else ' WHERE FALSE'})"


@dataclass
class Duck:
    """The relations of one world, as DuckDB reads them."""

    world: World
    keys: str = ""

    def put_keys(self, columns: tuple[str, ...], rows: list[Row]) -> None:
        self.keys = literal_rows(columns, rows)

    def place(self, scan: Scan) -> str:
        columns = SOURCES[scan.source]
        if scan.end is End.DELTA:
            return literal_rows((*columns, WEIGHT), self.world.delta(scan.source))
        state = self.world.old if scan.end is End.OLD else self.world.new
        return literal_rows(columns, state[scan.source])

    def rows(self, rel: Rel) -> list[Row]:
        """The rows of a relation, in the order of its columns."""
        columns = ", ".join(duck_quote(c) for c in rel.columns)
        text = Renderer(self.place, quote=duck_quote, keys=lambda _: self.keys)(rel)
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


def signed(new: Counter[Row], old: Counter[Row]) -> dict[Row, int]:
    """new − old as weighted rows."""
    return {r: w for r in new.keys() | old.keys() if (w := new[r] - old[r])}


def check_derivative(rel: Rel, world: World, changed: frozenset[str] | None = None) -> None:
    """Δ(Q) = Q₁ − Q₀"""
    duck = Duck(world)
    wanted = signed(duck.bag(at(rel, End.NEW)), duck.bag(at(rel, End.OLD)))
    sources = world.changed | set(world.noise) if changed is None else changed
    delta = differentiate(rel, sources)
    if delta is not None:
        assert delta.columns == (*rel.columns, WEIGHT)
    assert duck.weights(delta) == wanted


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


@dataclass
class _Maker:
    """Draws relations whose column ids are unique, with at most `scans` sources in all."""

    draw: Any
    scans: int
    ids: int = 0

    def id(self) -> str:
        self.ids += 1
        return f"c{self.ids}"

    def one(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def column(self, columns: tuple[str, ...]) -> Expr:
        return col(self.one(columns))

    def predicate(self, columns: tuple[str, ...]) -> Expr:
        return self.one(_PREDICATES)(self.column(columns), self.column(columns))

    def rel(self, depth: int) -> Rel:
        kinds = ["scan"] if depth == 0 else ["project", "filter", "join", "union"]
        kind = self.one(kinds)
        if kind in ("join", "union") and self.scans < 2:
            kind = "filter"
        return {
            "scan": self.scan, "project": self.project, "filter": self.filter,
            "join": self.join, "union": self.union,
        }[kind](depth - 1)  # fmt: skip

    def scan(self, _: int) -> Rel:
        source = self.one(sorted(SOURCES))
        self.scans -= 1
        return Scan(source, tuple((self.id(), c) for c in SOURCES[source]))

    def project(self, depth: int) -> Rel:
        below = self.rel(depth)
        count = self.draw(st.integers(1, 3))
        items = [
            (self.id(), self.one(_SCALARS)(self.column(below.columns), self.column(below.columns)))
            for _ in range(count)
        ]
        return Project(below, tuple(items))

    def filter(self, depth: int) -> Rel:
        below = self.rel(depth)
        count = self.draw(st.integers(1, 2))
        return Filter(below, tuple(self.predicate(below.columns) for _ in range(count)))

    def members(self, depth: int) -> tuple[Rel, ...]:
        spare = self.scans
        self.scans = max(1, spare // 2)
        used = self.scans
        left = self.rel(depth)
        self.scans = spare - used + self.scans
        return left, self.rel(self.draw(st.integers(0, depth)))

    def join(self, depth: int) -> Rel:
        members = self.members(depth)
        columns = tuple(c for m in members for c in m.columns)
        on = [
            expr("{x} = {y}", x=self.column(members[0].columns), y=self.column(members[1].columns))
        ]
        on = on if self.draw(st.integers(0, 5)) else []
        on += [self.predicate(columns) for _ in range(self.draw(st.integers(0, 1)))]
        return Join(members, tuple(on))

    def union(self, depth: int) -> Rel:
        members = self.members(depth)
        width = min(len(m.columns) for m in members)
        cut = tuple(
            m if len(m.columns) == width
            else Project(m, tuple((self.id(), col(c)) for c in m.columns[:width]))
            for m in members
        )  # fmt: skip
        return Union(cut, tuple(self.id() for _ in range(width)))


@st.composite
def relations(draw: Any, depth: int = 5, scans: int = 5) -> Rel:
    """Relations of every operator below an aggregate, up to `depth` levels above their scans."""
    return _Maker(draw, scans).rel(draw(st.integers(1, depth)))


@st.composite
def worlds(draw: Any) -> World:
    """Old and new bags; some sources unchanged, some with rows that came and went."""
    old: dict[str, list[Row]] = {}
    new: dict[str, list[Row]] = {}
    noise: dict[str, list[Row]] = {}
    for source, bags in BAGS.items():
        old[source] = draw(bags)
        if draw(st.integers(0, 3)):
            kept = [r for r in old[source] if draw(st.booleans())]
            new[source] = kept + draw(bags)
        else:
            new[source] = list(old[source])
        if not draw(st.integers(0, 4)):
            noise[source] = [draw(st.tuples(*[VALUES] * len(SOURCES[source])))]
    return World(old, new, noise)
