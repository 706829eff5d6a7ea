"""What order says of the rows that a statement needs: those that compare otherwise with one row of
a change than with another, and the first ones of an order.

A definition that compares its rows with a value of all of them (an average, a total) has that
value's change joined to every row; but a row that is above the old value and the new one is as it
was. Of a LIMIT only the rows up to the last one taken, and those that tie with it, matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.ivm import (
    Aggregate,
    Column,
    End,
    Expr,
    Filter,
    Generate,
    Infix,
    Join,
    Match,
    PerOperator,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    SortOrder,
    Top,
    Union,
    Window,
    own_reads,
    places,
    walk,
)
from dt_jupyter.lake import ValueInterval
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh.arrow_filter import filtered

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_DIGITS = 38


# -- rows compared with a change -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChangeComparison:
    """Rows of a scan are joined to those of the change `by` whose `value` is less than their
    `name`, or else (`above` is false) more, perhaps or equal. `cancels`: nothing else is read of
    the change, so that a row that all of its rows are joined to in the same way counts as the sum
    of their weights."""

    scan: Scan
    name: str
    above: bool
    by: Scan
    value: str
    cancels: bool

    def interval(self, change: pa.Table) -> ValueInterval | None:
        """The values of `name` in rows that matter; None: in all of them."""
        import pyarrow.compute as pc

        rows = change.filter(pc.is_valid(change[self.value]))
        if not rows.num_rows:
            return None
        ends = pc.min_max(rows[self.value])
        first, last = ends["min"], ends["max"]
        if self.cancels and pc.sum(rows[WEIGHT]).as_py() == 0:
            return ValueInterval(first, last)
        return ValueInterval(first, None) if self.above else ValueInterval(None, last)


def find_comparisons(rel: Rel) -> list[ChangeComparison]:
    """Those in a relation of changes, whose equal rows may cancel."""
    return list(_comparisons(rel, frozenset(rel.columns), linear=True))


def is_of_kind(interval: ValueInterval, type_: pa.DataType) -> bool:
    """Whether the ends are compared with a column of the type by what its values are."""
    ends = [end for end in (interval.least, interval.most) if end is not None]
    return all(are_alike(type_, end.type) for end in ends)


def are_alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether Spark compares values of the types by what they are, as Arrow does."""
    from pyarrow import types as t

    if t.is_decimal(one) and t.is_decimal(other):
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return bool(whole + max(one.scale, other.scale) <= _MOST_DIGITS)
    return bool(one == other or (t.is_integer(one) and t.is_integer(other)))


def _comparisons(rel: Rel, read: frozenset[str], *, linear: bool) -> Iterator[ChangeComparison]:
    """`read` are the columns that matter above, `linear` whether equal rows may cancel there."""
    if isinstance(rel, Join):
        yield from _of_join(rel, read, linear)
    for below, columns, alike in _BELOW[type(rel)](rel, read):
        yield from _comparisons(below, columns, linear=linear and alike)


def _of_join(join: Join, read: frozenset[str], linear: bool) -> Iterator[ChangeComparison]:
    for predicate in join.on:
        match predicate:
            case Infix(Column(left), "<" | "<=" | ">" | ">=" as sign, Column(right)):
                sides = ((left, right, sign[0] == ">"), (right, left, sign[0] == "<"))
            case _:
                continue
        for mine, other, above in sides:
            by = next((m for m in join.members if other in m.columns), None)
            of = next((m for m in join.members if mine in m.columns), None)
            if not isinstance(by, Scan) or by.end is not End.DELTA or of is None or of is by:
                continue
            others = (p.columns for p in join.on if p is not predicate)
            seen = read.union(*others) & (set(by.columns) - {WEIGHT})
            value = dict(by.reads)[other]
            for scan, name in places(of, mine):
                yield ChangeComparison(scan, name, above, by, value, linear and not seen)


_Below = Iterable[tuple[Rel, frozenset[str], bool]]
"""Inputs, what is read of each, and whether rows of it that cancel may be left out."""


def _nothing_below(rel: Rel, read: frozenset[str]) -> _Below:
    return ()


def _all_below(rel: Rel, read: frozenset[str]) -> _Below:
    """Other rows are counted, numbered or ordered by them."""
    return [(i, frozenset(i.columns), False) for i in rel.inputs]


def _below_projection(rel: Rel, read: frozenset[str]) -> _Below:
    assert isinstance(rel, Project)
    items = [(i, e) for i, e in rel.items if i in read]
    linear = all(e.column == WEIGHT for i, e in rel.items if WEIGHT in e.columns)
    return [(rel.input, frozenset(c for _, e in items for c in e.columns), linear)]


