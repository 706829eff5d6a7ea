"""CHANGES and snapshots in statements: where they may stand, between which points, whose writes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.model import Name
from dt_jupyter.spark.relations import lookup
from dt_jupyter.sql.grammar.statement_values import PointKind, TimePoint
from tests.spark.change_rows import KEYED, TRACKED, changes
from tests.spark.engine_lab import Lab, refused


def test_changes_and_snapshots_stand_where_relations_do(lab: Lab) -> None:
    lab.table("people", "id INT, name STRING", "1, 'Jeff'", "2, 'Donny'")
    lab.dynamic_table("named", "SELECT id, name FROM people WHERE name IS NOT NULL")
    lab.sql("CREATE VIEW everyone AS SELECT * FROM people")
    before = lab.context.clock.now().datetime
    lab.sql("UPDATE people SET name = 'Jeffrey' WHERE id = 1")
    lab.insert("people", "3, NULL")
    lab.refresh("named")
    found = "people CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1) END (VERSION => 2)"
    assert sorted(lab.sql(f"SELECT id, name, $ACTION FROM {found}")) == [
        (1, "Jeff", "DELETE"),
        (1, "Jeffrey", "INSERT"),
    ]
    assert lab.sql(
        f"SELECT count(*) FROM {found} c JOIN people p ON p.id = c.id WHERE c.$ACTION = 'INSERT'"
    ) == [(1,)]
    assert lab.sql(f"WITH d AS (SELECT people.name AS n FROM {found}) SELECT max(n) FROM d") == [
        ("Jeffrey",)
    ]
    lab.sql(f"CREATE TABLE kept AS SELECT id, `$ACTION` AS action FROM {found}")
    lab.sql(f"INSERT INTO kept SELECT id, $ACTION FROM {found} WHERE $ACTION = 'DELETE'")
    assert lab.rows("kept") == [(1, "DELETE"), (1, "DELETE"), (1, "INSERT")]
    for name, rows in (
        ("people", [(1, "Jeff"), (2, "Donny")]),
        ("everyone", [(1, "Jeff"), (2, "Donny")]),
        ("named", [(1, "Jeff"), (2, "Donny")]),
    ):
        assert sorted(lab.sql(f"SELECT * FROM {name} AT (TIMESTAMP => '{before}')")) == rows, name
    assert lab.sql("SELECT count(*) FROM people BEFORE (VERSION => 2)") == [(2,)]
    assert lab.sql("SELECT count(*) FROM named AT (OFFSET => 0)") == [(2,)]
    assert lab.sql("SELECT count(*) FROM (SELECT id FROM people) AT (VERSION => 0) e") == [(0,)]
    assert lab.engine.sql("SELECT count(*) FROM people AT (VERSION => :v)", {"v": 1}).collect() == [
        (2,)
    ]
    assert not {name for name in lab.names()[1] if name.startswith("__dt_")}
    with refused("DT-3107"):
        lab.sql(f"CREATE VIEW frozen AS SELECT * FROM {found}")
    with refused("DT-1003"):
        lab.sql("SELECT * FROM people AT (TIMESTAMP => 'noon')")
    with refused("DT-1003"):
        lab.sql("SELECT * FROM people AT (VERSION => NULL)")
    with refused("DT-1005"):
        lab.dynamic_table("d", f"SELECT id FROM {found}")


def test_an_offset_counts_back_from_now(quick_lab: Lab) -> None:
    lab, engine = quick_lab, quick_lab.engine
    lab.table("people", "id INT", "1")
    lab.dynamic_table("named", "SELECT id FROM people")
    for text in (
        "SELECT * FROM people AT (OFFSET => 60)",
        "SELECT * FROM named BEFORE (OFFSET => 0.5D)",
        "SELECT * FROM people AT (OFFSET => 30 + 30)",
        "SELECT * FROM people AT (OFFSET => CAST('NaN' AS DOUBLE))",
        "SELECT * FROM people CHANGES AT (OFFSET => 60)",
        "SELECT * FROM people CHANGES AT (VERSION => 0) END (OFFSET => 1)",
        "CREATE STREAM s ON TABLE people AT (OFFSET => 60)",
        "CREATE DYNAMIC TABLE c CLONE named AT (OFFSET => 60)",
    ):
        with refused("DT-1003") as errors:
            lab.sql(text)
        assert "counts back" in str(errors[0]), text
    for ask in (
        lambda at: engine.changes("people", at=at),
        lambda at: engine.replay("people", at=at),
        lambda at: engine.pin("kept", "people", at=at),
    ):
        with refused("DT-1003"):
            ask(timedelta(minutes=1))
    with refused("DT-4101"):  # a day ago there was no table
        lab.sql("SELECT * FROM people AT (OFFSET => -86400)")
    assert engine.changes("people", at=timedelta(0)).count() == 0
    assert lab.sql("SELECT id FROM people AT (OFFSET => -0)") == [(1,)]


def test_errors_of_streams_name_what_is_missing(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("people", "id INT", "1")
    with refused("DT-4103") as errors:
        lab.sql("CREATE STREAM s ON TABLE people BEFORE (STATEMENT => 'nope')")
    assert errors[0].facts["name"] == "people"
    lab.sql("CREATE STREAM s ON TABLE people")
    with refused("DT-1101") as errors:
        lab.sql("INSERT INTO peopel SELECT id FROM s")
    assert "people" in str(errors[0].hint)


def test_the_points_of_statements(quick_lab: Lab) -> None:
    """AT has what a statement did, BEFORE has not."""
    lab, engine = quick_lab, quick_lab.engine
    assert engine.last_query_id is None
    assert lab.sql("SELECT LAST_QUERY_ID()") == [(None,)]
    lab.sql(f"CREATE TABLE people (id INT, name STRING) {KEYED}")
    lab.insert("people", "1, 'Jeff'", "2, 'Donny'")
    lab.sql("UPDATE people SET name = 'Jeffrey' WHERE id = 1")
    updated = engine.last_query_id
    assert lab.sql("SELECT id, LAST_QUERY_ID() FROM people AT (VERSION => 0)") == []
    assert lab.sql("SELECT LAST_QUERY_ID()") == [(updated,)]
    lab.sql("DELETE FROM people WHERE id = 2; OPTIMIZE people")

    def names(point: str) -> list[Any]:
        return sorted(r[0] for r in lab.sql(f"SELECT name FROM people {point}"))

    assert names(f"AT (STATEMENT => '{updated}')") == ["Donny", "Jeffrey"]
    assert names(f"BEFORE (STATEMENT => '{updated}')") == ["Donny", "Jeff"]
    assert names("AT (STATEMENT => LAST_QUERY_ID())") == ["Jeffrey"]
    assert names("BEFORE (STATEMENT => LAST_QUERY_ID())") == ["Donny", "Jeffrey"]
    point = TimePoint(PointKind.STATEMENT, f"'{updated}'")
    gone = engine.change_rows("people", point).frame.collect()
    assert [tuple(r)[:-1] for r in gone] == [(2, "Donny", "DELETE", False)]
    for value, code in (("'nobody'", "DT-4103"), ("NULL", "DT-1003")):
        with refused(code):
            names(f"AT (STATEMENT => {value})")


@pytest.mark.nightly
def test_what_a_statement_did_to_a_view(quick_lab: Lab) -> None:
    """The tables that it did not write stand at its time."""
    lab = quick_lab
    lab.sql(f"CREATE TABLE people (id INT, name STRING) {KEYED}")
    lab.sql("CREATE TABLE pets (oid INT, id INT) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.sql("CREATE VIEW owned AS SELECT name, pets.id FROM people JOIN pets ON oid = people.id")
    lab.insert("people", "1, 'Jeff'")
    lab.insert("pets", "1, 7")
    lab.sql("UPDATE people SET name = 'Jeffrey' WHERE id = 1")
    updated = lab.engine.last_query_id
    lab.insert("pets", "1, 8")
    did = f"BEFORE (STATEMENT => '{updated}') END (STATEMENT => '{updated}')"
    assert sorted(lab.sql(f"SELECT name, id, $ACTION, $ISUPDATE FROM owned CHANGES {did}")) == [
        ("Jeff", 7, "DELETE", True),
        ("Jeffrey", 7, "INSERT", True),
    ]
    lab.sql(f"CREATE STREAM s ON VIEW owned AT (STATEMENT => '{updated}')")
    assert lab.sql("SELECT name, id FROM s") == [("Jeffrey", 8)]
    with refused("DT-4103"):
        lab.sql(f"SELECT * FROM pets AT (STATEMENT => '{updated}')")


def mark(lab: Lab) -> Any:
    """What the newest commit of `t` carries."""
    relation = lookup(lab.spark, Name("default", "t"))
    assert relation is not None
    assert relation.location is not None
    log = TableLog(relation.location)
    return log.user_metadata(log.version())


@pytest.mark.nightly
def test_marks_are_of_the_statement_alone(quick_lab: Lab) -> None:
    """Its commit has its id and the stream's intent; what the user says of commits stays."""
    lab, conf = quick_lab, "spark.databricks.delta.commitInfo.userMetadata"
    lab.sql("CREATE TABLE src (id INT); CREATE TABLE t (id INT); CREATE STREAM s ON TABLE src")
    lab.insert("src", "1")
    lab.sql("INSERT INTO t SELECT id FROM s")
    found = json.loads(mark(lab))
    assert found.keys() == {"statement", "intent", "reads"}
    assert found["statement"] == lab.engine.last_query_id
    assert lab.spark.conf.get(conf, None) is None
    last = lab.engine.last_query_id
    with refused("DT-1112"):
        lab.sql("INSERT INTO t SELECT nothing FROM src")
    assert lab.engine.last_query_id == last
    lab.spark.sql("INSERT INTO t VALUES (5)")
    assert mark(lab) is None
    lab.spark.conf.set(conf, "release 7")
    lab.insert("t", "2")
    assert json.loads(mark(lab)) == {"user": "release 7", "statement": lab.engine.last_query_id}
    assert lab.spark.conf.get(conf) == "release 7"
    lab.spark.conf.unset(conf)


