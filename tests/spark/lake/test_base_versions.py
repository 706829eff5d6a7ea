"""Rows that are found by an older version's columns and what changed since are those that Spark
finds, whichever way the table came there."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dt_jupyter.caches import cache_memory
from dt_jupyter.lake import DiskCache, TableLog, ValueInterval
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.read import (
    base_versions,
    disk_cache,
    kept_columns,
    wanted_rows,
)
from dt_jupyter.lake.read.base_versions import BaseVersions
from dt_jupyter.lake.read.file_columns import open_data_file
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.wanted_rows import RowsBetween, WantedRows
from tests.cases import some
from tests.spark.lake.test_kept_columns import bag
from tests.spark.lake_tables import make

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id BIGINT, s STRING, d DATE, n DECIMAL(9, 2), f DOUBLE, l ARRAY<INT>"
ROWS = (
    "SELECT IF(id % 7 = 0, NULL, id % 50), IF(id % 5 = 0, NULL, concat('s', id % 3)), "
    "date_add(DATE'2024-02-28', CAST(id % 9 AS INT)), CAST(id % 4 AS DECIMAL(9, 2)), "
    "CASE id % 6 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN DOUBLE('-0.0') WHEN 2 THEN 0.0D "
    "WHEN 3 THEN NULL ELSE id / 3 END, NULL FROM range({}, {})"
)
SCALARS = ["id", "s", "d", "n", "f"]
ORDERED = ("id", "s", "d", "n")
FIRST = 1
"""The version of the first rows."""


@pytest.fixture
def log(quick_spark: SparkSession, lake_dir: Path, monkeypatch: pytest.MonkeyPatch) -> TableLog:
    monkeypatch.setattr(cache_memory, "is_memory_short", lambda: False)
    monkeypatch.setattr(base_versions, "_CHANGED_SHARE", 10.0)
    log = make(quick_spark, lake_dir / "t", COLUMNS, feed=True, vectors=False)
    quick_spark.sql(f"INSERT INTO {sql_table(log.path)} {ROWS.format(0, 300)}")
    return log


def statement(rng: random.Random) -> str:
    """Rows that come, go and move, duplicates and NULL keys among them."""
    ids = ", ".join(str(rng.randrange(60)) for _ in range(3))
    start = rng.randrange(300)
    return rng.choice(
        [
            f"INSERT INTO {{t}} {ROWS.format(start, start + 9)}",
            f"DELETE FROM {{t}} WHERE id IN ({ids})",
            f"DELETE FROM {{t}} WHERE id IS NULL AND n = {rng.randrange(4)}",
            f"UPDATE {{t}} SET f = IF(f = 0, DOUBLE('-0.0'), f), s = 'u' WHERE id IN ({ids})",
            f"UPDATE {{t}} SET id = {rng.randrange(60)} WHERE id IN ({ids}) OR f = 0",
            f"UPDATE {{t}} SET id = IF(n = 2, NULL, id), l = ARRAY(1) WHERE id IN ({ids})",
        ]
    )


def differences(
    spark: SparkSession, log: TableLog, bases: BaseVersions, version: int, columns: list[str]
) -> list[str]:
    """What is told otherwise of some ids, and of rows between two values, at a version than Spark
    has it."""
    text = f"SELECT * FROM {sql_table(log.path)} VERSION AS OF {version}"
    whole, rng, wrong = spark.sql(text).toArrow(), random.Random(version), []
    for nulls in (False, True):
        wanted = pa.array(sorted({rng.randrange(60) for _ in range(9)}), pa.int64())
        files = bases.columns.files(log, version)
        found = bases.select(files, columns, WantedRows("id", wanted, nulls), 100_000)
        assert found is not None
        meant = pc.is_in(whole["id"], value_set=wanted, skip_nulls=True)
        meant = pc.or_(meant, pc.is_null(whole["id"])) if nulls else meant
        if bag(found) != bag(whole.filter(meant).select(columns)):
            wrong.append(f"version {version}, nulls {nulls}")
    for key in (c for c in columns if c in ORDERED):
        interval = some_interval(rng, whole[key])
        found = bases.select(files, columns, RowsBetween(key, interval), 100_000)
        meant = pa.array([is_in(v, interval) for v in whole[key].to_pylist()], pa.bool_())
        if found is None or bag(found) != bag(whole.filter(meant).select(columns)):
            wrong.append(f"version {version}, {key} in {interval}")
    return wrong


def some_interval(rng: random.Random, values: pa.ChunkedArray) -> ValueInterval:
    """Between two values that a column has, or from or to one of them."""
    known = sorted(values.drop_null().unique().to_pylist()) or [0]
    low, high = sorted(rng.choices(known, k=2))
    ends = (None if rng.random() < 0.2 else pa.scalar(end, values.type) for end in (low, high))
    return ValueInterval(*ends, nulls=rng.random() < 0.5)


def is_in(value: Any, interval: ValueInterval) -> bool:
    """By Python's own comparisons, which order these types as Spark does."""
    if value is None:
        return interval.nulls
    least, most = (end and end.as_py() for end in (interval.least, interval.most))
    return (least is None or value >= least) and (most is None or value <= most)


