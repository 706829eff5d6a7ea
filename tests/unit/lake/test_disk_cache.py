"""Decoded columns on the disk: what another process wrote is mapped, and whatever became of the
files, the rows are those of the table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from dt_jupyter.caches import cache_memory
from dt_jupyter.lake import DiskCache, TableLog
from dt_jupyter.lake.read import disk_cache, disk_columns, kept_columns
from dt_jupyter.lake.read.disk_columns import INDEX, ColumnFolder, ColumnKey
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.key_index import KeyIndex, index_keys
from dt_jupyter.lake.read.wanted_rows import WantedRows

ROWS = 2_000
MOST = 64 << 20
NAMES = ("k", "few", "text", "price", "more")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of few rows are long ones, and no memory is missing."""
    monkeypatch.setattr(disk_cache, "_LEAST_ROWS", 1_000)
    monkeypatch.setattr(kept_columns, "_INDEXED_ROWS", 1_000)
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    """A table with columns of every packed kind, NULLs among them."""
    rng = np.random.default_rng(1)
    rows = pa.table({
        "k": pa.array(rng.integers(0, 500, ROWS)),
        "few": pa.array([None if n % 7 == 0 else f"f{n % 5}" for n in range(ROWS)]),
        "text": pa.array([f"text {n}" for n in range(ROWS)]),
        "price": pa.array(map(Decimal, range(ROWS)), pa.decimal128(9, 2)),
        "more": pa.array([[n, None] for n in range(ROWS)], pa.list_(pa.int64())),
    })  # fmt: skip
    write_deltalake(tmp_path / "t", rows)
    return TableLog(tmp_path / "t")


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns that were decoded, and `index` for each that was sorted."""
    found: list[str] = []
    read = pq.ParquetFile.read_row_group

    def spied(self: pq.ParquetFile, group: int, columns: list[str], **how: bool) -> pa.Table:
        found.extend(columns)
        return read(self, group, columns, **how)

    def sorts(keys: pa.Array) -> KeyIndex | None:
        found.append(INDEX)
        return index_keys(keys)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", spied)
    monkeypatch.setattr(kept_columns, "index_keys", sorts)
    return found


def process(folder: Path, most: int = MOST) -> KeptColumns:
    """The caches of a process that has just begun."""
    return KeptColumns(disk=DiskCache(folder, most))


def rows_of(kept: KeptColumns, log: TableLog) -> pa.Table:
    return kept.rows(kept.files(log, log.version()), NAMES)


def written(kept: KeptColumns, log: TableLog) -> pa.Table:
    """The table's rows, when all columns of theirs are on the disk."""
    rows = rows_of(kept, log)
    assert kept.disk is not None
    kept.disk.flush()
    return rows


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*"))


def test_another_process_maps_what_was_decoded(
    log: TableLog, tmp_path: Path, decoded: list[str]
) -> None:
    rows = written(process(tmp_path / "c"), log)
    assert decoded == list(NAMES)
    assert (tmp_path / "c").stat().st_mode & 0o777 == 0o700
    later = process(tmp_path / "c")
    assert rows_of(later, log) == rows
    assert later.disk is not None
    assert (decoded, later.disk.hits, later.disk.damaged) == (list(NAMES), len(NAMES), 0)
    used = {c.kind: c.bytes for c in later.memory.caches}
    assert used["columns"] == 0  # mapped pages are the system's
    assert 0 < used["mapped columns"] < len(NAMES) * 4_096
    assert rows_of(later, log) == rows
    assert later.disk.hits == len(NAMES)  # once each


def test_what_leaves_the_memory_comes_back_from_the_disk(
    log: TableLog, tmp_path: Path, decoded: list[str]
) -> None:
    small = KeptColumns(most_bytes=20_000, disk=DiskCache(tmp_path / "c", MOST))
    rows = written(small, log)
    assert {c.bytes for c in small.memory.caches if c.kind == "columns"} != {0}
    decoded.clear()
    assert [rows_of(small, log) for _ in range(3)] == [rows] * 3
    assert decoded == []
    assert small.memory.bytes <= 20_000


