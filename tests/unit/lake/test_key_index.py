"""Values that are found by their order are where a look at all of them finds them."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake

from dt_jupyter.caches import cache_memory
from dt_jupyter.lake import TableLog
from dt_jupyter.lake.read import kept_columns
from dt_jupyter.lake.read.kept_columns import KeptColumns
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


FILES, ROWS = 4, 30_000


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableLog:
    """A table of several files, in each of which every value may be."""
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)
    rng = np.random.default_rng(1)
    for _ in range(FILES):
        rows = pa.table({"k": rng.integers(0, 10_000, ROWS), "v": np.arange(ROWS)})
        write_deltalake(tmp_path / "t", rows, mode="append")
    return TableLog(tmp_path / "t")


def found(kept: KeptColumns, log: TableLog, *values: int) -> pa.Table:
    wanted = WantedRows("k", pa.array(values, pa.int64()), nulls=False)
    rows = kept.select(kept.files(log, log.version()), ("k", "v"), wanted, 10**6)
    assert rows is not None
    return rows


def test_no_more_is_spent_on_sorting_than_on_looking(
    numbers: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of many files is not sorted all at once, and is in the end."""
    kept, sorted_rows, looked_through = KeptColumns(), [0], 0
    whole = kept.rows(kept.files(numbers, numbers.version()), ("k", "v"))

    def spied(keys: pa.Array) -> KeyIndex | None:
        sorted_rows.append(sorted_rows[-1] + len(keys))
        return index_keys(keys)

    monkeypatch.setattr(kept_columns, "index_keys", spied)
    for turn in range(30):
        before = sorted_rows[-1]
        rows = found(kept, numbers, turn, turn + 5_000)
        assert rows.num_rows == len(
            whole.filter(pc.is_in(whole["k"], pa.array([turn, turn + 5_000])))
        )
        looked_through += FILES * ROWS - before
        assert kept_columns._SORTING_COST * sorted_rows[-1] <= looked_through
        assert sorted_rows[-1] - before <= ROWS
    assert sorted_rows[-1] == FILES * ROWS


def test_what_is_looked_for_again_is_known_in_all_files(
    numbers: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, asked = KeptColumns(), []

    def spied(keys: pa.Array, wanted: WantedRows) -> pa.Array:
        asked.append(len(keys))
        return search(keys, wanted)

    monkeypatch.setattr(kept_columns, "search", spied)
    rows = found(kept, numbers, 7, 8)
    assert len(asked) == FILES
    assert found(kept, numbers, 8, 7) == rows
    assert len(asked) == FILES
    looked_up = kept._looked_up
    looked_up.own_bytes = looked_up.bytes
    for turn in range(9):
        found(kept, numbers, turn + 100)
        assert 0 < looked_up.bytes <= looked_up.own_bytes
    kept.memory.clear()
    assert (looked_up.bytes, kept.memory.bytes, len(looked_up)) == (0, 0, 0)
