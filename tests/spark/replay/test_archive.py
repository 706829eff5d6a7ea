"""Snapshots written elsewhere: the same rows whatever becomes of the tables."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from dt_jupyter.lake.paths import sql_table
from dt_jupyter.model import DTError
from dt_jupyter.replay import Archive
from dt_jupyter.spark import confs
from tests.spark.engine_lab import Lab, refused
from tests.spark.refresh.test_oracle_random import COLUMNS, value

UNCHECKED = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def texts(lab: Lab, query: str) -> list[str]:
    return sorted(repr(tuple(r)) for r in lab.engine.sql(query).collect())


def test_every_type_is_read_as_it_was(
    quick_lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, rng = quick_lab, random.Random(5)
    turns: list[int] = []
    monkeypatch.setattr(lab.context.travel.pace, "await_turn", turns.append)
    lab.table("t", ", ".join(f"{c} {t}" for c, t in COLUMNS.items()))
    lab.insert("t", *(", ".join(value(t, rng) for t in COLUMNS.values()) for _ in range(8)))
    lab.sql("DELETE FROM t WHERE v > 1; CREATE VIEW vw AS SELECT t.*, 1 AS `a b` FROM t")
    for name in ("t", "vw"):
        wanted = texts(lab, f"SELECT * FROM {name}")
        turns.clear()
        first, second = (lab.engine.archive(name, to=tmp_path / f"{name} {i}") for i in (1, 2))
        assert turns.count(first.bytes) >= 2, "each was read again when its turn had come"
        assert sum(turns) > 2 * first.bytes, "and its rows when theirs had"
        same = {Path(a.folder, "rows.parquet").read_bytes() for a in (first, second)}
        assert len(same) == 1, "the same rows in the same order"
        with refused("DT-4112"):
            lab.sql(f"SELECT * FROM {name} AT (OFFSET => 0, ARCHIVE => TRUE)")
        archived = f"SELECT * FROM {name} AT (TIMESTAMP => '{first.since.words}', ARCHIVE => TRUE)"
        assert texts(lab, archived) == wanted
        frame = lab.engine.sql(archived)
        assert frame.dtypes == lab.engine.sql(f"SELECT * FROM {name}").dtypes


@pytest.fixture
def prices(quick_lab: Lab) -> Lab:
    lab = quick_lab
    lab.table("price", "id INT, p INT", "1, 10", "2, 20")
    lab.dynamic_table("total", "SELECT sum(p) AS s FROM price")
    return lab


def test_a_point_past_retention_names_its_archive(prices: Lab, tmp_path: Path) -> None:
    lab = prices
    version = lab.context.sources.logs[str(lab.context.layout.tables / "price")].version()
    cold = {n: lab.engine.archive(n, to=tmp_path / n) for n in ("price", "total")}
    lab.sql("UPDATE price SET p = p + 1; ALTER TABLE price ADD COLUMN q INT")
    assert lab.refresh("total") == "INCREMENTAL"
    with confs(lab.spark, UNCHECKED):
        lab.spark.sql(f"VACUUM {sql_table(lab.context.layout.tables / 'price')} RETAIN 0 HOURS")
    with refused("DT-4104") as errors:
        lab.sql(f"SELECT * FROM price AT (VERSION => {version})")
    assert cold["price"].folder in errors[0].hint
    with refused("DT-4104") as errors:
        lab.engine.replay("price", at=version)
    assert cold["price"].folder in errors[0].hint
    archived = f"price AT (VERSION => {version}, ARCHIVE => TRUE)"
    assert lab.sql(f"SELECT id, p FROM {archived} ORDER BY id") == [(1, 10), (2, 20)]
    joined = f"SELECT n.p - o.p FROM price n JOIN {archived} o USING (id)"
    assert lab.sql(joined) == [(1,), (1,)]
    time = cold["total"].since.words
    assert lab.sql(f"SELECT s FROM total AT (TIMESTAMP => '{time}', ARCHIVE => TRUE)") == [(30,)]
    lab.sql("ALTER TABLE price RENAME TO cost")
    assert len(lab.sql(f"SELECT * FROM cost AT (VERSION => {version}, ARCHIVE => TRUE)")) == 2
    lab.sql("ALTER TABLE cost RENAME TO price; DROP TABLE price; DROP DYNAMIC TABLE total")
    assert lab.sql(f"SELECT count(*) FROM {archived}") == [(2,)]
    lab.reopen()
    assert len(lab.engine.archives()) == 2
    assert lab.sql(f"SELECT count(*) FROM {archived}") == [(2,)]


def test_what_cannot_be_an_archive_leaves_nothing(prices: Lab, tmp_path: Path) -> None:
    lab = prices
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("mine")
    with refused("DT-4113"):
        lab.engine.archive("price", to=tmp_path / "full")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["note"]
    for name, at, code in (("none", None, "DT-1101"), ("price", 99, "DT-4102")):
        with refused(code):
            lab.engine.archive(name, at, to=tmp_path / "cold")
        assert not (tmp_path / "cold").exists()
    for clause in ("ARCHIVE => 1", "ARCHIV => TRUE", "ARCHIVE TRUE"):
        with pytest.raises(DTError, match="DT-100"):
            lab.sql(f"SELECT * FROM price AT (VERSION => 1, {clause})")
    with pytest.raises(DTError, match="DT-1001"):
        lab.sql("SELECT * FROM price CHANGES AT (VERSION => 0, ARCHIVE => TRUE)")
    assert len(lab.engine.archives()) == 0
    assert len(lab.engine.pins()) == 0


def test_an_archive_that_was_moved_is_attached_and_one_that_was_changed_is_not(
    prices: Lab, tmp_path: Path
) -> None:
    lab = prices
    made = lab.engine.archive("price", to=tmp_path / "cold")
    Path(made.folder).rename(tmp_path / "colder")
    archived = f"SELECT * FROM price AT (TIMESTAMP => '{made.since.words}', ARCHIVE => TRUE)"
    with refused("DT-4113"):
        lab.sql(archived)
    found = lab.engine.attach_archive(tmp_path / "colder")
    assert (found.id, len(lab.engine.archives())) == (made.id, 1)
    assert len(lab.sql(archived)) == 2
    assert _without_rows(lab, found) == "DT-4113"
    assert lab.engine.detach_archive(tmp_path / "colder").id == made.id
    with refused("DT-4113"):
        lab.engine.detach_archive(tmp_path / "colder")
    with refused("DT-4112"):
        lab.sql(archived)


def _without_rows(lab: Lab, archive: Archive) -> str:
    """The code of an archive whose rows are others."""
    import pyarrow.parquet as pq

    path = Path(archive.folder, "rows.parquet")
    pq.write_table(pq.read_table(path).slice(1), path)
    with pytest.raises(DTError) as caught:
        lab.engine.attach_archive(archive.folder)
    return caught.value.code
