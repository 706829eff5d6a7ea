"""What a change meets, reduced to what matters before Spark sees any of it.

Rows that are in memory (changes, small tables, what was selected before) lose those that a
condition leaves out, and those without a partner in what they are joined to; what is left selects
the rows of large tables, by a semi join of delta-rs, in the time that Spark takes to begin. A part
without rows is not part of the statement. This is the semi-join reduction of Bernstein
and Chiu (1981), over the members of each inner join, and the sides of an outer, semi or anti join
as far as its rows are the same without those that are left out. What order says goes the same way
(`order_bounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from dt_jupyter.ivm import (
    Aggregate,
    End,
    Expr,
    Filter,
    Generate,
    Join,
    Literal,
    Match,
    MatchKind,
    PerOperator,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    equated,
    origins,
    places,
    scans,
    walk,
)
from dt_jupyter.lake import ValueInterval
from dt_jupyter.refresh.arrow_filter import sieved
from dt_jupyter.refresh.order_bounds import (
    ChangeComparison,
    FirstRows,
    find_comparisons,
    find_first_rows,
    is_of_kind,
)

if TYPE_CHECKING:
    import pyarrow as pa

_NOTHING = (Literal("FALSE"),)


@dataclass(frozen=True)
class Tables:
    """How rows are read: `rows` those in memory of a scan (None: they are not); `select` those of
    a large table with some values in a column, and NULL if so (None: not that way); `comparable`
    the columns of a scan whose values Arrow compares as Spark does; `keys` the values of a column
    of a materialised relation. Of a scan with `many` rows those are better selected that are in an
    interval of a column (`between`), whether or not all could be in memory; `columns` are some
    columns of all its rows."""

    rows: Callable[[Scan], pa.Table | None]
    select: Callable[[Scan, str, pa.ChunkedArray, bool], pa.Table | None]
    comparable: Callable[[Scan], frozenset[str]]
    keys: Callable[[str, str], pa.ChunkedArray | None]
    many: Callable[[Scan], bool] = lambda scan: False
    between: Callable[[Scan, str, ValueInterval], pa.Table | None] = lambda scan, name, interval: (
        None
    )
    columns: Callable[[Scan, Sequence[str]], pa.Table | None] = lambda scan, names: None


@dataclass
class Reduction:
    """The reduction of one stage's relations; `found` has the rows of every scan that was
    replaced, by the id that replaces it, with the original scan."""

    tables: Tables
    found: dict[str, tuple[Scan, pa.Table]] = field(default_factory=dict)
    _asked: dict[object, list[tuple[pa.ChunkedArray, pa.Table]]] = field(default_factory=dict)
    _left: dict[str, Scan] = field(default_factory=dict)
    """Scans of large tables whose rows are not in memory yet, by the id that replaces each."""
    _later: set[str] = field(default_factory=set)
    """Those of them whose rows may all be read, but that are better selected."""
    _columns: dict[str, frozenset[str]] = field(default_factory=dict)
    """What `tables.comparable` says of a scan, by its id: it is asked of the log."""
    _refused: set[_Narrowing | ChangeComparison] = field(default_factory=set)
    _seen: dict[_Narrowing, tuple[int, ...] | None] = field(default_factory=dict)
    _values: dict[_Narrowing, tuple[tuple[int, ...], pa.ChunkedArray | None]] = field(
        default_factory=dict
    )
    """By what each narrows, with the rows that there were of its scans then."""
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))

    def __call__(self, rel: Rel) -> Rel:
        """The same rows from fewer; `is_nothing` says where none is left."""
        rel = self._marked(rel)
        narrowings, compared, firsts = _narrowings(rel), find_comparisons(rel), find_first_rows(rel)
        ordered = {c.scan.source for c in compared} | {f.scan.source for f in firsts}
        for scan in scans(rel):
            self._fetch(scan.source, later=scan.source in ordered)
        for first in firsts:
            self._take_first(first)
        conditions = [(n.input, c) for n in walk(rel) if isinstance(n, Filter) for c in n.on]
        while True:
            conditions = [(r, c) for r, c in conditions if not self._sieve(r, c)]
            for comparison in compared:
                self._compare(comparison)
            self._settle(narrowings)
            if not (
                self._select_one(narrowings) or self._select_between(compared) or self._fetch_one()
            ):
                break
        left = self._without_empty(rel)
        return self._restored(left if left is not None else Filter(rel, _NOTHING))

    # -- every scan separately -----------------------------------------------------------------

    def _marked(self, rel: Rel) -> Rel:
        """Each scan under a separate id: two of a table may keep different rows."""
        if not isinstance(rel, Scan):
            return rel.with_inputs(tuple(map(self._marked, rel.inputs)))
        mark = f"found_{next(self._numbers)}"
        self._left[mark] = rel
        return replace(rel, source=mark)

    def _fetch(self, mark: str, *, later: bool = False) -> bool:
        """Whether all rows of a scan came to hand; `later`: of many few are selected, if that is
        possible."""
        scan = self._left[mark]
        if later and scan.end is not End.DELTA and self.tables.many(scan):
            self._later.add(mark)
            return False
        rows = self.tables.rows(scan)
        if rows is not None:
            self.found[mark] = self._left.pop(mark), rows
        return rows is not None

    def _restored(self, rel: Rel) -> Rel:
        if isinstance(rel, Scan):
            return self._left.get(rel.source, rel)
        return rel.with_inputs(tuple(map(self._restored, rel.inputs)))

    # -- rows in memory ------------------------------------------------------------------------

    def _sieve(self, rel: Rel, condition: Expr) -> bool:
        """Whether a condition needs no more looking at."""
        held = {c: places(rel, c) for c in condition.columns}
        marks = {p[0][0].source for p in held.values() if len(p) == 1}
        if len(marks) != 1 or any(len(p) != 1 for p in held.values()):
            return True
        mark = marks.pop()
        if mark not in self.found:
            return False
        scan, rows = self.found[mark]
        names = {c: p[0][1] for c, p in held.items()}
        if set(names.values()) <= self._comparable(mark, scan):
            self.found[mark] = scan, sieved(rows, names, condition)
        return True

    def _settle(self, narrowings: Sequence[_Narrowing]) -> None:
        """Rows without a partner are left out, until there is none: by the fewest values first, so
        that a large table is never looked up in another one that is about to become small."""
        about: dict[str, list[_Narrowing]] = {}
        for narrow in narrowings:
            for mark in narrow.marks:
                about.setdefault(mark, []).append(narrow)
        queue: list[tuple[int, int, _Narrowing]] = []
        self._enqueue(narrowings, queue)
        while queue:
            count, _, narrow = heappop(queue)
            sizes = self._sizes(narrow)
            assert sizes is not None
            if sizes == self._seen.get(narrow) or count != sum(sizes[1:]):
                continue  # done, or asked again since by fewer values
            values = self._values_of(narrow)
            reduced = values is not None and self._semi_join(narrow, values)
            self._seen[narrow] = self._sizes(narrow)
            if reduced:
                self._enqueue(about[narrow.mark], queue)

    def _enqueue(
        self, narrowings: Iterable[_Narrowing], queue: list[tuple[int, int, _Narrowing]]
    ) -> None:
        """Those that may leave rows out come into the queue, by how many values each is by."""
        for narrow in narrowings:
            sizes = self._sizes(narrow)
            if sizes is not None and self._seen.get(narrow) != sizes:
                heappush(queue, (sum(sizes[1:]), next(self._numbers), narrow))

    def _sizes(self, narrow: _Narrowing) -> tuple[int, ...] | None:
        """The rows that a narrowing is about; None where some are not in memory."""
        if not all(m in self.found for m in narrow.marks):
            return None
        return tuple(self.found[m][1].num_rows for m in narrow.marks)

    def _comparable(self, mark: str, scan: Scan) -> frozenset[str]:
        if mark not in self._columns:
            self._columns[mark] = self.tables.comparable(scan)
        return self._columns[mark]

    def _values_of(self, narrow: _Narrowing) -> pa.ChunkedArray | None:
        """All distinct values that a column is joined to, where they are in memory and of its
        kind."""
        if not all(m in self.found for m in narrow.others):
            return None
        sizes = tuple(self.found[m][1].num_rows for m in narrow.others)
        known = self._values.get(narrow)
        if known is None or known[0] != sizes:
            known = self._values[narrow] = sizes, self._distinct(narrow)
        return known[1]

    def _distinct(self, narrow: _Narrowing) -> pa.ChunkedArray | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        mark = narrow.mark
        of = self.found[mark][0] if mark in self.found else self._left[mark]
        if narrow.name not in self._comparable(mark, of):
            return None  # of lists, which such columns may have, Arrow finds no distinct ones
        if isinstance(narrow.by[0], str):
            keys = self.tables.keys(*narrow.by)
            return None if keys is None else pc.unique(keys)
        arrays: list[pa.ChunkedArray] = []
        for scan, name in narrow.by:
            was, rows = self.found[scan.source]
            if name not in self._comparable(scan.source, was):
                return None
            arrays.append(rows[name])
        if len({a.type for a in arrays}) != 1:
            return None
        chunks = [c for a in arrays for c in a.chunks]
        return pc.unique(pa.chunked_array(chunks, arrays[0].type))

    def _semi_join(self, narrow: _Narrowing, values: pa.ChunkedArray) -> bool:
        """Whether rows were left out that have no partner."""
        import pyarrow.compute as pc

        scan, rows = self.found[narrow.mark]
        if not rows.num_rows:
            return False
        wanted = _as(values, rows[narrow.name].type)
        if wanted is None:
            return False
        wanted = wanted if narrow.null_safe else pc.drop_null(wanted)
        found = pc.is_in(rows[narrow.name], value_set=wanted, skip_nulls=False)
        if pc.all(found).as_py():
            return False
        self.found[narrow.mark] = scan, rows.filter(found)
        return True

    # -- rows of large tables -------------------------------------------------------------------

    def _select_one(self, narrowings: Sequence[_Narrowing]) -> bool:
        """The rows that the fewest values select come to hand; whether there are any such."""
        known: list[tuple[int, int, _Narrowing, pa.ChunkedArray]] = []
        for narrow in narrowings:
            scan = self._left.get(narrow.mark)
            if scan is None or scan.end is End.DELTA or narrow in self._refused:
                continue
            if (values := self._values_of(narrow)) is not None:
                known.append((len(values), len(known), narrow, values))
        for _, _, narrow, values in sorted(known, key=lambda one: one[:2]):
            scan = self._left[narrow.mark]
            rows = self._read(scan, narrow.name, values, narrow.null_safe)
            if rows is not None:
                self.found[narrow.mark] = self._left.pop(narrow.mark), rows
                return True
            self._refused.add(narrow)
        return False

    def _read(self, scan: Scan, name: str, values: pa.ChunkedArray, nulls: bool) -> pa.Table | None:
        """The rows of a scan with some values; what several select is read once."""
        import pyarrow.compute as pc

        asked = (scan.source, scan.end, frozenset(n for _, n in scan.reads), name, nulls)
        known = self._asked.setdefault(asked, [])
        for other, rows in known:
            if len(values) <= len(other) and pc.all(pc.is_in(values, value_set=other)).as_py():
                return rows
        rows = self.tables.select(scan, name, values, nulls)
        if rows is not None:
            known.append((values, rows))
        return rows

    def _fetch_one(self) -> bool:
        """All rows of a scan that nothing has selected come to hand, where that is possible;
        whether some did."""
        while self._later:
            mark = self._later.pop()
            if mark in self._left and self._fetch(mark):
                return True
        return False

    # -- what order says ------------------------------------------------------------------------

    def _take_first(self, first: FirstRows) -> None:
        """Rows after the last one that a LIMIT takes are left out."""
        mark = first.scan.source
        scan, rows = self.found.get(mark, (self._left.get(mark), None))
        if scan is None or not set(first.reads) <= self._comparable(mark, scan):
            return
        known = rows if rows is not None else self.tables.columns(scan, first.reads)
        interval = first.interval(known) if known is not None else None
        if interval is not None:
            self._bound(mark, first.name, interval)

    def _compare(self, comparison: ChangeComparison) -> None:
        """Rows in memory that compare the same with all of a change are left out."""
        mark = comparison.scan.source
        interval = self._interval(comparison) if mark in self.found else None
        if interval is not None:
            self._bound(mark, comparison.name, interval)

    def _select_between(self, compared: Sequence[ChangeComparison]) -> bool:
        """Loads the rows that do not compare the same with all of a change; whether there are
        any such."""
        for comparison in compared:
            mark = comparison.scan.source
            interval = self._interval(comparison) if mark in self._left else None
            if interval is None or not interval.is_bounded or comparison in self._refused:
                continue
            if self._bound(mark, comparison.name, interval):
                return True
            self._refused.add(comparison)
        return False

    def _interval(self, comparison: ChangeComparison) -> ValueInterval | None:
        """The values of the rows that matter; None where all may."""
        by, mark = comparison.by.source, comparison.scan.source
        if by not in self.found:
            return None
        was, change = self.found[by]
        scan = self.found[mark][0] if mark in self.found else self._left[mark]
        known = comparison.value in self._comparable(by, was)
        if not known or comparison.name not in self._comparable(mark, scan):
            return None
        return comparison.interval(change)

    def _bound(self, mark: str, name: str, interval: ValueInterval) -> bool:
        """Whether a scan has only rows with values of the interval now, in memory."""
        if mark in self.found:
            scan, rows = self.found[mark]
            if not is_of_kind(interval, rows[name].type):
                return False
            self.found[mark] = scan, rows.filter(interval.holds(rows[name]))
            return True
        selected = self.tables.between(self._left[mark], name, interval)
        if selected is None:
            return False
        self.found[mark] = self._left.pop(mark), selected
        return True

    # -- nothing --------------------------------------------------------------------------------

    def _without_empty(self, rel: Rel) -> Rel | None:
        """The relation without the parts that have no rows; None where it has none itself."""
        return _WITHOUT_EMPTY[type(rel)](self, rel)

    def _scan_without_empty(self, rel: Rel) -> Rel | None:
        assert isinstance(rel, Scan)
        has = rel.source not in self.found or self.found[rel.source][1].num_rows
        return rel if has else None

    def _literal_rows(self, rel: Rel) -> Rel | None:
        return rel

    def _union_without_empty(self, rel: Rel) -> Rel | None:
        assert isinstance(rel, Union)
        kept = [m for m in map(self._without_empty, rel.members) if m is not None]
        return replace(rel, members=tuple(kept)) if kept else None

    def _join_without_empty(self, rel: Rel) -> Rel | None:
        assert isinstance(rel, Join)
        members = [self._without_empty(m) for m in rel.members]
        if any(m is None for m in members):
            return None
        return replace(rel, members=tuple(m for m in members if m is not None))

    def _nothing_of_nothing(self, rel: Rel) -> Rel | None:
        below = self._without_empty(rel.inputs[0])
        return rel.with_inputs((below,)) if below is not None else None

    def _restrict_without_empty(self, rel: Rel) -> Rel | None:
        assert isinstance(rel, Restrict)
        if isinstance(rel.keys, str) and rel.on and self._no_keys(rel):
            return None
        return self._nothing_of_nothing(rel)

    def _aggregate_without_empty(self, rel: Rel) -> Rel | None:
        """Without keys it is one row, also of no rows."""
        assert isinstance(rel, Aggregate)
        below = self._without_empty(rel.input)
        if below is None:
            return rel if not rel.keys else None
        return replace(rel, input=below)

    def _match_without_empty(self, rel: Rel) -> Rel | None:
        assert isinstance(rel, Match)
        left = self._without_empty(rel.left)
        right = self._without_empty(rel.right)
        if left is None:
            return None
        if right is not None:
            return replace(rel, left=left, right=right)
        match rel.kind:
            case MatchKind.SEMI:
                return None
            case MatchKind.ANTI:
                return left
        return replace(rel, left=left)

    def _no_keys(self, rel: Restrict) -> bool:
        assert isinstance(rel.keys, str)
        values = self.tables.keys(rel.keys, rel.on[0][1])
        return values is not None and not len(values)


_WITHOUT_EMPTY = PerOperator[Callable[[Reduction, Rel], Rel | None]](
    "semi-join reduction",
    dict.fromkeys((Project, Filter, Generate, Window, Top), Reduction._nothing_of_nothing)
    | {
        Scan: Reduction._scan_without_empty,
        Rows: Reduction._literal_rows,
        Join: Reduction._join_without_empty,
        Match: lambda reduction, rel: reduction._match_without_empty(rel),
        Union: Reduction._union_without_empty,
        Aggregate: Reduction._aggregate_without_empty,
        Restrict: Reduction._restrict_without_empty,
    },
)


@dataclass(frozen=True, eq=False)
class _Narrowing:
    """The column `name` of the scan `mark` has only values of `by`: columns of scans, or a
    relation of keys and its column, then NULL-safe. It equals itself alone: forty joined tables
    have thousands, and each scan is a tree of values to be hashed."""

    mark: str
    name: str
    by: tuple[tuple[Scan, str], ...] | tuple[str, str]

    @property
    def null_safe(self) -> bool:
        return isinstance(self.by[0], str)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The scans that it is about: the one that it narrows, and those of its values."""
        return self.mark, *self.others

    @cached_property
    def others(self) -> tuple[str, ...]:
        return () if isinstance(self.by[0], str) else tuple(s.source for s, _ in self.by)


