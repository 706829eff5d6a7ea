"""Literal bounds from a small change: what is joined to it is read only where it can match.

Spark pushes a range or a list of literals down to Delta's and Parquet's statistics, so that files
and row groups are skipped; a join alone does not do that.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from dt_jupyter.ivm import (
    Between,
    End,
    Expr,
    Filter,
    Infix,
    InList,
    Join,
    Literal,
    Origin,
    Postfix,
    Rel,
    Restrict,
    col,
    equated,
    origins,
    rewrite,
)
from dt_jupyter.model import is_bigint
from dt_jupyter.model.hidden import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

LISTED = 200
"""Up to this number of different values is listed; more are a range."""


@dataclass(frozen=True)
class Bounds:
    """The values of a column: all of them, or the least and the greatest; and whether NULL is
    among them. No value at all is an empty list."""

    values: tuple[str, ...] | None
    least: str = ""
    greatest: str = ""
    null: bool = False

    def predicate(self, column: str, *, null_safe: bool) -> Expr:
        """Whether the column may have one of the values."""
        x = col(column)
        if self.values is None:
            found: Expr = Between(x, Literal(self.least), Literal(self.greatest))
        else:
            found = InList(x, tuple(map(Literal, self.values))) if self.values else Literal("FALSE")
        return Infix(found, "OR", Postfix(x, "IS NULL")) if null_safe and self.null else found


Facts = Callable[[Sequence[Origin]], Bounds | None]
"""What is known of the values in any of some columns of changes."""


def bounds_of(column: pa.ChunkedArray) -> Bounds | None:
    """The bounds of an Arrow column; None where a value's literal is not written here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(column.type):
        return None
    values = pc.drop_null(column)
    null = len(values) < len(column)
    distinct = pc.unique(values)
    if not len(distinct):
        return Bounds((), null=null)
    if len(distinct) <= LISTED:
        listed = _literals(sorted(distinct.to_pylist()))
        return None if listed is None else Bounds(listed, null=null)
    span = pc.min_max(distinct).as_py()
    least, greatest = _literal(span["min"]), _literal(span["max"])
    if least is None or greatest is None:
        return None
    return Bounds(None, least, greatest, null)


def _literals(values: Sequence[object]) -> tuple[str, ...] | None:
    """The literals of all values; None where one of them has none."""
    found = tuple(text for v in values if (text := _literal(v)) is not None)
    return found if len(found) == len(values) else None


def _literal(value: object) -> str | None:
    """Spark's literal of a value whose order Arrow and Spark agree on."""
    match value:
        case bool():
            return None
        case int():
            return f"{value}L" if is_bigint(value) else None
        case Decimal():
            return f"{value:f}BD"
        case datetime.datetime():
            return None
        case datetime.date():
            return f"DATE'{value.isoformat()}'"
        case str() if value.isascii() and value.isprintable() and not set("'\\{") & set(value):
            return f"'{value}'"
    return None


def bounded(
    delta: Rel,
    facts: Facts,
    keys: Callable[[str, str], Bounds | None],
    at_hand: Callable[[Rel], bool] = lambda rel: False,
) -> Rel:
    """The derivative with the other sides of its joins bounded by the change they are joined to,
    and restrictions bounded by the keys that were computed (`keys(name, column)`). What is in
    memory has no files to skip."""

    def rule(rel: Rel) -> Rel:
        if isinstance(rel, Join):
            return _bounded_join(rel, facts, at_hand)
        if isinstance(rel, Restrict) and isinstance(rel.keys, str) and not at_hand(rel.input):
            name = rel.keys
            known = [(a, b) for a, k in rel.on if (b := keys(name, k)) is not None]
            on = tuple(b.predicate(a, null_safe=True) for a, b in known)
            return replace(rel, input=Filter(rel.input, on)) if on else rel
        return rel

    return rewrite(delta, rule)


def _bounded_join(rel: Join, facts: Facts, at_hand: Callable[[Rel], bool]) -> Rel:
    on: dict[int, list[Expr]] = {}
    for predicate in rel.on:
        pair = equated(predicate)
        if pair is None:
            continue
        for mine, other in (pair, pair[::-1]):
            known = next((o for m in rel.members if (o := of_changes(m, mine))), None)
            home = next((i for i, m in enumerate(rel.members) if other in m.columns), None)
            if known is None or home is None or WEIGHT in rel.members[home].columns:
                continue
            if at_hand(rel.members[home]):
                continue
            found = facts(known)
            if found is not None:
                on.setdefault(home, []).append(found.predicate(other, null_safe=False))
    members = tuple(Filter(m, tuple(on[i])) if i in on else m for i, m in enumerate(rel.members))
    return replace(rel, members=members)


def of_changes(rel: Rel, column: str) -> tuple[Origin, ...] | None:
    """The columns of changes that hold every value of a column; None where it has others too."""
    found = origins(rel, column)
    return found if found and all(s.end is End.DELTA for s, _ in found) else None
