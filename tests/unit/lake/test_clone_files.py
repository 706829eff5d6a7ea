"""Versions of a table made another table over the same files: no JVM."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from dt_jupyter.lake import (
    CloneMark,
    FileDiff,
    TableLog,
    VersionGone,
    clone_table,
    plan_changes,
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Version v holds the one row v, but version 2 holds 1 and 2."""
    path = tmp_path / "t"
    for n in range(5):
        mode = "append" if n == 2 else "overwrite"
        write_deltalake(path, pa.table({"n": [n]}), mode=mode)
    return path


def values(path: Path, version: int | None = None) -> list[int]:
    return sorted(DeltaTable(path, version=version).to_pyarrow_table()["n"].to_pylist())


def test_versions_keep_their_rows_and_their_differences(table: Path, tmp_path: Path) -> None:
    log, folder = TableLog(table), tmp_path / "c"
    made = clone_table(log, [4, 1, 2, 2], folder, CloneMark("app", '{"seq": 1}'))
    assert made.versions == {1: 0, 2: 1, 4: 2}
    assert [values(folder, v) for v in range(3)] == [[1], [1, 2], [4]]
    clone = TableLog(folder)
    assert (clone.version(), clone.table_id()) == (2, made.table_id)
    assert clone.table_id() != log.table_id()
    assert [clone.last_transaction("app", v) for v in range(3)] == [None, None, 1]
    assert clone.user_metadata(2) == '{"seq": 1}'
    first, second, third = clone.commits(-1, 2)
    assert (first.added_files, second.added_files, third.removed_files) == (1, 1, 2)
    assert second.only_adds
    inodes = {p.stat().st_ino for p in table.glob("*.parquet")}
    assert {p.stat().st_ino for p in folder.glob("*.parquet")} <= inodes


def test_a_property_set_between_two_versions_replaces_nothing(table: Path, tmp_path: Path) -> None:
    """As a stream does, of which a dynamic table on the clone is not computed anew."""
    DeltaTable(table).alter.set_table_properties({"delta.logRetentionDuration": "interval 9 days"})
    clone_table(TableLog(table), [1, 5], tmp_path / "c")
    clone = TableLog(tmp_path / "c")
    assert clone.metadata(1).configuration != clone.metadata(0).configuration
    assert [c.is_replace for c in clone.commits(-1, 1)] == [True, False]
    assert isinstance(plan_changes(clone, 0, 1), FileDiff)


def test_each_goes_its_own_way(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    clone_table(TableLog(table), [4], folder)
    write_deltalake(folder, pa.table({"n": [9]}), mode="append")
    DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    for file in table.glob("*.parquet"):
        file.unlink()
    assert values(folder) == [4, 9]
    assert TableLog(table).version() >= 4


@pytest.mark.parametrize("problem", ["version", "file", "disk", "there"])
def test_what_cannot_be_cloned_leaves_nothing(
    table: Path, tmp_path: Path, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "c"
    wanted = {"version": VersionGone, "file": FileNotFoundError, "there": FileExistsError}
    if problem == "file":
        (name,) = {Path(f).name for f in DeltaTable(table, version=0).file_uris()}
        (table / name).unlink()
    if problem == "there":
        folder.mkdir()
        (folder / "mine").touch()
    if problem == "disk":

        def full(*given: object) -> None:
            raise OSError(errno.ENOSPC, "no space left on device")

        monkeypatch.setattr(os, "link", full)
    with pytest.raises(wanted.get(problem, OSError)):
        clone_table(TableLog(table), [0, 9 if problem == "version" else 4], folder)
    assert folder.exists() == (problem == "there")
    assert problem != "there" or (folder / "mine").exists()


def test_without_hard_links_the_files_are_copied(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def refuse(source: object, target: object) -> None:
        if str(source).endswith(".parquet"):
            raise OSError(errno.EXDEV, "another file system")
        link(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", refuse)
    clone_table(TableLog(table), [4], tmp_path / "c")
    assert values(tmp_path / "c") == [4]
    inodes = {p.stat().st_ino for p in table.glob("*.parquet")}
    assert not {p.stat().st_ino for p in (tmp_path / "c").glob("*.parquet")} & inodes
