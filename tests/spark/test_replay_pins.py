"""Pins and VACUUM: what is held stays, by whom is told, and what nobody holds goes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import Owner
from dt_jupyter.lake.live import LiveFiles, paths_of
from tests.spark.engine_lab import Lab, refused

OUTSIDE = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.vacuum.parallelDelete.enabled": "false",
}


@pytest.fixture
def item(quick_lab: Lab) -> Lab:
    """Versions: 1 three rows, 2 others, 3 others again, each in files of its own."""
    quick_lab.table("item", "id INT, name STRING", "1, 'a'", "2, 'b'", "3, 'c'")
    quick_lab.sql("INSERT OVERWRITE item VALUES (4, 'd')")
    quick_lab.sql("INSERT OVERWRITE item VALUES (5, 'e')")
    return quick_lab


def vacuum_outside(lab: Lab, table: str = "item") -> None:
    """Delta's own VACUUM, which knows nothing of pins, with no retention."""
    session = lab.spark.newSession()
    for key, value in OUTSIDE.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    session.sql(f"VACUUM delta.`{lab.engine.layout.tables / table}` RETAIN 0 HOURS")


def ids(lab: Lab, version: int) -> list[Any]:
    return sorted(r[0] for r in lab.sql(f"SELECT id FROM item AT (VERSION => {version})"))


def parquet(folder: Path) -> set[str]:
    return {p.name for p in folder.glob("*.parquet")}


def test_vacuum_says_before_it_does_and_keeps_what_is_pinned(item: Lab) -> None:
    engine = item.engine
    engine.pin("audit", "item", at=1)
    folder = engine.layout.tables / "item"
    before = parquet(folder)
    told = engine.vacuum("item", retain_hours=0, dry_run=True)
    assert parquet(folder) == before
    assert not told.done
    assert list(told.held) == ["pin audit"]
    did = engine.vacuum("item", retain_hours=0)
    assert (did.files, did.bytes, did.held) == (told.files, told.bytes, told.held)
    assert did.bytes > 0
    assert "held by pin audit" in str(did)
    assert ids(item, 1) == [1, 2, 3]
    assert ids(item, 3) == [5]
    with refused("DT-4104") as gone:
        ids(item, 2)
    assert gone[0].facts["oldest"].startswith("version 3 of ")
    engine.unpin("audit")
    engine.vacuum("item", retain_hours=0)
    assert parquet(folder) == {
        p for a in LiveFiles(folder).at(3) for p in paths_of(a) if p.endswith(".parquet")
    }
    with refused("DT-4104"):
        engine.pin("late", "item", at=1)
    with refused("DT-4107"):
        engine.unpin("audit")
    assert len(engine.pins()) == 0


def test_the_retention_of_the_table_is_kept(item: Lab) -> None:
    assert item.engine.vacuum("item").bytes == 0
    assert ids(item, 1) == [1, 2, 3]
    with refused("DT-1003"):
        item.engine.vacuum("item", retain_hours=-1)


def test_a_pin_and_a_replay_outlive_a_vacuum_from_outside(item: Lab) -> None:
    item.sql("DELETE FROM item WHERE id = 5; INSERT INTO item VALUES (6, 'f'), (7, 'g')")
    item.sql("DELETE FROM item WHERE id = 6")  # a deletion vector
    item.sql("INSERT OVERWRITE item VALUES (8, 'h')")
    hold = item.engine.pin("audit", "item", at=6)
    assert all(t.copy for t in hold.tables)
    with item.engine.replay("item", at=1, to=3) as replay:
        assert replay.protected
        first = replay[0].digest
        vacuum_outside(item)
        assert [s.row_count for s in replay] == [3, 1, 1]
        assert replay[0].digest == first
        assert [r["id"] for b in replay.batches(1) for r in b.to_pylist()] == [4]
        assert "replay of item" in str(item.engine.pins())
    assert ids(item, 6) == [7]
    with refused("DT-4104"):
        ids(item, 2)
    with item.engine.replay("item", at=6) as again:
        item.engine.unpin("audit")
        assert [r["id"] for b in again.batches() for r in b.to_pylist()] == [7]
        shutil.rmtree(item.engine.layout.tables / "item")
        assert [tuple(r) for r in again.frame().collect()] == [(7, "g")]


def test_streams_and_the_next_refresh_are_not_cut_off(item: Lab) -> None:
    item.sql("CREATE STREAM s ON TABLE item")
    item.dynamic_table("names", "SELECT name FROM item")
    item.sql("UPDATE item SET name = 'z'; INSERT INTO item VALUES (9, 'i')")
    told = item.engine.vacuum(retain_hours=0)
    assert {"stream s", "dynamic table names"} <= set(told.held)
    assert item.refresh("names") == "INCREMENTAL"
    assert sorted(item.sql("SELECT name, $ACTION FROM s")) == [
        ("e", "DELETE"), ("i", "INSERT"), ("z", "INSERT"),
    ]  # fmt: skip
    item.verified("names")


def test_files_of_commits_to_come_are_left_alone(item: Lab) -> None:
    stray = item.engine.layout.tables / "item" / "part-00000-stray.parquet"
    stray.write_bytes(b"x" * 10)
    item.engine.vacuum("item", retain_hours=0)
    assert stray.exists()


def test_a_hold_goes_with_its_process(item: Lab) -> None:
    replay = item.engine.replay("item", at=1)
    folder = item.engine.layout.pins / replay.hold
    assert folder.is_dir()
    catalog = item.engine.catalog
    catalog.owner = Owner(catalog.owner.host, catalog.owner.pid, "another")
    assert len(item.engine.pins()) == 1
    catalog._alive = lambda owner: False
    assert len(item.engine.pins()) == 0
    assert not folder.exists()
    with refused("DT-4108"):
        assert replay[0].row_count == 3


def test_what_tables_take(item: Lab) -> None:
    nested = "SELECT name, COUNT(*) AS n FROM item GROUP BY name"
    item.dynamic_table("names", f"SELECT n, COUNT(*) AS many FROM ({nested}) GROUP BY n")
    item.refresh("names")
    found = {t.name: t for t in item.engine.storage().tables}
    table, names = found["item"], found["names"]
    assert table.live > 0
    assert table.history > table.live
    assert table.hidden == 0
    assert names.hidden > 0
    assert names.total == names.live + names.history + names.hidden + names.log
    assert "names" in str(item.engine.storage())
