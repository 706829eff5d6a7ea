"""A broken log of ours: cut back to what can be read, and carried on without the lost versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from dt_jupyter.lake import LogBroken, TableGone, TableLog, Unreadable, plan_changes
from dt_jupyter.lake.keep.mend_log import (
    cut,
    is_whole,
    readable_to,
    require_whole,
    restore_sequence,
)
from tests.unit.delta_logs import read, rows, small_table

APP = "dt:x"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Versions 1 … 4, a row and a sequence each."""
    path = tmp_path / "public"
    small_table(path)
    for sequence in (1, 2, 3, 4):
        append(path, sequence)
    return path


def append(path: Path, sequence: int) -> None:
    properties = CommitProperties(app_transactions=[Transaction(APP, sequence)])
    write_deltalake(str(path), rows(sequence), mode="append", commit_properties=properties)


def commit(path: Path, version: int) -> Path:
    return path / "_delta_log" / f"{version:020d}.json"


def empty(path: Path, version: int) -> None:
    commit(path, version).write_bytes(b"")


def truncate(path: Path, version: int) -> None:
    """Within its last action."""
    file = commit(path, version)
    file.write_bytes(file.read_bytes().rstrip()[:-5])


def remove(path: Path, version: int) -> None:
    commit(path, version).unlink()


def not_utf8(path: Path, version: int) -> None:
    commit(path, version).write_bytes(b'{"add":"\xff\xfe"}')


@pytest.mark.parametrize("broken", [empty, truncate, remove, not_utf8])
@pytest.mark.parametrize("version", [0, 2, 4])
def test_the_log_ends_before_the_first_version_that_cannot_be_read(
    table: Path, tmp_path: Path, broken: Callable[[Path, int], None], version: int
) -> None:
    broken(table, version)
    assert readable_to(table) == version - 1
    if (broken, version) != (remove, 4):  # then the catalog tells that there was one
        assert not is_whole(TableLog(table))
    cut(table, tmp_path / "aside" / "t")
    if version == 0:
        assert not table.exists()
        assert (tmp_path / "aside" / "t" / "_delta_log").is_dir()
        with pytest.raises(TableGone):
            TableLog(table).version()
        return
    assert read(table) == [(i, f"n{i}") for i in range(1, version)]
    assert TableLog(table).version() == version - 1
    assert not (tmp_path / "aside").exists()


def test_a_checkpoint_that_cannot_be_read_is_left_out(table: Path, tmp_path: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    (checkpoint,) = (table / "_delta_log").glob("*.checkpoint.parquet")
    checkpoint.write_bytes(b"PAR1")
    with pytest.raises(LogBroken):
        require_whole(TableLog(table))
    assert readable_to(table) == 4
    cut(table, tmp_path / "aside")
    assert is_whole(TableLog(table))
    assert [i for i, _ in read(table)] == [1, 2, 3, 4]


def test_a_checkpoint_stands_for_the_commits_before_it(table: Path) -> None:
    DeltaTable(str(table)).create_checkpoint()
    append(table, 5)
    remove(table, 0)
    assert readable_to(table) == 5
    assert is_whole(TableLog(table))
    empty(table, 5)
    assert readable_to(table) == 4


def test_lost_versions_keep_their_numbers_and_cannot_be_read(table: Path, tmp_path: Path) -> None:
    empty(table, 3)
    cut(table, tmp_path / "aside")
    assert restore_sequence(table, APP, 4, 4) == 4
    log = TableLog(table)
    assert (log.version(), log.last_transaction(APP)) == (4, 4)
    for version in (3, 4):
        with pytest.raises(Exception, match="lost-"):
            DeltaTable(str(table), version=version).to_pyarrow_table()
    write_deltalake(str(table), rows(9), mode="overwrite")
    assert read(table) == [(9, "n9")]
    assert DeltaTable(str(table), version=2).to_pyarrow_table().num_rows == 2
    for after, upto in ((2, 5), (3, 5), (4, 5), (2, 3)):
        found = plan_changes(log, after, upto)
        assert isinstance(found, Unreadable), (after, upto)
        assert found.code == "VERSION_LOST"
    assert not isinstance(plan_changes(log, 1, 2), Unreadable)
    append(table, 5)
    assert not isinstance(plan_changes(log, 5, 6), Unreadable)


def test_a_log_that_has_all_is_left_as_it_is(table: Path) -> None:
    assert restore_sequence(table, APP, 4, 4) == 4
    assert restore_sequence(table, APP, 0, 0) == 4
    assert len(list((table / "_delta_log").glob("*.json"))) == 5


def test_a_table_made_anew_goes_on_where_the_lost_one_ended(tmp_path: Path) -> None:
    path = tmp_path / "public"
    small_table(path)
    assert restore_sequence(path, APP, 7, 12) == 12
    log = TableLog(path)
    assert (log.version(), log.last_transaction(APP)) == (12, 7)
    append(path, 8)
    assert log.version() == 13


def test_nothing_there_is_nothing_done(tmp_path: Path) -> None:
    assert readable_to(tmp_path / "none") == -1
    cut(tmp_path / "none", tmp_path / "aside")
    assert not (tmp_path / "aside").exists()
