"""Ranges of a merge's keys, and delta-rs finding rows by keys of every type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from dt_jupyter.lake import Append, CommitRequest, Committed, Merge, commit
from dt_jupyter.lake.delta_log.key_ranges import key_range
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.write.writer_rs import touched_files
from dt_jupyter.model import quote
from tests.unit.delta_logs import rows, small_table


def range_sql(type_: pa.DataType, values: list[Any], dialect: str = "spark") -> str | None:
    ops = pa.array(["D"] * len(values))
    found = key_range(
        Merge(["k"], pa.table({"k": pa.array(values, type_), "__dt_op": ops})), dialect
    )
    return found.sql("t", quote) if found else None


def test_literals_of_both_dialects() -> None:
    assert range_sql(pa.int32(), [3, 1]) == "(t.`k` >= 1 AND t.`k` <= 3)"
    assert range_sql(pa.int32(), [3, None]) == "(t.`k` IS NULL OR (t.`k` >= 3 AND t.`k` <= 3))"
    assert (
        range_sql(pa.string(), ["it's \\"]) == "(t.`k` >= 'it\\'s \\\\' AND t.`k` <= 'it\\'s \\\\')"
    )
    assert range_sql(pa.string(), ["it's \\"], "delta-rs") == (
        "(t.`k` >= 'it''s \\' AND t.`k` <= 'it''s \\')"
    )
    day = date(2024, 2, 29)
    assert range_sql(pa.date32(), [day]) == (
        "(t.`k` >= DATE '2024-02-29' AND t.`k` <= DATE '2024-02-29')"
    )
    at = datetime(2024, 1, 1, 12, tzinfo=UTC)
    assert range_sql(pa.timestamp("us", "UTC"), [at]) == (
        "(t.`k` >= TIMESTAMP '2024-01-01 11:59:59+00:00' "
        "AND t.`k` <= TIMESTAMP '2024-01-01 12:00:01+00:00')"
    )


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.float64(), [1.0]),
        (pa.binary(), [b"x"]),
        (pa.int64(), [None]),
        (pa.int64(), []),
        (pa.date32(), [date(9999, 12, 31)]),
        (pa.decimal128(9, 2), [Decimal("1.00")]),
    ],
)
def test_keys_without_a_range(type_: pa.DataType, values: list[Any]) -> None:
    assert range_sql(type_, values) is None


def test_inserts_do_not_widen_the_range() -> None:
    change = Merge(["id"], rows(5, 900, 7, op="DIU"))
    found = key_range(change, "spark")
    assert found is not None
    assert (found.low, found.high) == (5, 7)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (pa.string(), ["", "a" * 40 + "x", "a" * 40 + "y", "🚂'\"\\"]),
        (pa.int8(), [-128, 0, 1, 127]),
        (pa.bool_(), [True, False]),
        (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(2024, 1, 1), date(9999, 12, 31)]),
        (pa.timestamp("us", "UTC"), [-1, 0, 1_700_000_000_123_456, 1_700_000_000_123_457]),
        (pa.timestamp("us"), [-62135596800000000, 1_700_000_000_123_456, 253402300799999999]),
        (pa.decimal128(38, 18), [Decimal("1.000000000000000001"), Decimal("1"), Decimal("-1")]),
        (pa.binary(), [b"", b"\0", b"\0\1", b"\xff"]),
    ],
    ids=str,
)
def test_every_key_finds_its_row_and_no_other(
    tmp_path: Path, type_: Any, values: list[Any]
) -> None:
    """One file per key, and one for NULL; each is replaced in turn, then all are deleted."""
    schema = pa.schema([("k", type_), ("v", pa.string())])
    listed = "v" if pa.types.is_decimal(type_) else "k,v"
    log = small_table(tmp_path / "t", schema, dataSkippingStatsColumns=listed)
    keys = [*values, None]
    sequence = 0

    def apply(change: Any) -> Committed:
        nonlocal sequence
        sequence += 1
        done = commit(CommitRequest(log.path, "dt:1", sequence, f"a{sequence}"), change)
        assert isinstance(done, Committed)
        return done

    def one(key: Any, value: str) -> pa.Table:
        return pa.table({"k": pa.array([key], type_), "v": [value]})

    def op(table: pa.Table, name: str) -> pa.Table:
        return table.append_column("__dt_op", pa.array([name] * table.num_rows))

    for n, key in enumerate(keys):
        apply(Append(one(key, f"old{n}")))
    for n, key in enumerate(keys):
        done = apply(Merge(["k"], op(one(key, f"new{n}"), "U")))
        assert (done.statistics.updated, done.statistics.files_removed) == (1, 1), key
    stored = DeltaTable(str(log.path)).to_pyarrow_table()["v"].to_pylist()
    assert sorted(stored) == [f"new{n}" for n in range(len(keys))]
    everything = pa.table({"k": pa.array(keys, type_), "v": ["x"] * len(keys)})
    assert apply(Merge(["k"], op(everything, "D"))).statistics.deleted == len(keys)
    assert log.size().rows == 0


def test_composite_keys_with_nulls(tmp_path: Path) -> None:
    log = small_table(tmp_path / "t", pa.schema([(c, pa.int64()) for c in "abv"]))
    pairs = [(1, None), (None, 1), (None, None), (1, 1)]

    def table(value: int, *chosen: int) -> pa.Table:
        some = [pairs[n] for n in chosen]
        return pa.table(
            {
                "a": pa.array([a for a, _ in some], pa.int64()),
                "b": pa.array([b for _, b in some], pa.int64()),
                "v": [value] * len(some),
            }
        )

    commit(CommitRequest(log.path, "x", 1, "a"), Append(table(0, 0, 1, 2, 3)))
    change = table(9, 0, 2).append_column("__dt_op", pa.array(["U", "D"]))
    commit(CommitRequest(log.path, "x", 2, "b"), Merge(["a", "b"], change))
    stored = DeltaTable(str(log.path)).to_pyarrow_table().to_pylist()
    found = {((r["a"], r["b"]), r["v"]) for r in stored}
    assert found == {((1, None), 9), ((None, 1), 0), ((1, 1), 0)}


def test_files_out_of_the_range_are_not_touched(tmp_path: Path) -> None:
    log = small_table(tmp_path / "t")
    for n in range(4):
        commit(CommitRequest(log.path, "x", n + 1, f"a{n}"), Append(rows(10 * n, 10 * n + 5)))
    assert (
        len(
            touched_files(
                TableSnapshot(log.path, log.version()), Merge(["id"], rows(11, 24, op="DU"))
            )
        )
        == 2
    )
    assert (
        len(touched_files(TableSnapshot(log.path, log.version()), Merge(["id"], rows(7, op="D"))))
        == 0
    )
    assert (
        len(touched_files(TableSnapshot(log.path, log.version()), Merge(["name"], rows(7, op="D"))))
        == 0
    )
    assert (
        len(
            touched_files(TableSnapshot(log.path, log.version()), Merge(["id"], rows(None, op="D")))
        )
        == 4
    )
