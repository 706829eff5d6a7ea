"""Columns that are kept of files that were decoded give every version its own rows, whatever
becomes of the table."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from dt_jupyter.caches import cache_memory
from dt_jupyter.lake import TableLog
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_size import size_of
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.read import table_files
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.narrowing import ranges_of
from dt_jupyter.lake.read.wanted_rows import WantedRows
from tests.spark.lake_tables import make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id INT, s STRING, d DATE, n DECIMAL(9, 2), l ARRAY<INT>"
ROWS = (
    "SELECT IF(id % 7 = 0, NULL, CAST(id % 50 AS INT)), IF(id % 5 = 0, NULL, concat('s', id)), "
    "date_add(DATE'2024-02-28', CAST(id % 9 AS INT)), CAST(id / 7 AS DECIMAL(9, 2)), "
    "array(CAST(id AS INT), NULL) FROM range({}, {})"
)
WIDENED = (
    "ALTER TABLE {t} SET TBLPROPERTIES (delta.enableTypeWidening = true)",
    "INSERT INTO {t} " + ROWS.format(0, 60),
    "ALTER TABLE {t} CHANGE COLUMN id TYPE BIGINT",
    "INSERT INTO {t} VALUES (5000000000, 'big', NULL, 1, NULL)",
    "DELETE FROM {t} WHERE id = 3",
)
LIFE = (
    "INSERT INTO {t} " + ROWS.format(0, 60),
    "INSERT INTO {t} " + ROWS.format(60, 90),
    "DELETE FROM {t} WHERE id = 3",
    "UPDATE {t} SET s = 'new' WHERE id IN (4, 5) OR s = 's20'",
    "ALTER TABLE {t} ADD COLUMN more STRING",
    "INSERT INTO {t} VALUES (5, 'x', NULL, 1, NULL, 'y')",
    "OPTIMIZE {t}",
    "RESTORE TABLE {t} TO VERSION AS OF 3",
    "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id > 20",
)


@pytest.fixture
def log(quick_spark: SparkSession, lake_dir: Path, monkeypatch: pytest.MonkeyPatch) -> TableLog:
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)
    return make(quick_spark, lake_dir / "t", COLUMNS, feed=False, vectors=True)


def bag(rows: pa.Table) -> Counter[str]:
    columns = [rows[c].to_pylist() for c in sorted(rows.column_names)]
    return Counter(map(repr, zip(*columns, strict=True)))


def differences(spark: SparkSession, log: TableLog, kept: KeptColumns, version: int) -> list[str]:
    """What is told otherwise of a version than Spark has it: all rows, and those of some ids."""
    text = f"SELECT * FROM {sql_table(log.path)} VERSION AS OF {version}"
    whole = spark.sql(text).toArrow()
    columns = whole.column_names
    found = kept.rows(kept.files(log, version), columns)
    wrong = [] if bag(found) == bag(whole) else ["rows"]
    listed = size_of(TableSnapshot(log.path, version).files())
    if log.size(version) != replace(listed, rows=whole.num_rows):
        wrong.append("size")
    rng = random.Random(version)
    there = found["id"].combine_chunks()
    asked = [rng.sample(range(60), 3), rng.sample(range(60), 3), [3, 4, 20]]
    for nulls, numbers in zip((False, True, False), asked, strict=True):
        wanted = pa.array([*numbers, 5_000_000_000], pa.int64())
        if there.type == pa.int32():
            wanted = wanted.slice(0, 3).cast(pa.int32())
        ranges = () if nulls else ranges_of(log.metadata(version), pa.table({"id": wanted}))
        rows = WantedRows("id", wanted, nulls, ranges)
        some = kept.select(kept.files(log, version), columns, rows, 1000)
        assert some is not None
        ids = {*wanted.to_pylist(), *([None] if nulls else [])}
        meant = [i for i, id_ in enumerate(whole["id"].to_pylist()) if id_ in ids]
        if bag(some) != bag(whole.take(pa.array(meant, pa.int64()))):
            wrong.append(f"selected, nulls {nulls}")
    return wrong


def live(
    spark: SparkSession, log: TableLog, kept: KeptColumns, statements: tuple[str, ...] = LIFE
) -> list[tuple[str, str]]:
    """A table's life, each version looked at when it is new and once more at the end."""
    wrong = []
    for statement in statements:
        spark.sql(statement.format(t=sql_table(log.path)))
        found = differences(spark, log, kept, log.version())
        wrong += [(statement[:40], f) for f in found]
    for version in random.Random(1).sample(range(1, log.version()), 2):
        wrong += [(f"again {version}", f) for f in differences(spark, log, kept, version)]
    return wrong


