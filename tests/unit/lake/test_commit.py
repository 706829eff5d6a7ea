"""The commit protocol with delta-rs alone: sequences, fencing, read-back, recovery, orphans."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Field, Transaction, write_deltalake

from dt_jupyter.lake import (
    Append,
    Change,
    CommitRequest,
    Committed,
    FastLane,
    Lost,
    Merge,
    NotSupported,
    Overwrite,
    TableLocked,
    TableLog,
    commit,
    recover,
)
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.delta_log.actions import commit_name, read_actions
from dt_jupyter.lake.write.failpoints import POINTS, hooked
from dt_jupyter.lake.write.locks import table_lock
from tests.unit.delta_logs import SCHEMA, read, rows, small_table

APP = "dt:1"


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    return small_table(tmp_path / "t")


def request(log: TableLog, sequence: int, attempt: str = "", **more: Any) -> CommitRequest:
    return CommitRequest(log.path, APP, sequence, attempt or f"attempt-{sequence}", **more)


def done(result: Committed | Lost) -> Committed:
    assert isinstance(result, Committed), result
    return result


def lost(result: Committed | Lost) -> str:
    assert isinstance(result, Lost), result
    return result.code


def test_a_commit_carries_its_sequence_and_metadata(log: TableLog) -> None:
    asked = request(log, 1, metadata={"action": "FULL", "frontier": {"a": 3}})
    committed = done(commit(asked, Append(rows(1, 2))))
    assert (committed.version, committed.writer) == (1, "delta-rs")
    assert (committed.statistics.inserted, committed.statistics.files_added) == (2, 1)
    recovered = recover(log.path, APP)
    assert recovered is not None
    assert (recovered.sequence, recovered.version, recovered.newest) == (1, 1, 1)
    assert recovered.metadata == {
        "action": "FULL",
        "frontier": {"a": 3},
        "seq": 1,
        "attempt": "attempt-1",
    }
    assert (recovered.table_id, recovered.foreign) == (log.table_id(), ())


def test_merge_deletes_replaces_and_inserts(log: TableLog) -> None:
    commit(request(log, 1), Append(rows(1, 2, 3, None)))
    change = rows(1, 2, None, 4, 5, op="DUDUI", name="new")
    committed = done(commit(request(log, 2), Merge(["id"], change)))
    assert read(log.path) == [(2, "new2"), (3, "n3"), (4, "new4"), (5, "new5")]
    s = committed.statistics
    assert (s.inserted, s.updated, s.deleted, s.copied) == (2, 1, 2, 1)


def test_inserts_of_a_merge_do_not_look(log: TableLog) -> None:
    commit(request(log, 1), Append(rows(1)))
    commit(request(log, 2), Merge(["id"], rows(1, 1, op="DI", name="again")))
    assert read(log.path) == [(1, "again1")]
    committed = done(commit(request(log, 3), Merge(["id"], rows(1, 2, op="II"))))
    assert read(log.path) == [(1, "again1"), (1, "n1"), (2, "n2")]
    assert committed.statistics.files_removed == 0


def test_two_changes_of_one_key_are_refused_before_writing(log: TableLog) -> None:
    commit(request(log, 1), Append(rows(1)))
    with pytest.raises(ValueError, match="same key"):
        commit(request(log, 2), Merge(["id"], rows(1, 1, op="DU")))
    assert log.version() == 1


def test_overwrite(log: TableLog) -> None:
    commit(request(log, 1), Append(rows(1, 2)))
    s = done(commit(request(log, 2), Overwrite(rows(7)))).statistics
    assert read(log.path) == [(7, "n7")]
    assert (s.inserted, s.deleted, s.files_removed) == (1, 2, 1)


def test_the_feed_tells_the_change(log: TableLog) -> None:
    commit(request(log, 1), Append(rows(1, 2)))
    commit(request(log, 2), Merge(["id"], rows(1, 3, op="UI", name="x")))
    found = feed_table(log, 2, 2, ["name"])
    weights = sorted((r["name"], r["__dt_w"]) for r in found.to_pylist())
    assert weights == [("n1", -1), ("x1", 1), ("x3", 1)]


def test_the_feed_of_columns_with_odd_names_in_any_order(tmp_path: Path) -> None:
    schema = pa.schema([("a-b", pa.int64()), ("C.d", pa.string()), ('q"', pa.float64())])
    log = small_table(tmp_path / "t", schema, dataSkippingStatsColumns="")
    values = pa.table({"a-b": [1], "C.d": ["x"], 'q"': [0.5]}, schema)
    done(commit(request(log, 1), Append(values)))
    found = feed_table(log, 1, 1, ['q"', "c.D", "a-b"])
    assert found.to_pylist() == [{'q"': 0.5, "c.D": "x", "a-b": 1, "__dt_w": 1}]


@pytest.mark.parametrize("sequence", [1, 3, 9])
def test_a_sequence_that_is_not_next_is_lost(log: TableLog, sequence: int) -> None:
    commit(request(log, 1), Append(rows(1)))
    assert lost(commit(request(log, sequence, "other"), Append(rows(9)))) == "SEQUENCE_TAKEN"
    assert (log.version(), read(log.path)) == (1, [(1, "n1")])


def test_all_rows_anew_go_on_where_a_log_was_lost(log: TableLog) -> None:
    """The log ends before the catalog's sequence; it never goes back."""
    done(commit(request(log, 4), Overwrite(rows(1))))
    assert lost(commit(request(log, 6), Append(rows(2)))) == "SEQUENCE_TAKEN"
    done(commit(request(log, 6), Overwrite(rows(2))))
    for taken in (4, 5, 6):
        assert lost(commit(request(log, taken), Overwrite(rows(3)))) == "SEQUENCE_TAKEN"
    assert (log.last_transaction(APP), read(log.path)) == (6, [(2, "n2")])


