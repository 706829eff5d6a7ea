"""A lake is its folder: moved, copied, or opened by another path, it reads and writes its own."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import Clock
from tests.spark.engine_lab import Lab, quick, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ACTIONS = {
    "over": "INCREMENTAL",  # and what it reads: `sums`
    "staged": "INCREMENTAL",
    "whole": "FULL",
    "seen": "INCREMENTAL",
    "at_path": "INCREMENTAL",
}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A lake with every kind of thing whose path the catalog keeps, closed."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patched, quick(spark, patched):
        without_check(patched)
        lab = Lab.open(spark, folder / "lake")
        outside = folder / "outside"
        lab.table("t", "k INT, v INT", "1, 10", "2, 20")
        lab.sql(f"CREATE TABLE o (k INT, w INT) USING delta LOCATION '{outside}'")
        lab.insert("o", "1, 100", "2, 200")
        lab.sql("CREATE VIEW vt AS SELECT k, v FROM t WHERE v > 0")
        inside = lab.context.layout.tables / "t"
        lab.dynamic_table("sums", "SELECT k, sum(v) AS s FROM t GROUP BY k")
        lab.dynamic_table("over", "SELECT s.k, s.s, o.w FROM sums s JOIN o ON s.k = o.k")
        lab.dynamic_table(
            "staged",
            "SELECT k, x.n, v FROM (SELECT k, count(*) AS n FROM t GROUP BY k) x JOIN t USING (k)",
        )
        lab.dynamic_table("whole", "SELECT k, v FROM t", "REFRESH_MODE = FULL")
        lab.dynamic_table("seen", "SELECT k, v + 1 AS v FROM vt")
        lab.dynamic_table("at_path", f"SELECT k, v FROM delta.`{inside}`")
        lab.sql("CREATE STREAM st ON TABLE t")
        lab.engine.pin("kept", "t")
        lab.close()
        yield folder
    shutil.rmtree(folder)


@pytest.fixture
def patched(quick_spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    without_check(monkeypatch)


def copied(made: Path, to: Path) -> Path:
    """A copy of the lake `made`, with an outside table of its own name and place."""
    shutil.copytree(made / "lake", to / "lake")
    return to / "lake"


def insert_and_refresh(lab: Lab, k: int, v: int, *names: str) -> list[tuple[object, ...]]:
    """A row more in `t`; the dynamic tables refreshed as they should be, and right."""
    lab.insert("t", f"{k}, {v}")
    assert {n: lab.refresh(n) for n in names} == {n: ACTIONS[n] for n in names}
    if "staged" in names:
        lab.verified("staged")
    sums: dict[int, int] = {}
    for key, value in lab.rows("t"):
        sums[key] = sums.get(key, 0) + value
    assert lab.rows("sums") == sorted(sums.items())
    return lab.rows("sums")


def paths_of(catalog: Path) -> str:
    """All that is in the catalog but the history, as text."""
    connection = sqlite3.connect(catalog)
    names = ("dynamic_table", "stage", "definition", "base_table", "base_view", "hold", "intent")
    rows = [r for n in names for r in connection.execute(f"SELECT * FROM {n}").fetchall()]
    connection.close()
    return json.dumps(rows)


@pytest.mark.nightly
def test_a_copy_of_a_lake_reads_its_own_while_the_original_runs_ahead(
    spark: SparkSession, patched: None, made: Path, tmp_path: Path
) -> None:
    original = copied(made, tmp_path / "a")
    lab = Lab.open(spark, original)
    assert str(original) not in paths_of(lab.context.layout.catalog)
    copy = copied(tmp_path / "a", tmp_path / "b")
    assert insert_and_refresh(lab, 1, 7, "over") == [(1, 17), (2, 20)]
    lab.close()

    lab = Lab.open(spark, copy)
    assert lab.rows("t") == [(1, 10), (2, 20)]
    assert lab.refresh("over") == "NO_DATA"
    assert insert_and_refresh(lab, 2, 5, *ACTIONS) == [(1, 10), (2, 25)]
    assert lab.rows("whole") == lab.rows("at_path") == lab.rows("t")
    assert [row[:2] for row in lab.sql("SELECT * FROM st")] == [(2, 5)]
    assert str(tmp_path) not in paths_of(lab.context.layout.catalog).replace(str(made), "")
    found = lab.context.catalog.named_hold("kept").tables[0]
    assert str(found.copy).startswith(str(copy))
    lab.close()

    lab = Lab.open(spark, original)
    assert lab.rows("sums") == [(1, 17), (2, 20)]
    lab.close()


def test_a_moved_lake_goes_on_and_a_second_time_too(
    spark: SparkSession, patched: None, made: Path, tmp_path: Path
) -> None:
    lake = copied(made, tmp_path / "a")
    for i in range(2):
        there = tmp_path / f"moved {i}" / "läke"
        there.parent.mkdir()
        os.rename(lake, there)
        lab = Lab.open(spark, there)
        assert insert_and_refresh(lab, 1, 1, "over") == [(1, 11 + i), (2, 20)]
        lab.close()
        lake = there


def test_a_lake_moved_under_a_session_that_knew_its_tables(
    spark: SparkSession, patched: None, made: Path, tmp_path: Path
) -> None:
    lab = Lab.open(spark, copied(made, tmp_path / "a"))
    lab.engine.close()  # the session keeps the names
    os.rename(tmp_path / "a", tmp_path / "b")
    lab = Lab.open(spark, tmp_path / "b" / "lake")
    assert insert_and_refresh(lab, 1, 1, "over", "at_path") == [(1, 11), (2, 20)]
    lab.close()


def test_a_copy_in_a_session_that_knows_the_originals_tables(
    spark: SparkSession, patched: None, made: Path, tmp_path: Path
) -> None:
    first = Lab.open(spark, copied(made, tmp_path / "a"))
    copied(tmp_path / "a", tmp_path / "b")
    first.insert("t", "1, 1000")
    with pytest.warns(UserWarning, match="another table than in the lake"):
        lab = Lab.open(spark, tmp_path / "b" / "lake")
    first.engine.close()
    own = lab.context.layout.tables / "t"
    lab.sql(f"INSERT INTO delta.`{own}` VALUES (1, 1)")
    assert lab.refresh("sums") == "INCREMENTAL"
    assert lab.rows("sums") == [(1, 11), (2, 20)]
    assert lab.refresh("whole") == "FULL"
    assert lab.rows("whole") == [(1, 1), (1, 10), (2, 20)]
    lab.close()


def test_a_lake_opened_by_a_link(
    spark: SparkSession, patched: None, made: Path, tmp_path: Path
) -> None:
    lake = copied(made, tmp_path / "a")
    link = tmp_path / "link"
    link.symlink_to(lake)
    lab = Lab.open(spark, link)
    assert insert_and_refresh(lab, 1, 1, "over", "at_path") == [(1, 11), (2, 20)]
    lab.sql(f"CREATE TABLE u (k INT) USING delta LOCATION '{link}/tables/u'")
    lab.insert("u", "1")
    lab.dynamic_table("of_u", "SELECT k FROM u")
    lab.close()
    assert str(tmp_path) not in paths_of(lake / "_dt" / "catalog.sqlite").replace(str(made), "")
    link.unlink()
    os.rename(lake, tmp_path / "elsewhere")
    link.symlink_to(tmp_path / "elsewhere")
    lab = Lab.open(spark, link)
    lab.insert("u", "2")
    assert lab.refresh("of_u") == "INCREMENTAL"
    assert lab.rows("of_u") == [(1,), (2,)]
    assert len(lab.context.catalog.graph_history()) == len(ACTIONS) + 2
    lab.close()


LATER = (
    "registry_change", "scheduler_run", "sink_task", "sink", "sink_history", "task", "task_run",
    "dropped_stream", "role", "granted", "user_function", "event", "alert",
    "stored_plan",
)  # fmt: skip
LATER_COLUMNS = (
    *(("warehouse", c) for c in ("auto_suspend", "auto_resume", "owner", "resumed")),
    ("stream", "extension_days"),
    ("stream", "meaning"),
    ("intent", "steps"),
)
"""Tables and columns that an early release did not have."""


def with_absolute_paths(catalog: Path, lake: Path) -> None:
    """The catalog as the release before wrote it."""
    connection = sqlite3.connect(catalog)
    for table, column in (
        ("dynamic_table", "definition"),
        ("definition", "text"),
        ("stage", "path"),
        ("base_table", "path"),
        ("hold", "tables"),
        ("base_view", "text"),
    ):
        for (value,) in connection.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall():
            new = (
                value.replace('"./', f'"{lake}/')
                .replace("`\\ue000/", f"`{lake}/")
                .replace("`\ue000/", f"`{lake}/")
            )
            new = f"{lake}/{new.removeprefix('./')}" if new.startswith("./") else new
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, value))
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for drop in [*(f"TRIGGER {n}" for (n,) in names), *(f"TABLE {n}" for n in LATER)]:
        connection.execute(f"DROP {drop}")
    for table, column in LATER_COLUMNS:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    connection.execute("UPDATE dt_meta SET value = '4' WHERE key = 'schema_version'")
    catalog.with_name("registry.jsonl").unlink()
    connection.commit()
    connection.close()


@pytest.mark.parametrize("moved", [False, True])
def test_an_older_catalog_has_its_paths_made_relative(
    made: Path, tmp_path: Path, moved: bool
) -> None:
    lake = copied(made, tmp_path / "a")
    before = paths_of(lake / "_dt" / "catalog.sqlite")
    was = made / "lake" if moved else lake
    with_absolute_paths(lake / "_dt" / "catalog.sqlite", was)
    assert paths_of(lake / "_dt" / "catalog.sqlite") != before
    Catalog(lake / "_dt" / "catalog.sqlite", Clock(), Owner.here("test")).close()
    assert paths_of(lake / "_dt" / "catalog.sqlite") == before