def test_every_version_has_its_own_rows(spark: SparkSession, log: TableLog) -> None:
    kept = KeptColumns()
    assert live(spark, log, kept) == []
    before = kept.memory.bytes
    assert before > 0
    kept.rows(kept.files(log, log.version()), ["id", "s"])
    assert kept.memory.bytes == before  # nothing is decoded twice
    shutil.rmtree(log.path)
    make(spark, log.path, COLUMNS, feed=False, vectors=True)
    spark.sql(f"INSERT INTO {sql_table(log.path)} {ROWS.format(5, 9)}")
    assert differences(spark, log, kept, log.version()) == []
    next(Path(log.path).glob("*.parquet")).unlink()
    with pytest.raises(FileNotFoundError):
        kept.rows(kept.files(log, log.version()), ["id"])


def test_types_that_were_widened_in_place(quick_spark: SparkSession, lake_dir: Path) -> None:
    spark = quick_spark
    log = make(spark, lake_dir / "t", COLUMNS, feed=False)
    assert live(spark, log, KeptColumns(), WIDENED) == []


@pytest.mark.nightly
def test_a_vector_that_is_taken_for_another_is_caught(
    spark: SparkSession, log: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "_vector_key", lambda footer, vector: (footer.key, ""))
    wrong = live(spark, log, KeptColumns(), LIFE[:4])
    assert {how for _, how in wrong} >= {"rows"}


@pytest.mark.nightly
def test_places_of_other_values_are_caught(
    spark: SparkSession, log: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WantedRows, "digest", b"")
    wrong = live(spark, log, KeptColumns(), LIFE[:4])
    assert {how for _, how in wrong} >= {"selected, nulls False"}


@pytest.mark.nightly
def test_what_does_not_fit_is_read_each_time(
    spark: SparkSession, log: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    for statement in LIFE[:3]:
        spark.sql(statement.format(t=sql_table(log.path)))
    small, short = KeptColumns(most_bytes=9_000), KeptColumns()
    for version in range(1, log.version() + 1):
        assert differences(spark, log, small, version) == []
        assert small.memory.bytes <= 9_000
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: True)
    monkeypatch.setattr(cache_memory, "_PRESSURE_SECONDS", 0.0)
    assert differences(spark, log, short, log.version()) == []
    assert short.memory.bytes == 0


FEW = "CASE id % 4 WHEN 0 THEN NULL WHEN 1 THEN 'ab' WHEN 2 THEN '' ELSE 'Straße' END"


@pytest.mark.nightly
def test_texts_of_few_values_are_kept_as_places_in_a_dictionary(
    quick_spark: SparkSession, lake_dir: Path
) -> None:
    log = make(quick_spark, lake_dir / "t", "id BIGINT, s STRING, u STRING", feed=False)
    table, kept = sql_table(log.path), KeptColumns()
    rows = f"SELECT id, {FEW}, concat('u', id) FROM range(0, {{}})"
    quick_spark.sql(f"INSERT INTO {table} {rows.format(20_000)}")
    quick_spark.sql(f"INSERT INTO {table} {rows.format(40)}")
    quick_spark.sql(f"INSERT INTO {table} SELECT id, NULL, NULL FROM range(3000)")
    files = kept.files(log, log.version())
    whole = quick_spark.sql(f"SELECT * FROM {table}").toArrow()
    found = kept.rows(files, ["s"])
    assert Counter(found["s"].to_pylist()) == Counter(whole["s"].to_pylist())
    assert kept._values.bytes < 0.7 * found.nbytes  # the offsets of few letters are as long
    for wanted, nulls in ((["ab", "x"], False), ([""], True), (["Straße"], True), ([], False)):
        asked = WantedRows("s", pa.array(wanted, pa.string()), nulls)
        some = kept.select(files, ["id", "s", "u"], asked, 100_000)
        assert some is not None
        meant = {*wanted, *([None] if nulls else [])}
        kinds = pa.array([s in meant for s in whole["s"].to_pylist()])
        assert bag(some) == bag(whole.filter(kinds))
        assert some.schema.field("s").type == pa.string()


def test_columns_of_files_that_are_gone_are_given_back(
    quick_spark: SparkSession, lake_dir: Path
) -> None:
    log = make(
        quick_spark, lake_dir / "t", "id BIGINT, s STRING, u STRING", feed=False, vectors=False
    )
    table, kept, bytes_then = sql_table(log.path), KeptColumns(), []
    quick_spark.sql(f"INSERT INTO {table} SELECT id, {FEW}, 'x' FROM range(0, 3000)")
    first = log.version()
    for number in range(8):
        quick_spark.sql(f"UPDATE {table} SET u = 'n' WHERE id = {number}")
        for version in (log.version() - 1, log.version()):
            rows = kept.rows(kept.files(log, version), ["id", "u"])
            assert rows.num_rows == 3000
        bytes_then.append(kept._values.bytes)
    assert max(bytes_then) == bytes_then[4] < 6 * bytes_then[0]
    assert set(kept._values) == set().union(*kept._of_file.values())
    old = kept.rows(kept.files(log, first), ["id", "u"])
    assert Counter(old["u"].to_pylist()) == {"x": 3000}
    kept.memory.clear()
    assert (kept.memory.bytes, kept._of_file) == (0, {})