def test_columns_that_others_added_are_foreign_too(log: TableLog) -> None:
    done(commit(request(log, 1), Append(rows(1))))
    DeltaTable(log.path).alter.set_table_properties(
        {"delta.logRetentionDuration": "interval 9 days"}
    )
    found = recover(log.path, APP)
    assert found is not None
    assert (found.newest, found.foreign) == (2, ()), "a property is nobody's rows"
    DeltaTable(log.path).alter.add_columns(Field("more", "string"))
    found = recover(log.path, APP)
    assert found is not None
    assert found.foreign == (3,)


def test_data_written_by_others_since_the_expected_version(log: TableLog) -> None:
    commit(request(log, 1), Append(rows(1)))
    DeltaTable(str(log.path)).optimize.compact()
    done(commit(request(log, 2, expected_version=1), Append(rows(2))))
    write_deltalake(str(log.path), rows(66), mode="append")
    result = commit(request(log, 3, expected_version=2), Append(rows(3)))
    assert lost(result) == "FOREIGN_WRITE"
    found = recover(log.path, APP)
    assert found is not None
    assert (found.sequence, found.foreign) == (2, (log.version(),))


def at(point: str, act: Callable[[], object], run: Callable[[], Any]) -> Any:
    """Run a commit in which `act` happens at the point, once."""
    pending = [act]
    with hooked(point, lambda: pending.pop()() and None if pending else None):
        return run()


def test_a_zombie_that_writes_first_fences_us(log: TableLog) -> None:
    """A writer that ignores the lock takes the sequence between our check and our write."""

    def zombie() -> None:
        metadata = {"userMetadata": json.dumps({"attempt": "zombie", "seq": 1})}
        properties = CommitProperties(metadata, app_transactions=[Transaction(APP, 1)])
        write_deltalake(str(log.path), rows(66), mode="append", commit_properties=properties)

    def run() -> Committed | Lost:
        return commit(request(log, 1), Append(rows(1)))

    assert lost(at("before_write", zombie, run)) == "FENCED"
    assert read(log.path) == [(66, "n66")]
    assert lost(run()) == "SEQUENCE_TAKEN"
    assert len(list(log.path.glob("*.parquet"))) == 1  # ours was removed


