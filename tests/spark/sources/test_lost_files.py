"""Files that VACUUM took, or that are lost, before they were read: the table is computed anew, and
says why; what no refresh can mend fails with its name, and goes on once it is mended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dt_jupyter.refresh.protocol as run
from dt_jupyter.lake.delta_log.active_files import LiveFiles, paths_of
from dt_jupyter.model import RefreshRecord
from tests.cases import some
from tests.experiments import VACUUM
from tests.spark.engine_lab import Lab, refused

pytestmark = VACUUM
UNCHECKED = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.vacuum.parallelDelete.enabled": "false",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
ANEW, GOES_ON = "REINITIALIZE", "INCREMENTAL"


@pytest.fixture
def lab(quick_lab: Lab) -> Iterator[Lab]:
    """A lab where VACUUM takes all that is not of the newest version."""
    before = {key: quick_lab.spark.conf.get(key, None) for key in UNCHECKED}
    for key, value in UNCHECKED.items():
        quick_lab.spark.conf.set(key, value)
    yield quick_lab
    for key, was in before.items():
        if was is None:
            quick_lab.spark.conf.unset(key)
        else:
            quick_lab.spark.conf.set(key, was)


def told(record: RefreshRecord) -> tuple[str | None, str | None]:
    """The action of a refresh that went well, and the code of its reason."""
    assert record.error is None, record.error
    return record.action and record.action.value, record.reason and record.reason.code


def sweep(folder: Path) -> None:
    """A VACUUM without retention that leaves no word in the log."""
    live = LiveFiles(folder)
    newest = max(int(f.stem) for f in (folder / "_delta_log").glob("*.json") if f.stem.isdigit())
    kept = {folder / p for action in live.at(newest) for p in paths_of(action)}
    for kind in ("*.parquet", "*.bin"):
        for file in folder.rglob(kind):
            if file not in kept and "_delta_log" not in file.parts:
                file.unlink()


def lose(folder: Path) -> dict[Path, bytes]:
    """All files of a table's data; what they held."""
    found = {f: f.read_bytes() for f in folder.glob("*.parquet")}
    for file in found:
        file.unlink()
    return found


def own(lab: Lab, name: str) -> Path:
    return lab.context.layout.public(lab.engine.table(name).id)


def state(lab: Lab, name: str) -> Path:
    return lab.context.layout.stage(lab.engine.table(name).id, 0)


# -- changes that VACUUM took ----------------------------------------------------------------------

TABLES = {
    "bag": "SELECT id, v + 1 AS w FROM item WHERE v > 0",
    "joined": "SELECT item.id, pet.id AS p FROM item LEFT JOIN pet ON pet.oid = item.id",
    "total": "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM item GROUP BY k",
    "staged": "SELECT n, COUNT(*) AS c FROM (SELECT k, COUNT(DISTINCT v) AS n FROM item "
    "GROUP BY k) GROUP BY n",
    "ranked": "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS r FROM item",
    "above": "SELECT k, s * 2 AS s FROM total WHERE n > 0",
}


def vacuumed(lab: Lab, folder: Path) -> None:
    lab.spark.sql(f"VACUUM delta.`{folder}` RETAIN 0 HOURS")


def swept(_: Lab, folder: Path) -> None:
    sweep(folder)


