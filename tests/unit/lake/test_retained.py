"""Files that VACUUM took are missed before anything is read: logs written by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from dt_jupyter.caches import cache_memory
from dt_jupyter.lake import (
    Feed,
    NotSupported,
    SmallTables,
    TableLog,
    Unchanged,
    Unreadable,
    head,
    plan_changes,
)
from dt_jupyter.lake.errors import read_by_delta_rs
from dt_jupyter.lake.keep import retention
from dt_jupyter.lake.keep.contents import Contents
from dt_jupyter.lake.keep.retention import (
    OLD_SECONDS,
    gone_from_change,
    gone_from_snapshot,
    gone_from_version,
    readable,
)
from tests.unit.delta_logs import Written, add, info, metadata, remove, rows, small_table

CDC = {"cdc": {"path": "_change_data/c", "size": 7, "partitionValues": {}, "dataChange": False}}


def table(folder: Path, *there: str) -> Written:
    """a and b, of which a is rewritten as c; b and c are compacted into d, and e is added; of all
    these files only those `there` are on the disk."""
    made = Written(folder / "t", metadata(enableChangeDataFeed="true"))
    made.commit(info(), add("a"), add("b%20b"))
    made.commit(info("UPDATE"), remove("a"), add("c"), CDC)
    made.commit(
        info("OPTIMIZE"), *(remove(f, change=False) for f in ("b%20b", "c")), add("d", change=False)
    )
    made.commit(info(), add("e"))
    for name in there:
        file = made.path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
    return made


def told(made: Written, old: int, new: int, **how: Any) -> str | None:
    said = gone_from_change(made.log, plan_changes(made.log, old, new), **how)
    assert said is None or said.startswith("VACUUM removed ")
    return said and said.split()[2].rstrip(",")


@pytest.mark.parametrize(
    ("there", "by_feed", "by_files", "first_images"),
    [
        (("a", "b b", "c", "d", "e", "_change_data/c"), None, None, None),
        (("b b", "c", "d", "e", "_change_data/c"), None, "a", None),
        (("a", "b b", "c", "d", "e"), "_change_data/c", None, None),
        (("a", "b b", "d", "e", "_change_data/c"), None, "c", "c"),
        (("a", "b b", "c", "d", "_change_data/c"), "e", "e", "e"),
    ],
)
def test_what_a_change_is_read_from(
    tmp_path: Path,
    there: tuple[str, ...],
    by_feed: str | None,
    by_files: str | None,
    first_images: str | None,
) -> None:
    made = table(tmp_path, *there)
    assert told(made, 1, 4, by_feed=True) == by_feed
    assert told(made, 1, 4, by_feed=False) == by_files
    assert told(made, 1, 4, by_feed=False, first_images=True) == first_images


def test_a_name_in_the_log_is_encoded(tmp_path: Path) -> None:
    made = table(tmp_path, "a", "c", "d", "e")
    assert told(made, 0, 1, by_feed=True) == "b"  # of "b b"
    (made.path / "b b").touch()
    assert told(made, 0, 1, by_feed=True) is None


def test_what_was_compacted_is_missed_in_an_old_snapshot_alone(tmp_path: Path) -> None:
    made = table(tmp_path, "d", "e")
    assert gone_from_change(made.log, Unchanged(), by_feed=False) is None
    assert [bool(gone_from_snapshot(made.log, v)) for v in range(5)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert told(made, 3, 4, by_feed=False) is None


def test_the_newest_version_is_looked_for_where_it_is_asked(tmp_path: Path) -> None:
    made = table(tmp_path, "d")
    assert gone_from_snapshot(made.log, 4) is None
    assert gone_from_version(made.log, 4) == "the file e is missing"
    (made.path / "e").touch()
    assert gone_from_version(made.log, 4) is None


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of data that were looked for."""
    found: list[str] = []
    asked, asked_for = Path.exists, retention._is_there

    def exists(path: Path, **how: Any) -> bool:
        found.append(path.name)
        return asked(path, **how)

    def is_there(log: TableLog, name: str, body: Mapping[str, Any]) -> bool:
        found.append(Path(name).name)
        return asked_for(log, name, body)

    monkeypatch.setattr(Path, "exists", exists)
    monkeypatch.setattr(retention, "_is_there", is_there)
    return found


def test_a_change_is_looked_for_once_it_may_have_been_taken(
    tmp_path: Path, looked: list[str]
) -> None:
    made = table(tmp_path, "b b", "c", "d", "e")
    plan, now = plan_changes(made.log, 1, 4), made.log.commit_time(4)
    assert isinstance(plan, Feed)
    assert readable(made.log, plan, now) is plan
    assert not looked, "in the common case nothing is looked for"
    late = readable(made.log, plan, made.log.commit_time(2).plus(OLD_SECONDS + 1))
    assert late == Unreadable("FILES_GONE", "VACUUM removed _change_data/c, which it is read from")
    made.commit(info("VACUUM START"))
    assert plan_changes(made.log, 1, 5) == plan
    assert readable(made.log, plan, now) == late
    looked.clear()
    later = plan_changes(made.log, 3, 5)
    assert readable(made.log, later, now) is later
    assert looked == ["e"], "what the plan reads, and nothing else"
    assert readable(made.log, Unchanged(), now) == Unchanged()


