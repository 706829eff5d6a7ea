"""The order in which the derivative of a join goes through its members.

It reads a member once at its old end where anything before it changed, and all before it once
more where it changed itself: what is large comes late. A change is joined first to what
multiplies it least, as `estimate` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dt_jupyter.ivm.derive import equal_columns, equated
from dt_jupyter.ivm.estimate import LARGE, JoinSize, Sizes, home
from dt_jupyter.ivm.expr import Expr, col, equality
from dt_jupyter.ivm.provenance import origins
from dt_jupyter.ivm.rel import Join, Project, Rel, rewrite
from dt_jupyter.model.hidden import WEIGHT

_A_ROW, _A_LARGE_ROW = 4, 50
"""What a row of a change on its way costs, in rows of a table that are read."""


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
            if a < b and frozenset((a, b)) not in said and home(rel, a) != home(rel, b):
                found.append(equality(col(a), col(b)))
    return tuple(found)


def _type(rel: Rel, column: str, sizes: Sizes) -> str | None:
    found = {sizes.type_of(s.source, name) for s, name in origins(rel, column) or ()}
    return found.pop() if len(found) == 1 else None


class _Way:
    """Ways through the members of a join."""

    def __init__(self, join: Join, sizes: Sizes) -> None:
        self.join, self._sizes = join, sizes
        self._size = JoinSize(join, sizes)
        self._rows, self._columns = self._size.rows, self._size.columns

    def from_(self, first: int) -> tuple[int, ...]:
        """All members from one on, each the one that multiplies what is before it least."""
        rest = [i for i in range(len(self._rows)) if i != first]
        return (first, *self._through(rest, first))

    def _through(self, members: Iterable[int], first: int) -> tuple[int, ...]:
        known, rest, order = set(self._columns[first]), list(members), []
        while rest:
            chosen = min(rest, key=lambda i: (self._size.factor(known, i), self._rows[i]))
            order.append(chosen)
            rest.remove(chosen)
            known |= self._columns[chosen]
        return tuple(order)

    def cost(self, order: Sequence[int]) -> float:
        """What the derivative costs, in rows of tables."""
        members = self.join.members
        read = rows = 0.0
        for at, i in enumerate(order):
            known = {c for j in order[:at] for c in self._columns[j]}
            own = self._sizes.moved(members[i])
            if rows:
                rows *= self._size.factor(known, i)
                read += self._rows[i] + _weighed(rows)
            if own:
                before = self._through(order[:at], i)
                steps = self._size.along(before, i, own)
                read += sum(self._rows[j] for j in before) + sum(map(_weighed, steps))
                rows += steps[-1] if steps else own
        return read


def _weighed(rows: float) -> float:
    return rows * (_A_ROW if rows <= LARGE else _A_LARGE_ROW)
