"""The order in which the derivative of a join goes through its members.

It reads a member once at its old end where anything before it changed, and all before it once
more where it changed itself: what is large comes late. A change is joined first to what
multiplies it least. Nothing but the sizes of tables is known: that a column of the smallest table
with it has a value of its own in each row, as keys have, is what the estimates stand on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dt_jupyter.ivm.derive import equal_columns, equated
from dt_jupyter.ivm.expr import Expr, col, expr
from dt_jupyter.ivm.origins import origins
from dt_jupyter.ivm.rel import Filter, Join, Project, Rel, Restrict, Scan, Union, rewrite, scans
from dt_jupyter.model.hidden import WEIGHT

LARGE = 300_000
"""A change that grows to more rows on its way is not sent to every task, and costs accordingly."""

_A_ROW, _A_LARGE_ROW = 4, 50
"""What a row of a change on its way costs, in rows of a table that are read."""


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
        """The rows of a relation of changes; None where they cannot be told."""
        match rel:
            case Scan():
                return self.changed.get(rel.source)
            case Project() | Filter() | Restrict():
                return self.of_change(rel.inputs[0])
            case Union():
                parts = [self.of_change(m) for m in rel.members]
                return None if None in parts else sum(p or 0 for p in parts)
            case Join():
                first = self.of_change(rel.members[0])
                if first is None:
                    return None
                steps = _Way(rel, self).along(range(1, len(rel.members)), 0, first)
                return steps[-1] if steps else first
        return None

    def of_table(self, rel: Rel) -> int:
        """The rows of the largest source of a relation."""
        return max((self.rows(s.source) for s in scans(rel)), default=1)

    def moved(self, rel: Rel) -> float:
        """The rows of a relation's change, 0 where nothing below it changes."""
        found = [(s.source, self.changed[s.source]) for s in scans(rel) if s.source in self.changed]
        return sum(self.rows(s) if n is None else n for s, n in found)


def arranged(rel: Rel, sizes: Sizes) -> Rel:
    """The relation with the members of its joins in the order that is cheapest to move."""

    def rule(node: Rel) -> Rel:
        if not isinstance(node, Join) or len(node.members) == 1:
            return node
        way = _Way(replace(node, on=(*node.on, *_implied(node, sizes))), sizes)
        best = min(map(way.from_, range(len(node.members))), key=way.cost)
        moved = replace(way.join, members=tuple(node.members[i] for i in best))
        return _with_columns(moved, node.columns)

    return rewrite(rel, rule)


def directed(delta: Rel, sizes: Sizes) -> Rel:
    """A derivative whose changes are joined first to what multiplies them least."""

    def rule(node: Rel) -> Rel:
        if not isinstance(node, Join) or WEIGHT not in node.members[0].columns:
            return node
        order = _Way(node, sizes).from_(0)
        moved = replace(node, members=tuple(node.members[i] for i in order))
        return _with_columns(moved, node.columns)

    return rewrite(delta, rule)


def _with_columns(rel: Rel, columns: tuple[str, ...]) -> Rel:
    return rel if rel.columns == columns else Project(rel, tuple((c, col(c)) for c in columns))


def _implied(rel: Join, sizes: Sizes) -> tuple[Expr, ...]:
    """a = c of a = b and b = c: the conditions that other orders of the members need. Only where
    all are columns of one type, since `=` between others is not transitive."""
    said = {frozenset(pair) for p in rel.on if (pair := equated(p)) is not None}
    found: list[Expr] = []
    for a, others in equal_columns(rel).items():
        types = {_type(rel, c, sizes) for c in (a, *others)}
        if None in types or len(types) > 1:
            continue
        for b in others:
            if a < b and frozenset((a, b)) not in said and _home(rel, a) != _home(rel, b):
                found.append(expr("{a} = {b}", a=col(a), b=col(b)))
    return tuple(found)


def _home(rel: Join, column: str) -> int:
    return next(i for i, m in enumerate(rel.members) if column in m.columns)


def _type(rel: Rel, column: str, sizes: Sizes) -> str | None:
    found = {sizes.type_of(s.source, name) for s, name in origins(rel, column) or ()}
    return found.pop() if len(found) == 1 else None


class _Way:
    """Ways through the members of a join."""

    def __init__(self, join: Join, sizes: Sizes) -> None:
        self.join, self._sizes = join, sizes
        self._rows = [sizes.of_table(m) for m in join.members]
        self._columns = [set(m.columns) for m in join.members]
        equal = equal_columns(join)
        self._classes = {frozenset((c, *others)) for c, others in equal.items()}
        self._domains = {k: min(map(self._rows_with, k)) for k in self._classes}

    def _rows_with(self, column: str) -> int:
        """The rows of the table that a column comes from."""
        member = self.join.members[_home(self.join, column)]
        found = origins(member, column)
        return self._sizes.rows(found[0][0].source) if found else self._sizes.of_table(member)

    def from_(self, first: int) -> tuple[int, ...]:
        """All members from one on, each the one that multiplies what is before it least."""
        rest = [i for i in range(len(self._rows)) if i != first]
        return (first, *self._through(rest, first))

    def _through(self, members: Iterable[int], first: int) -> tuple[int, ...]:
        known, rest, order = set(self._columns[first]), list(members), []
        while rest:
            chosen = min(rest, key=lambda i: (self._factor(known, i), self._rows[i]))
            order.append(chosen)
            rest.remove(chosen)
            known |= self._columns[chosen]
        return tuple(order)

    def along(self, members: Iterable[int], first: int, rows: float) -> list[float]:
        """The rows after each member, of `rows` rows of the first."""
        known, found = set(self._columns[first]), []
        for i in members:
            rows *= self._factor(known, i)
            known |= self._columns[i]
            found.append(rows)
        return found

    def _factor(self, known: set[str], i: int) -> float:
        """How many rows of a member a row of what is known meets."""
        linked = [k for k in self._classes if k & known and k & self._columns[i]]
        factor = float(self._rows[i])
        for k in linked:
            factor /= max(1, self._domains[k])
        return factor

    def cost(self, order: Sequence[int]) -> float:
        """What the derivative costs, in rows of tables."""
        members = self.join.members
        read = rows = 0.0
        for at, i in enumerate(order):
            known = {c for j in order[:at] for c in self._columns[j]}
            own = self._sizes.moved(members[i])
            if rows:
                rows *= self._factor(known, i)
                read += self._rows[i] + _weighed(rows)
            if own:
                before = self._through(order[:at], i)
                steps = self.along(before, i, own)
                read += sum(self._rows[j] for j in before) + sum(map(_weighed, steps))
                rows += steps[-1] if steps else own
        return read


def _weighed(rows: float) -> float:
    return rows * (_A_ROW if rows <= LARGE else _A_LARGE_ROW)
