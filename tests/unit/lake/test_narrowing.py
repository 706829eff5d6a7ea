"""Rows are selected by their hash; a range of another column only leaves unread what has none."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from dt_jupyter.lake import SmallTables, TableLog
from dt_jupyter.lake.delta_log.key_ranges import KeyRange, value_range
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.read import arrow_snapshot, narrowing
from dt_jupyter.lake.read.narrowing import narrowest_range

SCHEMA = pa.schema(
    [("h", pa.int64()), ("id", pa.int32()), ("day", pa.date32()), ("x", pa.float64())]
)
FIRST = date(2024, 1, 1)


def rows(*ids: int | None, spread: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "h": hash((i, n)) % 10**15,
            "id": i,
            "day": None if i is None else FIRST + timedelta(days=i % spread),
            "x": 0.5,
        }
        for n, i in enumerate(ids)
    ]


def table_of(folder: Path, *files: list[dict[str, Any]]) -> TableLog:
    for file in files:
        write_deltalake(folder, pa.Table.from_pylist(file, SCHEMA), mode="append")
    return TableLog(folder)


def narrowed(log: TableLog, among: list[dict[str, Any]]) -> KeyRange | None:
    snapshot = TableSnapshot(log.path, log.version())
    values = pa.Table.from_pylist(among, SCHEMA).drop_columns(["h"])
    return narrowest_range(snapshot.files, log.metadata(log.version()), values)


def selected(
    log: TableLog, among: list[dict[str, Any]], table_bytes: int = 0, kept_bytes: int = 1
) -> Counter[Any]:
    """By default a table that is too large for its columns to be kept."""
    wanted = pa.Table.from_pylist(among, SCHEMA)
    found = SmallTables(table_bytes=table_bytes, kept_bytes=kept_bytes).select(
        log,
        log.version(),
        SCHEMA.names,
        "h",
        wanted["h"],
        nulls=False,
        among=wanted.drop_columns(["h"]),
    )
    assert found is not None
    return Counter(tuple(r.values()) for r in found.to_pylist())


def test_the_column_that_leaves_most_unread_is_taken(tmp_path: Path) -> None:
    log = table_of(tmp_path, *(rows(*range(n, n + 50), spread=7) for n in range(0, 500, 50)))
    found = narrowed(log, rows(120, 130, spread=7))
    assert found == KeyRange("id", 120, 130, False, "delta-rs")
    assert narrowed(log, rows(3, 480)) is None  # all files between
    assert narrowed(log, [{"h": 1, "id": None, "day": None, "x": 1.0}]) is None


def test_dates_tell_where_keys_do_not(tmp_path: Path) -> None:
    days = [[{**r, "day": FIRST + timedelta(days=n)} for r in rows(1, 9000)] for n in range(6)]
    found = narrowed(table_of(tmp_path, *days), [days[4][0]])
    assert found is not None
    assert (found.column, found.low, found.high) == ("day", date(2024, 1, 5), date(2024, 1, 5))


def _random_files(seed: int) -> list[list[dict[str, Any]]]:
    """Clustered by id, with NULLs and whole files of them, and rows that are there twice."""
    rng = random.Random(seed)
    files = []
    for start in range(0, 400, 40):
        ids: list[int | None] = [rng.randrange(start, start + 40) for _ in range(20)]
        nulls = 0.4 if start in (80, 200) else 0.0
        files.append(rows(*(None if rng.random() < nulls else i for i in ids), spread=30))
    files.append(rows(*[None] * 5))
    files.append(list(files[rng.randrange(10)]))
    return files


KEPT = {"kept": 1 << 20, "not kept": 1}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[TableLog]:
    """A table of the files of each seed."""
    folder = tmp_path_factory.mktemp("tables")
    return [table_of(folder / str(seed), *_random_files(seed)) for seed in range(12)]


def _wrong(logs: list[TableLog], kept_bytes: int) -> Iterator[int]:
    """The seeds for which what is selected is not what is there of the rows."""
    for seed, log in enumerate(logs):
        files, rng = _random_files(seed), random.Random(seed)
        near = files[rng.choice([2, 5, rng.randrange(len(files))])]
        among = rng.sample(near if seed % 2 else [r for f in files for r in f], 5)
        hashes = {r["h"] for r in among}
        there = Counter(tuple(r.values()) for f in files for r in f if r["h"] in hashes)
        same = {tuple(r.values()) for r in among}
        meant = Counter({r: n for r, n in there.items() if r in same})
        found = selected(log, among, kept_bytes=kept_bytes)
        if Counter({r: n for r, n in found.items() if r in same}) != meant:
            yield seed


@pytest.mark.parametrize("kept", KEPT)
def test_no_row_that_is_asked_for_is_left_out(kept: str, logs: list[TableLog]) -> None:
    assert list(_wrong(logs, KEPT[kept])) == []


MUTANTS = {
    "the first value alone is inside": lambda r: None if r is None else replace(r, high=r.low),
    "NULLs are outside": lambda r: None if r is None else replace(r, nulls=False),
    "the last value is outside": lambda r: None if r is None else replace(r, high=r.high - _ONE(r)),
}


def _ONE(range_: KeyRange) -> Any:
    return timedelta(days=1) if isinstance(range_.high, date) else 1


@pytest.mark.parametrize(
    ("name", "kept"),
    # Of a kept table row groups are left out, and no rows: its last value is in one that is read.
    [(n, k) for n in MUTANTS for k in KEPT if (n, k) != ("the last value is outside", "kept")],
)
def test_a_mutant_is_caught(
    name: str, kept: str, logs: list[TableLog], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, all_asked, mutate = narrowing.narrowest_range, narrowing.ranges_of, MUTANTS[name]
    monkeypatch.setattr(arrow_snapshot, "narrowest_range", lambda *args: mutate(asked(*args)))
    monkeypatch.setattr(
        arrow_snapshot, "ranges_of", lambda *args: list(map(mutate, all_asked(*args)))
    )
    assert next(_wrong(logs, KEPT[kept]), None) is not None


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("nulls", [False, True])
def test_the_key_itself_narrows_and_keeps_its_nulls(nulls: bool, kept: str, tmp_path: Path) -> None:
    log = table_of(tmp_path, *(rows(*range(n, n + 50), None) for n in range(0, 500, 50)))
    found = SmallTables(table_bytes=0, kept_bytes=KEPT[kept]).select(
        log, log.version(), ["id"], "id", pa.array([7, 9, 1000]), nulls=nulls
    )
    assert found is not None
    assert Counter(found["id"].to_pylist()) == Counter([7, 9] + [None] * 10 * nulls)


def test_a_small_table_is_read_without_looking_at_its_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = table_of(tmp_path, rows(1, 2), rows(3, 4))
    monkeypatch.delattr(arrow_snapshot, "narrowest_range")
    assert selected(log, rows(1), table_bytes=1 << 20).total() == 1


def test_a_date_that_python_does_not_hold_has_no_range() -> None:
    """As year 10000, which Spark computes: neither the log nor a merge tells its bounds."""
    far = pa.chunked_array([pa.array([0, 2_932_897], pa.int32()).cast(pa.date32())])
    assert value_range(far) is None
    near = pa.chunked_array([pa.array([0, None], pa.int32()).cast(pa.date32())])
    assert value_range(near) == (date(1970, 1, 1), date(1970, 1, 1), True)