WRITES = {
    "INSERT INTO t VALUES (3, 30)": [(1, 10), (2, 20), (3, 30)],
    "UPDATE t SET v = v + 1 WHERE id = 1": [(1, 11), (2, 20), (3, 30)],
    "MERGE INTO t USING src s ON t.id = s.id WHEN MATCHED THEN DELETE "
    "WHEN NOT MATCHED THEN INSERT *": [(2, 20), (3, 30), (9, 90)],
    "DELETE FROM t WHERE id = 2": [(3, 30), (9, 90)],
    "DELETE FROM t WHERE id IN (SELECT id FROM src)": [(3, 30)],
    "INSERT OVERWRITE t VALUES (4, 40), (5, 50)": [(4, 40), (5, 50)],
    "RESTORE TABLE t TO VERSION AS OF 1": [(1, 10), (2, 20)],
    "TRUNCATE TABLE t": [],
    "CREATE OR REPLACE TABLE t AS SELECT 6 AS id, 60 AS v": [(6, 60)],
}
"""Whatever writes rows, and what it leaves."""


@pytest.mark.nightly
def test_whatever_writes_rows_has_an_id(quick_lab: Lab) -> None:
    """By which the table is read as the statement left it, and as it was just before."""
    lab, lefts = quick_lab, [[(1, 10), (2, 20)], *WRITES.values()]
    lab.sql("CREATE TABLE src (id INT, v INT); INSERT INTO src VALUES (1, 10), (9, 90)")
    lab.sql("CREATE TABLE t (id INT, v INT); INSERT INTO t VALUES (1, 10), (2, 20)")
    reads: list[str] = []
    wanted: list[tuple[int, str, int, int]] = []
    for step, statement in enumerate(WRITES):
        lab.sql(statement)
        known = lab.engine.last_query_id
        assert json.loads(mark(lab)) == {"statement": known}, statement
        for point, rows in (("BEFORE", lefts[step]), ("AT", lefts[step + 1])):
            chosen = f"FROM t {point} (STATEMENT => '{known}')"
            reads.append(f"SELECT {step} AS step, '{point}' AS point, id, v {chosen}")
            wanted += [(step, point, *row) for row in rows]
    assert sorted(lab.sql(" UNION ALL ".join(reads))) == sorted(wanted)


