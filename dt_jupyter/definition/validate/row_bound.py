"""How many rows an evaluation may come to, counted before Spark sees it, on rows in memory.

Equal columns that sources hold are really joined; every other condition is taken to hold. So the
count is never too small, and what cannot be bounded is not run: Spark does not end a task that
makes millions of rows of a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import Any

from dt_jupyter.ivm import (
    Aggregate,
    Bracketed,
    Column,
    Expr,
    Filter,
    Generate,
    Infix,
    Join,
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
)

_Row = Mapping[str, Any]
"""The columns of a row whose values are known; others are computed, and left out."""

MOST_ROWS = 50_000
"""All operators of one statement together."""

A_GENERATED = 10
"""How many rows a generator is taken to make of one, where its input does not show it."""


class TooManyRows(Exception):
    """An evaluation may come to more rows than were allowed."""


@dataclass
class RowBound:
    """Counts the rows of every operator of relations over `read`, the rows of each scan by the
    names of its source; past `left` of them it raises TooManyRows."""

    read: Callable[[Scan], Iterable[_Row]]
    left: int = MOST_ROWS

    def __call__(self, rel: Rel) -> list[_Row]:
        rows = self._rows(rel)
        self._count(len(rows))
        return rows

    def _count(self, rows: int) -> None:
        self.left -= rows
        if self.left < 0:
            raise TooManyRows

    def _rows(self, rel: Rel) -> list[_Row]:
        return _ROWS[type(rel)](self, rel)

    def _read(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Scan)
        return [{i: r[n] for i, n in rel.reads if n in r} for r in self.read(rel)]

    def _literal(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Rows)
        return [{}] * (rel.text.count(",") + 1)

    def _projected(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Project)
        passed = [(i, e.column) for i, e in rel.items if e.column is not None]
        return [{i: r[c] for i, c in passed if c in r} for r in self(rel.input)]

    def _all(self, rel: Rel) -> list[_Row]:
        """It has no more rows than its input."""
        return self(rel.inputs[0])

    def _united(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Union)
        return [
            {i: r[c] for i, c in zip(rel.ids, m.columns, strict=True) if c in r}
            for m in rel.members
            for r in self(m)
        ]

    def _restricted(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Restrict)
        if isinstance(rel.keys, Rel):
            self(rel.keys)
        return self(rel.input)

    def _joined(self, rel: Rel) -> list[_Row]:
        """Member after member, each the next that has a condition with those before it."""
        assert isinstance(rel, Join)
        first, *rest = rel.members
        pairs = [p for e in rel.on if (p := compared(e)) is not None]
        rows, known = self(first), set(first.columns)
        while rest:
            member = next((m for m in rest if _linking(pairs, known, m)), rest[0])
            rest = [m for m in rest if m is not member]
            found = self.partners(rows, self(member), _linking(pairs, known, member))
            rows = [{**a, **b} for a, some in found for b in some]
            known |= set(member.columns)
        return rows

    def _matched(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Match)
        left, right = self(rel.left), self(rel.right)
        found = self.partners(left, right, rel.pairs)
        if rel.kind is not MatchKind.LEFT:
            return left
        unmatched: _Row = dict.fromkeys(rel.right.columns)
        rows: list[_Row] = []
        for a, some in found:
            rows += [{**a, **b} for b in some] or [{**a, **unmatched}]
        return rows

    def partners(
        self, left: list[_Row], right: list[_Row], pairs: Iterable[tuple[str, str]]
    ) -> list[tuple[_Row, list[_Row]]]:
        """Each row of the left side with those of the right that equal columns leave it."""
        told = [p for p in pairs if _comparable(left, right, *p)]
        by: dict[tuple[Any, ...], list[_Row]] = {}
        for row in right:
            by.setdefault(_values(row, [b for _, b in told]), []).append(row)
        found = []
        for row in left:
            values = _values(row, [a for a, _ in told])
            some = by.get(values, []) if None not in values else []
            self._count(len(some))
            found.append((row, some))
        return found

    def _grouped(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Aggregate)
        rows, keys = self(rel.input), rel.keys
        if not keys:
            return [{}]
        if any(k not in r for r in rows for k in keys):
            return rows
        try:
            return list({_values(r, keys): {k: r[k] for k in keys} for r in rows}.values())
        except TypeError:  # keys of a nested type
            return rows

    def _generated(self, rel: Rel) -> list[_Row]:
        assert isinstance(rel, Generate)
        rows = self(rel.input)
        over = rel.generator.columns
        found: list[_Row] = []
        for row in rows:
            nested = [v for c in over if isinstance(v := row.get(c), list)]
            count = max(map(len, nested)) if nested else A_GENERATED
            self._count(count)
            found += [row] * max(1, count)
        return found


_ROWS = PerOperator[Callable[[RowBound, Rel], list[_Row]]](
    "row bound",
    {
        Scan: RowBound._read,
        Rows: RowBound._literal,
        Project: RowBound._projected,
        Filter: RowBound._all,
        Join: RowBound._joined,
        Match: RowBound._matched,
        Union: RowBound._united,
        Generate: RowBound._generated,
        Window: RowBound._all,
        Top: RowBound._all,
        Aggregate: RowBound._grouped,
        Restrict: RowBound._restricted,
    },
)


def compared(predicate: Expr) -> tuple[str, str] | None:
    """The two columns of `a = b`, in brackets or not."""
    match predicate:
        case Infix(Column(a), "=", Column(b)) | Infix(
            Bracketed(Column(a)), "=", Bracketed(Column(b))
        ):
            return a, b
    return None


def _linking(pairs: list[tuple[str, str]], known: set[str], member: Rel) -> list[tuple[str, str]]:
    """The pairs between what is known and a member, in that order."""
    own = set(member.columns)
    both = [*pairs, *((b, a) for a, b in pairs)]
    return [(a, b) for a, b in both if a in known and b in own]


def _comparable(left: list[_Row], right: list[_Row], a: str, b: str) -> bool:
    """Whether all values are known, and Python finds them equal where Spark does."""
    if any(a not in r for r in left) or any(b not in r for r in right):
        return False
    kinds = {type(r[a]) for r in left} | {type(r[b]) for r in right}
    kinds.discard(type(None))
    if len(kinds) > 1:
        return kinds <= {int, Decimal}
    return not kinds & {list, dict, tuple}


def _values(row: _Row, columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple("NaN" if isinstance(v := row.get(c), float) and isnan(v) else v for c in columns)