def test_a_foreign_commit_in_between_fails_loudly(log: TableLog) -> None:
    from deltalake.exceptions import CommitFailedError

    with pytest.raises(CommitFailedError):
        at(
            "before_write",
            lambda: write_deltalake(str(log.path), rows(66), mode="append"),
            lambda: commit(request(log, 1), Append(rows(1))),
        )
    assert read(log.path) == [(66, "n66")]
    assert len(list(log.path.glob("*.parquet"))) == 1
    done(commit(request(log, 1), Append(rows(1))))


def test_a_failure_after_the_commit_is_a_commit(log: TableLog, monkeypatch) -> None:
    from dt_jupyter.lake.write import writer_rs

    real = writer_rs.write

    def write_then_fail(*args: Any) -> None:
        real(*args)
        raise OSError("the connection broke after the commit")

    monkeypatch.setattr(writer_rs, "write", write_then_fail)
    assert done(commit(request(log, 1), Append(rows(1)))).version == 1


def test_a_writer_that_wrote_nothing_is_lost(log: TableLog, monkeypatch) -> None:
    from dt_jupyter.lake.write import writer_rs

    monkeypatch.setattr(writer_rs, "write", lambda *args: None)
    assert lost(commit(request(log, 1), Append(rows(1)))) == "SKIPPED"


def test_a_failed_attempt_leaves_no_file_and_takes_no_other(log: TableLog, monkeypatch) -> None:
    from dt_jupyter.lake.write import writer_rs

    commit(request(log, 1), Append(rows(1)))
    kept = {f.name for f in log.path.iterdir()}

    def fail(*args: Any) -> None:
        (log.path / "part-00000-half-written.parquet").write_bytes(b"PAR1")
        raise OSError("No space left on device")

    monkeypatch.setattr(writer_rs, "write", fail)
    with pytest.raises(OSError, match="No space"):
        commit(request(log, 2), Append(rows(2)))
    assert {f.name for f in log.path.iterdir()} == kept
    assert read(log.path) == [(1, "n1")]


def test_the_lock_is_held_from_the_check_to_the_disk(log: TableLog) -> None:
    seen = []

    def try_lock() -> None:
        with pytest.raises(TableLocked), table_lock(log.path, patience=0.0):
            pass
        seen.append(1)

    for n, point in enumerate(POINTS, 1):
        with hooked(point, try_lock):
            done(commit(request(log, n), Append(rows(n))))
    assert len(seen) == len(POINTS)
    with table_lock(log.path, patience=0.0):
        pass


def test_two_threads_race_for_one_sequence(log: TableLog) -> None:
    inside, results = threading.Event(), []

    def first() -> None:
        results.append(commit(request(log, 1, "a"), Append(rows(1))))

    def second() -> None:
        inside.wait()
        results.append(commit(request(log, 1, "b"), Append(rows(2))))

    threads = [threading.Thread(target=t) for t in (second, first)]
    with hooked("lock_taken", inside.set):
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sorted(type(r).__name__ for r in results) == ["Committed", "Lost"]
    assert len(read(log.path)) == 1


def gate(log: TableLog, change: Change, **lane: int) -> str:
    """Why delta-rs refuses the change."""
    with pytest.raises(NotSupported) as refused:
        commit(request(log, 1), change, writer="delta-rs", lane=FastLane(**lane))
    assert log.version() == 0
    return refused.value.sentence


def test_gates_by_size(log: TableLog) -> None:
    assert "2 rows" in gate(log, Append(rows(1, 2)), rows=1)
    assert "bytes" in gate(log, Append(rows(1, 2)), bytes=1)


def test_the_gate_of_touched_bytes_counts_files_in_the_keys_range(log: TableLog) -> None:
    for n in range(3):
        commit(request(log, n + 1), Append(rows(*range(n * 100, n * 100 + 50))))
    (size, *_) = {f.stat().st_size for f in log.path.glob("*.parquet")}
    lane = FastLane(touched_bytes=size + 10)
    done(commit(request(log, 4), Merge(["id"], rows(110, op="U")), lane=lane))
    with pytest.raises(NotSupported, match="may be touched"):
        commit(request(log, 5), Merge(["id"], rows(10, 210, op="UU")), lane=lane)
    with pytest.raises(NotSupported, match="Spark session is needed"):
        commit(request(log, 5), Merge(["id"], rows(10, 210, op="UU")), lane=lane)


