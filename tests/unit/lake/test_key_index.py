"""Values that are found by their order are where a look at all of them finds them."""

from __future__ import annotations

import random
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from dt_jupyter.lake.read.key_index import KeyIndex, as_numbers, index_keys
from dt_jupyter.lake.read.wanted_rows import WantedRows, look_up, search

KINDS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32())


def values(rng: random.Random, type_: pa.DataType, count: int, *, nulls: bool) -> list[object]:
    low, high = (-128, 127) if type_ == pa.int8() else (-999, 999)
    numbers = [rng.randrange(low, high + 1) for _ in range(count)]
    made = [date(2024, 1, 1) + timedelta(n) if type_ == pa.date32() else n for n in numbers]
    return [None if nulls and rng.random() < 0.2 else v for v in made]


def differences(seed: int) -> list[str]:
    rng, wrong = random.Random(seed), []
    for type_ in KINDS:
        for ordered in (False, True):
            for nulls in (False, True):
                there = values(rng, type_, 400, nulls=nulls)
                if ordered:
                    there.sort(key=lambda v: (v is None, v))
                keys = pa.array(there, type_).slice(rng.randrange(9))
                looked_for = values(rng, type_, rng.choice([0, 1, 60]), nulls=False)
                asked = WantedRows("k", pc.unique(pa.array(looked_for, type_)), rng.random() < 0.5)
                index = index_keys(keys)
                assert index is not None
                found = look_up(index, keys, asked)
                if not found.equals(search(keys, asked)):
                    wrong.append(f"{type_}, ordered {ordered}, nulls {nulls}")
    return wrong


@pytest.mark.parametrize("seed", range(20))
def test_places_are_those_of_a_look_at_all(seed: int) -> None:
    assert differences(seed) == []


@pytest.mark.parametrize("broken", ["order", "ends"])
def test_places_that_are_taken_wrongly_are_caught(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    find = KeyIndex.find
    if broken == "order":
        monkeypatch.setattr(KeyIndex, "find", lambda i, w: find(KeyIndex(i.values, None, 0), w))
    else:
        monkeypatch.setattr(
            KeyIndex, "find", lambda i, w: find(KeyIndex(i.values[:-1], i.places, 0), w)
        )
    assert any(differences(seed) for seed in range(20))


@pytest.mark.parametrize("nulls", [False, True])
def test_long_values_are_found_among_short_ones(nulls: bool) -> None:
    keys = pa.array([3, None, -(2**31), 2**31 - 1, 3, 0], pa.int32())
    values = pa.array([3, 2**31, 2**40 + 3, -(2**31), -(2**63), 2**63 - 1], pa.int64())
    asked, index = WantedRows("k", values, nulls), index_keys(keys)
    assert index is not None
    there = [0, *([1] if nulls else []), 2, 4]
    assert look_up(index, keys, asked).to_pylist() == search(keys, asked).to_pylist() == there


def test_what_has_no_order_is_looked_through() -> None:
    for type_ in (pa.string(), pa.float64(), pa.decimal128(9, 2), pa.timestamp("us")):
        assert index_keys(pa.nulls(3, type_)) is None
    assert index_keys(pa.array(["a"]).dictionary_encode()) is None
    nothing = index_keys(pa.nulls(3, pa.int64()))
    assert nothing is not None
    assert nothing.find(np.array([0, 1])).tolist() == []
    assert as_numbers(pa.array([date(1970, 1, 3)])).tolist() == [2]