def look(kept: KeptColumns, log: TableLog, value: int) -> pa.Table:
    wanted = WantedRows("k", pa.array([value, value + 1], pa.int64()), nulls=False)
    found = kept.select(kept.files(log, log.version()), ("k", "text"), wanted, 10**6)
    assert found is not None
    return found


def test_another_process_has_the_index(log: TableLog, tmp_path: Path, decoded: list[str]) -> None:
    first = process(tmp_path / "c")
    expected = [look(first, log, n) for n in range(20)]
    assert decoded.count(INDEX) == 1
    assert first.disk is not None
    first.disk.flush()
    later = process(tmp_path / "c")
    decoded.clear()
    assert [look(later, log, n) for n in range(20)] == expected
    assert decoded == []


def cut(share: float) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        data = file.read_bytes()
        file.write_bytes(data[: int(len(data) * share)])

    return damage


def flip(share: float) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[min(int(len(data) * share), len(data) - 1)] ^= 0x10
        file.write_bytes(data)

    return damage


def take_another(file: Path) -> None:
    """All of it is well, but it is of another key."""
    other = ColumnFolder(file.parent.parent.with_name("other"))
    other.create()
    ((key, values),) = keys(1).items()
    other.store(key, values)
    shutil.copyfile(other.file_of(key), file)


def lose_an_end(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def grow(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"DTCOLUMN")


def become_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "empty": lambda file: file.write_bytes(b"") and None,
    **{f"cut at {share}": cut(share) for share in (0.01, 0.3, 0.6, 0.9, 0.99)},
    **{f"a bit of {share}": flip(share) for share in (0.0, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0)},
    "of another column": take_another,
    "one byte less": lose_an_end,
    "longer": grow,
    "foreign": lambda file: file.write_bytes(b"ARROW1" * 900) and None,
    "a folder": become_a_folder,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_decoded_again(
    log: TableLog, tmp_path: Path, decoded: list[str], damage: str
) -> None:
    rows = written(process(tmp_path / "c"), log)
    for file in files_in(tmp_path / "c"):
        DAMAGES[damage](file)
    decoded.clear()
    later = process(tmp_path / "c")
    assert written(later, log) == rows
    assert sorted(decoded) == sorted(NAMES)
    assert later.disk is not None
    assert later.disk.hits == 0
    if damage != "a folder":
        assert later.disk.damaged == (0 if damage == "deleted" else len(NAMES))
        assert rows_of(process(tmp_path / "c"), log) == rows  # written again
        assert sorted(decoded) == sorted(NAMES)


@pytest.mark.parametrize("how", ["another time", "another size", "another inode"])
def test_a_file_in_the_place_of_another_is_decoded(
    log: TableLog, tmp_path: Path, decoded: list[str], how: str
) -> None:
    """The path is the same, and of inode, time and size two are."""
    written(process(tmp_path / "c"), log)
    (file,) = Path(log.path).glob("*.parquet")
    told = file.stat()
    new = pq.read_table(file).slice(0, ROWS).to_pylist()
    for row in new:
        row["text"] = row["text"][::-1]
    changed = pa.Table.from_pylist(new, schema=pq.read_schema(file))
    draft = file.with_name("draft")
    pq.write_table(changed, draft)
    data = draft.read_bytes()
    time = told.st_mtime_ns + (1 if how == "another time" else 0)
    if how == "another inode":
        os.utime(draft, ns=(time, time))
        draft.replace(file)
    else:
        file.write_bytes(data)
        os.utime(file, ns=(time, time))
    decoded.clear()
    later = process(tmp_path / "c")
    later_rows = later.rows(later.files(log, log.version()), NAMES)
    assert later_rows["text"].to_pylist() == changed["text"].to_pylist()
    assert sorted(decoded) == sorted(NAMES)


def keys(count: int, rows: int = ROWS) -> dict[ColumnKey, pa.Array]:
    return {
        (("/t/f", 1, 2, 3), n, "c", "int64"): pa.array(np.arange(rows) + n) for n in range(count)
    }


def kept_in(folder: Path, values: dict[ColumnKey, pa.Array], most: int) -> DiskCache:
    cache = DiskCache(folder, most)
    for key, column in values.items():
        cache.keep(key, column)
        cache.flush()
    return cache


def test_what_was_used_least_recently_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "_LOOKED_BYTES", 0)
    values, most = keys(12, rows=50_000), 2 << 20  # 400 kB each
    files = ColumnFolder(tmp_path / "c")
    cache = kept_in(tmp_path / "c", values, most)
    assert files.bytes() <= most
    first, second, *_ = [k for k in values if files.file_of(k).exists()]
    for at, key in enumerate(k for k in values if files.file_of(k).exists()):
        os.utime(files.file_of(key), ns=(at, at))
    assert cache.find(first, 50_000) == values[first]  # used now
    new = (("/t/new", 1, 2, 3), 0, "c", "int64")
    cache.keep(new, pa.array(np.arange(50_000)))
    cache.flush()
    assert [files.file_of(k).exists() for k in (first, second, new)] == [True, False, True]
    assert (cache.problem, files.bytes() <= most) == (None, True)


