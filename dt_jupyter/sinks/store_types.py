"""The types that sources have, by kind; a store's table says what each becomes there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dt_jupyter.model import error
from dt_jupyter.sinks.binding import SinkColumn

if TYPE_CHECKING:
    import pyarrow as pa


class TypeKind(StrEnum):
    BOOLEAN = "boolean"
    BYTE = "byte"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


NESTED = frozenset({TypeKind.ARRAY, TypeKind.MAP, TypeKind.STRUCT})
_WIDER: Mapping[TypeKind, frozenset[TypeKind]] = {
    TypeKind.BYTE: frozenset({TypeKind.SHORT, TypeKind.INT, TypeKind.LONG}),
    TypeKind.SHORT: frozenset({TypeKind.INT, TypeKind.LONG}),
    TypeKind.INT: frozenset({TypeKind.LONG, TypeKind.DOUBLE}),
    TypeKind.FLOAT: frozenset({TypeKind.DOUBLE}),
}


def type_kind(kind: pa.DataType) -> TypeKind | None:
    """None for a type that no source of Spark's has."""
    import pyarrow.types as t

    tests = (
        (t.is_boolean, TypeKind.BOOLEAN),
        (t.is_int8, TypeKind.BYTE),
        (t.is_int16, TypeKind.SHORT),
        (t.is_int32, TypeKind.INT),
        (t.is_int64, TypeKind.LONG),
        (t.is_float32, TypeKind.FLOAT),
        (t.is_float64, TypeKind.DOUBLE),
        (t.is_decimal128, TypeKind.DECIMAL),
        (t.is_string, TypeKind.STRING),
        (t.is_large_string, TypeKind.STRING),
        (t.is_binary, TypeKind.BINARY),
        (t.is_large_binary, TypeKind.BINARY),
        (t.is_date32, TypeKind.DATE),
        (t.is_map, TypeKind.MAP),
        (t.is_list, TypeKind.ARRAY),
        (t.is_large_list, TypeKind.ARRAY),
        (t.is_struct, TypeKind.STRUCT),
    )
    if t.is_timestamp(kind):
        return TypeKind.TIMESTAMP if kind.tz else TypeKind.TIMESTAMP_NTZ
    return next((name for test, name in tests if test(kind)), None)


@dataclass(frozen=True)
class TypeTable:
    """What each kind becomes in a store; `refused` says why one has no place there. In a text,
    {precision} and {scale} are a decimal's."""

    store: str
    types: Mapping[TypeKind, str]
    refused: Mapping[TypeKind, str]

    def __post_init__(self) -> None:
        missing = set(TypeKind) - self.types.keys() - self.refused.keys()
        if missing or self.types.keys() & self.refused.keys():
            raise ValueError(f"{self.store}: not one word for each kind: {sorted(missing)}")

    def stored(self, column: SinkColumn) -> str:
        """The store's type of a column; DT-6132 where it has none."""
        kind = type_kind(column.type)
        if kind is None or kind in self.refused:
            why = "it has no such type" if kind is None else self.refused[kind]
            raise error(
                "DT-6132", column=column.name, type=column.type, store=self.store, problem=why
            )
        decimal = kind is TypeKind.DECIMAL
        numbers = (column.type.precision, column.type.scale) if decimal else (0, 0)
        return self.types[kind].format(precision=numbers[0], scale=numbers[1])


def is_wider(before: pa.DataType, now: pa.DataType) -> bool:
    """Whether every value of a type is one of another, exactly."""
    a, b = type_kind(before), type_kind(now)
    if a is TypeKind.DECIMAL and b is TypeKind.DECIMAL:
        whole = now.precision - now.scale >= before.precision - before.scale
        return bool(whole and now.scale >= before.scale)
    return a is not None and b in _WIDER.get(a, frozenset())
