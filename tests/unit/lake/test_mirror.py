"""Files of versions, copies of them as links, and a vacuum that keeps what is held: no JVM."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from dt_jupyter.lake import TableLog, VersionGone
from dt_jupyter.lake.delta_log.active_files import LiveFiles, file_at, paths_of, vector_file
from dt_jupyter.lake.keep.hardlinks import mirror, needed
from dt_jupyter.lake.keep.vacuum import Held, plan_vacuum, run_vacuum
from dt_jupyter.model import Timestamp


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Version v holds the one row v, but version 2 holds 1 and 2."""
    path = tmp_path / "t"
    for n in range(6):
        mode = "append" if n == 2 else "overwrite"
        write_deltalake(path, pa.table({"n": [n]}), mode=mode)
    return path


def names(path: Path, version: int) -> set[str]:
    return {p for a in LiveFiles(path).at(version) for p in paths_of(a)}


def values(path: Path, version: int) -> list[int]:
    return sorted(DeltaTable(path, version=version).to_pyarrow_table()["n"].to_pylist())


def now() -> Timestamp:
    return Timestamp(time.time_ns() // 1000)


@pytest.mark.parametrize("checkpoint", [None, 2, 5])
def test_the_files_of_each_version(table: Path, checkpoint: int | None) -> None:
    if checkpoint is not None:
        DeltaTable(table, version=checkpoint).create_checkpoint()
    live = LiveFiles(table)
    for version in (3, 5, 1, 2, 4, 0):
        known = {f.rsplit("/", 1)[-1] for f in DeltaTable(table, version=version).file_uris()}
        assert {p for a in live.at(version) for p in paths_of(a)} == known
    with pytest.raises(VersionGone):
        live.at(6)


def test_the_order_is_that_of_the_files_ages(table: Path) -> None:
    times = [a["modificationTime"] for a in LiveFiles(table).at(2)]
    assert times == sorted(times)


def test_a_copy_is_a_table_of_its_own(table: Path, tmp_path: Path) -> None:
    DeltaTable(table, version=2).create_checkpoint()
    log = TableLog(table)
    made = mirror(log, 3, 4, tmp_path / "pins" / "copy")
    assert made is not None
    assert made.files == 2
    copied = TableLog(made.folder)
    assert copied.version() == 4
    assert copied.commit_time(4) == log.commit_time(4)
    shutil.rmtree(table)
    assert values(made.folder, 3) == [3]
    assert values(made.folder, 4) == [4]


def test_a_copy_of_what_is_gone_leaves_nothing(table: Path, tmp_path: Path) -> None:
    for name in names(table, 1):
        file_at(table, name).unlink()
    with pytest.raises(FileNotFoundError):
        mirror(TableLog(table), 1, 1, tmp_path / "copy")
    with pytest.raises(VersionGone):
        mirror(TableLog(table), 7, 7, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == [table]


def test_no_links_no_copy(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def across(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", across)
    assert mirror(TableLog(table), 1, 1, tmp_path / "copy") is None
    assert list(tmp_path.iterdir()) == [table]


def test_a_vacuum_takes_what_nobody_needs(table: Path) -> None:
    log, held = TableLog(table), [Held("pin a", 2, 2), Held("stream s", 4)]
    plan = plan_vacuum(log, held, now(), now())
    assert set(plan.files) == needed(log, 0, 5) - needed(log, 2, 2) - needed(log, 4, 5)
    assert set(plan.held) == {"pin a", "stream s"}
    assert plan.held["pin a"] == sum((table / n).stat().st_size for n in names(table, 2))
    assert plan.live == sum((table / n).stat().st_size for n in names(table, 5))
    assert plan.bytes > 0
    run_vacuum(plan)
    run_vacuum(plan)
    assert [values(table, v) for v in (2, 4, 5)] == [[1, 2], [4], [5]]
    with pytest.raises(FileNotFoundError):
        values(table, 3)
    assert not plan_vacuum(log, held, now(), now()).files


def test_what_the_retention_covers_stays(table: Path) -> None:
    log = TableLog(table)
    cutoff = log.commit_time(4)
    plan = plan_vacuum(log, [], cutoff, now())
    assert not set(plan.files) & needed(log, 3, 5)
    assert names(table, 0) <= set(plan.files)
    assert plan.retained > 0


def test_files_that_no_commit_names_are_of_one_to_come_for_a_while(table: Path) -> None:
    stray = table / "stray.parquet"
    stray.write_bytes(b"1234")
    log = TableLog(table)
    assert "stray.parquet" not in plan_vacuum(log, [], now(), now()).files
    os.utime(stray, (time.time() - 7200, time.time() - 7200))
    assert plan_vacuum(log, [], now(), now()).files["stray.parquet"] == 4
    hidden = table / "_mine" / "x"
    hidden.parent.mkdir()
    hidden.write_bytes(b"1")
    os.utime(hidden, (0, 0))
    assert "_mine/x" not in plan_vacuum(log, [], now(), now()).files


def test_partitions_with_awkward_values(tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = pa.table({"p": ["a b", "c%20d", "_e", None], "n": [1, 2, 3, 4]})
    write_deltalake(path, rows, partition_by=["p"])
    write_deltalake(
        path,
        rows.slice(0, 1),
        mode="overwrite",
        commit_properties=CommitProperties(custom_metadata={"k": "v"}),
    )
    assert all(file_at(path, n).exists() for v in (0, 1) for n in names(path, v))
    plan = plan_vacuum(TableLog(path), [Held("pin", 0, 0)], now(), now())
    assert not plan.files
    assert plan.held_bytes == sum(file_at(path, n).stat().st_size for n in names(path, 0))


def test_the_names_of_deletion_vectors() -> None:
    """The example of Delta's protocol, deletion vector descriptors."""
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"}
    assert vector_file(vector) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    inline = {"path": "f", "deletionVector": {"storageType": "i", "pathOrInlineDv": "wi5b="}}
    assert paths_of(inline) == ("f",)
