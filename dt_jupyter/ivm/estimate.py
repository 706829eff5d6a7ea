"""How many rows relations have, and their changes, as far as the sizes of tables show.

The order of a join's members, the hints of a change's statement and EXPLAIN ask here, so that what
EXPLAIN shows of a join is what its order was chosen by. Nothing but the sizes of tables is known:
that a column of the smallest table with it has a different value in each row, as keys have, is
what the estimate of a join assumes. What a condition leaves out is guessed where it is only
shown; an order and a hint count a member with all the rows of its table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dt_jupyter.ivm.derive import equal_columns
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.provenance import origins
from dt_jupyter.ivm.rel import (
    Aggregate,
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
    Top,
    Union,
    Window,
    scans,
)

LARGE = 300_000
"""A change that grows to more rows on its way is not sent to every task, and costs accordingly."""

_KEPT_SHARE = 0.5
"""What a condition is guessed to keep."""
_FAN = 3
"""What a generator is guessed to make of a row."""


@dataclass(frozen=True)
class Size:
    """Rows of a relation, and of its change: facts for sources and stages, estimates above them;
    None where they are unknown."""

    rows: float | None = None
    changed: float | None = None


def total_size(sizes: Iterable[Size]) -> Size:
    """Of all of them together; None where one is unknown."""
    known = list(sizes)
    rows, changed = [s.rows for s in known], [s.changed for s in known]
    return Size(_added(rows), _added(changed))


def _added(counts: Sequence[float | None]) -> float | None:
    known = [n for n in counts if n is not None]
    return sum(known) if len(known) == len(counts) else None


@dataclass(frozen=True)
class Sizes:
    """What is known without reading: the rows of each source, those of its change (None: not
    known), and the type of a source's column (None: not known)."""

    rows: Callable[[str], int]
    changed: Mapping[str, int | None]
    type_of: Callable[[str, str], str | None]

    def is_small(self, rel: Rel) -> bool:
        """Whether a relation of changes may be sent to every task."""
        found = self.of_change(rel)
        return found is not None and found <= LARGE

    def of_change(self, rel: Rel) -> float | None:
        """The rows of a relation of changes; None where they are unknown."""
        return _OF_CHANGE[type(rel)](rel, self)

    def of_table(self, rel: Rel) -> int:
        """The rows of the largest source of a relation."""
        return max((self.rows(s.source) for s in scans(rel)), default=1)

    def moved(self, rel: Rel) -> float:
        """The rows of a relation's change, 0 where nothing below it changes."""
        found = [(s.source, self.changed[s.source]) for s in scans(rel) if s.source in self.changed]
        return sum(self.rows(s) if n is None else n for s, n in found)


class JoinSize:
    """How many rows the members of a join make together, along any way through them."""

    def __init__(self, join: Join, sizes: Sizes) -> None:
        self.join, self.sizes = join, sizes
        self.rows = [sizes.of_table(m) for m in join.members]
        self.columns = [set(m.columns) for m in join.members]
        equal = equal_columns(join)
        self._classes = {frozenset((c, *others)) for c, others in equal.items()}
        self._domains = {k: min(map(self._rows_with, k)) for k in self._classes}

    def _rows_with(self, column: str) -> int:
        """The rows of the table that a column comes from."""
        member = self.join.members[home(self.join, column)]
        found = origins(member, column)
        return self.sizes.rows(found[0][0].source) if found else self.sizes.of_table(member)

    def factor(self, known: set[str], i: int) -> float:
        """How many rows of a member a row of what is known meets."""
        linked = [k for k in self._classes if k & known and k & self.columns[i]]
        factor = float(self.rows[i])
        for k in linked:
            factor /= max(1, self._domains[k])
        return factor

    def along(self, members: Iterable[int], first: int, rows: float) -> list[float]:
        """The rows after each member, of `rows` rows of the first."""
        known, found = set(self.columns[first]), []
        for i in members:
            rows *= self.factor(known, i)
            known |= self.columns[i]
            found.append(rows)
        return found

    def of(self, first: int, rows: float) -> float:
        """The rows of the whole, of `rows` rows of one member."""
        others = [i for i in range(len(self.rows)) if i != first]
        return [rows, *self.along(others, first, rows)][-1]

    def whole(self) -> float:
        return self.of(0, self.rows[0])

    def changed(self) -> float:
        """The rows of its change: those of each member's with the others."""
        moved = [(i, self.sizes.moved(m)) for i, m in enumerate(self.join.members)]
        return sum(self.of(i, own) for i, own in moved if own)


