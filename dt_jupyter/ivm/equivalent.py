"""Whether two relations are one, whatever their columns are called inside."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from dt_jupyter.ivm.expr import Expr
from dt_jupyter.ivm.rel import Project, Rel, Scan, Union, walk


def equivalent(a: Rel, b: Rel) -> bool:
    """Whether `a` and `b` are equal except for the ids of their columns.

    Columns of a source go by their names, in any order: a source whose columns moved is read as
    before where a query names them, and otherwise where `*` or a position means them.
    """
    pairing = _Pairing(a, b)
    return pairing.same(a, b) and pairing.same(a.columns, b.columns)


def paired(a: Rel, b: Rel) -> dict[str, str] | None:
    """The ids of `a` by those of `b`, where the two have the same rows in the same columns, which
    may be in another order; None where they have not."""
    pairing = _Pairing(a, b)
    same = pairing.same(a, b) and {pairing.there.get(c) for c in a.columns} == set(b.columns)
    return dict(pairing.back) if same else None


class _Pairing:
    """Ids of one relation matched with those of another, one to one."""

    def __init__(self, a: Rel, b: Rel) -> None:
        self.left, self.right = _ids(a), _ids(b)
        self.there: dict[str, str] = {}
        self.back: dict[str, str] = {}

    def same(self, x: Any, y: Any) -> bool:
        if isinstance(x, Expr) and isinstance(y, Expr):
            return x.matches(y, self._same_id)
        x, y = _without_order(x), _without_order(y)
        if type(x) is not type(y):
            return False
        if isinstance(x, Scan):
            return self._same_scan(x, y)
        if isinstance(x, Union) and not self._same_positions(x, y):
            return False
        if isinstance(x, str) and x in self.left and y in self.right:
            return self._same_id(x, y)
        if isinstance(x, tuple):
            return len(x) == len(y) and all(map(self.same, x, y))
        if is_dataclass(x):
            return all(self.same(getattr(x, f.name), getattr(y, f.name)) for f in fields(x))
        return bool(x == y)

    def _same_scan(self, x: Scan, y: Scan) -> bool:
        mine, theirs = (sorted(s.reads, key=lambda r: r[1].lower()) for s in (x, y))
        return (
            (x.source, x.end, len(mine)) == (y.source, y.end, len(theirs))
            and all(n.lower() == m.lower() for (_, n), (_, m) in zip(mine, theirs, strict=True))
            and all(self._same_id(i, j) for (i, _), (j, _) in zip(mine, theirs, strict=True))
        )

    def _same_positions(self, x: Union, y: Union) -> bool:
        """Members are put together by position, which their own ids do not show."""
        return self.same(
            tuple(m.columns for m in x.members), tuple(m.columns for m in y.members)
        ) and len(x.members) == len(y.members)

    def _same_id(self, i: str, j: str) -> bool:
        return self.there.setdefault(i, j) == j and self.back.setdefault(j, i) == i


def _without_order(x: Any) -> Any:
    """A relation without projections that only put its columns in another order: operators read
    columns by their ids, unions and what is shown are compared by position for themselves."""
    while (
        isinstance(x, Project)
        and all(e.column == i for i, e in x.items)
        and len(x.items) == len(x.input.columns)
    ):
        x = x.input
    return x


def _ids(rel: Rel) -> frozenset[str]:
    return frozenset(c for node in walk(rel) for c in node.columns)