def test_gates_by_table(tmp_path: Path) -> None:
    floats = small_table(tmp_path / "f", dataSkippingStatsColumns="id,price")
    assert "column price" in gate(floats, Append(rows(1)))
    log = small_table(tmp_path / "k")
    assert "key price" in gate(log, Merge(["price"], rows(1, op="D")))
    assert "schema changes" in gate(log, Overwrite(rows(1), new_schema=True))


def test_int96_in_a_touched_file_is_sparks(log: TableLog) -> None:
    import pyarrow.parquet as pq

    done(commit(request(log, 1), Append(rows(1, 2))))
    (file,) = log.path.glob("*.parquet")
    pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)
    done(commit(request(log, 2), Append(rows(9))))
    with pytest.raises(NotSupported, match="INT96"):
        commit(request(log, 3), Merge(["id"], rows(1, op="D")))
    done(commit(request(log, 3), Merge(["id"], rows(9, op="D"))))


def test_rows_must_have_the_tables_columns(log: TableLog) -> None:
    with pytest.raises(ValueError, match="not the table's"):
        commit(request(log, 1), Append(rows(1).drop_columns(["at"])))
    with pytest.raises(pa.ArrowInvalid):
        commit(request(log, 1), Append(rows(1).set_column(0, "id", pa.array(["x"]))))
    reordered = rows(1).select(list(reversed(SCHEMA.names)))
    done(commit(request(log, 1), Append(reordered)))
    assert read(log.path) == [(1, "n1")]


def test_recover_where_nothing_was_committed(log: TableLog) -> None:
    assert recover(log.path, APP) is None


def test_recover_past_a_checkpoint_and_a_cleaned_log(log: TableLog) -> None:
    for n in range(1, 4):
        commit(request(log, n), Append(rows(n)))
    DeltaTable(str(log.path)).create_checkpoint()
    write_deltalake(str(log.path), rows(9), mode="append")
    for v in range(4):
        (log.path / "_delta_log" / f"{v:020d}.json").unlink()
    found = recover(log.path, APP)
    assert found is not None
    assert (found.sequence, found.version, found.metadata, found.foreign) == (3, None, None, (4,))


def test_requests_that_cannot_be() -> None:
    for wrong in ({"sequence": 0}, {"app_id": ""}, {"attempt": ""}):
        with pytest.raises(ValueError, match="a commit has"):
            CommitRequest(**{"path": "t", "app_id": "a", "sequence": 1, "attempt": "x", **wrong})
    with pytest.raises(ValueError, match="keys"):
        Merge([], rows(1, op="D"))


def test_no_statistics_that_delta_rs_gets_wrong(tmp_path: Path) -> None:
    """Neither in the commit nor in the file: of floats, nested ones too, and of long decimals."""
    import pyarrow.parquet as pq

    inner = pa.struct([("f", pa.float64())])
    long, short = pa.decimal128(38, 18), pa.decimal128(9, 2)
    schema = pa.schema(
        [("id", pa.int64()), ("f", pa.float32()), ("s", inner), ("long", long), ("short", short)]
    )
    for exposed in ("long", "f", "s.f"):
        table = small_table(tmp_path / exposed, schema, dataSkippingStatsColumns=f"id,{exposed}")
        assert f"column {exposed[:4].split('.')[0]} " in gate(table, Append(schema.empty_table()))
    log = small_table(tmp_path / "t", schema, dataSkippingStatsColumns="id,short")
    row = {"id": 1, "f": 1.5, "s": {"f": 2.5}, "long": Decimal(1), "short": Decimal(1)}
    done(commit(request(log, 1), Append(pa.Table.from_pylist([row], schema))))
    (file,) = log.path.glob("*.parquet")
    group = pq.read_metadata(file).row_group(0)
    bounded = {
        c.path_in_schema
        for c in (group.column(n) for n in range(group.num_columns))
        if c.statistics is not None and c.statistics.has_min_max
    }
    assert bounded == {"id", "long", "short"}
    logged = read_actions(log.path / "_delta_log" / commit_name(1))
    (stats,) = (body["stats"] for kind, body in logged if kind == "add")
    assert set(json.loads(stats)["maxValues"]) == {"id", "short"}
