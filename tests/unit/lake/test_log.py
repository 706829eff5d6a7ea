"""The log, read without Spark: versions, times, facts, checkpoints, and what can be wrong."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake

from dt_jupyter.lake import LogBroken, NotSupported, TableGone, TableLog, VersionGone, is_delta
from dt_jupyter.lake.delta_log.commits import MOST_REMEMBERED
from dt_jupyter.model import Timestamp
from tests.unit.delta_logs import (
    Written,
    add,
    column,
    info,
    metadata,
    remove,
    rows,
    small_table,
    txn,
)


def at(millis: float) -> Timestamp:
    return Timestamp(round(millis * 1000))


def test_versions_are_noticed_as_they_come(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    assert (table.log.version(), table.log.oldest(), table.log.table_id()) == (0, 0, "table-1")
    table.commit(info(), add("a"))
    table.commit(info(), add("b"))
    assert table.log.version() == 2
    assert table.log.schema_json() == TableLog(table.path).schema_json()


def test_no_table(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "file"):
        assert not is_delta(path)
        with pytest.raises(TableGone):
            TableLog(path).version()
    with pytest.raises(NotSupported):
        TableLog("s3://bucket/table")


def test_file_uris_and_strings(tmp_path: Path) -> None:
    table = Written(tmp_path / "a b%20c")
    for path in (str(table.path), table.path, table.path.as_uri()):
        assert is_delta(path)
        assert TableLog(path).path == table.path


def test_a_table_dropped_and_made_again_is_another_one(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(), add("a"))
    assert table.log.version() == 1
    shutil.rmtree(table.path)
    with pytest.raises(TableGone):
        table.log.version()
    again = Written(tmp_path / "t", metadata(id_="table-2"))
    again.commit(info(), add("b"), millis=5_000)
    assert (table.log.version(), table.log.table_id()) == (1, "table-2")


def test_times_rise_though_file_times_do_not(tmp_path: Path) -> None:
    table = Written(tmp_path / "t", millis=1_000)
    for millis in (3_000, 2_000, 3_001, 9_000):
        table.commit(info(), add(str(millis)), millis=millis)
    assert [table.log.commit_time(v).micros // 1000 for v in range(5)] == [
        1_000,
        3_000,
        3_001,
        3_002,
        9_000,
    ]
    log = table.log
    asked = (999.999, 1_000, 1_000.001, 2_999.999, 3_000, 3_001, 3_002, 8_999, 9_000, 10_000)
    assert [log.version_at(at(t)) for t in asked] == [None, 0, 0, 0, 1, 2, 3, 3, 4, 4]


def test_a_commit_that_comes_later_extends_the_times(tmp_path: Path) -> None:
    table = Written(tmp_path / "t", millis=1_000)
    assert table.log.version_at(at(5_000)) == 0
    table.commit(info(), add("a"), millis=2_000)
    assert table.log.version_at(at(5_000)) == 1


def test_in_commit_timestamps(tmp_path: Path) -> None:
    table = Written(tmp_path / "t", millis=50_000)
    table.commit(info(), add("a"), millis=60_000)
    on = metadata(enableInCommitTimestamps="true", inCommitTimestampEnablementVersion="2")
    table.commit(info("SET TBLPROPERTIES", inCommitTimestamp=70_000), on, millis=1)
    for n in range(5):
        table.commit(info(inCommitTimestamp=71_000 + n), add(f"f{n}"), millis=1)
    log = table.log
    assert log.commit_time(1) == at(60_000)
    assert log.commit_time(4) == at(71_001)
    asked = (49_999, 50_000, 69_999, 70_000, 71_000, 71_003.5, 99_000)
    assert [log.version_at(at(t)) for t in asked] == [None, 0, 1, 2, 3, 6, 7]


def test_facts_of_a_commit(tmp_path: Path) -> None:
    table = Written(tmp_path / "t", metadata(enableChangeDataFeed="true"))
    cdc = {"cdc": {"path": "_change_data/c", "size": 7, "partitionValues": {}, "dataChange": False}}
    table.commit(
        info("MERGE", userMetadata='{"a": 1}', operationMetrics={"numTargetRowsInserted": "2"}),
        add("a", rows=5, size=100),
        add("b", rows=3, size=50, dv=1),
        remove("c", rows=4, size=30),
        cdc,
        txn("dt:1", 7),
        txn("other", 1),
        millis=2_000,
    )
    (facts,) = table.log.commits(0, 1)
    assert (facts.version, facts.time, facts.operation) == (1, at(2_000), "MERGE")
    assert (facts.added_files, facts.added_bytes, facts.added_rows) == (2, 150, 7)
    assert (facts.removed_files, facts.removed_bytes, facts.removed_rows) == (1, 30, 4)
    assert (facts.cdc_files, facts.cdc_bytes, facts.feed, facts.deletion_vectors) == (
        1,
        7,
        True,
        True,
    )
    assert facts.transactions == {"dt:1": 7, "other": 1}
    assert json.loads(facts.user_metadata or "") == {"a": 1}
    assert facts.metrics == {"numTargetRowsInserted": "2"}
    assert not facts.is_replace
    assert facts.schema is None


def test_optimize_changes_no_data(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    table.commit(info("OPTIMIZE"), add("a", change=False), remove("b", change=False))
    (facts,) = table.log.commits(0, 1)
    assert (facts.data_change, facts.added_files, facts.removed_files) == (False, 0, 0)


def test_unknown_row_counts_stay_unknown(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(), add("a", rows=3), add("b", rows=None))
    (facts,) = table.log.commits(0, 1)
    assert facts.added_rows is None


@pytest.mark.parametrize(
    ("operation", "replaces"),
    [
        ("CREATE OR REPLACE TABLE AS SELECT", True),
        ("REPLACE TABLE", True),
        ("CLONE", True),
        ("WRITE", False),
        ("RESTORE", False),
        ("CREATE TABLE AS SELECT", False),
    ],
)
def test_operations_that_replace_a_table(tmp_path: Path, operation: str, replaces: bool) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(operation), metadata(), add("a"))
    (facts,) = table.log.commits(0, 1)
    assert facts.is_replace is replaces


def test_last_transactions(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    for n in range(1, 4):
        table.commit(info(), add(f"f{n}"), txn("dt:1", n))
    assert [table.log.last_transaction("dt:1", v) for v in range(4)] == [None, 1, 2, 3]
    assert table.log.last_transaction("dt:2") is None


def test_a_cleaned_log_is_read_from_its_checkpoint(tmp_path: Path) -> None:
    log = small_table(tmp_path / "t")
    from deltalake import CommitProperties, Transaction

    for n in range(1, 6):
        properties = CommitProperties(app_transactions=[Transaction("dt:1", n)])
        write_deltalake(str(log.path), rows(n), mode="append", commit_properties=properties)
    DeltaTable(str(log.path), version=3).create_checkpoint()
    for v in range(3):
        (log.path / "_delta_log" / f"{v:020d}.json").unlink()
    fresh = TableLog(log.path)
    assert (fresh.version(), fresh.oldest(), fresh.table_id()) == (5, 3, log.table_id())
    assert (fresh.last_transaction("dt:1", 3), fresh.last_transaction("dt:1")) == (3, 5)
    assert [f.version for f in fresh.commits(3, 5)] == [4, 5]
    assert [f.metadata.feed for f in fresh.commits(3, 5)] == [True, True]
    with pytest.raises(VersionGone) as gone:
        fresh.commits(1, 5)
    assert (gone.value.facts["oldest"], gone.value.facts["newest"]) == (3, 5)
    with pytest.raises(VersionGone):
        fresh.version_at(Timestamp(0))
    assert fresh.version_at(fresh.commit_time(4)) == 4
    assert log.oldest() == 3


def test_a_multi_part_checkpoint_counts_only_when_whole(tmp_path: Path) -> None:
    from dt_jupyter.lake.delta_log.checkpoints import checkpoints

    part = "00000000000000000007.checkpoint.{:010d}.0000000002.parquet"
    one = "00000000000000000003.checkpoint.parquet"
    v2 = "00000000000000000005.checkpoint.0b0e0a6e-8b4c-4f0c-9a55-2f7b3c6f1d11.json"
    assert set(checkpoints([part.format(1), one, v2])) == {3, 5}
    assert checkpoints([part.format(2), part.format(1), one])[7] == (part.format(1), part.format(2))


@pytest.mark.parametrize("content", ["", "\n", '{"commitInfo":{"operation"', "not json"])
def test_a_damaged_commit_is_an_error_not_fewer_rows(tmp_path: Path, content: str) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(), add("a"))
    table.file(2).write_text(content)
    with pytest.raises(LogBroken):
        table.log.commits(0, table.log.version())


def test_a_hole_in_the_log(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    for n in range(3):
        table.commit(info(), add(str(n)))
    table.file(1).unlink()
    with pytest.raises(LogBroken):
        TableLog(table.path).version()


def test_versions_beyond_the_log(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    for wrong in (
        lambda: table.log.commits(0, 3),
        lambda: table.log.commit_time(9),
        lambda: table.log.metadata(4),
    ):
        with pytest.raises(VersionGone):
            wrong()


def test_what_came_and_went_is_left_out_of_the_files(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(), add("a"), add("b"))
    table.commit(info(), add("c"), remove("a"))
    table.commit(info("OPTIMIZE"), add("d", change=False), remove("b", change=False))
    table.commit(info("DELETE"), add("c", dv=1), remove("c"))
    changes = table.log.file_changes(2, 4)
    assert [f["path"] for f in changes.removed] == ["a"]
    assert [(f["path"], "deletionVector" in f) for f in changes.added] == [("c", True)]


def test_metadata_changes_are_told(tmp_path: Path) -> None:
    table = Written(tmp_path / "t", metadata(column("a"), column("b")))
    table.commit(info("ADD COLUMNS"), metadata(column("a"), column("b"), column("c")))
    table.commit(info(), add("x"))
    table.commit(info("CHANGE COLUMN"), metadata(column("a", "string"), column("c")))
    _, first, _, third = table.log.commits(-1, 3)
    assert first.schema is not None
    assert third.schema is not None
    assert (first.schema.added, first.schema.touched) == (("c",), frozenset())
    assert (third.schema.dropped, third.schema.retyped) == (("b",), ("a",))
    assert table.log.metadata(0).columns == ("a", "b")
    assert table.log.metadata().columns == ("a", "c")


def test_size_counts_files_bytes_and_rows(tmp_path: Path) -> None:
    log = small_table(tmp_path / "t")
    assert (log.size().files, log.size().rows) == (0, 0)
    for ids in ((1, 2), (3,)):
        write_deltalake(str(log.path), rows(*ids), mode="append")
    size = log.size()
    on_disk = sum(f.stat().st_size for f in log.path.glob("*.parquet"))
    assert (size.files, size.rows, size.bytes) == (2, 3, on_disk)


def test_one_log_among_threads(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")

    def look(_: int) -> tuple[int, int, int]:
        version = table.log.version()
        facts = table.log.commits(0, version)
        return version, len(facts), sum(f.added_rows or 0 for f in facts)

    with ThreadPoolExecutor(4) as pool:
        answers = []
        for n in range(40):
            table.commit(info(), add(str(n)))
            answers += pool.map(look, range(4))
    assert all(v == n == r for v, n, r in answers)
    assert answers[-1] == (40, 40, 40)


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    for n in range(40):
        table.commit(info(userMetadata="x" * (MOST_REMEMBERED // 10)), add(str(n)))
    for _ in range(2):
        assert [f.version for f in table.log.commits(-1, 40)] == list(range(41))
        remembered = table.log.remembered
        assert remembered.bytes <= MOST_REMEMBERED
        assert [v for v in range(41) if remembered.get(v)] == list(range(32, 41))


def test_older_metadata_is_remembered(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    for n in range(3):
        table.commit(info(), add(str(n)))
    table.commit(info("ADD COLUMNS"), metadata(column("id"), column("more")))
    table.commit(info(), add("x"))
    log = table.log
    assert [log.metadata(v).columns for v in (3, 4, 5)] == [("id",), ("id", "more"), ("id", "more")]
    table.file(0).write_text("not to be read again")
    assert [log.metadata(v).columns for v in (1, 2, 3)] == [("id",)] * 3
    for wrong in (-1, 6):
        with pytest.raises(VersionGone):
            log.metadata(wrong)


def test_what_is_cleaned_up_is_gone_though_it_was_read(tmp_path: Path) -> None:
    log = small_table(tmp_path / "t")
    for n in range(1, 5):
        write_deltalake(str(log.path), rows(n), mode="append")
    assert [f.added_rows for f in log.commits(0, 4)] == [1, 1, 1, 1]
    DeltaTable(str(log.path), version=2).create_checkpoint()
    for v in range(3):
        (log.path / "_delta_log" / f"{v:020d}.json").unlink()
    for read in (log.commits, lambda after, upto: log.files(after + 1, upto)):
        assert len(read(2, 4)) == 2
        with pytest.raises(VersionGone) as gone:
            read(1, 4)
        assert (gone.value.facts["version"], gone.value.facts["oldest"]) == (2, 3)


def test_a_commit_is_read_once(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    for n in range(3):
        table.commit(info(), add(str(n)), remove(f"old {n}", change=n != 1))
    facts, changes = table.log.commits(0, 3), table.log.file_changes(1, 3)
    for v in (1, 2):
        table.file(v).write_text("not to be read again")
    assert table.log.commits(0, 3) == facts
    assert table.log.file_changes(1, 3) == changes
    assert [f["path"] for f in changes.removed] == ["old 0", "old 2"]
    assert [table.log.changes_data(v) for v in (1, 2)] == [True, True]
    with pytest.raises(LogBroken):
        TableLog(table.path).commits(0, 3)


def test_files_of_a_large_commit_are_not_kept_but_read(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(), *(add(str(n)) for n in range(500)))
    assert table.log.commits(0, 1)[0].added_files == 500
    assert table.log.remembered.bytes < 5_000
    assert len(table.log.file_changes(1, 1).added) == 500


@pytest.mark.parametrize(
    ("stats", "known"),
    [
        ({"numRecords": 3, "minValues": {"numRecords": 8}}, 3),
        ({"minValues": {"numRecords": 8}, "numRecords": 3}, 3),
        ({"minValues": {"numRecords": 8}}, None),
        ({"numRecords": None}, None),
    ],
)
def test_records_are_counted_whatever_the_columns_are_called(
    tmp_path: Path, stats: object, known: int | None
) -> None:
    table = Written(tmp_path / "t")
    added = add("a", rows=None)
    added["add"]["stats"] = json.dumps(stats)
    table.commit(info(), added)
    (facts,) = table.log.commits(0, 1)
    assert facts.added_rows == known


@pytest.mark.parametrize("spaced", [False, True])
def test_whether_a_commit_changes_data(tmp_path: Path, spaced: bool) -> None:
    table = Written(tmp_path / "t")
    text = {"tags": {"dataChange": "false"}, "path": '"dataChange":false'}
    actions = (
        [add("a", change=False), remove("b", change=False)],
        [add("a", change=False), {"add": {**add("b")["add"], **text}}],
        [{"remove": {"path": "no word of it"}}],
        [{"cdc": {"path": "c"}}, metadata(), txn("dt:1", 1)],
    )
    for some in actions:
        v = table.commit(info(), *some)
        if spaced:
            table.file(v).write_text("\n".join(json.dumps(a) for a in some))
    assert [table.log.changes_data(v) for v in (1, 2, 3, 4)] == [False, True, True, False]


def test_a_replaced_newest_commit_is_noticed(tmp_path: Path) -> None:
    table = Written(tmp_path / "t")
    table.commit(info(), add("a"))
    table.commit(info(), add("b"))
    assert table.log.version() == 2
    os.unlink(table.file(2))
    assert table.log.version() == 1