def test_a_vacuum_before_a_change_puts_it_at_no_risk(tmp_path: Path, looked: list[str]) -> None:
    made = table(tmp_path)
    made.commit(info("VACUUM END"))
    made.commit(info("UPDATE"), remove("e"), add("f"))
    plan = plan_changes(made.log, 4, 6)
    assert readable(made.log, plan, made.log.commit_time(6)) is plan
    assert not looked


def test_contents_are_looked_for_once(tmp_path: Path, looked: list[str]) -> None:
    made = table(tmp_path, "d", "e")
    now = made.path.stat().st_mtime_ns
    os.utime(made.path, ns=(now - 10**10, now - 10**10))
    contents = Contents(lambda: now)
    assert contents.lost(made.log) is None
    assert sorted(looked) == ["d", "e"]
    looked.clear()
    assert contents.lost(made.log) is None
    assert not looked, "one stat of the folder tells that nothing happened"
    (made.path / "d").unlink()
    assert contents.lost(made.log) == "the file d is missing"
    (made.path / "d").touch()
    assert contents.lost(made.log) is None


def test_a_folder_that_was_just_written_to_is_looked_through_again(
    tmp_path: Path, looked: list[str]
) -> None:
    """Its time may be the same after another file has gone."""
    made = table(tmp_path, "d", "e")
    now = made.path.stat().st_mtime_ns
    contents = Contents(lambda: now)
    assert contents.lost(made.log) is None
    looked.clear()
    assert contents.lost(made.log) is None
    assert len(looked) == 2


def test_what_is_gone_is_asked_for_again_where_the_table_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process compacted the table, and vacuumed it, while it was looked through."""
    made = table(tmp_path, "d")
    asked = Path.exists

    def exists(path: Path, **how: Any) -> bool:
        if path.name == "e" and made.next == 5:
            made.commit(
                info("OPTIMIZE"),
                remove("d", change=False),
                remove("e", change=False),
                add("f", change=False),
            )
            (made.path / "f").touch()
        return asked(path, **how)

    monkeypatch.setattr(Path, "exists", exists)
    assert Contents().lost(made.log) is None


def test_a_file_that_is_broken_or_has_another_calendar_is_left_to_spark(tmp_path: Path) -> None:
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "day": [date(1500, 1, 1)] * 2}))
    log, (file,) = TableLog(tmp_path), list(tmp_path.glob("*.parquet"))
    tables = SmallTables()
    assert tables.rows(log, 0, ["id", "day"]) is not None
    old = pq.read_table(file).replace_schema_metadata({"org.apache.spark.legacyDateTime": ""})
    pq.write_table(old, file)
    tables = SmallTables()
    assert tables.rows(log, 0, ["id", "day"]) is None
    assert tables.select(log, 0, ["id", "day"], "id", pa.array([1]), nulls=False) is None
    assert tables.rows(log, 0, ["id"]) is not None
    file.write_bytes(b"PAR1 no more PAR1")
    assert tables.rows(log, 0, ["id", "day"]) is None
    assert tables.select(log, 0, ["id"], "id", pa.array([1]), nulls=False) is None
    assert tables.expected_bytes(log, 0, ["id"]) is None


def test_where_memory_is_short_no_rows_are_held_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [small_table(tmp_path / name) for name in "ab"]
    for log in logs:
        write_deltalake(log.path, rows(1, 2), mode="append")
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)
    monkeypatch.setattr(cache_memory, "_PRESSURE_SECONDS", 0.0)
    tables = SmallTables()
    first = tables.rows(logs[0], 1, ["id"])
    assert tables.rows(logs[0], 1, ["id"]) is first
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: True)
    assert tables.rows(logs[1], 1, ["id"]) is not None
    assert tables.columns.memory.bytes == 0
    again = tables.rows(logs[0], 1, ["id"])
    assert again is not first
    assert again == first


def test_what_delta_rs_cannot_read_is_left_to_spark(tmp_path: Path) -> None:
    """It raises a bare Exception for a file that is gone."""
    log = small_table(tmp_path / "t")
    write_deltalake(log.path, rows(1, 2), mode="append")
    for file in log.path.glob("*.parquet"):
        file.unlink()
    tables = SmallTables()
    assert tables.rows(log, 1, ["id", "name"]) is None
    assert tables.select(log, 1, ["id"], "id", pa.array([1]), nulls=False) is None
    assert head(log, 5) is None
    with pytest.raises(NotSupported, match="delta-rs does not read it"), read_by_delta_rs():
        raise Exception("External error: Object at location x not found")
    with pytest.raises(KeyError), read_by_delta_rs():
        raise KeyError("ours")
