"""CHANGES of tables, dynamic tables and views, first as the paper lists them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from dt_jupyter.streams.change_reader import Shape
from tests.cases import nightly, some
from tests.spark.change_rows import KEYED, TRACKED, Row, changes, ids, version
from tests.spark.engine_lab import Lab, refused

START = 1
"""The version of `people` that the listings start at."""


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


@pytest.mark.parametrize("properties", some(1, [TRACKED, KEYED]))
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


@pytest.mark.parametrize("properties", [TRACKED, nightly(KEYED)])
def test_rows_as_first_inserted(people: Lab) -> None:
    """Listing 4: whatever became of them."""
    assert changes(people, "people", START, append_only=True) == [
        (3, "Walter", "INSERT", False),
        (4, "Maud", "INSERT", False),
        (5, "Uli", "INSERT", False),
    ]


@pytest.mark.parametrize("properties", [TRACKED, nightly(KEYED)])
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


@pytest.mark.nightly
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


@pytest.mark.parametrize("properties", some(1, [TRACKED, KEYED]))
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


@pytest.mark.parametrize("properties", [nightly(TRACKED)])
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


@pytest.mark.nightly
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


@pytest.mark.nightly
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
