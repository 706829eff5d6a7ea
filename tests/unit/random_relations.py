"""Random relations of the algebra over the sources of small worlds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    Call,
    Expr,
    Filter,
    Generate,
    Infix,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    WindowCall,
    col,
    equality,
    expr,
)
from tests.unit.small_worlds import SOURCES, random_rows

T = TypeVar("T")

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
    equality,
    lambda x, y: expr("NOT ({x} = 2)", x=x),
    lambda x, y: Infix(x, "<", y),
)
_GENERATORS: tuple[tuple[str, str, int], ...] = (
    ("explode", "array({x}, {y})", 1),
    ("explode", "CASE WHEN {x} > 0 THEN array({x}, {y}) WHEN {x} = 0 THEN array() END", 1),
    ("EXPLODE", "CASE WHEN {x} IS NULL THEN ARRAY({y}) END", 1),
    ("posexplode", "CASE WHEN {x} > 0 THEN array({x}, {y}) WHEN {x} = 0 THEN array() END", 2),
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
class Maker:
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
        on = [equality(self.column(first), self.column(second)) for _ in range(pairs)]
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
        name, text, width = self.rng.choice(_GENERATORS)
        array = expr(text, x=self.column(below.columns), y=self.column(below.columns))
        ids = tuple(self.id() for _ in range(width))
        return Generate(below, Call(name, (array,)), ids, outer=self.rng.random() < 0.5)

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

    def called(self, below: Rel) -> AggregateCall:
        name = self.rng.choice(("sum", "count", "min", "max"))
        x, distinct = self.column(below.columns), self.rng.random() < 0.2
        form = f"{name}(DISTINCT {{x}})" if distinct else f"{name}({{x}})"
        return AggregateCall(name, (x,), expr(form, x=x), distinct)

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
