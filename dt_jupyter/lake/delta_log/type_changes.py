"""Whether values of a column's old type are read in its new one, as Delta's readers do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

DeltaType: TypeAlias = str | dict[str, Any]
"""A type as a Delta schema's JSON has it: its name, or an object of its parts."""
ID = "delta.columnMapping.id"
PHYSICAL = "delta.columnMapping.physicalName"
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
"""Delta's type widening, except to and among decimals: no value changes."""


class TypeChange(IntEnum):
    """How a type follows another, the worst part of it: EXTENDED by fields of structs, which old
    rows have as NULL; WIDENED, with the same values; RESHAPED: fields of structs went, moved or
    were renamed, and those that are left have the same values; OTHER."""

    SAME = 0
    EXTENDED = 1
    WIDENED = 2
    RESHAPED = 3
    OTHER = 4


def column_change(old: _Field, new: _Field) -> TypeChange:
    """Between two fields of a schema's JSON, except for names."""
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
    names = ("elementType", "keyType", "valueType")
    parts = {p: _type_change(old[p], new[p]) for p in names if p in old}
    if parts.get("keyType") is TypeChange.RESHAPED:  # keys that differed may be equal
        return TypeChange.OTHER
    return max(parts.values())


def _fields_change(old: Sequence[_Field], new: Sequence[_Field]) -> TypeChange:
    """Fields are followed by their ids where they have some, else by their names in files."""
    key = _find_key(old, new)
    before, after = ({key(f): f for f in fields} for fields in (old, new))
    kept = [(before[k], f) for k, f in after.items() if k in before]
    names = {f["name"].lower(): key(f) for f in old}
    if not kept or any(names.get(f["name"].lower(), key(f)) != key(f) for f in new):
        return TypeChange.OTHER  # another field of the same name
    same = [f["name"] for f in old] == [f["name"] for _, f in kept]
    more = TypeChange.EXTENDED if len(new) > len(kept) else TypeChange.SAME
    return max([more if same else TypeChange.RESHAPED, *(column_change(a, b) for a, b in kept)])


def _find_key(old: Sequence[_Field], new: Sequence[_Field]) -> Callable[[_Field], object]:
    if all(ID in f["metadata"] for f in (*old, *new)):
        return lambda field: field["metadata"][ID]
    if all(ID in f["metadata"] for f in new):  # column mapping was turned on
        return lambda field: field["metadata"].get(PHYSICAL, field["name"]).lower()
    return lambda field: field["name"].lower()


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
