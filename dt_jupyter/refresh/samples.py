"""Generated rows for the check at creation: few distinct values, NULLs, duplicates, odd floats."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyspark.sql import types as T

_STRINGS = ("a", "A", "", "é", "it's", '"q"', "😀", "b")
_WORD = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])")
_DAY = date(2020, 2, 28)


def literals(query: str) -> tuple[list[str], list[float]]:
    """The strings and numbers that a query mentions: rows near them pass its filters."""
    return _WORD.findall(query)[:40], [float(n) for n in _NUMBER.findall(query)[:40]]


def rows(schema: T.StructType, query: str, count: int, rng: random.Random) -> list[dict[str, Any]]:
    """`count` rows of a schema, about one in six a copy of another."""
    words, numbers = literals(query)
    made: list[dict[str, Any]] = []
    for _ in range(count):
        if made and rng.random() < 0.17:
            made.append(rng.choice(made))
        else:
            made.append(_struct(schema, words, numbers, rng))
    return made


def _struct(
    schema: T.StructType, words: Sequence[str], numbers: Sequence[float], rng: random.Random
) -> dict[str, Any]:
    return {f.name: _value(f.dataType, f.nullable, words, numbers, rng) for f in schema}


def _value(
    type_: T.DataType, nullable: bool, words: Sequence[str], numbers: Sequence[float],
    rng: random.Random,
) -> Any:  # fmt: skip
    if nullable and rng.random() < 0.12:
        return None
    if isinstance(type_, T.ArrayType):
        return [
            _value(type_.elementType, True, words, numbers, rng) for _ in range(rng.randrange(3))
        ]
    if isinstance(type_, T.StructType):
        return _struct(type_, words, numbers, rng)
    if isinstance(type_, T.MapType):
        key = _value(type_.keyType, False, words, numbers, rng)
        return [(key, _value(type_.valueType, True, words, numbers, rng))]
    return _atom(type_, words, numbers, rng)


def _atom(
    type_: T.DataType, words: Sequence[str], numbers: Sequence[float], rng: random.Random
) -> Any:
    number = (
        rng.choice(numbers) + rng.choice((-1, 0, 1)) if numbers and rng.random() < 0.5 else None
    )
    small = rng.randrange(-2, 5) if number is None else number
    if isinstance(type_, T.BooleanType):
        return rng.random() < 0.5
    if isinstance(type_, T.ByteType | T.ShortType | T.IntegerType | T.LongType):
        bits = {T.ByteType: 7, T.ShortType: 15, T.IntegerType: 31, T.LongType: 63}[type(type_)]
        return max(-(2**bits), min(2**bits - 1, int(small)))
    if isinstance(type_, T.FloatType | T.DoubleType):
        return rng.choice((0.0, -0.0, float("nan"), 0.5, float(small), float(small)))
    if isinstance(type_, T.DecimalType):
        limit = 10 ** (type_.precision - type_.scale)
        value = Decimal(str(small)) if abs(small) < limit else Decimal(0)
        return value.quantize(Decimal(1).scaleb(-type_.scale))
    if isinstance(type_, T.StringType | T.VarcharType | T.CharType):
        return rng.choice(words) if words and rng.random() < 0.5 else rng.choice(_STRINGS)
    if isinstance(type_, T.BinaryType):
        return rng.choice((b"", b"\x00", b"ab"))
    days = timedelta(days=rng.randrange(3))
    if isinstance(type_, T.DateType):
        return _DAY + days
    if isinstance(type_, T.TimestampType | T.TimestampNTZType):
        noon = datetime(2020, 2, 28, 12, rng.randrange(0, 60, 20))
        return noon + days
    raise TypeError(type_.simpleString())
