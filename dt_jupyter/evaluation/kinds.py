"""Spark's types of values that are evaluated here, and the types of what is computed of them.

Sources: Spark's `TypeCoercion` and `DecimalPrecision`, with precision loss allowed as by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.evaluation.left_out import LeftOut

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DIGITS = 38
_LEAST_SCALE = 6
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)\Z")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
INTEGERS = tuple(_DIGITS)
"""From narrow to wide."""
_DUCKDB = {
    "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT", "int": "INTEGER",
    "bigint": "BIGINT", "date": "DATE", "string": "VARCHAR", "binary": "BLOB", "float": "FLOAT",
    "double": "DOUBLE", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP",
}  # fmt: skip
_FLOATS = frozenset({"float", "double"})
COMPARED_TYPES = frozenset(
    {"boolean", "date", "string", "timestamp", "timestamp_ntz", *INTEGERS, *_FLOATS}
)
"""Types whose values `=` and `<` compare as Spark does, besides decimals: NaN is equal to itself
and above all, −0.0 is 0.0."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A type of Spark's; precision and scale are of decimals."""

    name: str
    precision: int = 0
    scale: int = 0

    @property
    def is_integer(self) -> bool:
        return self.name in _DIGITS

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_float(self) -> bool:
        return self.name in _FLOATS

    @property
    def is_number(self) -> bool:
        return self.is_integer or self.is_decimal or self.is_float

    @property
    def is_compared(self) -> bool:
        return self.is_decimal or self.name in COMPARED_TYPES

    @property
    def sql(self) -> str:
        """The type's name in DuckDB."""
        if self.is_decimal:
            return f"DECIMAL({self.precision},{self.scale})"
        return _DUCKDB[self.name]

    @property
    def arrow(self) -> pa.DataType:
        """The type of Arrow in which PySpark gives such values."""
        import pyarrow as pa

        if self.is_decimal:
            return pa.decimal128(self.precision, self.scale)
        return {
            "boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(),
            "bigint": pa.int64(), "date": pa.date32(), "string": pa.string(),
            "binary": pa.binary(), "float": pa.float32(), "double": pa.float64(),
            "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
        }[self.name]  # fmt: skip


VOID = ValueKind("void")
"""The type of NULL alone."""
INT, BIGINT, BOOLEAN, STRING, DATE = map(ValueKind, ("int", "bigint", "boolean", "string", "date"))
DOUBLE = ValueKind("double")


def decimal(precision: int, scale: int) -> ValueKind:
    return ValueKind("decimal", precision, scale)


def value_kind(spark_type: str) -> ValueKind | None:
    """The kind of a type in Spark's words; None for one that is not evaluated."""
    found = _DECIMAL.match(spark_type)
    if found:
        return decimal(int(found[1]), int(found[2]))
    return ValueKind(spark_type) if spark_type in _DUCKDB else None


def arrow_value_kind(type_: pa.DataType) -> ValueKind | None:
    """The kind of values that PySpark gave in this type; None for one that is not evaluated."""
    from pyarrow import types as t

    if t.is_decimal128(type_):
        return decimal(type_.precision, type_.scale)
    if t.is_timestamp(type_):
        return ValueKind("timestamp_ntz" if type_.tz is None else "timestamp")
    found = (ValueKind(n) for n in _DUCKDB if not n.startswith("timestamp"))
    return next((k for k in found if k.arrow == type_), None)


def as_decimal(kind: ValueKind) -> ValueKind:
    """The decimal that holds all values of an integer type."""
    return kind if kind.is_decimal else decimal(_DIGITS[kind.name], 0)


def common(one: ValueKind, other: ValueKind) -> ValueKind:
    """The type that both become in a comparison, a CASE or a UNION."""
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if one.is_integer and other.is_integer:
        return max(one, other, key=lambda k: _DIGITS[k.name])
    if DOUBLE in (one, other) and one.is_number and other.is_number:
        return DOUBLE
    if {one.is_integer or one.is_decimal, other.is_integer or other.is_decimal} == {True}:
        a, b = as_decimal(one), as_decimal(other)
        scale = max(a.scale, b.scale)
        whole = max(a.precision - a.scale, b.precision - b.scale)
        over = max(whole + scale - MOST_DIGITS, 0)
        if over and (one.is_integer or other.is_integer):
            raise LeftOut(f"{one.sql} beside {other.sql}")  # a literal has as many digits as it has
        return decimal(whole + scale - over, scale - over)
    raise LeftOut(f"{one.name} beside {other.name}")


def sum_kind(kind: ValueKind) -> ValueKind:
    """The type of a sum."""
    if kind.is_integer:
        return BIGINT
    if kind.is_decimal:
        return decimal(min(MOST_DIGITS, kind.precision + 10), kind.scale)
    raise LeftOut(f"a sum of {kind.name}")


def average_kind(kind: ValueKind) -> ValueKind:
    """The type of an average of decimals."""
    return decimal(min(MOST_DIGITS, kind.precision + 4), min(MOST_DIGITS, kind.scale + 4))


def result_of(operator: str, one: ValueKind, other: ValueKind) -> ValueKind:
    """The type of `+`, `-`, `*` and `/` of two decimals."""
    whole = one.precision - one.scale
    if operator in "+-":
        scale = max(one.scale, other.scale)
        precision = max(whole, other.precision - other.scale) + scale + 1
    elif operator == "*":
        scale = one.scale + other.scale
        precision = one.precision + other.precision + 1
    else:
        scale = max(_LEAST_SCALE, one.scale + other.precision + 1)
        precision = whole + other.scale + scale
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    kept = min(scale, _LEAST_SCALE)
    return decimal(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), kept))