def _below_passing(rel: Rel, read: frozenset[str]) -> _Below:
    """Of an operator that passes on what it does not read."""
    columns = own_reads(rel)
    linear = WEIGHT not in columns
    return [(i, (read | columns) & set(i.columns), linear) for i in rel.inputs]


def _below_match(rel: Rel, read: frozenset[str]) -> _Below:
    """Each row of the left side is independent."""
    assert isinstance(rel, Match)
    columns = read | own_reads(rel)
    right = frozenset(rel.right.columns)
    return [(rel.left, columns & set(rel.left.columns), True), (rel.right, right, False)]


def _below_union(rel: Rel, read: frozenset[str]) -> _Below:
    assert isinstance(rel, Union)
    at = [i for i, c in enumerate(rel.ids) if c in read]
    return [(m, frozenset(m.columns[i] for i in at), True) for m in rel.members]


def _below_aggregate(rel: Rel, read: frozenset[str]) -> _Below:
    """The keys of a change are those of what does not cancel, and may be more."""
    assert isinstance(rel, Aggregate)
    if rel.calls or not rel.keys:
        return _all_below(rel, read)
    return [(rel.input, frozenset(rel.keys), True)]


def _of(conditions: Iterable[Expr]) -> frozenset[str]:
    return frozenset(c for p in conditions for c in p.columns)


_BELOW = PerOperator[Callable[[Rel, frozenset[str]], _Below]](
    "what cancels",
    dict.fromkeys((Filter, Join, Generate, Restrict), _below_passing)
    | dict.fromkeys((Scan, Rows), _nothing_below)
    | dict.fromkeys((Window, Top), _all_below)
    | {
        Project: _below_projection,
        Match: _below_match,
        Union: _below_union,
        Aggregate: _below_aggregate,
    },
    otherwise=_all_below,
)


# -- the first rows of an order --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FirstRows:
    """Of the rows of a scan that the conditions, over its columns by their ids, let pass only the
    first `count` by the column `name` matter, and those that tie with the last of them."""

    scan: Scan
    name: str
    descending: bool
    nulls_first: bool
    count: int
    conditions: tuple[Expr, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that identify these rows."""
        names = dict(self.scan.reads)
        read = (names[c] for c in sorted(_of(self.conditions)))
        return tuple(dict.fromkeys((self.name, *read)))

    def interval(self, rows: pa.Table) -> ValueInterval | None:
        """The values of `name` in rows that matter, of all of them, with the columns `reads`;
        None: that is unknown."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = dict(self.scan.reads)
        for condition in self.conditions:
            passed = filtered(rows, {c: names[c] for c in condition.columns}, condition)
            if passed is None:
                return None
            rows = passed
        values = rows[self.name]
        before = values.null_count if self.nulls_first else 0
        rest, known = self.count - before, pc.drop_null(values)
        if not 0 < rest < len(known):
            return None
        direction = "descending" if self.descending else "ascending"
        by: Any = [(self.name, direction)]
        first = pc.select_k_unstable(pa.table({self.name: known}), k=rest, sort_keys=by)
        last = known[first[rest - 1].as_py()]
        nulls = self.nulls_first
        return (
            ValueInterval(last, None, nulls)
            if self.descending
            else ValueInterval(None, last, nulls)
        )


def find_first_rows(rel: Rel) -> list[FirstRows]:
    """Of each LIMIT with an order by a column that it takes from a scan."""
    tops = (n for n in walk(rel) if isinstance(n, Top))
    return [found for top in tops if (found := _first_rows(top)) is not None]


def _first_rows(top: Top) -> FirstRows | None:
    first = top.order[0] if top.order else None
    if not isinstance(first, SortOrder) or first.value.column is None or not top.count:
        return None
    column = first.value.column
    conditions: list[Expr] = []
    below = top.input
    while isinstance(below, Project | Filter):
        if isinstance(below, Filter):
            conditions += below.on
        else:
            passed = {i: c for i, e in below.items if (c := e.column) is not None}
            if column not in passed or not _of(conditions) <= passed.keys():
                return None
            column, conditions = passed[column], [c.renamed(passed) for c in conditions]
        below = below.input
    if not isinstance(below, Scan) or below.end is End.DELTA:
        return None
    name, count = dict(below.reads)[column], top.skip + top.count
    return FirstRows(below, name, first.descending, first.nulls_first, count, tuple(conditions))
