"""Every way to read a change gives the difference of the two snapshots, and only its rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.lake import (
    Added,
    Feed,
    FileDiff,
    LakeError,
    TableLog,
    Unchanged,
    Unreadable,
    enable_feed,
    plan_changes,
    relation,
)
from dt_jupyter.lake.change import vector_rows
from dt_jupyter.lake.change.vector_rows import MovedFile
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.table_files import VersionFile
from dt_jupyter.spark import confs
from tests.cases import nightly, some
from tests.spark.lake_tables import (
    LOCAL,
    NOT_LOCAL,
    change,
    contents,
    difference,
    make,
    weighted,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("quick_spark")

COLUMNS = ["id", "name", "price"]
DDL = "id BIGINT, name STRING, price DOUBLE"
CHANGES = {
    "insert": "INSERT INTO {t} VALUES (1, 'a', 0.5), (90, NULL, double('NaN')), (91, '🚂', -0.0)",
    "update": "UPDATE {t} SET price = price + 1 WHERE id IN (3, 4)",
    "to minus zero": "UPDATE {t} SET price = -0.0 WHERE id = 7",
    "delete": "DELETE FROM {t} WHERE id = 5",
    "delete a duplicate's both": "DELETE FROM {t} WHERE id = 1",
    "delete null": "DELETE FROM {t} WHERE id IS NULL",
    "merge": "MERGE INTO {t} t USING (SELECT * FROM VALUES (2, 'x'), (3, 'gone'), (99, 'new') "
    "AS s(id, name)) s ON t.id = s.id WHEN MATCHED AND s.name = 'gone' THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) "
    "VALUES (s.id, s.name)",
    "overwrite": "INSERT OVERWRITE {t} VALUES (1, 'a', 0.5), (2, 'b', 1.5), (2, 'b', 1.5)",
    "replace where": "INSERT INTO {t} REPLACE WHERE id < 3 VALUES (2, 'bb', 2.0), (1, 'a', 0.5)",
    "optimize": "OPTIMIZE {t}",
    "restore": "RESTORE TABLE {t} TO VERSION AS OF 1",
}
ROWS = (
    "INSERT INTO {t} VALUES (0, 'z', 0.0), (1, 'a', 0.5), (1, 'a', 0.5), (2, 'b', 1.5), "
    "(3, 'c', double('NaN')), (4, NULL, NULL), (5, 'it''s', 2.5), (NULL, 'n', 3.5), (7, '', 0.0)"
)


def run(spark: SparkSession, path: Path, *names: str) -> None:
    for name in names:
        spark.sql(CHANGES[name].format(t=sql_table(path)))


HISTORY = ("insert", "update", "optimize", "delete", "to minus zero", "merge",
           "delete a duplicate's both", "replace where", "delete null", "overwrite", "insert",
           "restore")  # fmt: skip
INTERVALS = [*((v, v + 1) for v in range(len(HISTORY) + 1)), (1, len(HISTORY) + 1), (3, 7), (1, 8)]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("feed", "vectors"),
    [(True, True), nightly(False, False), nightly(True, False), nightly(False, True)],
)
def test_a_history_read_over_every_interval(spark, lake_dir, feed, vectors) -> None:
    log = make(spark, lake_dir / "t", DDL, feed=feed, vectors=vectors)
    spark.sql(ROWS.format(t=sql_table(log.path)))
    run(spark, log.path, *HISTORY)
    snapshots = [contents(spark, log, v, COLUMNS) for v in range(log.version() + 1)]
    ways = set()
    for after, upto in INTERVALS:
        expected = difference(snapshots[after], snapshots[upto])
        for small in (LOCAL, NOT_LOCAL) if feed else (LOCAL,):
            plan, found, rows = change(spark, log, after, upto, COLUMNS, small)
            assert weighted(rows) == expected, (after, upto, plan, found.way)
            found.drop(spark)
            assert not (small is LOCAL and found.way == "feed"), found.reason
            ways.add(found.way)
    assert ways == {"empty", "local", "feed" if feed else "files"}


LIVES = {
    "plain": "id BIGINT, name STRING, price DOUBLE",
    "partitioned": "id BIGINT, name STRING, price DOUBLE, part INT",
    "nested": "id BIGINT, name STRING, price DOUBLE, more STRUCT<a: INT, b: ARRAY<STRING>>",
    "timed": "id BIGINT, name STRING, price DECIMAL(9,2), day DATE, at TIMESTAMP",
}
STATEMENTS = (
    "DELETE FROM {t} WHERE id % 7 = {n}",
    "UPDATE {t} SET name = concat(name, 'x') WHERE id % 11 = {n}",
    "DELETE FROM {t} WHERE id IS NULL OR id BETWEEN {n} * 10 AND {n} * 10 + 4",
    "INSERT INTO {t} SELECT * FROM {t} WHERE id % 5 = {n}",
    "MERGE INTO {t} t USING (SELECT DISTINCT id FROM {t} WHERE id % 13 = {n}) s ON t.id = s.id "
    "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET name = NULL",
    "OPTIMIZE {t}",
    "RESTORE TABLE {t} TO VERSION AS OF {n}",
)
MADE = {
    "part": "CAST(id % 3 AS INT)",
    "more": "named_struct('a', CAST(id AS INT), 'b', array('x', name))",
    "day": "DATE'1999-12-31' + CAST(id AS INT)",
    "at": "TIMESTAMP'1969-12-31 23:59:59.999999' + make_interval(0, 0, 0, 0, 0, 0, id)",
}


@pytest.mark.parametrize("kind", some(1, LIVES))
@pytest.mark.parametrize("seed", some(1, range(6)))
def test_what_deletion_vectors_took_is_read_without_spark(
    spark: SparkSession, lake_dir: Path, kind: str, seed: int
) -> None:
    """Rows in several files and row groups, duplicates and NULL keys; some statements rewrite
    files that had a vector. Each interval by the feed is the difference of its ends."""
    random = Random(seed)
    more = "PARTITIONED BY (part)" if kind == "partitioned" else ""
    log = make(spark, lake_dir / "t", LIVES[kind], feed=True, vectors=True, more=more)
    columns = ["id", "name", "price", *(n for n in MADE if f" {n} " in LIVES[kind])]
    made = ", ".join(MADE.get(n, n) for n in columns)
    rows = "SELECT nullif(id % 90, 17) AS id, concat('n', id) AS name, id / 4 AS price"
    for _ in range(2):
        spark.sql(f"INSERT INTO {sql_table(log.path)} SELECT {made} FROM ({rows} FROM range(100))")
    first, kept = log.version(), KeptColumns()
    for _ in range(8):
        vectors = "true" if random.random() < 0.7 else "false"
        with confs(spark, {f"spark.databricks.delta.{c}.deletionVectors.persistent": vectors
                           for c in ("delete", "update", "merge")}):  # fmt: skip
            text = random.choice(STATEMENTS).format(t=sql_table(log.path), n=random.randint(1, 3))
            spark.sql(text)
    snapshots = {v: contents(spark, log, v, columns) for v in range(first, log.version() + 1)}
    marked = 0
    for after in range(first, log.version()):
        for upto in {after + 1, log.version()}:
            plan = plan_changes(log, after, upto)
            if isinstance(plan, Unchanged):
                continue
            marked += getattr(plan, "marked_bytes", 0)
            for columns_kept in (kept, None):
                _, found, rows = change(
                    spark, TableLog(log.path), after, upto, columns, LOCAL, kept=columns_kept
                )
                assert found.way == "local" or kind == "nested", (plan, found.reason)
                assert weighted(rows) == difference(snapshots[after], snapshots[upto]), plan
                found.drop(spark)
    assert marked


@pytest.mark.nightly
@pytest.mark.parametrize("broken", ["weights", "before is all", "after is all"])
def test_vectors_that_are_compared_wrongly_are_caught(
    spark: SparkSession, lake_dir: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    changed = vector_rows._changed

    def wrong(log: TableLog, kept: KeptColumns, moved: MovedFile) -> list[tuple[VersionFile, int]]:
        if broken == "weights":
            return [(file, -weight) for file, weight in changed(log, kept, moved)]
        without = {"before is all": "went", "after is all": "came"}[broken]
        action = getattr(moved, without)
        plain = {k: v for k, v in action.items() if k != "deletionVector"}
        return changed(log, kept, replace(moved, **{without: plain}))

    log = make(spark, lake_dir / "t", DDL, feed=True, vectors=True)
    spark.sql(ROWS.format(t=sql_table(log.path)))
    run(spark, log.path, "delete", "delete null", "delete a duplicate's both")
    last = log.version()
    expected = difference(*(contents(spark, log, v, COLUMNS) for v in (last - 1, last)))
    _, found, rows = change(spark, TableLog(log.path), last - 1, last, COLUMNS, LOCAL)
    assert (found.way, weighted(rows)) == ("local", expected)
    monkeypatch.setattr(vector_rows, "_changed", wrong)
    _, found, rows = change(spark, TableLog(log.path), last - 1, last, COLUMNS, LOCAL)
    assert (found.way, weighted(rows) == expected) == ("local", False)


TRACKED = (
    *("insert", "update", "optimize", "delete", "merge", "delete a duplicate's both"),
    *("insert", "delete last", "to minus zero", "overwrite", "insert", "restore"),
)


@pytest.mark.nightly
def test_tracked_rows_are_compared_in_the_driver_as_spark_does(spark, lake_dir) -> None:
    log = make(spark, lake_dir / "t", DDL, feed=False, vectors=False, tracked=True)
    spark.sql(ROWS.format(t=sql_table(log.path)))
    for name in TRACKED:
        if name == "delete last":  # the last file goes as a whole
            spark.sql(f"DELETE FROM {sql_table(log.path)} WHERE id IN (90, 91)")
        else:
            run(spark, log.path, name)
    columns = [*COLUMNS, "__dt_row_id"]
    ways = set()
    last = log.version()
    for after, upto in [*((v, v + 1) for v in range(1, last)), (1, last), (1, 8), (3, 7)]:
        told = []
        for small in (LOCAL, NOT_LOCAL):
            plan = plan_changes(log, after, upto, COLUMNS)
            found = relation(spark, log, plan, COLUMNS, view_prefix="t", small=small, row_ids=True)
            items = ", ".join((*columns, "__dt_w"))
            told.append(weighted(spark.sql(f"SELECT {items} FROM {found}").collect()))
            found.drop(spark)
            ways.add(found.way)
        assert told[0] == told[1], (after, upto, plan)
    assert ways == {"empty", "local", "files"}


def test_rows_read_are_the_rows_of_the_change(spark, lake_dir) -> None:
    log = make(spark, lake_dir / "t", DDL, feed=True)
    spark.sql(f"INSERT INTO {sql_table(log.path)} SELECT id, 'n', 0.0 FROM range(1000)")
    run(spark, log.path, "insert", "update", "delete", "merge")
    expected = {2: (Added, 3), 3: (Feed, 4), 4: (Feed, 1), 5: (Feed, 5)}
    for version, (kind, records) in expected.items():
        for small in (LOCAL, NOT_LOCAL):
            plan, _, rows = change(spark, log, version - 1, version, COLUMNS, small)
            assert (type(plan), plan.rows, len(rows)) == (kind, records, records), version


def test_added_files_alone_are_read_without_a_feed(spark, lake_dir) -> None:
    log = make(spark, lake_dir / "t", DDL, feed=False)
    spark.sql(f"INSERT INTO {sql_table(log.path)} SELECT id, 'n', 0.0 FROM range(1000)")
    run(spark, log.path, "insert", "optimize", "insert")
    for small, way in ((LOCAL, "local"), (NOT_LOCAL, "files")):
        plan, found, rows = change(spark, log, 1, 4, COLUMNS, small)
        assert isinstance(plan, Added)
        assert (plan.rows, found.way, len(rows)) == (6, way, 6)


@pytest.mark.nightly
@pytest.mark.parametrize("feed", some(1, [True, False]), ids=["feed", "no feed"])
def test_partitions(spark, lake_dir, feed) -> None:
    log = make(
        spark,
        lake_dir / "a 'b'",
        "id INT, day DATE, name STRING",
        feed=feed,
        more="PARTITIONED BY (day)",
    )
    t = sql_table(log.path)
    day = "date_add(DATE'2024-01-01', CAST(id % 3 AS INT))"
    spark.sql(f"INSERT INTO {t} SELECT id, {day}, 'x' FROM range(9)")
    spark.sql(f"INSERT INTO {t} VALUES (100, NULL, 'null day')")
    spark.sql(f"INSERT INTO {t} REPLACE WHERE day = '2024-01-02' VALUES (7, '2024-01-02', 'y')")
    spark.sql(f"UPDATE {t} SET day = '2024-02-01' WHERE id = 0")
    spark.sql(f"DELETE FROM {t} WHERE day = '2024-01-03'")
    check(spark, log, ["day", "id"], [(1, 2), (2, 3), (3, 4), (4, 5), (1, 5)])


def check(spark, log, columns, intervals) -> None:
    """Every way gives the difference of the snapshots, over each interval."""
    for after, upto in intervals:
        ends = (contents(spark, log, v, columns) for v in (after, upto))
        expected = difference(*ends)
        for small in (LOCAL, NOT_LOCAL):
            plan, found, rows = change(spark, log, after, upto, columns, small)
            assert weighted(rows) == expected, (after, upto, plan, found)
            found.drop(spark)


@pytest.mark.nightly
@pytest.mark.parametrize("feed", some(1, [True, False]), ids=["feed", "no feed"])
def test_column_mapping_and_renames_around_the_range(spark, lake_dir, feed) -> None:
    log = make(
        spark, lake_dir / "t", "id INT, `odd name` STRING, extra INT", feed=feed, mapped=True
    )
    t = sql_table(log.path)
    spark.sql(f"INSERT INTO {t} SELECT id, 'x' || id, 0 FROM range(9)")
    spark.sql(f"ALTER TABLE {t} RENAME COLUMN extra TO other")
    start = log.version()
    spark.sql(f"UPDATE {t} SET `odd name` = 'y' WHERE id = 3")
    spark.sql(f"INSERT INTO {t} VALUES (50, 'new', 1)")
    spark.sql(f"DELETE FROM {t} WHERE id = 4")
    end = log.version()
    columns = ["odd name", "id"]
    check(spark, log, columns, [(start, end), (end - 1, end)])
    spark.sql(f"ALTER TABLE {t} RENAME COLUMN `odd name` TO name")
    spark.sql(f"ALTER TABLE {t} DROP COLUMN other")
    check(spark, log, columns, [(start, end), (end - 2, end - 1)])
    spark.sql(f"UPDATE {t} SET name = 'z' WHERE id = 5")
    used = plan_changes(log, start, log.version(), columns)
    assert isinstance(used, Unreadable)
    assert used.code == "COLUMN_CHANGED"
    # A column that is not used came between; Delta's feed cannot be read across it, files can.
    assert isinstance(plan_changes(log, start, log.version(), ["id"]), FileDiff)
    check(spark, log, ["id"], [(start, log.version())])


@pytest.mark.nightly
def test_what_came_and_went_has_the_columns_of_then(spark, lake_dir) -> None:
    log = make(spark, lake_dir / "t", "id BIGINT, extra INT", feed=False, mapped=True)
    t = sql_table(log.path)
    for statement in (
        "INSERT INTO {} VALUES (1, 2)",
        "DELETE FROM {} WHERE id = 1",
        "ALTER TABLE {} DROP COLUMN extra",
    ):
        spark.sql(statement.format(t))
    plan, found, rows = change(spark, log, 0, 2, ["id", "extra"], LOCAL)
    assert (type(plan), found.way, rows) == (FileDiff, "empty", [])


def test_an_unreadable_plan_has_no_relation(spark, lake_dir) -> None:
    log = make(spark, lake_dir / "t", DDL, feed=True)
    spark.sql(f"CREATE OR REPLACE TABLE {sql_table(log.path)} USING delta AS SELECT 1L AS id")
    plan = plan_changes(log, 0, 1)
    assert isinstance(plan, Unreadable)
    assert plan.code == "SOURCE_REPLACED"
    with pytest.raises(LakeError, match="SOURCE_REPLACED"):
        relation(spark, log, plan, ["id"], view_prefix="x")


def test_turning_the_feed_on_is_no_change(spark, lake_dir) -> None:
    log = make(spark, lake_dir / "t", DDL, feed=False)
    enable_feed(spark, log.path)
    assert log.version() == 1
    assert plan_changes(log, 0, 1) == Unchanged()
    run(spark, log.path, "insert")
    _, found, rows = change(spark, log, 0, 2, COLUMNS, NOT_LOCAL)
    assert (found.way, len(rows)) == ("feed", 3)