def base_of(bases: BaseVersions, log: TableLog) -> int:
    found = bases._bases.get(str(log.path))
    assert found is not None
    return found.files.version


def live(spark: SparkSession, log: TableLog, seed: int, count: int = 6) -> list[str]:
    """A random life, looked at as it goes and backwards; the base stays the first version."""
    rng, bases, wrong = random.Random(seed), BaseVersions(KeptColumns()), []
    wrong += differences(spark, log, bases, FIRST, SCALARS)
    for _ in range(count):
        spark.sql(statement(rng).format(t=sql_table(log.path)))
        columns = rng.choice([SCALARS, ["f", "id"], [*SCALARS, "l"], ["id", "n"]])
        for version in (log.version(), rng.randrange(FIRST, log.version() + 1)):
            wrong += differences(spark, log, bases, version, columns)
    assert base_of(bases, log) == FIRST
    read = set(bases.columns._of_file)
    known = {str(Path(log.path) / a["path"]) for a in bases.columns.files(log, FIRST).actions}
    return wrong if read <= known else [*wrong, "other files were read"]


@pytest.mark.parametrize("seed", some(1, range(2)))
def test_rows_are_those_of_an_older_version_and_the_changes(
    spark: SparkSession, log: TableLog, seed: int
) -> None:
    assert live(spark, log, seed) == []


@pytest.mark.nightly
def test_rows_of_a_partitioned_table(spark: SparkSession, log: TableLog, lake_dir: Path) -> None:
    parts = make(
        spark, lake_dir / "p", COLUMNS, feed=True, vectors=False, more="PARTITIONED BY (d, s)"
    )
    spark.sql(f"INSERT INTO {sql_table(parts.path)} {ROWS.format(0, 300)}")
    assert live(spark, parts, 3) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 108))
def test_rows_of_many_lives(spark: SparkSession, log: TableLog, seed: int) -> None:
    assert live(spark, log, seed, count=20) == []


def test_an_older_version_is_found_by_a_newer_one(spark: SparkSession, log: TableLog) -> None:
    rng, bases = random.Random(5), BaseVersions(KeptColumns())
    for _ in range(5):
        spark.sql(statement(rng).format(t=sql_table(log.path)))
    last = log.version()
    for version in range(last, 0, -1):
        assert differences(spark, log, bases, version, SCALARS) == []
    assert base_of(bases, log) == last


