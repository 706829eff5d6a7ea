"""The relation algebra: a closed set of operators over bags of rows (`OPERATORS` lists them)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from operator import is_
from typing import Any

from dt_jupyter.ivm.expr import Call, Expr, Infix, Literal, col
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.model.hidden import WEIGHT

SETTLING = frozenset({
    "collect_list", "array_agg", "collect_set", "min_by", "max_by", "first", "first_value", "last",
    "last_value", "any_value", "mode", "listagg",
})  # fmt: skip
"""Aggregates whose order a query leaves open: the reader of queries gives their text one."""


class End(StrEnum):
    """The ends of a change interval, and the interval between them."""

    OLD = "old"
    NEW = "new"
    DELTA = "delta"


@dataclass(frozen=True)
class Rel:
    """A bag of rows; `columns` are the ids of its columns, in order."""

    @property
    def columns(self) -> tuple[str, ...]:
        raise TypeError(type(self).__name__)

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """The relations in its fields `input`, `left` and `right`, or `members`."""
        own = self.__dict__
        return own.get("members") or tuple(own[f] for f in _INPUTS if f in own)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        own = self.__dict__
        if all(map(is_, inputs, self.inputs)):
            return self
        if "members" in own:
            return replace(self, members=inputs)  # type: ignore[call-arg]
        return replace(self, **dict(zip((f for f in _INPUTS if f in own), inputs, strict=True)))


_INPUTS = ("input", "left", "right")


@dataclass(frozen=True)
class Scan(Rel):
    """A source at one end of the interval. `reads` pairs the id of each column with its name in
    the source. At `End.DELTA` the rows are the changes, and `__dt_w` is their weight (+1, −1).
    `casts` pairs names in the source with the type that their columns are read as."""

    source: str
    reads: tuple[tuple[str, str], ...]
    end: End = End.NEW
    casts: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        ids = tuple(i for i, _ in self.reads)
        return (*ids, WEIGHT) if self.end is End.DELTA else ids


@dataclass(frozen=True)
class Project(Rel):
    """π: one column for each item (id, expression)."""

    input: Rel
    items: tuple[tuple[str, Expr], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(i for i, _ in self.items)


@dataclass(frozen=True)
class Filter(Rel):
    """σ: the rows for which every conjunct is true."""

    input: Rel
    on: tuple[Expr, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True)
class Join(Rel):
    """⋈: the inner join of all `members` on the conjuncts `on`; none makes it a cross product."""

    members: tuple[Rel, ...]
    on: tuple[Expr, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(c for m in self.members for c in m.columns)


@dataclass(frozen=True)
class Union(Rel):
    """Union all, by position; `ids` name the result's columns."""

    members: tuple[Rel, ...]
    ids: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.ids


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate call: `function` in lower case with its arguments, and the text of the whole."""

    function: str
    args: tuple[Expr, ...]
    text: Expr
    distinct: bool = False

    @property
    def reads(self) -> frozenset[str]:
        return self.text.columns.union(*(a.columns for a in self.args))


@dataclass(frozen=True)
class Aggregate(Rel):
    """γ: one row for each group of equal `keys` (columns of the input); distinct has no calls.
    Without keys it is one row, also of no rows."""

    input: Rel
    keys: tuple[str, ...]
    calls: tuple[tuple[str, AggregateCall], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, *(i for i, _ in self.calls))


class MatchKind(StrEnum):
    """What a row of the left side becomes: rows with its partners, itself, or itself."""

    LEFT = "LEFT"
    SEMI = "LEFT SEMI"
    ANTI = "LEFT ANTI"


@dataclass(frozen=True)
class Match(Rel):
    """⟕ ⋉ ▷: a row of `left` with each of its partners in `right`, or NULLs where it has none
    (LEFT); the row if it has a partner (SEMI); the row if it has none (ANTI).

    `pairs` are equal columns (left, right), `on` further conjuncts over both sides. The right and
    the full outer join are made of these.
    """

    left: Rel
    right: Rel
    kind: MatchKind
    pairs: tuple[tuple[str, str], ...]
    on: tuple[Expr, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        joined = self.kind is MatchKind.LEFT
        return (*self.left.columns, *(self.right.columns if joined else ()))


@dataclass(frozen=True)
class WindowCall:
    """A window function: its call, the order of its rows and its frame as SQL has them.

    `total`: rows that tie in `order` are put in the order of their contents, so that the call has
    one value for one bag of rows; `settles`: where the query itself leaves that value open.
    """

    id: str
    function: Expr
    order: tuple[Expr, ...]
    frame: str
    total: bool
    settles: bool

    @property
    def reads(self) -> frozenset[str]:
        return self.function.columns.union(*(e.columns for e in self.order))


@dataclass(frozen=True)
class Window(Rel):
    """Every row with `calls` over the partitions of equal columns `partition`; none of them makes
    one partition of all rows."""

    input: Rel
    partition: tuple[str, ...]
    calls: tuple[WindowCall, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(c.id for c in self.calls))


@dataclass(frozen=True)
class Generate(Rel):
    """Every row with each row that the generator makes of it (LATERAL VIEW); `outer` keeps a row
    for which it makes none. `types` are those of the columns `ids`."""

    input: Rel
    generator: Expr
    ids: tuple[str, ...]
    outer: bool = False
    types: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *self.ids)


@dataclass(frozen=True)
class Top(Rel):
    """The first `count` rows by `order` (each an expression with its direction), after `skip`;
    rows that tie are taken in the order of their contents."""

    input: Rel
    order: tuple[Expr, ...]
    count: int | None
    skip: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


@dataclass(frozen=True)
class Rows(Rel):
    """Rows that are written in the query; `text` is a relation whose columns are `ids`, of
    `types`."""

    text: str
    ids: tuple[str, ...]
    types: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.ids


@dataclass(frozen=True)
class Restrict(Rel):
    """⋉: the rows whose columns match a row of the relation `keys`, NULL-safe; `keys` is the name
    of a materialised relation, or one to be computed.

    `on` pairs columns of the input with columns of `keys`. Made by rules, never by the
    reader of queries.
    """

    input: Rel
    keys: str | Rel
    on: tuple[tuple[str, str], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return self.input.columns


OPERATORS: tuple[type[Rel], ...] = (
    Scan, Rows, Project, Filter, Join, Match, Union, Generate, Window, Top, Aggregate, Restrict,
)  # fmt: skip


def walk(rel: Rel) -> Iterator[Rel]:
    """The node and all below it, parents first."""
    yield rel
    for child in rel.inputs:
        yield from walk(child)


def scans(rel: Rel) -> tuple[Scan, ...]:
    return tuple(n for n in walk(rel) if isinstance(n, Scan))


def rewrite(rel: Rel, rule: Callable[[Rel], Rel]) -> Rel:
    """The rule applied to every node, leaves first."""
    return rule(rel.with_inputs(tuple(rewrite(i, rule) for i in rel.inputs)))


TypesOf = Callable[[Rel], dict[str, str]]
"""The Spark type of each column of a relation."""


def at(rel: Rel, end: End) -> Rel:
    """The relation with its sources read at that end."""
    return rewrite(rel, lambda n: replace(n, end=end) if isinstance(n, Scan) else n)


_MONOTONE = PerOperator[bool](
    "monotone",
    {
        Scan: True, Rows: True, Project: True, Filter: True, Join: True, Match: False, Union: True,
        Generate: True, Window: False, Top: False, Aggregate: False, Restrict: True,
    },
)  # fmt: skip


def monotone(rel: Rel) -> bool:
    """Whether rows added to the sources only ever add rows."""
    return all(_MONOTONE[type(n)] for n in walk(rel))


def _of(expressions: Iterable[Expr]) -> frozenset[str]:
    return frozenset[str]().union(*(e.columns for e in expressions))


_READS = PerOperator[Callable[[Any], frozenset[str]]](
    "reads",
    dict.fromkeys((Scan, Rows, Union), lambda r: frozenset())
    | {
        Project: lambda r: _of(e for _, e in r.items),
        Filter: lambda r: _of(r.on),
        Join: lambda r: _of(r.on),
        Match: lambda r: _of(r.on).union(*r.pairs),
        Generate: lambda r: r.generator.columns,
        Window: lambda r: frozenset(r.partition).union(*(c.reads for c in r.calls)),
        Top: lambda r: _of(r.order),
        Aggregate: lambda r: frozenset(r.keys).union(*(c.reads for _, c in r.calls)),
        Restrict: lambda r: frozenset(a for a, _ in r.on),
    },
)


def own_reads(rel: Rel) -> frozenset[str]:
    """The columns of its inputs that a node computes, decides or orders by; not those that it
    passes on."""
    return _READS[type(rel)](rel)


_COMBINES = PerOperator[bool](
    "combines",
    {
        Scan: False, Rows: False, Project: False, Filter: False, Join: True, Match: True,
        Union: False, Generate: False, Window: False, Top: False, Aggregate: False,
        Restrict: False,
    },
)  # fmt: skip


def combines(rel: Rel) -> bool:
    """Whether a row of the node may have the values of rows of several inputs."""
    return _COMBINES[type(rel)]


def _fixes_nothing(rel: Rel) -> bool:
    return False


def _fixes_ties(rel: Rel) -> bool:
    return True


def _sample_settles(rel: Rel) -> bool:
    assert isinstance(rel, Filter | Join | Match)
    return any(is_sample(p) for p in rel.on)


def _window_settles(rel: Rel) -> bool:
    assert isinstance(rel, Window)
    return any(c.settles for c in rel.calls)


def _aggregate_settles(rel: Rel) -> bool:
    assert isinstance(rel, Aggregate)
    return any(c.function in SETTLING for _, c in rel.calls)


_SETTLES = PerOperator[Callable[[Rel], bool]](
    "settles",
    dict.fromkeys((Scan, Rows, Project, Union, Generate, Restrict), _fixes_nothing)
    | dict.fromkeys((Filter, Join, Match), _sample_settles)
    | {Window: _window_settles, Top: _fixes_ties, Aggregate: _aggregate_settles},
)


_SAMPLE, _BUCKETS = Literal("'sample'"), 1_000_000_000


def sample_condition(columns: tuple[str, ...], seed: int, share: Decimal) -> Expr:
    """Takes a share of the rows by their contents and the seed: which ones a query leaves open."""
    hashed = Call("XXHASH64", (_SAMPLE, Literal(f"{seed}L"), *map(col, columns)))
    bucket = Call("PMOD", (hashed, Literal(f"{_BUCKETS}L")))
    return Infix(bucket, "<", Literal(str(int(share * _BUCKETS))))


def is_sample(condition: Expr) -> bool:
    """Whether a condition takes rows as a sample does."""
    match condition:
        case Infix(left=Call("PMOD", args=(Call("XXHASH64", args=(first, *_)), *_))):
            return first == _SAMPLE
    return False


def settles(rel: Rel) -> bool:
    """Whether the rows depend on an order that the query leaves open, and that is fixed here."""
    return any(_SETTLES[type(n)](n) for n in walk(rel))


def key_relations(rel: Rel) -> tuple[Rel, ...]:
    """The relations of keys that restrictions still have to compute, those of keys first."""
    found: dict[Rel, None] = {}
    seen: set[int] = set()

    def visit(node: Rel) -> None:
        if id(node) in seen:  # the same restrictions share their keys, which restrict others
            return
        seen.add(id(node))
        if isinstance(node, Restrict) and isinstance(node.keys, Rel) and id(node.keys) not in seen:
            visit(node.keys)
            found[node.keys] = None
        for child in node.inputs:
            visit(child)

    visit(rel)
    return tuple(found)


def with_keys(rel: Rel, names: Mapping[Rel, str]) -> Rel:
    """The relation with relations of keys replaced by the names of what was computed."""
    known: dict[int, str | Rel] = {}

    def rule(node: Rel) -> Rel:
        if isinstance(node, Restrict) and isinstance(node.keys, Rel):
            if id(node.keys) not in known:
                known[id(node.keys)] = names.get(node.keys, node.keys)
            return replace(node, keys=known[id(node.keys)])
        return node

    return rewrite(rel, rule)
