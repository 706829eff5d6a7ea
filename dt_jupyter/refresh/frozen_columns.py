"""The columns of a new definition that frozen rows are mapped to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.model import DTError, Name, error, quote

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_DIGITS = dict(zip(_WHOLE, (3, 5, 10, 19), strict=True))
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)\Z")
ColumnTypes = Mapping[str, str]
"""Names with Spark types, in order."""


@dataclass(frozen=True)
class ColumnsKept:
    """What frozen rows were stored in, and the columns that they are to have: `told` are those of
    the statement in force, `renamed` the names that it gave (new, old), `read` those that the
    condition reads."""

    stored: ColumnTypes
    told: ColumnTypes
    wanted: ColumnTypes
    renamed: Mapping[str, str]
    read: frozenset[str]


def carried_columns(name: Name, of: ColumnsKept) -> tuple[str, ...]:
    """The wanted columns over the stored ones: the same by name or new name, wider where the type
    is; NULL for one that is new.

    DT-1142 where a value would be lost without a statement that says so, or what the condition
    reads is new.
    """
    stored = {n.lower(): n for n in of.stored}
    items = []
    for new, kind in of.wanted.items():
        source = stored.get(new.lower()) or stored.get(of.renamed.get(new, "").lower())
        if source is None and new in of.read:
            raise _refused(name, f"they have no column {new}, which the condition reads", _ANEW)
        if source is not None and not holds_every_value(of.stored[source], kind):
            problem = f"column {new} is {kind} now, and was {of.stored[source]}"
            raise _refused(name, problem, _CAST)
        value = "NULL" if source is None else quote(source)
        items.append(f"CAST({value} AS {kind}) AS {quote(new)}")
    kept = {n.lower() for n in of.wanted} | {o.lower() for o in of.renamed.values()}
    lost = next((n for n in of.told if n.lower() in stored and n.lower() not in kept), None)
    if lost is not None:
        raise _refused(name, f"it has no column {lost} any more", _NAMED)
    return tuple(items)


def holds_every_value(old: str, new: str) -> bool:
    """Whether every value of the old type is the same in the new one."""
    if old == new:
        return True
    if old in _WHOLE and new in _WHOLE:
        return _WHOLE.index(old) < _WHOLE.index(new)
    if new == "double":
        return old in ("float", "tinyint", "smallint", "int")
    return _fits_decimal(old, new)


def _fits_decimal(old: str, new: str) -> bool:
    wide, narrow = _DECIMAL.match(new), _DECIMAL.match(old)
    if wide is None or (narrow is None and old not in _DIGITS):
        return False
    digits, scale = (int(d) for d in narrow.groups()) if narrow else (_DIGITS[old], 0)
    most, after = (int(d) for d in wide.groups())
    return after >= scale and most - after >= digits - scale


def _refused(name: Name, problem: str, hint: str) -> DTError:
    return error("DT-1142", name=name, problem=problem, hint=hint)


_ANEW = (
    "Use CREATE OR REPLACE DYNAMIC TABLE … BACKFILL FROM a table with those columns, or give the "
    "frozen rows up by ALTER DYNAMIC TABLE … UNSET FROZEN WHERE first."
)
_CAST = "Cast it in the query to the type that it had, or to a wider one."
_NAMED = (
    "Name the columns in the query by CREATE OR ALTER DYNAMIC TABLE, which may leave it out, or "
    "give the frozen rows up by ALTER DYNAMIC TABLE … UNSET FROZEN WHERE."
)
