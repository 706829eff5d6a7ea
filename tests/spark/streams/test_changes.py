"""CHANGES of tables, dynamic tables and views, first as the paper lists them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.model import Name
from dt_jupyter.spark.relations import lookup
from dt_jupyter.sql.grammar.statement_values import PointKind, TimePoint
from dt_jupyter.streams.change_reader import Shape
from tests.spark.engine_lab import Lab, refused

TRACKED = "TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
KEYED = "TBLPROPERTIES ('dt.primaryKey' = 'id')"
START = 1
"""The version of `people` that the listings start at."""
Row = tuple[Any, ...]


def version(lab: Lab, table: str) -> int:
    return int(lab.sql(f"DESCRIBE HISTORY {table} LIMIT 1")[0][0])


def changes(lab: Lab, name: str, at: Any = None, **options: Any) -> list[Row]:
    """The rows without their ids, in order."""
    frame = lab.engine.changes(name, at, **options)
    assert frame.columns[-3:] == ["$ACTION", "$ISUPDATE", "$ROW_ID"]
    return sorted((tuple(r)[:-1] for r in frame.collect()), key=repr)


def ids(lab: Lab, name: str, at: Any = None) -> dict[Row, str]:
    return {tuple(r)[:-1]: r["$ROW_ID"] for r in lab.engine.changes(name, at).collect()}


@pytest.fixture
def people(quick_lab: Lab, properties: str) -> Lab:
    """Listings 1 and 2: two rows, and then what was done to them after START."""
    lab = quick_lab
    lab.sql(f"CREATE TABLE people (id INT, name STRING) {properties}")
    lab.insert("people", "1, 'Jeff'", "2, 'Donny'")
    assert version(lab, "people") == START
    lab.insert("people", "3, 'Walter'", "4, 'Maud'", "5, 'Uli'")
    lab.sql("UPDATE people SET name = 'Jeffrey' WHERE id = 1")
    lab.sql("UPDATE people SET name = 'Maude' WHERE id = 4")
    lab.sql("DELETE FROM people WHERE id IN (2, 5)")
    return lab


@pytest.mark.parametrize("properties", [TRACKED, KEYED])
def test_the_minimum_delta_of_a_table(people: Lab, properties: str) -> None:
    """Listing 5: Maud and Maude are one INSERT, Uli is not there."""
    assert changes(people, "people", START) == [
        (1, "Jeff", "DELETE", True),
        (1, "Jeffrey", "INSERT", True),
        (2, "Donny", "DELETE", False),
        (3, "Walter", "INSERT", False),
        (4, "Maude", "INSERT", False),
    ]
    found = ids(people, "people", START)
    assert found[(1, "Jeff", "DELETE", True)] == found[(1, "Jeffrey", "INSERT", True)]
    assert len(set(found.values())) == 4


@pytest.mark.parametrize("properties", [""])
def test_a_table_without_ids_is_told_apart_by_its_contents(people: Lab) -> None:
    rows = people.engine.change_rows("people", START)
    assert sorted(tuple(r)[:-1] for r in rows.frame.collect()) == [
        (1, "Jeff", "DELETE", False),
        (1, "Jeffrey", "INSERT", False),
        (2, "Donny", "DELETE", False),
        (3, "Walter", "INSERT", False),
        (4, "Maude", "INSERT", False),
    ]
    assert "no row ids" in rows.query.notes[0]


@pytest.mark.parametrize("properties", [TRACKED, KEYED])
def test_rows_as_first_inserted(people: Lab) -> None:
    """Listing 4: whatever became of them."""
    assert changes(people, "people", START, append_only=True) == [
        (3, "Walter", "INSERT", False),
        (4, "Maud", "INSERT", False),
        (5, "Uli", "INSERT", False),
    ]


@pytest.mark.parametrize("properties", [TRACKED, KEYED])
def test_the_redo_log_has_every_change(people: Lab) -> None:
    """Listing 3, in the order of commits."""
    frame = people.engine.sql(
        f"SELECT * FROM people CHANGES (INFORMATION => REDO) AT (VERSION => {START})"
    )
    assert frame.columns[-2:] == ["_commit_version", "_commit_timestamp"]
    rows = frame.collect()
    assert sorted((r["_commit_version"], *tuple(r)[:4]) for r in rows) == [
        (2, 3, "Walter", "INSERT", False),
        (2, 4, "Maud", "INSERT", False),
        (2, 5, "Uli", "INSERT", False),
        (3, 1, "Jeff", "DELETE", True),
        (3, 1, "Jeffrey", "INSERT", True),
        (4, 4, "Maud", "DELETE", True),
        (4, 4, "Maude", "INSERT", True),
        (5, 2, "Donny", "DELETE", False),
        (5, 5, "Uli", "DELETE", False),
    ]
    assert len({r["$ROW_ID"] for r in rows}) == 5
    people.sql("CREATE VIEW v AS SELECT * FROM people")
    with refused("DT-3107"):
        people.sql("SELECT * FROM v CHANGES (INFORMATION => REDO)")


@pytest.mark.parametrize("properties", [TRACKED])
def test_ids_outlive_what_is_done_to_files(people: Lab) -> None:
    before = ids(people, "people", START)
    people.sql("OPTIMIZE people")
    assert ids(people, "people", START) == before


@pytest.fixture
def owners(quick_lab: Lab, properties: str) -> Lab:
    """Listings 6 and 7: people, items, and the view that joins them."""
    lab = quick_lab
    lab.sql(f"CREATE TABLE people (id INT, name STRING) {properties}")
    lab.sql(f"CREATE TABLE items (id INT, oid INT, item STRING, desc STRING) {properties}")
    lab.insert("people", "1, 'Jeffrey'", "2, 'Donny'", "3, 'Walter'", "4, 'Maude'")
    lab.insert(
        "items",
        "11, 2, 'Ball', 'Bowling'",
        "12, 2, 'Surfboard', 'Yater'",
        "13, 1, 'Car', '1973'",
        "14, 1, 'Rug', 'Classic'",
        "15, 4, 'Autobahn', 'LP'",
    )
    lab.sql(
        "CREATE VIEW owner_and_items AS "
        "SELECT name, item FROM people INNER JOIN items ON people.id = items.oid"
    )
    return lab


def change_items(lab: Lab) -> None:
    """Listing 8."""
    lab.sql("UPDATE items SET item = 'Ford' WHERE id = 13")
    lab.sql("UPDATE items SET oid = 4 WHERE id = 14")
    lab.sql("UPDATE items SET desc = 'Techno' WHERE id = 15")
    lab.sql("DELETE FROM people WHERE id = 2")


@pytest.mark.parametrize("properties", [TRACKED, KEYED])
def test_the_changes_of_a_join(owners: Lab) -> None:
    """Listing 8: an update, one that becomes a DELETE and an INSERT, one of a column that the
    view has not, and a deletion on the side of the dimension."""
    before = owners.context.clock.now().datetime
    change_items(owners)
    assert changes(owners, "owner_and_items", before) == [
        ("Donny", "Ball", "DELETE", False),
        ("Donny", "Surfboard", "DELETE", False),
        ("Jeffrey", "Car", "DELETE", True),
        ("Jeffrey", "Ford", "INSERT", True),
        ("Jeffrey", "Rug", "DELETE", False),
        ("Maude", "Rug", "INSERT", False),
    ]
    found = ids(owners, "owner_and_items", before)
    assert len(set(found.values())) == 5


VIEWS = {
    "left_join": "SELECT p.name, i.item FROM people p LEFT JOIN items i ON p.id = i.oid",
    "full_join": "SELECT p.name, i.item FROM people p FULL JOIN items i ON p.id = i.oid",
    "semi_join": "SELECT name FROM people p WHERE EXISTS "
    "(SELECT 1 FROM items i WHERE i.oid = p.id)",
    "grouped": "SELECT oid, count(*) AS n, max(item) AS last FROM items GROUP BY oid",
    "nested": "SELECT p.name, g.n FROM people p JOIN "
    "(SELECT oid, count(*) AS n FROM items GROUP BY oid) g ON g.oid = p.id",
    "total": "SELECT count(*) AS n FROM items",
    "ranked": "SELECT name, item, row_number() OVER (PARTITION BY p.id ORDER BY item) AS r "
    "FROM people p JOIN items i ON p.id = i.oid",
    "united": "SELECT id, item FROM items WHERE oid = 1 UNION ALL "
    "SELECT id, item FROM items WHERE oid = 4",
    "distinct_owners": "SELECT DISTINCT oid FROM items",
    "exploded": "SELECT id, word FROM items LATERAL VIEW explode(split(desc, 'o')) w AS word",
    "top": "SELECT id, item FROM items ORDER BY item LIMIT 2",
}


@pytest.mark.parametrize("properties", [TRACKED])
def test_the_changes_of_views_lead_from_the_old_rows_to_the_new(owners: Lab) -> None:
    old: dict[str, list[Row]] = {}
    for name, text in VIEWS.items():
        owners.sql(f"CREATE VIEW {name} AS {text}")
        old[name] = owners.rows(name)
    before = owners.context.clock.now().datetime
    change_items(owners)
    owners.sql("INSERT INTO items VALUES (16, 9, 'Rug', 'Otto'), (17, 3, 'Gun', NULL)")
    for name in VIEWS:
        found = owners.engine.changes(name, before).collect()
        assert applied(old[name], found) == sorted(map(repr, owners.rows(name))), name
        of_action = [(r["$ROW_ID"], r["$ACTION"]) for r in found]
        assert len(set(of_action)) == len(of_action), name
        updated = {
            i for i, a in of_action if (i, "DELETE" if a == "INSERT" else "INSERT") in of_action
        }
        assert {r["$ROW_ID"] for r in found if r["$ISUPDATE"]} == updated, name


def applied(rows: Sequence[Row], found: Sequence[Any]) -> list[str]:
    """The rows, as texts (NaN is equal to itself there, and −0.0 not to 0.0), after a change."""
    left = Counter(map(repr, rows))
    for action, sign in (("DELETE", -1), ("INSERT", 1)):
        for row in found:
            if row["$ACTION"] == action:
                left[repr(tuple(row)[:-3])] += sign
    assert min(left.values(), default=0) >= 0, left
    return sorted(left.elements())


@pytest.mark.parametrize("properties", [TRACKED])
def test_branches_that_share_rows_are_refused(owners: Lab) -> None:
    owners.sql("CREATE VIEW twice AS SELECT id FROM items UNION ALL SELECT id FROM items")
    with refused("DT-3102") as errors:
        owners.engine.changes("twice")
    assert errors[0].facts["reason"] == "OVERLAPPING_IDS"


def test_the_changes_of_a_dynamic_table(quick_lab: Lab) -> None:
    """Its ids are the keys of its groups, or those that it keeps of its rows."""
    lab = quick_lab
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'a'", "3, 'b'")
    lab.dynamic_table("sums", "SELECT k, count(*) AS n FROM item GROUP BY k")
    lab.dynamic_table("rows", "SELECT id, k FROM item WHERE id < 9")
    before = lab.context.clock.now().datetime
    lab.insert("item", "4, 'a'", "5, 'c'")
    lab.sql("DELETE FROM item WHERE id = 3")
    for name in ("sums", "rows"):
        assert lab.refresh(name) == "INCREMENTAL"
    assert changes(lab, "sums", before) == [
        ("a", 2, "DELETE", True),
        ("a", 3, "INSERT", True),
        ("b", 1, "DELETE", False),
        ("c", 1, "INSERT", False),
    ]
    assert changes(lab, "rows", before) == [
        (3, "b", "DELETE", False),
        (4, "a", "INSERT", False),
        (5, "c", "INSERT", False),
    ]


@pytest.mark.parametrize("properties", [TRACKED])
def test_the_shape_of_the_plan_follows_the_log(people: Lab) -> None:
    def shape(at: int, end: int) -> Shape:
        return people.engine.change_rows("people", at, end).query.shape

    newest = version(people, "people")
    assert shape(START, START + 1) is Shape.ADDED_ONLY
    assert shape(START, newest) is Shape.MINIMIZE
    assert shape(newest, newest) is Shape.EMPTY
    people.sql("DELETE FROM people")
    assert shape(newest, newest + 1) is Shape.REMOVED_ONLY


def plan_of(lab: Lab, query: str) -> list[str]:
    frame = lab.engine.sql(f"EXPLAIN {query}")
    assert frame.columns == ["plan"]
    ((text,),) = frame.collect()
    assert "== Physical Plan ==" in text
    return str(text).splitlines()


@pytest.mark.parametrize("properties", [TRACKED])
def test_a_plan_says_first_how_changes_are_found(people: Lab) -> None:
    newest = version(people, "people")

    def shape(start: int, end: int, information: str = "DEFAULT") -> list[str]:
        asked = f"(INFORMATION => {information}) AT (VERSION => {start}) END (VERSION => {end})"
        head, told, base, empty, *_ = plan_of(people, f"SELECT id FROM people CHANGES {asked} c")
        assert (head, empty) == ("== Changes ==", "")
        assert base == f"  people: version {start} → {end}, ids from row tracking"
        name, _, kind = told.partition(": ")
        assert name == "changes of people"
        return kind.split(" ", 1)

    assert shape(START, START + 1) == [
        "ADDED_ONLY",
        "(rows were only inserted)",
    ]
    assert shape(START, newest)[0] == "MINIMIZE"
    assert shape(START, newest, "APPEND_ONLY")[0] == "ADDED_ONLY"
    assert shape(START, newest, "REDO")[0] == "REDO"
    assert shape(newest, newest) == ["EMPTY", "(no changes, nothing is read)"]
    people.sql("DELETE FROM people")
    assert shape(newest, newest + 1)[0] == "REMOVED_ONLY"
    assert plan_of(people, "SELECT * FROM people")[0] == "== Physical Plan =="


def test_a_plan_says_what_a_stream_reads_and_moves_none(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(f"CREATE TABLE a (id INT) {KEYED}; CREATE TABLE b (k INT); CREATE TABLE t (id INT)")
    lab.sql("CREATE STREAM s ON TABLE a; CREATE STREAM n ON TABLE a SHOW_INITIAL_ROWS = TRUE")
    assert version(lab, "a") == 1  # its past is kept longer for the stream
    lab.insert("a", "1")
    plan = plan_of(lab, "INSERT INTO t SELECT s.id FROM s JOIN n ON n.id = s.id, b CHANGES")
    assert plan[:8] == [
        "== Changes ==",
        "changes of b: EMPTY (no changes, nothing is read)",
        "  b: version 0 → 0, ids from the values of the rows",
        "stream s on a: ADDED_ONLY (rows were only inserted)",
        "  a: version 1 → 2, ids from a declared key (id)",
        "stream n on a: INITIAL_ROWS (all rows at the end, as inserts)",
        "  a: all of version 2, ids from a declared key (id)",
        "",
    ]
    assert lab.rows("t") == []
    assert lab.sql("SELECT id FROM s") == [(1,)]


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


def test_marks_are_of_the_statement_alone(quick_lab: Lab) -> None:
    """Its commit has its id and the stream's intent; what the user says of commits stays."""
    lab, conf = quick_lab, "spark.databricks.delta.commitInfo.userMetadata"
    lab.sql("CREATE TABLE src (id INT); CREATE TABLE t (id INT); CREATE STREAM s ON TABLE src")
    lab.insert("src", "1")
    lab.sql("INSERT INTO t SELECT id FROM s")
    found = json.loads(mark(lab))
    assert found.keys() == {"statement", "intent"}
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
