"""What a change query asks of Spark before its rows are asked for: no job, no snapshot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from dt_jupyter.streams.change_reader import Shape
from tests.spark.engine_lab import Lab


def jobs_so_far(lab: Lab) -> int:
    context: Any = lab.spark.sparkContext
    return int(context._jsc.sc().dagScheduler().numTotalJobs())


def folder_of(lab: Lab, table: str) -> str:
    (row,) = lab.engine.sql(f"DESCRIBE DETAIL {table}").collect()
    return str(row["location"]).removeprefix("file:")


def test_a_past_end_without_a_checksum_starts_no_job(quick_lab: Lab) -> None:
    """delta-rs writes none: Spark would compute the snapshot to know the columns."""
    lab = quick_lab
    lab.sql("CREATE TABLE t (id INT, v STRING) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.insert("t", "1, 'a'")
    for i in range(2, 6):
        rows = pa.table({"id": pa.array([i], pa.int32()), "v": ["b"]})
        write_deltalake(folder_of(lab, "t"), rows, mode="append")
    lab.insert("t", "9, 'z'")
    before = jobs_so_far(lab)
    found = lab.engine.change_rows("t", 1, 5)
    assert jobs_so_far(lab) == before
    assert sorted(tuple(r)[:-1] for r in found.frame.collect()) == [
        (i, "b", "INSERT", False) for i in range(2, 6)
    ]


def test_few_rows_are_minimized_in_one_job(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.sql("INSERT INTO t SELECT id, 0 FROM range(100)")
    lab.sql("UPDATE t SET v = 1 WHERE id < 20; DELETE FROM t WHERE id = 50")
    before = jobs_so_far(lab)
    found = lab.engine.change_rows("t", 1)
    assert found.query.shape is Shape.MINIMIZE
    assert len(found.frame.collect()) == 41
    assert jobs_so_far(lab) == before + 1


def test_files_that_went_whole_cancel_nothing(quick_lab: Lab) -> None:
    """Though a change file says which rows they had."""
    lab = quick_lab
    lab.sql("CREATE TABLE t (id INT) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.insert("t", "1", "2")
    lab.insert("t", "3", "4")
    lab.sql("DELETE FROM t WHERE id >= 3")
    found = lab.engine.change_rows("t", 2)
    assert found.query.shape is Shape.REMOVED_ONLY
    assert sorted(tuple(r)[:-1] for r in found.frame.collect()) == [
        (3, "DELETE", False),
        (4, "DELETE", False),
    ]
    assert lab.engine.change_rows("t", 1).query.shape is Shape.MINIMIZE
    assert lab.engine.changes("t", 1).collect() == []


def test_columns_have_the_types_that_spark_reads(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(
        "CREATE TABLE t (id INT, `a b` CHAR(3), c VARCHAR(5), d DECIMAL(12, 3), e TIMESTAMP_NTZ,"
        " f ARRAY<STRUCT<x: INT, y: MAP<STRING, DATE>>>, g BINARY) "
        "TBLPROPERTIES ('dt.primaryKey' = 'id', 'delta.columnMapping.mode' = 'name')"
    )
    lab.sql("INSERT INTO t (id, `a b`, c) VALUES (1, 'x', 'y')")
    lab.sql("UPDATE t SET c = 'z' WHERE id = 1")
    read = lab.spark.read.format("delta").load(folder_of(lab, "t")).schema
    for at in (0, 1):
        frame = lab.engine.changes("t", at)
        found = [(f.name, f.dataType) for f in frame.schema.fields[:-3]]
        assert found == [(f.name, f.dataType) for f in read.fields]
        assert {r["a b"] for r in frame.collect()} == {"x  "}