def home(rel: Join, column: str) -> int:
    """The member that has a column."""
    return next(i for i, m in enumerate(rel.members) if column in m.columns)


# -- relations of changes -------------------------------------------------------------------------


def _scanned_change(rel: Rel, sizes: Sizes) -> float | None:
    assert isinstance(rel, Scan)
    return sizes.changed.get(rel.source)


def _change_below(rel: Rel, sizes: Sizes) -> float | None:
    return sizes.of_change(rel.inputs[0])


def _united_changes(rel: Rel, sizes: Sizes) -> float | None:
    return _added([sizes.of_change(m) for m in rel.inputs])


def _joined_change(rel: Rel, sizes: Sizes) -> float | None:
    assert isinstance(rel, Join)
    first = sizes.of_change(rel.members[0])
    return JoinSize(rel, sizes).of(0, first) if first is not None else None


def _untold(rel: Rel, sizes: Sizes) -> float | None:
    return None


_OF_CHANGE = PerOperator[Callable[[Rel, Sizes], float | None]](
    "size of a change",
    {
        Scan: _scanned_change,
        Rows: _untold,
        Project: _change_below,
        Filter: _change_below,
        Join: _joined_change,
        Match: _untold,
        Union: _united_changes,
        Generate: _untold,
        Window: _untold,
        Top: _untold,
        Aggregate: _untold,
        Restrict: _change_below,
    },
    otherwise=_untold,
)


# -- relations of a definition --------------------------------------------------------------------


def estimated(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    """Rows of a node and of its change, from those of sources and stages by id."""
    return _ESTIMATED[type(rel)](rel, sizes)


_Estimator = Callable[[Rel, Mapping[str, Size]], Size]


def _scan(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    assert isinstance(rel, Scan)
    return sizes.get(rel.source, Size())


def _rows(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    return Size(None, 0)


def _join(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    """As the order of its members is chosen by."""
    assert isinstance(rel, Join)
    known = {s.source: sizes.get(s.source, Size()) for s in scans(rel)}
    rows = {s: int(n.rows) for s, n in known.items() if n.rows is not None}
    if len(rows) < len(known):
        return Size()
    moved = {s: int(n.changed) for s, n in known.items() if n.changed}
    found = JoinSize(rel, Sizes(rows.__getitem__, moved, lambda source, column: None))
    told = all(n.changed is not None for n in known.values())
    return Size(found.whole(), found.changed() if told else None)


def _match(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    assert isinstance(rel, Match)
    below = [estimated(i, sizes) for i in rel.inputs]
    if (left := below[0].rows) is None or below[1].rows is None:
        return Size()
    rows = left if rel.kind is MatchKind.LEFT else left * _KEPT_SHARE
    terms = [
        None if s.changed is None or not s.rows else s.changed * max(1.0, rows / s.rows)
        for s in below
    ]
    return Size(rows, _added(terms))


def _union(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    return total_size(estimated(m, sizes) for m in rel.inputs)


def _each(of: Callable[[Rel, float], float]) -> _Estimator:
    """The same for the rows of the one input and for those of its change."""

    def estimate(rel: Rel, sizes: Mapping[str, Size]) -> Size:
        below = estimated(rel.inputs[0], sizes)
        return Size(*(of(rel, n) if n is not None else None for n in (below.rows, below.changed)))

    return estimate


def _filtered(rel: Rel, rows: float) -> float:
    assert isinstance(rel, Filter)
    return float(rows * _KEPT_SHARE ** min(2, len(rel.on)))


def _topmost(rel: Rel, rows: float) -> float:
    assert isinstance(rel, Top)
    return min(rows, float(rel.count if rel.count is not None else rows))


_as_many = _each(lambda rel, rows: rows)
_ESTIMATED = PerOperator[_Estimator](
    "estimated",
    {
        Scan: _scan,
        Rows: _rows,
        Project: _as_many,
        Filter: _each(_filtered),
        Join: _join,
        Match: _match,
        Union: _union,
        Generate: _each(lambda rel, rows: rows * _FAN),
        Window: _as_many,
        Top: _each(_topmost),
        Aggregate: _as_many,
        Restrict: _as_many,
    },
    otherwise=_as_many,
)