@pytest.mark.parametrize("way", some(1, [vacuumed, swept]))
def test_a_vacuum_while_changes_wait(
    lab: Lab, way: Callable[[Lab, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the log tells of it, before anything is read; else by whoever reads first."""
    lab.table("item", "id INT, k STRING, v INT", "1, 'a', 1", "2, 'b', 2", "3, 'a', 3")
    lab.table("pet", "id INT, oid INT", "1, 1", "2, 2")
    names = list(TABLES) if way is swept else ["bag", "total", "staged", "above"]
    for name in names:
        lab.dynamic_table(name, TABLES[name])
    lab.dynamic_table("whole", "SELECT id, v FROM item", "REFRESH_MODE = FULL")
    lab.sql("ALTER DYNAMIC TABLE bag SUSPEND")
    lab.sql("UPDATE item SET v = v + 1 WHERE id = 1; DELETE FROM item WHERE id = 2")
    way(lab, lab.context.layout.tables / "item")
    met: list[str] = []
    asked = run.choice_anew
    monkeypatch.setattr(run, "choice_anew", lambda *a: (met.append(str(a[2].name)), asked(*a))[1])
    for name in ("bag", "whole"):
        with refused("DT-4104"):
            lab.engine.verify(name)
    for name in names[:-1]:
        record = lab.record(name)
        assert told(record) == (ANEW, "FILES_GONE"), name
        assert "item" in (record.reinit_reason or "")
        assert ".parquet" in (record.reinit_reason or "")
    assert told(lab.record("whole")) == ("FULL", "REQUESTED")
    way(lab, own(lab, "total"))
    assert told(lab.record("above")) == (ANEW, "FILES_GONE")
    assert met == ([] if way is vacuumed else names)
    lab.verified(*names, "whole")
    lab.insert("item", "4, 'b', 4")
    for name in names:
        assert lab.refresh(name) == GOES_ON, name
    lab.verified(*names)


READERS = {
    "feed": "",
    "vectors": "'delta.enableDeletionVectors' = 'true'",
    "mapped": "'delta.columnMapping.mode' = 'name'",
    "files": "'delta.enableChangeDataFeed' = 'false'",
    "files, vectors": "'delta.enableChangeDataFeed' = 'false', "
    "'delta.enableDeletionVectors' = 'true'",
}


@pytest.mark.nightly
def test_whichever_reader_meets_a_file_that_is_gone(lab: Lab) -> None:
    for i, properties in enumerate(READERS.values()):
        more = f"TBLPROPERTIES ({properties})" if properties else ""
        folder = lab.context.layout.tables / f"t{i}"
        lab.sql(f"CREATE TABLE t{i} (id INT, v INT) USING delta LOCATION '{folder}' {more}")
        lab.insert(f"t{i}", *(f"{n}, {n}" for n in range(1, 9)))
        lab.dynamic_table(f"d{i}", f"SELECT id, v FROM t{i}", "ALTER_SOURCES = FALSE")
        assert lab.mode(f"d{i}") == GOES_ON
        lab.sql(f"UPDATE t{i} SET v = 7 WHERE id = 1; DELETE FROM t{i} WHERE id = 2")
        assert bool(list(folder.glob("*.bin"))) == ("'true'" in properties)
        sweep(folder)
    for i, reader in enumerate(READERS):
        there = reader == "files, vectors"  # the same file, with the vector that is left
        wanted = (GOES_ON, "SOURCES_CHANGED") if there else (ANEW, "FILES_GONE")
        assert told(lab.record(f"d{i}")) == wanted, reader
        assert lab.rows(f"d{i}") == [(1, 7), *((n, n) for n in range(3, 9))]
        lab.insert(f"t{i}", "3, 3")
        assert lab.refresh(f"d{i}") == GOES_ON, reader
        lab.verified(f"d{i}")
    lab.dynamic_table("whole", "SELECT id, v FROM t1", "REFRESH_MODE = FULL")
    for file in (lab.context.layout.tables / "t1").glob("*.bin"):
        file.unlink()
    lab.insert("t1", "4, 4")
    record = lab.record("whole")
    assert (record.state, record.error_code) == ("FAILED", "DT-2114")
    assert ".bin is missing" in (record.error or "")


# -- files of its own ------------------------------------------------------------------------------


@pytest.mark.nightly
def test_lost_contents_are_computed_anew(lab: Lab) -> None:
    """Also where no source has new data, and where nobody would read what is lost."""
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'b'")
    queries = {"bag": "SELECT id, k FROM item", "total": TABLES["staged"].replace("v", "id")}
    for name, query in queries.items():
        lab.dynamic_table(name, query)
    lab.dynamic_table("whole", queries["bag"], "REFRESH_MODE = FULL")
    lab.dynamic_table("above", "SELECT id FROM bag")
    for change in ("SELECT 1", "INSERT INTO item VALUES (3, 'c')"):
        lab.sql(change)
        for name, again in (("bag", ANEW), ("total", ANEW), ("whole", "FULL")):
            lose(own(lab, name))
            with refused("DT-2115") as errors:
                lab.engine.verify(name)
            assert ".parquet" in errors[0].facts["problem"]
            assert told(lab.record(name)) == (again, "CONTENTS_LOST"), change
        lose(state(lab, "total"))
        assert told(lab.record("total")) == (ANEW, "STATE_LOST"), change
        assert lab.record("above").error is None
        lab.verified("bag", "total", "whole", "above")
        assert lab.refresh("bag") == "NO_DATA"
    lab.insert("item", "4, 'd'")
    for name in ("bag", "total", "above"):
        assert lab.refresh(name) == GOES_ON, name
    lab.verified("bag", "total", "whole", "above")


@pytest.mark.nightly
def test_what_is_lost_in_the_middle_of_a_refresh(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """After it was looked for: rows to be deleted, a group's state, what a change is joined to."""
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'b'", "3, 'a'")
    lab.dynamic_table("bag", "SELECT id, k FROM item")
    lab.dynamic_table("total", "SELECT k, COUNT(*) AS n FROM item GROUP BY k")
    lab.dynamic_table("staged", TABLES["staged"].replace("v", "id"))
    looked, where = run.recover_contents, {"bag": own, "total": own, "staged": state}

    def then_lost(*of: Any) -> Any:
        table = looked(*of)
        lose(where[table.name.table](lab, table.name.table))
        return table

    lab.sql("DELETE FROM item WHERE id = 1; UPDATE item SET k = 'b' WHERE id = 3")
    monkeypatch.setattr(run, "recover_contents", then_lost)
    for name in where:
        lab.context.refresher.small._kept.clear()
        code = "STATE_LOST" if name == "staged" else "CONTENTS_LOST"
        assert told(lab.record(name)) == (ANEW, code)
    monkeypatch.setattr(run, "recover_contents", looked)
    lab.verified(*where)
    lab.insert("item", "4, 'b'")
    for name in where:
        assert lab.refresh(name) == GOES_ON
    lab.verified(*where)


def test_a_lost_or_older_table_of_its_own_is_made_anew(lab: Lab) -> None:
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'b'")
    lab.dynamic_table("bag", "SELECT id, k FROM item")
    lab.dynamic_table("staged", TABLES["staged"].replace("v", "id"))
    older = {f: lab.folder / f"older_{f.name}" for f in (own(lab, "bag"), state(lab, "staged"))}
    for folder, copy in older.items():
        shutil.copytree(folder, copy)
    lab.insert("item", "3, 'b'")
    assert (lab.refresh("bag"), lab.refresh("staged")) == (GOES_ON, GOES_ON)
    for there in (True, False):
        for folder, copy in older.items():
            shutil.rmtree(folder)
            if there:
                shutil.copytree(copy, folder)
        rows, hidden = ("LOG_REGRESSED",) * 2 if there else ("LOG_LOST", "STATE_LOST")
        assert told(lab.record("bag")) == (ANEW, rows)
        assert told(lab.record("staged")) == (ANEW, hidden)
        lab.verified("bag", "staged")
        lab.insert("item", "4, 'c'")
        assert (lab.refresh("bag"), lab.refresh("staged")) == (GOES_ON, GOES_ON)
        lab.verified("bag", "staged")


def test_lost_state_keeps_nobody_from_the_rows(lab: Lab) -> None:
    """They are as good as before, also where the refresh that computes it again fails."""
    lab.table("item", "id INT, v INT", "1, 1", "2, 2")
    sums = "SELECT v, sum(12 div id) AS q FROM item GROUP BY v"
    lab.dynamic_table("kept", f"SELECT q, count(*) AS n FROM ({sums}) GROUP BY q")
    before = lab.rows("kept")
    shutil.rmtree(state(lab, "kept"))
    lab.insert("item", "0, 3")
    assert lab.record("kept").error_code == "DT-2105"
    lab.reopen()
    assert lab.rows("kept") == before


FOREIGN = ("DELETE FROM delta.`{}`", "ALTER TABLE delta.`{}` ADD COLUMN more INT")


@pytest.mark.parametrize("where", some(1, [own, state]))
def test_a_table_that_something_else_wrote_to_is_made_anew(
    lab: Lab, where: Callable[[Lab, str], Path]
) -> None:
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'b'")
    lab.dynamic_table("staged", TABLES["staged"].replace("v", "id"))
    for i, write in enumerate(FOREIGN):
        lab.spark.sql(write.format(where(lab, "staged")))
        lab.insert("item", f"{i + 3}, 'b'")
        assert told(lab.record("staged")) == (ANEW, "FOREIGN_WRITE"), write
        lab.verified("staged")
    lab.spark.sql(f"OPTIMIZE delta.`{where(lab, 'staged')}`")
    lab.insert("item", "20, 'c'")
    assert lab.refresh("staged") == GOES_ON
    lab.verified("staged")


# -- what no refresh can mend ----------------------------------------------------------------------


def test_a_source_that_lost_a_file_is_named_and_goes_on_once_mended(lab: Lab) -> None:
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'b'")
    lab.dynamic_table("bag", "SELECT id, k FROM item")
    lab.dynamic_table("whole", "SELECT id, k FROM item", "REFRESH_MODE = FULL")
    found = lose(lab.context.layout.tables / "item")
    lab.insert("item", "3, 'c'")
    assert lab.refresh("bag") == GOES_ON, "it reads what came alone"
    for name in ("bag", "whole"):
        if name == "whole":
            record = lab.record("whole")
            assert (record.state, record.error_code) == ("FAILED", "DT-2114")
            assert "item" in (record.error or "")
            assert "INSERT OVERWRITE" in (record.error or "")
        else:
            with refused("DT-2114"):
                lab.engine.verify("bag")
    with refused("DT-2114"):
        lab.dynamic_table("other", "SELECT id FROM item")
    lose(own(lab, "bag"))
    assert lab.record("bag").error_code == "DT-2114"
    for file, held in found.items():
        file.write_bytes(held)
    assert lab.refresh("whole") == "FULL"
    assert told(lab.record("bag")) == (ANEW, "CONTENTS_LOST")
    lab.verified("bag", "whole")
    lose(lab.context.layout.tables / "item")
    lab.sql("INSERT OVERWRITE item VALUES (9, 'z')")
    assert told(lab.record("bag")) == (ANEW, "FILES_GONE")
    assert lab.refresh("whole") == "FULL"
    lab.insert("item", "10, 'z'")
    assert lab.refresh("bag") == GOES_ON
    lab.verified("bag", "whole")
    lab.sql("DROP TABLE item")
    with refused("DT-2102"):
        lab.engine.verify("bag")


def test_the_past_of_what_was_vacuumed_is_told_with_a_code(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", "1, 1", "2, 2")
    lab.dynamic_table("total", "SELECT COUNT(*) AS n, SUM(v) AS s FROM item")
    lab.sql("CREATE STREAM s ON TABLE item; CREATE STREAM d ON DYNAMIC TABLE total")
    lab.sql("UPDATE item SET v = 5 WHERE id = 1")
    assert lab.refresh("total") == GOES_ON
    first = lab.engine.records("total", 1)[0]
    lab.sql("DELETE FROM item WHERE id = 2")
    assert lab.refresh("total") == GOES_ON
    sweep(lab.context.layout.tables / "item")
    sweep(own(lab, "total"))
    for stream in ("s", "d"):
        with refused("DT-3202"):
            lab.sql(f"SELECT * FROM {stream}")
    for name in ("item", "total"):
        with refused("DT-3103"):
            lab.sql(f"SELECT * FROM {name} CHANGES AT (VERSION => 1)")
        with refused("DT-4104"):
            lab.sql(f"SELECT * FROM {name} AT (VERSION => 1)")
        with refused("DT-4104"), lab.engine.replay(name, at=1) as replay:
            replay.frame(0).collect()
        with refused("DT-4104"):
            lab.engine.diff(name, 1, 2)
    with refused("DT-4104"):
        lab.engine.replay_refresh("total", query_id=first.query_id)
    with refused("DT-4104"):
        lab.engine.verify("total", at=first.data_timestamp)
    lab.verified("total")
