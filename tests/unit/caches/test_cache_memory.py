"""All that is kept of tables stands under one number of bytes, and its sizes are what it takes."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from dt_jupyter.caches import cache_memory
from dt_jupyter.caches.cache_memory import ENTRY_BYTES, Cache, CacheMemory
from dt_jupyter.lake import TableLog
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.lake.delta_log.commits import MOST_REMEMBERED
from dt_jupyter.lake.read.arrow_snapshot import SmallTables


@pytest.fixture(autouse=True)
def _no_pressure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)


def test_the_least_recently_used_of_all_caches_goes_first() -> None:
    memory = CacheMemory(3 * (100 + ENTRY_BYTES))
    gone: list[str] = []
    one: Cache[str, int] = Cache(memory, "one", dropped=gone.append)
    two: Cache[str, int] = Cache(memory, "two", dropped=gone.append)
    one.put("a", 1, 100)
    two.put("b", 2, 100)
    one.put("c", 3, 100)
    assert one.get("a") == 1
    two.put("d", 4, 100)
    assert gone == ["b"]
    assert (list(one), list(two)) == (["c", "a"], ["d"])
    assert two.get("b") is None
    one.put("large", 5, memory.most_bytes)
    assert (gone, one.get("large"), one.get("a")) == (["b", "large"], None, 1)
    memory.clear()
    assert (memory.bytes, len(one), len(two)) == (0, 0, 0)
    assert sorted(gone) == ["a", "b", "c", "d", "large"]


@pytest.mark.parametrize("seed", range(5))
def test_sizes_are_those_of_what_is_there(seed: int) -> None:
    rng, memory = random.Random(seed), CacheMemory(10_000)
    caches: list[Cache[int, int]] = [
        Cache(memory, str(i), own_bytes=most) for i, most in enumerate((None, 4_000, None))
    ]
    sizes: list[dict[int, int]] = [{}, {}, {}]
    for _ in range(600):
        place, key = rng.randrange(3), rng.randrange(12)
        match rng.randrange(4):
            case 0:
                caches[place].pop(key)
            case 1:
                caches[place].get(key)
            case _:
                sizes[place][key] = rng.randrange(3_000)
                caches[place].put(key, key, sizes[place][key])
        for cache, known in zip(caches, sizes, strict=True):
            assert cache.bytes == sum(known[k] + ENTRY_BYTES for k in cache)
        assert memory.bytes == sum(c.bytes for c in caches) <= memory.most_bytes
        assert caches[1].bytes <= 4_000


def test_many_versions_of_many_tables_stay_within_the_budget(tmp_path: Path) -> None:
    """Footers, lists of files, columns and snapshots, with one number of bytes for them."""
    tables = SmallTables(kept_bytes=400_000)
    memory, largest = tables.columns.memory, 0
    names = [f"c{i}" for i in range(40)]
    for number in range(4):
        for turn in range(6):
            rows = pa.table({n: pa.array([turn] * 20, pa.int64()) for n in names})
            write_deltalake(tmp_path / str(number), rows, mode="append")
            log = TableLog(tmp_path / str(number))
            found = tables.rows(log, log.version(), names[: 3 + turn])
            assert found is not None
            assert found.num_rows == 20 * (turn + 1)
            largest = max(largest, memory.bytes)
            assert memory.bytes <= memory.most_bytes
    assert largest > 0.7 * memory.most_bytes
    assert "footers" in {c.kind for c in memory.caches if c.bytes}


def test_a_list_of_files_has_about_the_size_that_is_said(tmp_path: Path) -> None:
    for _ in range(4):
        write_deltalake(
            tmp_path,
            pa.table({"p": range(200), "v": range(200)}),
            mode="append",
            partition_by=["p"],
        )
    files = LiveFiles(tmp_path)
    files.at(0)
    tracemalloc.start()
    try:
        kept = LiveFiles(tmp_path)
        for version in range(4):
            kept.at(version)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.5 * taken < kept.bytes < 2 * taken


def test_what_is_kept_of_a_table_does_not_grow_with_its_versions(tmp_path: Path) -> None:
    """Each version has a new file, with another footer, and its change is read."""
    tables, names, sizes = SmallTables(), [f"c{i}" for i in range(40)], []
    log = TableLog(tmp_path)
    for turn in range(40):
        rows = pa.table({n: pa.array([turn] * 20, pa.int64()) for n in names})
        write_deltalake(tmp_path, rows, mode="overwrite")
        version = log.version()
        found = tables.rows(log, version, names)
        assert found is not None
        assert found["c0"].to_pylist() == [turn] * 20
        if version:
            feed_table(log, version, version, names, tables.columns)
        sizes.append({c.kind: c.bytes for c in tables.columns.memory.caches})
    assert min(sizes[35][k] for k in ("footers", "columns", "change feeds", "snapshots")) > 0
    for found in (sizes[35], sizes[-1]):
        assert found.pop("commits") < MOST_REMEMBERED
    assert sizes[-1] == sizes[35]


def test_the_feeds_of_all_tables_have_the_budget_in_common(tmp_path: Path) -> None:
    tables = SmallTables(kept_bytes=90_000)
    for number in range(8):
        for turn in range(2):
            rows = pa.table({"c": pa.array([turn] * 1_000, pa.int64())})
            write_deltalake(tmp_path / str(number), rows, mode="append")
        log = TableLog(tmp_path / str(number))
        tables.columns.files(log, 1)
        assert feed_table(log, 1, 1, ["c"]).num_rows == 1_000
        assert tables.columns.memory.bytes <= 90_000
        assert feed_table(log, 1, 1, ["c"]) is feed_table(log, 1, 1, ["c"])
    (feeds,) = (c for c in tables.columns.memory.caches if c.kind == "change feeds")
    assert 0 < len(feeds) < 8


def test_commits_that_are_remembered_are_in_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, logs = SmallTables(kept_bytes=30_000), []
    for number in range(6):
        for turn in range(4):
            write_deltalake(tmp_path / str(number), pa.table({"c": [turn]}), mode="append")
        log = TableLog(tmp_path / str(number))
        assert len(log.commits(0, 3)) == 3
        assert log.remembered.bytes > 3_000
        tables.columns.files(log, 3)
        logs.append(log)
        assert tables.columns.memory.bytes <= 30_000
    assert [bool(len(log.remembered)) for log in logs] != [True] * 6
    assert logs[-1].remembered.bytes > 0
    assert [c.version for c in logs[0].commits(0, 3)] == [1, 2, 3]  # read again
    (commits,) = (c for c in tables.columns.memory.caches if c.kind == "commits")
    assert commits.bytes > 0
