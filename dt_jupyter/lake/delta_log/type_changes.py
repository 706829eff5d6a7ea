"""Whether values of a column's old type are read in its new one, as Delta's readers do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

DeltaType: TypeAlias = str | dict[str, Any]
"""A type as a Delta schema's JSON has it: its name, or an object of its parts."""
ID = "delta.columnMapping.id"
COLLATIONS = "__COLLATIONS"
_Field = Mapping[str, Any]
_INTEGERS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
"""Integers and the digits of their largest value."""
_WIDENED = {
    "byte": frozenset(("short", "integer", "long", "double")),
    "short": frozenset(("integer", "long", "double")),
    "integer": frozenset(("long", "double")),
    "float": frozenset(("double",)),
    "date": frozenset(("timestamp_ntz",)),
}
"""Delta's type widening, beside that to and among decimals: no value changes."""


class TypeChange(IntEnum):
    """How a type follows another, the worst part of it: EXTENDED by fields of structs, which old
    rows have as NULL; WIDENED, with the same values; OTHER."""

    SAME = 0
    EXTENDED = 1
    WIDENED = 2
    OTHER = 3


def column_change(old: _Field, new: _Field) -> TypeChange:
    """Between two fields of a schema's JSON, names apart."""
    if old["metadata"].get(COLLATIONS) != new["metadata"].get(COLLATIONS):
        return TypeChange.OTHER
    return _type_change(old["type"], new["type"])


def _type_change(old: DeltaType, new: DeltaType) -> TypeChange:
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        if old == new:
            return TypeChange.SAME
        plain = isinstance(old, str) and isinstance(new, str)
        return TypeChange.WIDENED if plain and widens(str(old), str(new)) else TypeChange.OTHER
    if old["type"] != new["type"]:
        return TypeChange.OTHER
    if old["type"] == "struct":
        return _fields_change(old["fields"], new["fields"])
    parts = ("elementType", "keyType", "valueType")
    return max(_type_change(old[p], new[p]) for p in parts if p in old)


def _fields_change(old: Sequence[_Field], new: Sequence[_Field]) -> TypeChange:
    """Fields that stay keep their names, ids and order."""
    known = {f["name"]: f for f in new}
    kept = [f["name"] for f in old]
    if kept != [f["name"] for f in new if f["name"] in set(kept)]:
        return TypeChange.OTHER
    if any(_renumbered(f, known[f["name"]]) for f in old):
        return TypeChange.OTHER
    more = TypeChange.EXTENDED if len(new) > len(old) else TypeChange.SAME
    return max([more, *(column_change(f, known[f["name"]]) for f in old)])


def _renumbered(old: _Field, new: _Field) -> bool:
    """Whether it is another field of the same name, by their ids where both have one."""
    ids = [f["metadata"][ID] for f in (old, new) if ID in f["metadata"]]
    return len(set(ids)) > 1


def widens(old: str, new: str) -> bool:
    """Whether Delta's type widening leads from one plain type to another."""
    if new in _WIDENED.get(old, ()):
        return True
    if not new.startswith("decimal("):
        return False
    precision, scale = _decimal(new)
    if old in _INTEGERS:
        return precision - scale >= _INTEGERS[old]
    if not old.startswith("decimal("):
        return False
    digits, places = _decimal(old)
    return scale >= places and precision - scale >= digits - places


def _decimal(type_: str) -> tuple[int, int]:
    precision, _, scale = type_[len("decimal(") : -1].partition(",")
    return int(precision), int(scale)