def is_nothing(rel: Rel) -> bool:
    """Whether a reduction left no rows."""
    return isinstance(rel, Filter) and rel.on == _NOTHING


@dataclass(frozen=True)
class SemiJoin:
    """Of a source's rows only those matter that have, in `column`, a value that is in one of the
    columns `by`: of other sources, or of relations of keys, each with its column."""

    source: str
    column: str
    by: tuple[tuple[str, str], ...]


def semi_joins(rel: Rel) -> tuple[SemiJoin, ...]:
    """By what the rows that a relation reads can be reduced, once those are in memory."""
    found = {SemiJoin(n.mark, n.name, _named(n)): None for n in _narrowings(rel)}
    return tuple(found)


def _named(narrow: _Narrowing) -> tuple[tuple[str, str], ...]:
    if isinstance(narrow.by[0], str):
        return (narrow.by,)
    return tuple((scan.source, name) for scan, name in narrow.by)


def _narrowings(rel: Rel) -> list[_Narrowing]:
    """What is joined, or restricted by keys: the values of one column bound those of another."""
    return list({(n.mark, n.name, n.by): n for n in _each_narrowing(rel)}.values())


def _each_narrowing(rel: Rel) -> Iterator[_Narrowing]:
    for node in walk(rel):
        if isinstance(node, Restrict) and isinstance(node.keys, str):
            for a, k in node.on:
                for scan, name in places(node.input, a):
                    yield _Narrowing(scan.source, name, (node.keys, k))
        for predicate in node.on if isinstance(node, Join) else ():
            pair = equated(predicate)
            for a, b in (pair, pair[::-1]) if pair is not None else ():
                yield from _joined(node, a, b)
        if isinstance(node, Match):
            for a, b in node.pairs:
                yield from _joined(node, a, b)
                if node.kind is MatchKind.SEMI:
                    yield from _joined(node, b, a)


def _joined(join: Rel, a: str, b: str) -> Iterator[_Narrowing]:
    """What the values of column `a` say of column `b`, which is another member's."""
    by = next((m for m in join.inputs if a in m.columns), None)
    of = next((m for m in join.inputs if b in m.columns), None)
    if by is None or of is None or by is of:
        return
    came = origins(by, a)
    for scan, name in places(of, b) if came else ():
        yield _Narrowing(scan.source, name, tuple(came or ()))


def _as(values: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray | None:
    """Values in the type of a column of their kind; None of another kind, or where one does not
    fit."""
    import pyarrow as pa
    from pyarrow import types as t

    if values.type == type_:
        return values
    if not (t.is_integer(values.type) and t.is_integer(type_)):
        return None
    try:
        return values.cast(type_)
    except pa.ArrowInvalid:
        return None
