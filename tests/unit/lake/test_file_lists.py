"""The recorded list of files: what is listed, how it differs, and the log that keeps it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dt_jupyter.lake import (
    Added,
    DataFile,
    LakeError,
    ListReader,
    Recorded,
    StoredFile,
    TableGone,
    TableLog,
    Unchanged,
    Unreadable,
    WrongValue,
    carry_on,
    close_batch,
    compare_lists,
    count_rows,
    create_list,
    list_folder,
    new_batch,
    partition_names,
    partition_values,
    plan_changes,
    storable_fields,
    sweep_batches,
)
from dt_jupyter.lake.files.file_list import WHOLE_EVERY
from dt_jupyter.model import Timestamp

FIELDS = [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]


def put(file: Path, text: str = "x") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


# -- what is there ---------------------------------------------------------------------------------


def test_hidden_and_empty_files_are_none(tmp_path: Path) -> None:
    for name in ("a.json", "_a.json", ".a.json", "b._COPYING_", "k=1/c.json", "_k=1/d.json"):
        put(tmp_path / name)
    put(tmp_path / "empty.json", "")
    put(tmp_path / "_temporary" / "0" / "e.json")
    assert set(list_folder(tmp_path, nested=False)) == {"a.json"}
    assert set(list_folder(tmp_path, nested=True)) == {"a.json", "k=1/c.json", "_k=1/d.json"}
    assert set(list_folder(tmp_path / "a.json", nested=False)) == {""}
    with pytest.raises(TableGone):
        list_folder(tmp_path / "none", nested=False)


def test_values_of_partitions_are_in_the_names_of_folders() -> None:
    assert partition_names("a=1/B=x%2Fy/f.parquet") == ("a", "B")
    types = {"A": "integer", "b": "string"}
    assert partition_values("a=1/B=x%2Fy/f.parquet", types) == {"A": "1", "b": "x/y"}
    assert partition_values("a=__HIVE_DEFAULT_PARTITION__/f", {"a": "date"}) == {"a": None}
    for path in ("f", "b=1/f", "a=1/b=2/f", "other/a=1/f"):
        with pytest.raises(LakeError):
            partition_values(path, {"a": "string"})


@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("integer", "007", "7"),
        ("integer", "-3", "-3"),
        ("byte", "-128", "-128"),
        ("long", "99999999999", "99999999999"),
        ("date", "2024-1-2", "2024-01-02"),
        ("boolean", "TRUE", "true"),
        ("string", "a%2Fb", "a/b"),
    ],
)
def test_a_value_is_written_in_one_way(kind: str, written: str, read: str) -> None:
    assert partition_values(f"c={written}/f", {"c": kind}) == {"c": read}


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("integer", "2147483648"), ("integer", "1.0"), ("integer", "%2B5"), ("integer", ""),
        ("byte", "128"), ("long", " 5"), ("date", "2024-02-30"), ("date", "20240101"),
        ("boolean", "1"), ("string", ""),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_none(kind: str, written: str) -> None:
    with pytest.raises(WrongValue):
        partition_values(f"c={written}/f", {"c": kind})


@pytest.mark.parametrize(
    ("now", "came", "others"),
    [
        ({"a": (1, 1)}, (), {}),
        ({"a": (1, 1), "c": (1, 1), "b": (0, 2)}, ("b", "c"), {}),
        ({"a": (2, 2)}, (), {"a": "grew"}),
        ({"a": (1, 2)}, (), {"a": "was written again"}),
        ({"b": (1, 1)}, ("b",), {"a": "is gone"}),
    ],
)
def test_what_differs_from_the_recorded_list(
    now: dict[str, tuple[int, int]], came: tuple[str, ...], others: dict[str, str]
) -> None:
    recorded = {"a": Recorded(DataFile(1, 1), "batch/x")}
    found = compare_lists(recorded, {p: DataFile(*f) for p, f in now.items()})
    assert (found.came, found.others) == (came, others)
    assert bool(found) == bool(came or others)


def test_columns_without_a_form_in_delta_have_no_list() -> None:
    def field(name: str, type_: object) -> dict[str, object]:
        return {"name": name, "type": type_, "nullable": False, "metadata": {"comment": "c"}}

    inner = {"type": "array", "elementType": "long", "containsNull": False}
    found = storable_fields({"fields": [field("a", inner)]})
    assert found == [
        {
            "name": "a",
            "type": {"type": "array", "elementType": "long", "containsNull": True},
            "nullable": True,
            "metadata": {},
        }
    ]
    assert storable_fields({"fields": [field("a", "long"), field("A", "long")]}) is None
    assert storable_fields({"fields": [field("a", "interval day")]}) is None
    assert storable_fields({"fields": []}) is None


# -- the log ---------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    create_list(tmp_path / "list", FIELDS, (), {"dt.files.format": "parquet"}, linked=True)
    return TableLog(tmp_path / "list")


def came(log: TableLog, lists: ListReader, name: str, *, millis: int, reason: str = "") -> int:
    one = {name: Recorded(DataFile(8, millis), f"batch/b/{name}")}
    stored = [StoredFile(f"batch/b/{name}", 8, millis * 1_000_000, 3, {})]
    whole = {**lists.at(log.version()), **one}
    return carry_on(log, whole, one, (), stored, (), reason, millis)


def test_a_version_is_a_list_with_the_time_that_it_is_of(log: TableLog) -> None:
    lists = ListReader(log)
    assert log.version_at(Timestamp(5_000_000)) == 0
    assert came(log, lists, "a", millis=10_000) == 1
    assert came(log, lists, "b", millis=20_000) == 2
    assert log.version_at(Timestamp(10_000_000)) == 1
    assert log.version_at(Timestamp(19_999_999)) == 1
    assert set(lists.at(2)) == {"a", "b"}
    assert set(lists.at(1)) == {"a"}
    found = plan_changes(log, 1, 2)
    assert isinstance(found, Added)
    assert (found.rows, found.files) == (3, 1)
    assert isinstance(plan_changes(log, 2, 2), Unchanged)


def test_a_file_that_changed_ends_what_can_be_continued(log: TableLog) -> None:
    lists = ListReader(log)
    came(log, lists, "a", millis=10_000)
    came(log, lists, "a", millis=20_000, reason="the file a grew")
    came(log, lists, "b", millis=30_000)
    assert plan_changes(log, 1, 3) == Unreadable("FILES_CHANGED", "the file a grew")
    assert isinstance(plan_changes(log, 2, 3), Added)


def test_the_list_is_told_anew_every_so_often(log: TableLog) -> None:
    lists = ListReader(log)
    for i in range(WHOLE_EVERY + 5):
        came(log, lists, f"f{i}", millis=1_000 * (i + 1))
    assert (log.path / "_delta_log" / f"{WHOLE_EVERY:020d}.checkpoint.parquet").exists()
    fresh = ListReader(TableLog(log.path))
    read = []
    fresh.log.user_metadata = lambda v: read.append(v) or log.user_metadata(v)  # type: ignore
    assert fresh.at(log.version()) == lists.at(log.version())
    assert len(fresh.at(log.version())) == WHOLE_EVERY + 5
    assert read == list(range(WHOLE_EVERY, log.version() + 1))


def test_what_a_version_never_got_is_swept(log: TableLog) -> None:
    lost, kept = new_batch(log.path), new_batch(log.path)
    sweep_batches(log.path, {"a": Recorded(DataFile(1, 1), f"{kept}/0.parquet")})
    assert not (log.path / lost).exists()
    assert os.listdir(log.path / kept) == []
    whole = new_batch(log.path)
    close_batch(log.path, whole)
    sweep_batches(log.path, {})
    assert (log.path / whole).is_dir()


def test_a_parquet_file_without_its_footer_has_no_rows_yet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a")
    put(tmp_path / "b", "PAR1")
    assert count_rows([tmp_path / "a", tmp_path / "b", tmp_path / "none"]) == [2, None, None]
