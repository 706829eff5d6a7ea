"""Pins and VACUUM: what is held stays, by whom is told, and what nobody holds goes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.catalog import Owner
from dt_jupyter.lake.delta_log.active_files import LiveFiles, paths_of
from tests.spark.engine_lab import Lab, refused

OUTSIDE = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.vacuum.parallelDelete.enabled": "false",
}


@pytest.fixture
def item(shared_lab: Lab, request: pytest.FixtureRequest) -> str:
    """A table for one test, by its name. Versions: 1 three rows, 2 others, 3 others again, each
    in files of its own."""
    name = f"of_{request.node.name.removeprefix('test_')}"
    shared_lab.table(name, "id INT, name STRING", "1, 'a'", "2, 'b'", "3, 'c'")
    shared_lab.sql(f"INSERT OVERWRITE {name} VALUES (4, 'd')")
    shared_lab.sql(f"INSERT OVERWRITE {name} VALUES (5, 'e')")
    return name


def vacuum_outside(lab: Lab, table: str) -> None:
    """Delta's own VACUUM, which knows nothing of pins, with no retention."""
    session = lab.spark.newSession()
    for key, value in OUTSIDE.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
    session.sql(f"VACUUM delta.`{lab.context.layout.tables / table}` RETAIN 0 HOURS")


def ids(lab: Lab, table: str, version: int) -> list[Any]:
    return sorted(r[0] for r in lab.sql(f"SELECT id FROM {table} AT (VERSION => {version})"))


def parquet(folder: Path) -> set[str]:
    return {p.name for p in folder.glob("*.parquet")}


def test_vacuum_says_before_it_does_and_keeps_what_is_pinned(shared_lab: Lab, item: str) -> None:
    lab, engine = shared_lab, shared_lab.engine
    folder = engine.context.layout.tables / item
    assert engine.vacuum(item).bytes == 0, "the retention of the table is kept"
    with refused("DT-1003"):
        engine.vacuum(item, retain_hours=-1)
    stray = folder / "part-00000-of-a-commit-to-come.parquet"
    stray.write_bytes(b"x" * 10)
    engine.pin("audit", item, at=1)
    before = parquet(folder)
    told = engine.vacuum(item, retain_hours=0, dry_run=True)
    assert parquet(folder) == before
    assert not told.done
    assert list(told.held) == ["pin audit"]
    did = engine.vacuum(item, retain_hours=0)
    assert (did.files, did.bytes, did.held) == (told.files, told.bytes, told.held)
    assert did.bytes > 0
    assert "held by pin audit" in str(did)
    assert ids(lab, item, 1) == [1, 2, 3]
    assert ids(lab, item, 3) == [5]
    with refused("DT-4104") as gone:
        ids(lab, item, 2)
    assert gone[0].facts["oldest"].startswith("version 3 of ")
    assert gone[0].facts["oldest"].endswith(" UTC")
    engine.unpin("audit")
    engine.vacuum(item, retain_hours=0)
    left = {p for a in LiveFiles(folder).at(3) for p in paths_of(a) if p.endswith(".parquet")}
    assert parquet(folder) == left | {stray.name}
    with refused("DT-4104"):
        engine.pin("late", item, at=1)
    with refused("DT-4107"):
        engine.unpin("audit")
    assert len(engine.pins()) == 0


def test_streams_and_the_next_refresh_are_not_cut_off(shared_lab: Lab, item: str) -> None:
    lab, engine = shared_lab, shared_lab.engine
    lab.sql(f"CREATE STREAM s ON TABLE {item}")
    lab.dynamic_table("names", f"SELECT name, COUNT(*) AS n FROM {item} GROUP BY name")
    nested = f"SELECT n, COUNT(*) AS many FROM (SELECT name, COUNT(*) AS n FROM {item} GROUP BY 1)"
    lab.dynamic_table("counts", f"{nested} GROUP BY n")
    lab.sql(f"UPDATE {item} SET name = 'z'; INSERT INTO {item} VALUES (9, 'i')")
    told = engine.vacuum(retain_hours=0)
    assert {"stream s", "dynamic table names"} <= set(told.held)
    assert lab.refresh("names") == "INCREMENTAL"
    assert sorted(lab.sql("SELECT name, $ACTION FROM s")) == [
        ("e", "DELETE"),
        ("i", "INSERT"),
        ("z", "INSERT"),
    ]
    lab.verified("names")
    found = {t.name: t for t in engine.storage().tables}
    table, counts = found[item], found["counts"]
    assert table.live > 0
    assert table.history > table.live
    assert (table.hidden, counts.hidden > 0) == (0, True)
    assert counts.total == counts.live + counts.history + counts.hidden + counts.log
    assert "counts" in str(engine.storage())


def test_a_hold_goes_with_its_process(
    shared_lab: Lab, item: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, catalog = shared_lab.engine, shared_lab.context.catalog
    replay = engine.replay(item, at=1)
    folder = engine.context.layout.pins / replay.hold
    assert folder.is_dir()
    owner = Owner(catalog.owner.host, catalog.owner.pid, "another")
    monkeypatch.setattr(catalog, "owner", owner)
    assert len(engine.pins()) == 1
    monkeypatch.setattr(catalog, "_alive", lambda owner: False)
    assert len(engine.pins()) == 0
    assert not folder.exists()
    with refused("DT-4108"):
        assert replay[0].row_count == 3


def test_a_pin_and_a_replay_outlive_a_vacuum_from_outside(shared_lab: Lab, item: str) -> None:
    lab, engine = shared_lab, shared_lab.engine
    lab.sql(f"DELETE FROM {item} WHERE id = 5; INSERT INTO {item} VALUES (6, 'f'), (7, 'g')")
    lab.sql(f"DELETE FROM {item} WHERE id = 6")  # a deletion vector
    lab.sql(f"INSERT OVERWRITE {item} VALUES (8, 'h')")
    hold = engine.pin("audit", item, at=6)
    assert all(t.copy for t in hold.tables)
    with engine.replay(item, at=1, to=3) as replay:
        assert replay.protected
        first = replay[0].digest
        vacuum_outside(lab, item)
        assert [s.row_count for s in replay] == [3, 1, 1]
        assert replay[0].digest == first
        assert [r["id"] for b in replay.batches(1) for r in b.to_pylist()] == [4]
        assert f"replay of {item}" in str(engine.pins())
    assert ids(lab, item, 6) == [7]
    with refused("DT-4104"):
        ids(lab, item, 2)
    with engine.replay(item, at=6) as again:
        engine.unpin("audit")
        assert [r["id"] for b in again.batches() for r in b.to_pylist()] == [7]
        shutil.rmtree(engine.context.layout.tables / item)
        assert [tuple(r) for r in again.frame().collect()] == [(7, "g")]
