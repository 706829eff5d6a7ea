"""Generated rows for the check at creation: few distinct values, NULLs, duplicates, odd floats."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from pyspark.sql import types as T

_STRINGS = ("a", "A", "", "é", "it's", '"q"', "😀", "b")
_WORD = re.compile(r"'((?:[^'\\]|\\.)*)'")
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])")
_DAY = date(2020, 2, 28)
_NOON = datetime(2020, 2, 28, 12)
_FIRST_KEY = 61
"""Real rows are often numbered from 1; generated ones would match them all."""


def literals(query: str) -> tuple[list[str], list[float]]:
    """The strings and numbers that a query mentions: rows near them pass its filters."""
    return _WORD.findall(query)[:40], [float(n) for n in _NUMBER.findall(query)[:40]]


class NoValues(Exception):
    """No values of a type, which it names, are made."""


def sample_rows(
    schema: T.StructType,
    query: str,
    count: int,
    rng: random.Random,
    keys: Collection[str] = (),
    drift: float | None = None,
) -> list[dict[str, Any]]:
    """`count` rows of a schema, about one in six a copy of another.

    With `drift`, the columns `keys` have in the n-th row the n-th value of their type, so that any
    two of them join row by row; that often they have another one, or NULL, and rows are copied:
    some then match several, and some none.
    """
    words, numbers = literals(query)
    made: list[dict[str, Any]] = []
    for i in range(count):
        if made and rng.random() < min(0.17, 1.0 if drift is None else drift):
            made.append(rng.choice(made))
            continue
        row = _struct(schema, words, numbers, rng)
        if drift is not None:
            for f in schema:
                if f.name in keys and _has_nth(f.dataType):
                    row[f.name] = _key(f, i, count, drift, words, numbers, rng)
        made.append(row)
    return made


def _key(
    field: T.StructField,
    i: int,
    count: int,
    drift: float,
    words: Sequence[str],
    numbers: Sequence[float],
    rng: random.Random,
) -> Any:
    if rng.random() < drift:
        if field.nullable and rng.random() < 0.3:
            return None
        i = rng.randrange(count)
    return _nth(field.dataType, i, words, numbers)


_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_NUMBERED = (*_WHOLE, T.FloatType, T.DoubleType, T.DecimalType)
_WORDS = (T.StringType, T.VarcharType, T.CharType)
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType)


def _has_nth(type_: T.DataType) -> bool:
    return isinstance(type_, (*_NUMBERED, *_WORDS, *_TIMES))


def _nth(type_: T.DataType, n: int, words: Sequence[str], numbers: Sequence[float]) -> Any:
    """The n-th value of a type; types of one kind have equal ones."""
    if isinstance(type_, _WORDS):
        pool = list(dict.fromkeys((*words, *_STRINGS)))
        return pool[n] if n < len(pool) else f"k{n}"
    if isinstance(type_, T.DateType):
        return _DAY + timedelta(days=n)
    if isinstance(type_, T.TimestampType | T.TimestampNTZType):
        return _NOON + timedelta(days=n)
    near = (int(x) + d for x in numbers for d in (0, -1, 1) if abs(x) < 100)
    values = dict.fromkeys((*near, *range(_FIRST_KEY, _FIRST_KEY + n + 1)))
    small = next(islice(values, n, None))
    if isinstance(type_, T.FloatType | T.DoubleType):
        return float(small)
    if isinstance(type_, T.DecimalType):
        value = Decimal(small % 10 ** (type_.precision - type_.scale))
        return value.quantize(Decimal(1).scaleb(-type_.scale))
    return small


def _struct(
    schema: T.StructType, words: Sequence[str], numbers: Sequence[float], rng: random.Random
) -> dict[str, Any]:
    return {f.name: _value(f.dataType, f.nullable, words, numbers, rng) for f in schema}


def _value(
    type_: T.DataType,
    nullable: bool,
    words: Sequence[str],
    numbers: Sequence[float],
    rng: random.Random,
) -> Any:
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
    if isinstance(type_, _WHOLE):
        bits = {T.ByteType: 7, T.ShortType: 15, T.IntegerType: 31, T.LongType: 63}[type(type_)]
        return max(-(2**bits), min(2**bits - 1, int(small)))
    if isinstance(type_, T.FloatType | T.DoubleType):
        return rng.choice((0.0, -0.0, float("nan"), 0.5, float(small), float(small)))
    if isinstance(type_, T.DecimalType):
        limit = 10 ** (type_.precision - type_.scale)
        value = Decimal(str(small)) if abs(small) < limit else Decimal(0)
        return value.quantize(Decimal(1).scaleb(-type_.scale))
    if isinstance(type_, _WORDS):
        return rng.choice(words) if words and rng.random() < 0.5 else rng.choice(_STRINGS)
    if isinstance(type_, T.BinaryType):
        return rng.choice((b"", b"\x00", b"ab"))
    days = timedelta(days=rng.randrange(3))
    if isinstance(type_, T.DateType):
        return _DAY + days
    if isinstance(type_, T.TimestampType | T.TimestampNTZType):
        return _NOON.replace(minute=rng.randrange(0, 60, 20)) + days
    raise NoValues(type_.simpleString())
