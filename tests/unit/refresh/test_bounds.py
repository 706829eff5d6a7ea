"""Literal bounds of a change: every value of it is within them, or there are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from dt_jupyter.refresh.literal_pushdown import LISTED, bounds_of

Value = Any
WORDS = ("a", "b", "", "Z", "o'brien", "\\", "{x}", "ñ", "🙂", "\x00")


def column(values: Sequence[Value], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def predicate(values: Sequence[Value], kind: pa.DataType, *, null_safe: bool = False) -> str | None:
    found = bounds_of(column(values, kind))
    return found and found.predicate("x", null_safe=null_safe).sql(str)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([2, 1, 2], pa.int32(), "x IN (1L, 2L)"),
        ([Decimal("1.50")], pa.decimal128(5, 2), "x IN (1.50BD)"),
        ([date(2024, 2, 29)], pa.date32(), "x IN (DATE'2024-02-29')"),
        (["b", "a"], pa.string(), "x IN ('a', 'b')"),
        ([], pa.int64(), "FALSE"),
        ([None], pa.int64(), "FALSE"),
        ([1, None], pa.int64(), "x IN (1L)"),
        ([1.5], pa.float64(), None),
        ([True], pa.bool_(), None),
        ([datetime(2024, 1, 1)], pa.timestamp("us"), None),
        ([b"a"], pa.binary(), None),
    ],
)
def test_values_become_a_list(
    values: Sequence[Value], kind: pa.DataType, expected: str | None
) -> None:
    assert predicate(values, kind) == expected


@pytest.mark.parametrize("other", [w for w in WORDS if w not in ("a", "b", "", "Z")])
def test_one_value_without_a_literal_leaves_no_bounds(other: str) -> None:
    assert predicate(["a", other], pa.string()) is None
    assert predicate([other, "b"], pa.string()) is None


def test_many_values_become_a_range() -> None:
    assert predicate(range(LISTED + 1), pa.int64()) == f"x BETWEEN 0L AND {LISTED}L"


def test_a_range_whose_end_has_no_literal_is_none() -> None:
    words = [f"w{i}" for i in range(LISTED)]
    assert predicate([*words, "ñ"], pa.string()) is None
    assert predicate([*words, "w5ñ"], pa.string()) is not None


def test_null_is_within_where_nulls_match() -> None:
    assert predicate([1, None], pa.int64(), null_safe=True) == "x IN (1L) OR x IS NULL"
    assert predicate([None], pa.int64(), null_safe=True) == "FALSE OR x IS NULL"
    assert predicate([1], pa.int64(), null_safe=True) == "x IN (1L)"


@pytest.mark.parametrize("seed", range(40))
def test_every_value_is_within_its_bounds(seed: int) -> None:
    rng = Random(seed)
    size = rng.choice((0, 3, 30, 3 * LISTED))
    numbers = [
        rng.choice((None, rng.randrange(-(10 ** rng.randrange(19)), 10**18))) for _ in range(size)
    ]
    text = predicate(numbers, pa.int64(), null_safe=True)
    assert text is not None
    table = pa.table({"x": pa.array(numbers, pa.int64())})
    db = duckdb.connect()
    db.register("t", table)
    plain = re.sub(r"(\d)L", r"\1", text)
    assert db.execute(f"SELECT COUNT(*) FROM t WHERE {plain}").fetchone() == (size,)


def test_arrays_and_structs_have_no_bounds() -> None:
    assert bounds_of(pa.chunked_array([[[1], [2], None]])) is None
    assert bounds_of(pa.chunked_array([[{"a": 1}]])) is None
