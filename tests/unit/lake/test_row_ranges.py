"""The rows of a version range by range: all of them, in one order, from any place on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from dt_jupyter.lake import LakeError, RowPlace, RowRanges, TableLog


@pytest.fixture
def log(tmp_path: Path) -> TableLog:
    """Three commits: row groups of four rows, a partition column, a column that is younger."""
    for first, more in ((0, {}), (10, {}), (20, {"note": [f"n{i}" for i in range(20, 33)]})):
        ids = list(range(first, first + 10 + 3 * (first // 20)))
        rows = pa.table({"id": ids, "part": [i % 2 for i in ids], **more})
        write_deltalake(
            str(tmp_path / "t"),
            rows,
            mode="append",
            partition_by=["part"],
            schema_mode="merge" if more else None,
        )
    return TableLog(tmp_path / "t")


def ranges(log: TableLog) -> RowRanges:
    return RowRanges(log, log.version(), log.metadata().columns)


def rows_of(tables: Any) -> list[dict[str, Any]]:
    return [row for table in tables for row in table.to_pylist()]


def places(found: RowRanges, rows: int, bytes_: int = 1 << 30) -> list[RowPlace]:
    """Where ranges of so many rows begin."""
    at: RowPlace | None = RowPlace()
    known = []
    while at is not None:
        known.append(at)
        at = found.end_of(at, rows, bytes_)
    return known


def test_every_row_comes_once_in_one_order(log: TableLog) -> None:
    whole = rows_of(ranges(log).read(RowPlace(), None))
    assert sorted(row["id"] for row in whole) == list(range(33))
    assert all(row["part"] == row["id"] % 2 for row in whole)
    assert {row["id"]: row["note"] for row in whole}[5] is None
    assert {row["id"]: row["note"] for row in whole}[25] == "n25"
    for size in (1, 4, 7, 100):
        found = ranges(log)
        starts = places(found, size)
        ends = [*starts[1:], None]
        parts = [rows_of(found.read(a, b)) for a, b in zip(starts, ends, strict=True)]
        assert [row for part in parts for row in part] == whole
        assert max(map(len, parts)) <= size
        resumed = rows_of(ranges(log).read(starts[-1], None))
        assert resumed == parts[-1]


def test_a_range_is_bounded_by_bytes_too(log: TableLog) -> None:
    assert len(places(ranges(log), 1000, bytes_=1)) == 33


def test_a_file_that_is_gone_is_said(log: TableLog) -> None:
    next(Path(log.path).glob("part=*/*.parquet")).unlink()
    with pytest.raises(LakeError, match="is gone"):
        ranges(log)