def test_a_refresh_is_a_statement_of_its_dynamic_table(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, k STRING", "1, 'a'")
    lab.dynamic_table("counts", "SELECT k, count(*) AS n FROM item GROUP BY k")
    lab.insert("item", "2, 'a'")
    inserted = lab.engine.last_query_id
    query_id = lab.record("counts").query_id
    lab.insert("item", "3, 'a'")
    lab.refresh("counts")
    assert lab.engine.last_query_id not in (inserted, query_id)
    assert lab.sql(f"SELECT n FROM counts AT (STATEMENT => '{query_id}')") == [(2,)]
    assert lab.sql(f"SELECT n FROM counts BEFORE (STATEMENT => '{query_id}')") == [(1,)]
    with refused("DT-4103"):
        lab.sql(f"SELECT n FROM counts AT (STATEMENT => '{inserted}')")


def test_bare_changes_are_all_that_is_kept(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(f"CREATE TABLE t (id INT) {KEYED}")
    lab.insert("t", "1", "2")
    lab.sql("DELETE FROM t WHERE id = 1")
    assert lab.sql("SELECT id, $ACTION FROM t CHANGES") == [(2, "INSERT")]
    assert lab.sql("SELECT c.id, c.$ACTION FROM t CHANGES c") == [(2, "INSERT")]
    assert lab.sql("SELECT changes.id FROM t changes") == [(2,)]


@pytest.mark.nightly
def test_columns_are_those_of_the_end(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.insert("t", "1, 1")
    lab.sql("ALTER TABLE t RENAME COLUMN v TO w")
    lab.insert("t", "2, 2")
    assert changes(lab, "t", 0) == [(1, 1, "INSERT", False), (2, 2, "INSERT", False)]
    lab.sql("ALTER TABLE t ADD COLUMN x STRING")
    lab.insert("t", "3, 3, 'x'")
    assert changes(lab, "t", 2) == [(2, 2, None, "INSERT", False), (3, 3, "x", "INSERT", False)]


def test_an_interval_that_cannot_be_read_is_no_empty_one(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql("CREATE TABLE t (id INT)")
    lab.insert("t", "1")
    lab.sql("CREATE OR REPLACE TABLE t (id INT)")
    with refused("DT-3103"):
        lab.engine.changes("t", 1)
    lab.insert("t", "2")
    assert changes(lab, "t", 2) == [(2, "INSERT", False)]


BAD = [
    ("people", 2, 1, "DT-3101"),
    ("people", 99, None, "DT-4102"),
    ("people", "2999-01-01", None, "DT-4102"),
    ("people", "1999-01-01", None, "DT-4101"),
    ("nowhere", None, None, "DT-1101"),
    ("plain", None, None, "DT-3106"),
]


def test_bad_intervals_have_codes(lab: Lab) -> None:
    lab.sql(f"CREATE TABLE people (id INT, name STRING) {TRACKED}")
    lab.insert("people", "1, 'Jeff'")
    lab.insert("people", "2, 'Donny'")
    lab.sql("CREATE VIEW counted AS SELECT count(*) AS n FROM people")
    lab.spark.range(3).write.format("parquet").saveAsTable("plain")
    for name, at, end, code in BAD:
        with refused(code):
            lab.engine.changes(name, at, end)
    with refused("DT-3105"):
        lab.engine.changes("counted", append_only=True)