def test_a_part_of_the_free_disk_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(path: Path) -> shutil._ntuple_diskusage:
        return shutil._ntuple_diskusage(10 << 30, 10 << 30, 1 << 20)

    monkeypatch.setattr(disk_cache, "_LOOKED_BYTES", 0)
    monkeypatch.setattr(disk_columns.shutil, "disk_usage", usage)
    kept_in(tmp_path / "c", keys(30), MOST)
    assert 0 < ColumnFolder(tmp_path / "c").bytes() < 150_000


def test_two_processes_write_the_same_name(tmp_path: Path) -> None:
    files, values = ColumnFolder(tmp_path / "c"), keys(1, rows=50_000)
    files.create()
    ((key, column),) = values.items()
    start, wrong = threading.Barrier(4), []

    def write_and_read() -> None:
        start.wait()
        for _ in range(20):
            files.store(key, column)
            if files.load(key) != column:
                wrong.append(key)

    threads = [threading.Thread(target=write_and_read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [f.suffix for f in files_in(tmp_path / "c")] == [".arrow"]  # no draft is left


def test_a_folder_may_be_removed_at_any_time(
    log: TableLog, tmp_path: Path, decoded: list[str]
) -> None:
    rows = written(process(tmp_path / "c"), log)
    mapped = process(tmp_path / "c")
    assert rows_of(mapped, log) == rows
    shutil.rmtree(tmp_path / "c")
    assert rows_of(mapped, log) == rows  # mapped pages outlive their name
    decoded.clear()
    later = process(tmp_path / "c")
    assert written(later, log) == rows
    assert sorted(decoded) == sorted(NAMES)
    shutil.rmtree(tmp_path / "c")
    write_deltalake(log.path, rows, mode="append")
    more = written(later, log)
    assert more.num_rows == 2 * ROWS
    assert written(later, log) == more
    assert later.disk is not None
    assert later.disk.problem is None


FAILURES = {
    "a full disk": OSError(28, "No space left on device"),
    "no access": PermissionError(13, "Permission denied"),
    "a broken disk": OSError(5, "Input/output error"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_where_it_cannot_be_written_the_cache_ends(
    log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    rows = rows_of(KeptColumns(), log)

    def fail(self: Path, target: Path) -> Path:
        raise FAILURES[failure]

    monkeypatch.setattr(Path, "replace", fail)
    kept = process(tmp_path / "c")
    assert written(kept, log) == rows
    assert kept.disk is not None
    assert FAILURES[failure].strerror in str(kept.disk.problem)
    assert kept.disk.describe() == "off"
    assert files_in(tmp_path / "c") == []
    monkeypatch.undo()
    assert rows_of(kept, log) == rows
    assert files_in(tmp_path / "c") == []


def test_no_folder_of_others_is_used(
    log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c").mkdir()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    kept = process(tmp_path / "c")
    written(kept, log)
    assert kept.disk is not None
    assert "belongs to another user" in str(kept.disk.problem)
    assert files_in(tmp_path / "c") == []
    monkeypatch.setattr(os, "getuid", lambda: mine)
    written(process(tmp_path / "c"), log)
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    kept = process(tmp_path / "c")
    written(kept, log)
    assert kept.disk is not None
    assert kept.disk.hits == 0


def test_short_columns_and_a_cache_of_no_bytes_are_not_written(
    log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(process(tmp_path / "off", most=1), log)
    monkeypatch.setattr(disk_cache, "_LEAST_ROWS", ROWS + 1)
    written(process(tmp_path / "short"), log)
    assert not (tmp_path / "off").exists()
    assert not (tmp_path / "short").exists()


def test_columns_of_files_that_are_gone_go(log: TableLog, tmp_path: Path) -> None:
    written(process(tmp_path / "c"), log)
    old = files_in(tmp_path / "c")
    assert len(old) == len(NAMES)
    shutil.rmtree(log.path)
    files = ColumnFolder(tmp_path / "c")
    for table in ("old", "new"):
        files.store_base(table, 7)
    os.utime(files._base_file("old"), (0, 0))
    kept_in(tmp_path / "c", keys(1), MOST)
    assert (files.base_of("old"), files.base_of("new")) == (None, 7)
    assert not any(f.exists() for f in old)
    assert len(files_in(tmp_path / "c")) == 1


def test_a_process_that_ends_has_written(log: TableLog, tmp_path: Path) -> None:
    """It does not wait for a quiet time, and nothing is left half-done."""
    script = (
        "import sys; from pathlib import Path; from dt_jupyter.lake import DiskCache, TableLog; "
        "from dt_jupyter.lake.read import disk_cache; disk_cache._LEAST_ROWS = 1_000; "
        "from dt_jupyter.lake.read.kept_columns import KeptColumns; "
        f"log = TableLog(Path({str(log.path)!r})); "
        f"kept = KeptColumns(disk=DiskCache(Path({str(tmp_path / 'c')!r}), {MOST})); "
        f"kept.rows(kept.files(log, log.version()), {NAMES!r})"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    later = process(tmp_path / "c")
    assert rows_of(later, log) == rows_of(KeptColumns(), log)
    assert later.disk is not None
    assert later.disk.hits == len(NAMES)


def test_no_folder_of_another_machine_is_used(
    log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages of a mapped file that another machine removes are gone."""
    for there in (False, True):
        monkeypatch.setattr(disk_columns, "file_system_of", lambda path: "nfs4")
        kept = process(tmp_path / "c")
        written(kept, log)
        assert kept.disk is not None
        assert "nfs4" in str(kept.disk.problem)
        assert kept.disk.hits == 0
        assert bool(files_in(tmp_path / "c")) == there
        monkeypatch.setattr(disk_columns, "file_system_of", lambda path: "ext4")
        written(process(tmp_path / "c"), log)


CACHED = {
    "texts in a dictionary": pa.array(["a", None, "b", "a"]).dictionary_encode(),
    "a slice": pa.array(range(100), pa.int32()).slice(7, 20),
    "truth": pa.array([True, None, False] * 9),
    "only NULLs": pa.nulls(5, pa.date32()),
    "no rows": pa.array([], pa.string()),
    "structs": pa.array([{"a": 1, "b": [None, "x"]}, None]),
    "short decimals": pa.array([Decimal(1), None], pa.decimal128(12, 2)).cast(pa.decimal64(12, 2)),
    "times": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
}  # fmt: skip


@pytest.mark.parametrize("kind", CACHED)
def test_every_kind_of_column_is_the_same_in_mapped_memory(tmp_path: Path, kind: str) -> None:
    files, key = ColumnFolder(tmp_path / "c"), (("/t", 1, 2, 3), 0, "c", kind)
    files.create()
    files.store(key, CACHED[kind])
    found = files.load(key)
    assert isinstance(found, pa.Array)
    found.validate(full=True)
    assert (found, found.type) == (CACHED[kind], CACHED[kind].type)


@pytest.mark.parametrize("keys", [[3, None, 1, 3], [None, 1, 2], [5, 4, 3]])
def test_an_index_is_the_same_in_mapped_memory(tmp_path: Path, keys: list[int | None]) -> None:
    files, key = ColumnFolder(tmp_path / "c"), (("/t", 1, 2, 3), 0, "c", INDEX)
    files.create()
    index = index_keys(pa.array(keys, pa.int16()))
    assert index is not None
    files.store(key, index)
    found = files.load(key)
    assert isinstance(found, KeyIndex)
    wanted = np.array([3, 5], np.int16)
    assert found.find(wanted).tolist() == index.find(wanted).tolist()
    assert found.values.dtype == index.values.dtype
