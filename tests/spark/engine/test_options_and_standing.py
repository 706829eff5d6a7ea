"""What was asked of a dynamic table stays so, and what keeps it from being fresh is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import InheritableThread

from dt_jupyter.engine.scheduling import EnginePort
from dt_jupyter.lake import TableLog, table_place
from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.model import DTError, Reason
from dt_jupyter.schedule import Start, Wait, decide, planned
from tests.cases import some
from tests.spark.engine_lab import Lab, refused


def clustering(lab: Lab, name: str) -> list[str]:
    """The columns by which Delta itself says that a table is clustered."""
    path = lab.context.layout.public(lab.engine.table(name).id)
    (row,) = lab.spark.sql(f"DESCRIBE DETAIL delta.`{path}`").select("clusteringColumns").collect()
    assert [".".join(p) for p in TableLog(path).clustering()] == list(row[0]) or "`" in str(row)
    return list(row[0])


def versions(lab: Lab, name: str) -> tuple[int, int | None]:
    """The newest version of a table's log, and the one that the catalog has."""
    return lab.version(name), lab.engine.table(name).version


GROUPS = "SELECT g, sum(v) AS s, min(v) AS low FROM {} GROUP BY g"


@pytest.mark.parametrize("mode", some(1, ["INCREMENTAL", "FULL"]))
def test_clustering_outlives_every_commit(shared_lab: Lab, mode: str) -> None:
    lab, src, name = shared_lab, f"src_{mode}", f"c_{mode}"
    lab.table(src, "id INT, g INT, v INT", "1, 1, 1", "2, 2, 2")
    lab.dynamic_table(name, GROUPS.format(src), f"REFRESH_MODE = {mode} CLUSTER BY (g)")
    assert clustering(lab, name) == ["g"]
    lab.insert(src, "3, 3, 3")
    assert lab.refresh(name) == mode
    assert clustering(lab, name) == ["g"]
    lab.sql(f"UPDATE {src} SET v = 9 WHERE id = 1")
    lab.sql(f"DELETE FROM {src} WHERE id = 2")
    assert lab.refresh(name) == mode
    assert clustering(lab, name) == ["g"]
    assert lab.refresh(name) == "NO_DATA"
    lab.context.catalog.update(
        lab.engine.table(name).id, needs_reinit=Reason("DEFINITION_CHANGED", "for the test")
    )
    assert lab.refresh(name) == ("REINITIALIZE" if mode == "INCREMENTAL" else "FULL")
    assert clustering(lab, name) == ["g"]
    lab.insert(src, "4, 4, 4")
    assert lab.refresh(name) == mode
    assert clustering(lab, name) == ["g"]
    lab.verified(name)


def test_a_clustered_table_is_not_merged_by_delta(shared_lab: Lab) -> None:
    """In Spark and in the process; a file that is marked stays of its cube, what comes is clustered
    later on."""
    lab = shared_lab
    lab.table("wide", "id INT, g INT, v INT")
    lab.sql("INSERT INTO wide SELECT id, id % 9, id FROM range(2000)")
    lab.dynamic_table("near", "SELECT id, g, v FROM wide", "CLUSTER BY (g, v)")
    path = lab.context.layout.public(lab.engine.table("near").id)
    lab.sql(f"OPTIMIZE delta.`{path}`")
    table_place(path).add_checkpoint(TableLog(path), lab.version("near"))
    lab.leave_process()
    for writer, jobs in (("spark-files", 6), ("engine", 0)):
        lab.sql("UPDATE wide SET g = 7 WHERE id % 700 = 3; INSERT INTO wide VALUES (-1, 5, 5)")
        record = lab.record("near")
        assert (str(record.action), record.statistics.writer) == ("INCREMENTAL", writer)
        assert record.statistics.spark_jobs <= jobs
        assert clustering(lab, "near") == ["g", "v"]
        if writer == "spark-files":
            assert marked_cubes(path) == [{"g", "v"}]
            lab.tune()
    (row,) = lab.spark.sql(f"OPTIMIZE delta.`{path}`").select("metrics.*").collect()
    assert row["clusteringStats"]["inputOtherFiles"]["numFiles"] >= 1
    lab.sql("ALTER DYNAMIC TABLE near SET CLUSTER BY (v); INSERT INTO wide VALUES (-2, 5, 5)")
    assert lab.record("near").statistics.writer == "engine"
    assert clustering(lab, "near") == ["v"]
    lab.verified("near")