@pytest.mark.nightly
@pytest.mark.parametrize("broken", ["weights", "nulls", "ends", "all stay"])
def test_changes_that_are_taken_wrongly_are_caught(
    spark: SparkSession, log: TableLog, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    among, stored = wanted_rows.are_among, base_versions._stored
    if broken == "weights":

        def turned(*args: object) -> pa.Table:
            rows = stored(*args)  # type: ignore[arg-type]
            return rows.set_column(rows.num_columns - 1, "__dt_w", pc.abs(rows["__dt_w"]))

        monkeypatch.setattr(base_versions, "_stored", turned)
    elif broken == "ends":
        monkeypatch.setattr(
            ValueInterval,
            "holds",
            lambda self, v: pc.fill_null(pc.greater(v, self.least or v), True),
        )
    elif broken == "nulls":
        monkeypatch.setattr(wanted_rows, "are_among", lambda v, w, nulls: among(v, w, nulls=False))
    else:
        monkeypatch.setattr(
            base_versions, "paired_off", lambda rows: rows.filter(pc.greater(rows["__dt_w"], 0))
        )
    assert any(live(spark, log, seed) for seed in (1, 2))


@pytest.mark.nightly
def test_the_base_moves_where_much_has_changed(
    spark: SparkSession, log: TableLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base_versions, "_CHANGED_SHARE", 0.1)
    bases, seen = BaseVersions(KeptColumns()), []
    for number in range(9):
        assert differences(spark, log, bases, log.version(), SCALARS) == []
        seen.append(base_of(bases, log))
        spark.sql(f"UPDATE {sql_table(log.path)} SET n = n + 1 WHERE id IN ({number}, 40)")
    assert 2 < len(set(seen)) < 8
    spark.sql(f"INSERT INTO {sql_table(log.path)} {ROWS.format(0, 90_000)}")
    differences(spark, log, bases, log.version(), SCALARS)
    spark.sql(f"INSERT INTO {sql_table(log.path)} {ROWS.format(0, 9)}")
    assert differences(spark, log, bases, log.version() - 1, SCALARS) == []
    assert differences(spark, log, bases, log.version(), SCALARS) == []
    assert base_of(bases, log) == log.version(), "a small new file is read as it is"


POISON = {
    "feed off": (
        "ALTER TABLE {t} SET TBLPROPERTIES (delta.enableChangeDataFeed = false)",
        "UPDATE {t} SET n = 8 WHERE id = 5",
        "ALTER TABLE {t} SET TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        "UPDATE {t} SET n = 9 WHERE id = 6",
    ),
    "column added": ("ALTER TABLE {t} ADD COLUMN m INT", "UPDATE {t} SET n = 8 WHERE id = 5"),
    "optimized": ("UPDATE {t} SET n = 8 WHERE id = 5", "OPTIMIZE {t}"),
    "restored": (
        "DELETE FROM {t} WHERE id < 20",
        "UPDATE {t} SET n = 8 WHERE id = 25",
        "RESTORE TABLE {t} TO VERSION AS OF 1",
    ),
    "overwritten": ("INSERT OVERWRITE {t} " + ROWS.format(30, 90),),
    "vectors": (
        "ALTER TABLE {t} SET TBLPROPERTIES (delta.enableDeletionVectors = true)",
        "DELETE FROM {t} WHERE id = 5 AND f IS NULL",
        "UPDATE {t} SET s = 'v' WHERE id IN (6, 7)",
        "DELETE FROM {t} WHERE id % 2 = 0",
    ),
}


@pytest.mark.parametrize("name", some(2, POISON))
def test_whatever_becomes_of_the_table(spark: SparkSession, log: TableLog, name: str) -> None:
    bases = BaseVersions(KeptColumns())
    assert differences(spark, log, bases, log.version(), SCALARS) == []
    for text in POISON[name]:
        spark.sql(text.format(t=sql_table(log.path)))
        assert differences(spark, log, bases, log.version(), SCALARS) == []
        assert differences(spark, log, bases, FIRST, SCALARS) == []


def test_files_that_vacuum_took(spark: SparkSession, log: TableLog) -> None:
    bases, table = BaseVersions(KeptColumns()), sql_table(log.path)
    assert differences(spark, log, bases, FIRST, ["id", "n"]) == []
    spark.sql(f"UPDATE {table} SET n = n + 1 WHERE id IS NOT NULL")
    last = log.version()
    there = {a["path"] for a in bases.columns.files(log, last).actions}
    for action in bases.columns.files(log, FIRST).actions:
        if action["path"] not in there:
            (Path(log.path) / action["path"]).unlink()
    assert differences(spark, log, bases, last, ["id", "n"]) == []
    assert base_of(bases, log) == FIRST, "what is kept is as good"
    assert differences(spark, log, bases, last, ["id", "n", "s"]) == []
    assert base_of(bases, log) == last


@pytest.mark.nightly
def test_another_table_at_its_place(spark: SparkSession, log: TableLog) -> None:
    bases, copy = BaseVersions(KeptColumns()), Path(log.path).with_name("copy")
    shutil.copytree(log.path, copy)
    table = sql_table(log.path)
    assert differences(spark, log, bases, FIRST, SCALARS) == []
    spark.sql(f"UPDATE {table} SET n = 77 WHERE id < 30")
    assert differences(spark, log, bases, 2, SCALARS) == []
    spark.sql(f"DELETE FROM {sql_table(copy)} WHERE id > 10")
    spark.sql(f"UPDATE {sql_table(copy)} SET s = 'other' WHERE id = 3")
    shutil.rmtree(log.path)
    copy.rename(log.path)  # of the same id, with another life
    spark.catalog.clearCache()
    assert differences(spark, log, bases, 2, SCALARS) == []
    assert differences(spark, log, bases, 3, SCALARS) == []
    shutil.rmtree(log.path)
    make(spark, log.path, COLUMNS, feed=True, vectors=False)
    spark.sql(f"INSERT INTO {table} {ROWS.format(5, 90)}")
    spark.sql(f"UPDATE {table} SET n = 5 WHERE id = 9")
    assert differences(spark, log, bases, 2, SCALARS) == []


def test_another_process_goes_on_from_the_base_on_the_disk(
    spark: SparkSession, log: TableLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_cache, "_LEAST_ROWS", 200)
    monkeypatch.setattr(disk_cache, "_LEAST_BYTES", 1)
    decoded: list[str] = []

    def opened(path: str, *args: Any) -> pq.ParquetFile:
        decoded.append(Path(path).name)
        return open_data_file(path, *args)

    def process() -> BaseVersions:
        decoded.clear()
        return BaseVersions(KeptColumns(disk=DiskCache(tmp_path / "c", 64 << 20)))

    def has_right_rows(bases: BaseVersions) -> bool:
        right = differences(spark, log, bases, log.version(), SCALARS) == []
        assert bases.columns.disk is not None
        bases.columns.disk.flush()
        return right

    assert has_right_rows(process())
    monkeypatch.setattr(kept_columns, "open_data_file", opened)
    spark.sql(f"UPDATE {sql_table(log.path)} SET n = 77, s = 'new' WHERE id < 30")
    later = process()
    assert has_right_rows(later)
    assert (base_of(later, log), decoded) == (FIRST, [])
    shutil.rmtree(tmp_path / "c")
    alone = process()
    assert has_right_rows(alone)
    assert base_of(alone, log) == log.version()
    for file in (tmp_path / "c").glob("*.base"):
        file.write_text("999")
    assert has_right_rows(process())


def test_a_feed_that_lies_is_not_believed(spark: SparkSession, log: TableLog) -> None:
    bases, table = BaseVersions(KeptColumns()), sql_table(log.path)
    assert differences(spark, log, bases, FIRST, SCALARS) == []
    spark.sql(f"UPDATE {table} SET n = 77 WHERE id < 30")
    files = log.files(2, 2)[0][1]
    path = next(Path(log.path) / body["path"] for kind, body in files if kind == "cdc")
    path.unlink()
    assert differences(spark, log, bases, 2, SCALARS) == []
    assert base_of(bases, log) == 2


def test_no_more_rows_than_are_asked_for(spark: SparkSession, log: TableLog) -> None:
    bases = BaseVersions(KeptColumns())
    assert differences(spark, log, bases, FIRST, SCALARS) == []
    spark.sql(f"DELETE FROM {sql_table(log.path)} WHERE id = 5 AND n < 2")
    files = bases.columns.files(log, 2)
    wanted = WantedRows("id", pa.array([5, 6], pa.int64()), False)
    found = bases.select(files, SCALARS, wanted, 10_000)
    assert found is not None
    assert bases.select(files, SCALARS, wanted, found.num_rows) is not None
    assert bases.select(files, SCALARS, wanted, found.num_rows - 1) is None
    assert base_of(bases, log) == FIRST
