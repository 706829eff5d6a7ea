"""Streams whose past is gone: a coded error that says since when, and never wrong rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.spark.relations import lookup
from tests.cases import some
from tests.spark.engine_lab import Lab, refused

UNCHECKED = "spark.databricks.delta.retentionDurationCheck.enabled"
DAY = 86_400
KINDS = {
    "row tracking": "'delta.enableRowTracking' = 'true'",
    "feed": "'dt.primaryKey' = 'id'",
    "feed, no vectors": "'dt.primaryKey' = 'id', 'delta.enableDeletionVectors' = 'false'",
    "files": "'dt.primaryKey' = 'id', 'delta.enableChangeDataFeed' = 'false'",
}


@pytest.fixture
def kept(quick_lab: Lab) -> Iterator[Lab]:
    """A lab where VACUUM takes all that is not of the newest version."""
    quick_lab.spark.conf.set(UNCHECKED, "false")
    yield quick_lab
    quick_lab.spark.conf.unset(UNCHECKED)


def make(lab: Lab, properties: str) -> None:
    lab.sql(f"CREATE TABLE people (id INT, name STRING) TBLPROPERTIES ({properties})")
    lab.insert("people", "1, 'Jeff'", "2, 'Donny'", "3, 'Walter'")
    lab.sql("CREATE TABLE kept (id INT, name STRING); CREATE STREAM s ON TABLE people")
    lab.sql("CREATE STREAM first ON TABLE people APPEND_ONLY = TRUE")


def shown(lab: Lab, name: str = "s") -> Any:
    return lab.engine.sql(f"DESCRIBE STREAM {name}").collect()[0]


def stale(lab: Lab, name: str = "s") -> None:
    """Reading and consuming it are refused with the time since when; nothing moved."""
    stream = lab.context.catalog.stream(lab.context.name(name))
    for statement in (f"SELECT * FROM {name}", f"INSERT INTO kept SELECT id, name FROM {name}"):
        with refused("DT-3202") as errors:
            lab.sql(statement)
        assert errors[0].facts["since"] == stream.advanced
    assert lab.rows("kept") == []
    assert lab.context.catalog.stream(lab.context.name(name)) == stream
    row = shown(lab, name)
    assert (row["STALE"], row["INVALID_REASON"]) == (True, errors[0].facts["problem"])
    lab.sql(f"CREATE OR REPLACE STREAM {name} ON TABLE people")
    assert lab.sql(f"SELECT * FROM {name}") == []
    assert not shown(lab, name)["STALE"]


@pytest.mark.parametrize("kind", some(1, KINDS))
def test_a_stream_whose_files_are_vacuumed_is_stale(kept: Lab, kind: str) -> None:
    make(kept, KINDS[kind])
    kept.insert("people", "4, 'Maude'")
    kept.sql("VACUUM people RETAIN 0 HOURS")
    assert kept.sql("SELECT id, $ACTION FROM s") == [(4, "INSERT")], "what it needs is there"
    assert not shown(kept)["STALE"]
    kept.sql("UPDATE people SET name = 'Jeffrey' WHERE id = 1; DELETE FROM people WHERE id = 2")
    assert len(kept.sql("SELECT * FROM s")) == 4
    kept.sql("OPTIMIZE people; VACUUM people RETAIN 0 HOURS")
    stale(kept)
    with refused("DT-3103"):
        kept.sql("SELECT * FROM people CHANGES AT (VERSION => 1)")


def test_a_view_whose_old_rows_are_vacuumed_is_stale(kept: Lab) -> None:
    """Compacting changes nothing, but the files of the old end are gone."""
    make(kept, KINDS["feed"])
    kept.sql("CREATE TABLE pets (id INT, oid INT) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    kept.insert("pets", "10, 1")
    kept.insert("pets", "11, 2")
    kept.sql(
        "CREATE VIEW owners AS SELECT p.id, p.name FROM people p "
        "LEFT ANTI JOIN pets ON pets.oid = p.id; CREATE STREAM v ON VIEW owners"
    )
    kept.insert("pets", "12, 3")
    assert kept.sql("SELECT id, $ACTION FROM v") == [(3, "DELETE")]
    kept.sql("OPTIMIZE pets; VACUUM pets RETAIN 0 HOURS")
    with refused("DT-3202") as errors:
        kept.sql("SELECT * FROM v")
    assert "VACUUM" in errors[0].facts["problem"]
    assert shown(kept, "v")["STALE"]


def test_a_stream_whose_log_is_cleaned_up_is_stale(kept: Lab) -> None:
    make(kept, KINDS["row tracking"])
    kept.insert("people", "4, 'Maude'")
    relation = lookup(kept.spark, kept.context.name("people"))
    assert relation is not None
    assert relation.location is not None
    log = Path(relation.location) / "_delta_log"
    for file in log.iterdir():
        old = file.stat().st_mtime - 40 * DAY
        os.utime(file, (old, old))
    kept.sql(
        "ALTER TABLE people SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 1 days', "
        "'delta.deletedFileRetentionDuration' = 'interval 1 days', "
        "'delta.checkpointInterval' = '1')"
    )
    kept.insert("people", "5, 'Uli'")
    kept.insert("people", "6, 'Ike'")
    assert not (log / f"{0:020d}.json").exists(), "Delta has cleaned up"
    stale(kept)
    stale(kept, "first")
    with refused("DT-4101"):
        kept.sql("SELECT * FROM people CHANGES AT (VERSION => 1)")