def marked_cubes(path: Path) -> list[set[str]]:
    """Of the files with a deletion vector that OPTIMIZE has clustered, those of the columns that it
    is clustered by whose greatest value the log has."""
    version = TableLog(path).version()
    found = LiveFiles(path, statistics=True).at(version)
    of_cubes = [a for a in found if "deletionVector" in a and "ZCUBE_ID" in a.get("tags", ())]
    return [json.loads(a["stats"])["maxValues"].keys() & {"g", "v"} for a in of_cubes]


@pytest.mark.nightly
def test_a_table_of_hidden_stages_is_clustered_and_they_are_not(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("st", "id INT, g INT, v INT", "1, 1, 1", "2, 2, 2")
    lab.dynamic_table(
        "staged",
        "SELECT n, count(*) AS groups FROM (SELECT g, count(*) AS n FROM st GROUP BY g) GROUP BY n",
        "CLUSTER BY (groups)",
    )
    table = lab.engine.table("staged")
    stages = lab.context.catalog.stages(table.id)
    assert stages
    for turn in range(2):
        assert clustering(lab, "staged") == ["groups"]
        assert [TableLog(s.path).clustering() for s in stages] == [()] * len(stages)
        lab.insert("st", f"{turn + 3}, 1, 3")
        assert lab.refresh("staged") == "INCREMENTAL"
    lab.verified("staged")


def test_clustering_changes_in_place_and_is_seen_at_once(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("al", "id INT, g INT, v INT", "1, 1, 1", "2, 2, 2")
    lab.dynamic_table("plain", GROUPS.format("al"))
    lab.dynamic_table("below", "SELECT g, s FROM plain")
    assert clustering(lab, "plain") == []
    lab.sql("ALTER DYNAMIC TABLE plain SET CLUSTER BY (G, low)")
    assert clustering(lab, "plain") == ["g", "low"]
    assert lab.refresh("plain") == "NO_DATA"
    assert lab.refresh("below") == "NO_DATA", "no row of it changed"
    lab.insert("al", "3, 3, 3")
    assert lab.refresh("below") == "INCREMENTAL"
    assert clustering(lab, "plain") == ["g", "low"]
    query = GROUPS.format("al")
    lab.sql(f"CREATE OR ALTER DYNAMIC TABLE plain CLUSTER BY (s) AS {query}")
    assert clustering(lab, "plain") == ["s"]
    lab.sql(
        "CREATE OR ALTER DYNAMIC TABLE plain CLUSTER BY (most) AS "
        "SELECT g, sum(v) AS s, max(v) AS most FROM al GROUP BY g"
    )
    assert clustering(lab, "plain") == ["most"]
    lab.insert("al", "4, 4, 4")
    assert lab.refresh("below") == "INCREMENTAL"
    assert clustering(lab, "plain") == ["most"]
    lab.sql("ALTER DYNAMIC TABLE plain UNSET CLUSTER BY")
    assert clustering(lab, "plain") == []
    lab.insert("al", "5, 5, 5")
    assert lab.refresh("below") == "INCREMENTAL"
    lab.verified("plain", "below")
    found = [s for s in lab.engine.records("below") if s.action == "REINITIALIZE"]
    assert len(found) == 1, "at its creation; no change of clustering is a change of rows"


@pytest.mark.nightly
def test_what_is_clustered_by_may_be_nested_or_the_fortieth_or_have_an_odd_name(
    shared_lab: Lab,
) -> None:
    lab = shared_lab
    lab.table(
        "odd",
        "id INT, f DOUBLE, p STRUCT<a: INT, b: STRUCT<c: STRING>>",
        "1, 1.5, named_struct('a', 1, 'b', named_struct('c', 'x'))",
    )
    many = ", ".join(f"id + {i} AS c{i}" for i in range(40))
    lab.dynamic_table(
        "o",
        f"SELECT p, f, id AS `the id, of it`, {many} FROM odd",
        "CLUSTER BY (p.b.c, c39, `the id, of it`, f)",
    )
    assert len(clustering(lab, "o")) == 4
    lab.sql("INSERT INTO odd SELECT id + 1, f, p FROM odd")
    assert lab.refresh("o") == "INCREMENTAL"
    assert len(clustering(lab, "o")) == 4
    lab.verified("o")


@pytest.mark.parametrize(
    ("columns", "code"),
    [("nosuch", "DT-1102"), ("p.z", "DT-1102"), ("p", "DT-1003"), ("m", "DT-1003"),
     ("b", "DT-1003"), ("a, A", "DT-1003"), ("a, c, d, e, f", "DT-1003")],
)  # fmt: skip
def test_what_cannot_be_clustered_by_is_refused_before_anything_is_made(
    shared_lab: Lab, columns: str, code: str
) -> None:
    lab = shared_lab
    query = (
        "SELECT 1 AS a, true AS b, 2 AS c, 3 AS d, 4 AS e, 5 AS f, map(1, 2) AS m, "
        "named_struct('x', 1) AS p FROM VALUES (1) AS v (i)"
    )
    if not lab.spark.catalog.tableExists("refusing"):
        lab.table("refusing", "i INT", "1")
        lab.dynamic_table("has", query.replace("VALUES (1) AS v (i)", "refusing"))
    before = lab.names()
    with refused(code):
        lab.dynamic_table(
            "never", query.replace("VALUES (1) AS v (i)", "refusing"), f"CLUSTER BY ({columns})"
        )
    with refused(code):
        lab.sql(f"ALTER DYNAMIC TABLE has SET CLUSTER BY ({columns})")
    assert lab.names() == before
    assert lab.engine.table("has").cluster_by == ()


@pytest.mark.nightly
def test_clustering_goes_on_with_what_is_left_of_its_columns(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("ev", "id INT, g INT, v INT", "1, 1, 1")
    lab.sql("ALTER TABLE ev SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.dynamic_table("star", "SELECT * FROM ev", "CLUSTER BY (v, g)")
    lab.sql("ALTER TABLE ev DROP COLUMN v")
    assert lab.refresh("star") == "REINITIALIZE"
    assert clustering(lab, "star") == ["g"]
    lab.reopen()
    lab.insert("ev", "2, 2")
    assert lab.refresh("star") == "INCREMENTAL"
    assert clustering(lab, "star") == ["g"]
    lab.verified("star")


def test_how_long_the_past_is_kept_changes_in_all_tables_behind(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("rs", "id INT, g INT", "1, 1")
    query = "SELECT n, count(*) AS k FROM (SELECT g, count(*) AS n FROM rs GROUP BY g) GROUP BY n"
    lab.dynamic_table("kept", query)
    table = lab.engine.table("kept")
    paths = [
        lab.context.layout.public(table.id),
        *(s.path for s in lab.context.catalog.stages(table.id)),
    ]

    def hours() -> set[str]:
        found = [TableLog(p).properties() for p in paths]
        return {p[f"delta.{n}RetentionDuration"] for p in found for n in ("log", "deletedFile")}

    assert len(paths) > 1
    assert hours() == {"interval 168 hours"}
    lab.sql("ALTER DYNAMIC TABLE kept SET DATA_RETENTION_TIME_IN_DAYS = 30")
    assert hours() == {"interval 720 hours"}
    before = lab.version("kept")
    lab.sql("ALTER DYNAMIC TABLE kept SET COMMENT = 'as it is'")
    assert lab.version("kept") == before, "what is so already is not written again"
    lab.sql(f"CREATE OR ALTER DYNAMIC TABLE kept DATA_RETENTION_TIME_IN_DAYS = 2 AS {query}")
    assert hours() == {"interval 48 hours"}
    lab.sql("CREATE STREAM on_kept ON DYNAMIC TABLE kept")
    lab.sql("ALTER DYNAMIC TABLE kept SET DATA_RETENTION_TIME_IN_DAYS = 1")
    assert hours() == {"interval 336 hours"}, "as long as a stream needs it"
    lab.sql("DROP STREAM on_kept")
    lab.sql("ALTER DYNAMIC TABLE kept UNSET DATA_RETENTION_TIME_IN_DAYS")
    assert hours() == {"interval 168 hours"}
    lab.insert("rs", "2, 2")
    assert lab.refresh("kept") == "INCREMENTAL"
    lab.verified("kept")


# -- what keeps a table from being fresh -----------------------------------------------------------


def shown(lab: Lab, name: str) -> tuple[str, str | None]:
    """The scheduling state and its reason, as SHOW and the table function have them."""
    asked = ("SCHEDULING_STATE", "SCHEDULING_STATE_REASON")
    (row,) = lab.engine.sql(f"SHOW DYNAMIC TABLES LIKE '{name}'").select(*asked).collect()
    told = f"SELECT {', '.join(asked)} FROM TABLE(DYNAMIC_TABLES()) WHERE NAME = '{name}'"
    assert lab.sql(told) == [tuple(row)]
    return row[0], row[1]


def past(lab: Lab, name: str) -> list[tuple[str, str]]:
    """(STATE, STATE_CODE), newest first."""
    found = lab.engine.history(name).select("STATE", "STATE_CODE").collect()
    return [(r[0], r[1]) for r in found]


def test_a_suspended_warehouse_makes_a_manual_refresh_wait_and_says_so(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.sql("CREATE WAREHOUSE resting")
    lab.table("ws", "id INT, v INT", "1, 1")
    lab.dynamic_table("wa", "SELECT id, v + 1 AS v FROM ws", "WAREHOUSE = resting")
    lab.dynamic_table("wb", "SELECT id, v FROM wa")
    lab.sql("ALTER WAREHOUSE resting SUSPEND")
    assert str(shown(lab, "wa")[1]).startswith(
        "WAREHOUSE_SUSPENDED: Warehouse resting is suspended"
    )
    assert str(shown(lab, "wb")[1]).startswith("UPSTREAM_WAREHOUSE_SUSPENDED")
    assert lab.refresh("wb") == "NO_DATA", "what costs nothing runs even then"
    lab.insert("ws", "2, 2")
    before = lab.engine.table("wa").data_timestamp
    record = lab.record("wa")
    assert (record.state, record.action, record.error_code) == ("SKIPPED", None, "DT-2112")
    assert past(lab, "wa")[0] == ("SKIPPED", "WAREHOUSE_SUSPENDED")
    record = lab.record("wb")
    assert (record.state, record.error_code) == ("SKIPPED", "DT-2112")
    assert past(lab, "wb")[0] == ("SKIPPED", "UPSTREAM_SKIPPED")
    for name in ("wa", "wb"):
        with refused("DT-2112") as found:
            lab.sql(f"ALTER DYNAMIC TABLE {name} REFRESH")
        assert "ALTER WAREHOUSE resting RESUME" in str(found[0])
    assert lab.engine.table("wa").data_timestamp == before
    assert lab.engine.table("wa").error_count == 0
    assert any("WAREHOUSE_SUSPENDED" in w for w in lab.engine.status()["waiting"])
    names = lab.names()
    with refused("DT-2112"):
        lab.sql("CREATE DYNAMIC TABLE wc WAREHOUSE = resting AS SELECT id FROM ws")
    assert lab.names() == names
    lab.sql("CREATE DYNAMIC TABLE wc CLONE wa; DROP DYNAMIC TABLE wc")  # computes nothing
    lab.sql("ALTER WAREHOUSE resting RESUME")
    assert lab.refresh("wb") == "INCREMENTAL"
    assert shown(lab, "wa")[1] is None
    lab.verified("wa", "wb")


def test_a_warehouse_that_resumes_by_itself_does_so_for_rows_alone(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.sql("CREATE WAREHOUSE dozing AUTO_SUSPEND = 600 AUTO_RESUME = TRUE")
    lab.table("zs", "id INT, v INT", "1, 1")
    lab.sql("ALTER WAREHOUSE dozing SUSPEND")
    lab.dynamic_table("za", "SELECT id, v + 1 AS v FROM zs", "WAREHOUSE = dozing")
    assert state_of(lab, "dozing") == ("STARTED", 0, 600, True, "admin"), "it was filled"
    lab.sql("ALTER WAREHOUSE dozing SUSPEND")
    assert shown(lab, "za")[1] is None, "it waits for nobody"
    assert lab.refresh("za") == "NO_DATA"
    assert state_of(lab, "dozing")[0] == "SUSPENDED"
    lab.insert("zs", "2, 2")
    assert lab.refresh("za") == "INCREMENTAL"
    assert state_of(lab, "dozing")[0] == "STARTED"
    lab.verified("za")

    port = EnginePort(lab.context.graph)
    port.rest(())
    assert state_of(lab, "dozing")[0] == "STARTED", "it has just been used"
    lab.sql("ALTER WAREHOUSE dozing SET AUTO_SUSPEND = 0")
    port.rest(())
    assert state_of(lab, "dozing")[2] == 0
    lab.sql("ALTER WAREHOUSE dozing SUSPEND")
    lab.insert("zs", "3, 3")
    t = lab.context.clock.now()
    table = lab.engine.table("za")
    port.run(Start(table.id, t, Reason("METADATA_ONLY", ""), metadata_only=True))
    assert state_of(lab, "dozing")[0] == "SUSPENDED"
    port.run(Start(table.id, t, Reason("AUTO_RESUME", ""), resumes=True))
    assert state_of(lab, "dozing")[0] == "STARTED"
    assert lab.engine.records("za")[0].action == "INCREMENTAL"
    lab.verified("za")
    with refused("DT-1115") as found:
        lab.sql("DROP WAREHOUSE dozing")
    assert "dynamic table za" in str(found[0])


def state_of(lab: Lab, warehouse: str) -> tuple[object, ...]:
    columns = ("state", "queued", "auto_suspend", "auto_resume", "owner")
    (row,) = lab.engine.sql(f"SHOW WAREHOUSES LIKE '{warehouse}'").select(*columns).collect()
    return tuple(row)


def test_a_table_below_one_that_was_suspended_for_errors_says_why_it_is_stale(
    shared_lab: Lab,
) -> None:
    lab = shared_lab
    lab.table("es", "id INT, v INT", "1, 1")
    lab.dynamic_table("ea", "SELECT id, 10 / v AS v FROM es")
    lab.dynamic_table("eb", "SELECT id, v FROM ea")
    lab.dynamic_table("ec", "SELECT id, v FROM eb")
    lab.insert("es", "2, 0")
    engine = lab.engine
    port = EnginePort(engine.context.graph)
    for _ in range(5):
        t = engine.context.clock.now()
        port.run(Start(engine.table("ea").id, t, Reason("TICK", "")))
    assert shown(lab, "ea")[0] == "SUSPENDED"
    assert "TOO_MANY_FAILURES" in str(shown(lab, "ea")[1])
    for name, how in (("eb", "which it reads"), ("ec", "upstream of it")):
        state, reason = shown(lab, name)
        assert state == "ACTIVE"
        assert str(reason).startswith(f"UPSTREAM_SUSPENDED: ea, {how}, is suspended: 5 scheduled")
        assert "DIVIDE_BY_ZERO" in str(reason), "what it failed with"
        standing = [r for r in lab.sql(f"DESCRIBE DYNAMIC TABLE {name}") if r[2] == "STANDING"]
        assert [r[:3] for r in standing] == [("ACTIVE", "UPSTREAM_SUSPENDED", "STANDING")]
        assert f"{name}: {reason}" in engine.status()["waiting"]
    state = port.state()
    for hours in (2, 4, 6):
        for wait in decide(planned(state, {}), engine.context.clock.now().plus(3600 * hours)):
            if isinstance(wait, Wait) and wait.is_held:
                port.wait(wait)
    for name in ("eb", "ec"):
        assert past(lab, name)[:3] == [("SKIPPED", "UPSTREAM_SUSPENDED")] * 3
        told = engine.history(name).select("STATE_MESSAGE").collect()[:3]
        assert all("DIVIDE_BY_ZERO" in r[0] for r in told)
    seen = {str(n.name): n.obstacle for n in engine.graph().nodes}
    assert "TOO_MANY_FAILURES" in str(seen["ea"])
    assert all("DIVIDE_BY_ZERO" in str(seen[n]) for n in ("ea", "eb", "ec"))
    lab.sql("UPDATE es SET v = 5 WHERE v = 0")
    lab.sql("ALTER DYNAMIC TABLE ea RESUME")
    assert shown(lab, "ec")[1] is None
    assert lab.refresh("ec") == "INCREMENTAL"
    lab.sql("ALTER DYNAMIC TABLE ea SUSPEND")
    assert str(shown(lab, "ea")[1]).startswith("USER_SUSPENDED")
    assert "ALTER DYNAMIC TABLE" in str(shown(lab, "eb")[1])
    lab.sql("ALTER DYNAMIC TABLE ec SUSPEND")
    ((said,),) = lab.sql("ALTER DYNAMIC TABLE ea RESUME")
    assert said.endswith("resumed; eb downstream of it continue.")
    assert (shown(lab, "eb")[0], shown(lab, "ec")[0]) == ("ACTIVE", "SUSPENDED")


# -- words ----------------------------------------------------------------------------------------


def test_result_columns_are_named_by_the_functions(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("ns", "id INT", "1")
    lab.sql("CREATE STREAM named ON TABLE ns")
    has, last = "SYSTEM$STREAM_HAS_DATA('named')", "LAST_QUERY_ID()"
    for text, columns in {
        f"SELECT {has}": [has],
        f"SELECT {last}": [last],
        f"SELECT {last} AS x, {has} y": ["x", "y"],
        f"SELECT * FROM (SELECT {last}, 1 AS a) WHERE a = 1 AND {has} = false": [last, "a"],
        f"SELECT id, upper({last}) FROM ns AT (OFFSET => 0)": ["id", f"upper({last})"],
        f"WITH w AS (SELECT {last}) SELECT * FROM w": [last],
    }.items():
        assert lab.engine.sql(text).columns == columns, text
    lab.sql(f"CREATE TABLE noted AS SELECT {last} AS q")
    (row,) = lab.engine.sql("SHOW STREAMS LIKE 'named'").collect()
    assert row["TABLE_NAME"] == "spark_catalog.default.ns"
    assert row["BASE_TABLES"] == "spark_catalog.default.ns"


@pytest.mark.nightly
def test_verify_names_the_column_that_a_source_lost(shared_lab: Lab) -> None:
    lab = shared_lab
    for source in ("vs", "vr"):
        lab.table(source, "id INT, a INT, b INT", "1, 1, 1")
        lab.sql(f"ALTER TABLE {source} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.sql("CREATE VIEW vv AS SELECT id, a + b AS s FROM vs")
    lab.dynamic_table("v1", "SELECT id, a + b AS s FROM vs")
    lab.dynamic_table("v2", "SELECT g.id, sum(g.b) AS s FROM vs g JOIN vr USING (id) GROUP BY g.id")
    lab.dynamic_table("v3", "SELECT id, s FROM vv")
    lab.dynamic_table("v4", "SELECT id, a + b AS s FROM vs", "REFRESH_MODE = FULL")
    lab.dynamic_table("v5", "SELECT id, b FROM vr")
    lab.dynamic_table("v6", "SELECT * FROM vr")
    lab.sql("ALTER TABLE vs DROP COLUMN b")
    lab.sql("ALTER TABLE vr RENAME COLUMN b TO c")
    for name in ("v1", "v2", "v3", "v4", "v5"):
        verdict = lab.engine.verify(name)
        assert verdict.equal, "as it stood at its data timestamp"
        source = "vr" if name == "v5" else "vs"
        wanted = f"[DT-2116] Column b of {source}, used by {name}, no longer exists."
        assert verdict.note.startswith(wanted)
        assert str(verdict).endswith(verdict.note)
    assert "renamed to c" in verdict.note
    assert lab.engine.verify("v6").note == "", "it follows its source"
    for name in ("v1", "v4", "v5"):
        record = lab.record(name)
        assert (record.state, record.error_code) == ("FAILED", "DT-2116"), record
        with refused("DT-2116"):
            lab.engine.explain(name)
    assert past(lab, "v5")[0] == ("FAILED", "DT-2116")
    lab.sql("ALTER TABLE vr RENAME COLUMN c TO b")
    assert lab.engine.verify("v5").note == ""
    assert lab.record("v5").state == "SUCCEEDED"
    lab.verified("v5")


@pytest.mark.nightly
def test_a_rename_between_two_points_is_told_as_one(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("dr", "id INT, a INT", "1, 1")
    lab.sql("ALTER TABLE dr SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.sql("ALTER TABLE dr RENAME COLUMN a TO b")
    lab.insert("dr", "2, 2")
    found = lab.engine.diff("dr", 1, 4)
    assert (found.schema, found.inserted, found.deleted) == ("a → b", 1, 0)
    with lab.engine.replay("dr", 1, 4) as walk:
        assert [s.schema_change for s in walk if s.schema_change] == ["a → b"]


# -- two writers, and a process that has just begun -----------------------------------------------


def test_an_update_that_lost_against_another_writer_says_so(
    shared_lab: Lab, tmp_path: Path
) -> None:
    """The update stands still, its rows read, while another writer changes them."""
    from deltalake import DeltaTable

    lab, gate, gone = shared_lab, tmp_path / "gate", tmp_path / "gone"
    os.mkfifo(gate)
    lab.table("cf", "id INT, a INT", "1, 1")
    open_gate, let_go = str(gate), str(gone)

    def wait(value: int) -> int:
        if not os.path.exists(let_go):
            with open(open_gate) as held:
                held.read()
        return value + 1

    lab.spark.udf.register("stand_still", wait, "int")
    caught: list[BaseException] = []

    def update() -> None:
        try:
            lab.engine.sql("UPDATE cf SET a = stand_still(a)")
        except BaseException as e:
            caught.append(e)

    thread = InheritableThread(target=update)
    thread.start()
    with open(gate, "w"):
        DeltaTable(lab.context.layout.tables / "cf").update(updates={"a": "a + 10"})
        gone.touch()
    thread.join()
    (e,) = caught
    assert isinstance(e, DTError), e
    assert e.code == "DT-1121"
    assert e.sentence.startswith("UPDATE on ")
    assert "conflicts with a concurrent write" in e.sentence
    assert lab.rows("cf") == [(1, 11)]
    lab.sql("UPDATE cf SET a = a + 1")
    assert lab.rows("cf") == [(1, 12)]


COLD = """
import sys
import dt_jupyter
dt = dt_jupyter.connect(sys.argv[1], scheduler=False)
dt.sql("CREATE TABLE s (id INT, g INT, v INT)")
dt.sql("INSERT INTO s SELECT id, id % 20, id FROM range(2000)")
dt.sql("CREATE DYNAMIC TABLE d AS SELECT g, sum(v) AS s, count(*) AS n FROM s GROUP BY g")
for i in range(16):
    dt.sql(f"INSERT INTO s VALUES ({i}, {i}, 1)")
    print("action", dt.refresh("d").action.value)
dt.close()
"""


@pytest.mark.nightly
def test_the_first_refreshes_of_a_cold_process_are_all_incremental(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", COLD, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    actions = [x.split()[1] for x in found.stdout.splitlines() if x.startswith("action")]
    assert actions == ["INCREMENTAL"] * 16
