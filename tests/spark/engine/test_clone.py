"""A clone is the same table at the same data timestamp, over the same files, and then its own."""

from __future__ import annotations

import pytest

from dt_jupyter.engine import clone as cloning
from dt_jupyter.lake import LiveFiles, TableLog, paths_of
from tests.spark.engine_lab import Lab, refused

QUERIES = {
    "sums": "SELECT g, sum(v) AS s, min(v) AS low, count(*) AS n FROM src GROUP BY g",
    "joined": "SELECT s.g, s.v, d.label FROM src s JOIN dim d ON s.g = d.g",
    "staged": "SELECT n, count(*) AS k FROM (SELECT g, count(*) AS n FROM src GROUP BY g) "
    "GROUP BY n",
    "bag": "SELECT v FROM src",
}
CLONES = [f"c_{name}" for name in QUERIES]


def data_files(lab: Lab, name: str) -> set[int]:
    """The inodes of the data that a dynamic table's rows and hidden state are in."""
    folder = lab.context.layout.folder(lab.engine.table(name).id)
    return {p.stat().st_ino for p in folder.rglob("*.parquet") if "_delta_log" not in p.parts}


def actions(lab: Lab, *names: str) -> set[str]:
    return {lab.refresh(name) for name in names}


@pytest.fixture
def grown(quick_lab: Lab) -> Lab:
    """Tables that have been refreshed by changes of every kind, so that their state, deletion
    vectors and hidden stages are not those of a first refresh."""
    lab = quick_lab
    lab.table("src", "g INT, v INT", "1, 1", "1, 1", "2, 5", "NULL, NULL", "3, 7")
    lab.table("dim", "g INT, label STRING", "1, 'one'", "2, 'two'")
    for name, query in QUERIES.items():
        lab.dynamic_table(name, query)
    lab.sql("DELETE FROM src WHERE g = 3; UPDATE src SET v = 6 WHERE g = 2")
    lab.insert("src", "1, 1", "4, 9")
    assert actions(lab, *QUERIES) == {"INCREMENTAL"}
    return lab


def test_a_clone_takes_the_files_over_and_goes_on_alone(grown: Lab) -> None:
    lab = grown
    for name in QUERIES:
        before = lab.rows(name)
        lab.sql(f"CREATE DYNAMIC TABLE c_{name} CLONE {name}")
        assert lab.rows(f"c_{name}") == before
        assert data_files(lab, f"c_{name}") <= data_files(lab, name), "rows were computed"
        (record,) = lab.engine.records(f"c_{name}")
        assert (record.action, record.reason.code) == ("REINITIALIZE", "CLONED")
        assert record.statistics.spark_jobs == 0
        original, clone = lab.engine.table(name), lab.engine.table(f"c_{name}")
        assert clone.data_timestamp == original.data_timestamp
        logs = [TableLog(lab.context.layout.public(t.id)) for t in (original, clone)]
        assert logs[0].table_id() != logs[1].table_id()
    assert actions(lab, *CLONES) == {"NO_DATA"}
    lab.sql("DELETE FROM src WHERE g = 1 AND v = 1; INSERT INTO src VALUES (2, 0), (1, 1), (8, 8)")
    assert actions(lab, *CLONES) == {"INCREMENTAL"}
    lab.verified(*CLONES, *QUERIES)  # the originals are where they were
    for name in QUERIES:
        lab.sql(f"DROP DYNAMIC TABLE {name}")
    lab.engine.vacuum(retain_hours=0)
    lab.reopen()
    lab.insert("src", "8, 1")
    assert actions(lab, *CLONES) == {"INCREMENTAL"}
    lab.verified(*CLONES)
    assert lab.engine.verify("c_sums", all=True).equal


