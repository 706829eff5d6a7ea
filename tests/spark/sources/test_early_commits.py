"""Commits that are dated ahead of the clock: their rows are there, and everybody has them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from pathlib import Path

import pytest

from dt_jupyter.engine.scheduling import EnginePort
from dt_jupyter.model import Reason
from dt_jupyter.schedule import Start
from tests.spark.engine_lab import Lab

HOUR = 3600
ICT = "'delta.enableInCommitTimestamps' = 'true'"


def commits(lab: Lab, name: str) -> list[Path]:
    rows = lab.spark.sql(f"DESCRIBE EXTENDED {name}").collect()
    location = next(r[1] for r in rows if r[0] == "Location").removeprefix("file:")
    return sorted(p for p in (Path(location) / "_delta_log").glob("*.json") if p.stem.isdigit())


def date(file: Path, ahead: float) -> None:
    """The commit is of that many seconds from now: its file, and its in-commit timestamp."""
    when = time.time() + ahead
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    dated = [a["commitInfo"] for a in lines if "inCommitTimestamp" in a.get("commitInfo", {})]
    for info in dated:
        info["inCommitTimestamp"] = int(when * 1000)
    if dated:
        file.write_text("\n".join(map(json.dumps, lines)) + "\n")
        for sums in (file.with_name(f".{file.name}.crc"), file.with_suffix(".crc")):
            sums.unlink(missing_ok=True)
    os.utime(file, (when, when))


def written_ahead(lab: Lab, name: str, *rows: str) -> None:
    """Rows of another machine, whose clock is an hour ahead."""
    lab.insert(name, *rows)
    date(commits(lab, name)[-1], HOUR)


@pytest.mark.parametrize("property_", ["'delta.appendOnly' = 'false'", ICT], ids=["files", "ict"])
def test_a_refresh_by_hand_has_what_a_select_shows(quick_lab: Lab, property_: str) -> None:
    lab = quick_lab
    lab.sql(f"CREATE TABLE item (id INT, v INT) TBLPROPERTIES ({property_})")
    lab.table("other", "id INT, v INT", "1, 7", "2, 8")
    lab.insert("item", "1, 10")
    lab.dynamic_table("d", "SELECT a.id, a.v, b.v AS o FROM item a JOIN other b ON a.id = b.id")
    lab.dynamic_table("above", "SELECT sum(v) AS s, count(*) AS n FROM d")
    lab.dynamic_table("full_", "SELECT id, v FROM item", "REFRESH_MODE = FULL")
    first = lab.engine.table("d").data_timestamp
    written_ahead(lab, "item", "2, 20")
    record = lab.record("above")
    assert [str(r.action) for r in (*record.upstream, record)] == ["INCREMENTAL"] * 2
    assert lab.rows("above") == [(30, 2)]
    assert lab.refresh("full_") == "FULL"
    lab.dynamic_table("new", "SELECT id, v FROM item")
    assert lab.rows("new") == lab.rows("full_") == [(1, 10), (2, 20)]
    lab.verified("d", "above", "full_", "new")
    assert lab.refresh("above") == "NO_DATA"
    assert lab.refresh("full_") == "NO_DATA"
    told = [e for e in lab.context.catalog.lake_events() if e.state == "EARLY_COMMIT"]
    assert sorted(e.name for e in told) == ["d", "full_", "new"], "once for each that reads it"
    early = r"Commit 2 of item is dated (59|60) min ahead of this machine's clock: its rows count "
    assert all(re.match(rf"{early}as of 20", e.message or "") for e in told)
    assert [bool(re.match(early, p)) for p in lab.engine.status()["problems"]] == [True]
    times = [first, *(r.data_timestamp for r in reversed(lab.engine.records("d", 3)))]
    assert times == sorted(times)
    assert all(t is not None and t <= lab.context.clock.now() for t in times)

    # a plain snapshot at the time of a refresh has what the refresh had
    at = record.data_timestamp
    assert at is not None
    assert lab.sql(f"SELECT * FROM item AT (TIMESTAMP => '{at}') ORDER BY id") == lab.rows("new")
    assert lab.sql(f"SELECT * FROM item AT (TIMESTAMP => '{first}')") == [(1, 10)]

    # once the clock has come so far, nothing is there twice or gone
    for file in commits(lab, "item"):
        date(file, -HOUR)
    assert lab.refresh("above") == "NO_DATA"
    assert lab.engine.status()["problems"] == []
    lab.insert("item", "1, 11")
    assert lab.refresh("above") == "INCREMENTAL"
    assert lab.rows("above") == [(41, 3)]
    lab.verified("d", "above")


def test_a_past_time_and_a_tick_and_a_table_all_of_which_is_ahead(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT", "1")
    lab.dynamic_table("past", "SELECT id FROM item WHERE id > 0")
    lab.dynamic_table("due", "SELECT id FROM item")
    before = lab.context.clock.now()
    written_ahead(lab, "item", "2")
    record = lab.engine.refresh("past", at=before)
    assert str(record.action) == "NO_DATA", "its rows are of the present, and not of a past time"
    tick = lab.context.clock.now()
    port = EnginePort(lab.context.graph)
    port.run(Start(lab.engine.table("due").id, tick, Reason("TICK", "")))
    assert lab.rows("due") == [(1,), (2,)]
    assert lab.refresh("past") == "INCREMENTAL"
    lab.verified("past", "due")

    lab.table("future", "id INT", "1", "2")
    for file in commits(lab, "future"):
        date(file, HOUR)
    lab.dynamic_table("d", "SELECT id FROM future")
    assert lab.rows("d") == [(1,), (2,)]
    assert lab.sql("SELECT count(*) FROM future AT (OFFSET => 0)") == [(2,)]
    assert lab.engine.replay("future", at="now") is not None
    lab.insert("future", "3")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_streams_changes_and_sinks_have_each_row_once(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql("CREATE TABLE item (id INT) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.insert("item", "1")
    lab.table("kept", "id INT", "0")
    lab.sql("CREATE STREAM s ON TABLE item")
    lab.sql(f"CREATE SINK k FROM TABLE item INTO 'sqlite://{lab.folder}/k.sqlite' KEY (id)")
    written_ahead(lab, "item", "2")
    lab.insert("item", "3")  # by this clock, and in the log behind one that is ahead
    assert lab.sql("SELECT id FROM s ORDER BY id") == [(2,), (3,)]
    lab.sql("INSERT INTO kept SELECT id FROM s")
    assert lab.sql("SELECT id FROM s") == []
    lab.sql("CREATE STREAM later ON TABLE item")
    assert lab.sql("SELECT id FROM later") == []
    assert lab.sql("SELECT id FROM item CHANGES AT (VERSION => 1) ORDER BY id") == [(2,), (3,)]
    lab.sql("ALTER SINK k REFRESH")
    with sqlite3.connect(f"{lab.folder}/k.sqlite") as store:
        assert sorted(store.execute("SELECT id FROM item")) == [(1,), (2,), (3,)]
    lab.insert("item", "4")
    for stream in ("s", "later"):
        assert lab.sql(f"SELECT id FROM {stream}") == [(4,)]
    lab.sql("INSERT INTO kept SELECT id FROM s")
    for file in commits(lab, "item"):
        date(file, -HOUR)
    assert lab.sql("SELECT id FROM s") == []
    assert lab.rows("kept") == [(0,), (2,), (3,), (4,)]