def test_a_clone_of_the_past_has_the_rows_and_the_definition_of_then(grown: Lab) -> None:
    lab = grown
    old = lab.rows("sums")
    then = lab.engine.table("sums")
    lab.insert("src", "1, 100")
    lab.sql("CREATE OR ALTER DYNAMIC TABLE sums TARGET_LAG = '2 hours' AS SELECT g FROM src")
    lab.sql("CREATE DYNAMIC TABLE newest CLONE sums WAREHOUSE = default TARGET_LAG = '3 hours'")
    assert lab.engine.table("newest").target_lag.seconds == 3 * 3600
    at = f"AT (TIMESTAMP => '{then.data_timestamp.datetime.isoformat()}')"
    for name, point in (("by_time", at), ("by_version", f"AT (VERSION => {then.version})")):
        lab.sql(f"CREATE DYNAMIC TABLE {name} CLONE sums {point}")
        clone = lab.engine.table(name)
        assert clone.definition.query == then.definition.query
        assert clone.data_timestamp == then.data_timestamp
        assert lab.rows(name) == old
        assert (lab.refresh(name), lab.refresh("newest")) == ("INCREMENTAL", "NO_DATA")
        lab.verified(name, "newest")
        lab.sql(f"DROP DYNAMIC TABLE newest; CREATE DYNAMIC TABLE newest CLONE {name}")
    with refused("DT-4101"):
        lab.sql("CREATE DYNAMIC TABLE none CLONE sums AT (TIMESTAMP => '2001-01-01')")
    with refused("DT-4102"):
        lab.sql("CREATE DYNAMIC TABLE none CLONE sums AT (VERSION => 999)")
    for statement, code in (
        ("CREATE DYNAMIC TABLE src CLONE bag", "DT-1105"),
        ("CREATE DYNAMIC TABLE joined CLONE bag", "DT-1105"),
        ("CREATE DYNAMIC TABLE none CLONE nothing", "DT-1101"),
        ("CREATE DYNAMIC TABLE none CLONE bag WAREHOUSE = nowhere", "DT-1108"),
    ):
        with refused(code):
            lab.sql(statement)
    lab.sql("CREATE DYNAMIC TABLE IF NOT EXISTS joined CLONE bag")
    assert lab.engine.table("joined").definition.query == QUERIES["joined"]
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE joined CLONE bag; DROP DYNAMIC TABLE bag")
    lab.dynamic_table("top", "SELECT v FROM joined")
    with refused("DT-1106"):
        lab.sql("CREATE OR REPLACE DYNAMIC TABLE joined CLONE top")
    assert actions(lab, "joined", "top") <= {"NO_DATA", "INCREMENTAL"}
    lab.verified("joined", "top")


@pytest.mark.nightly
def test_a_clone_that_was_cut_off_leaves_nothing_or_is_whole(
    grown: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = grown
    names = lab.names()

    def fail(*given: object, **named: object) -> None:
        raise OSError(28, "no space left on device")

    for part in ("stages", "public"):
        with monkeypatch.context() as patched:
            patched.setattr(cloning._Copies, "with_stages" if part == "stages" else part, fail)
            with pytest.raises(Exception, match="no space"):
                lab.sql("CREATE DYNAMIC TABLE c CLONE staged")
        assert lab.names() == names
    with monkeypatch.context() as patched:  # as after a kill between the commit and the catalog
        patched.setattr(lab.context.catalog, "finish", fail)
        patched.setattr(lab.context.creator.__class__, "undo", lambda *given: None)
        with pytest.raises(Exception, match="no space"):
            lab.sql("CREATE DYNAMIC TABLE c CLONE staged")
    lab.reopen()
    assert lab.engine.table("c").data_timestamp == lab.engine.table("staged").data_timestamp
    assert lab.rows("c") == lab.rows("staged")
    lab.insert("src", "5, 5")
    assert lab.refresh("c") == "INCREMENTAL"
    lab.verified("c")


@pytest.mark.nightly
def test_a_clone_without_the_state_of_then_computes_it_with_its_next_change(grown: Lab) -> None:
    lab = grown
    then = lab.engine.table("staged")
    lab.insert("src", "1, 1", "9, 9")
    assert lab.refresh("staged") == "INCREMENTAL"
    stage = lab.context.layout.stage(then.id, 0)
    live, newest = LiveFiles(stage), TableLog(stage).version()
    old = then.frontier.versions["stage:0"]
    kept = {p for a in live.at(newest) for p in paths_of(a)}
    gone = {p for a in live.at(old) for p in paths_of(a)} - kept
    assert gone, "the change rewrote no file of the state"
    for name in gone:
        (stage / name).unlink()
    lab.sql(f"CREATE DYNAMIC TABLE c CLONE staged AT (VERSION => {then.version})")
    assert lab.refresh("c") == "REINITIALIZE"
    assert lab.engine.records("c")[0].reason.code == "STATE_REBUILT"
    lab.verified("c")
    lab.engine.vacuum("staged", retain_hours=0)
    names = lab.names()
    with refused("DT-4104"):
        lab.sql(f"CREATE DYNAMIC TABLE d CLONE staged AT (VERSION => {then.version})")
    assert lab.names() == names
