"""A declared key is a promise: where it is broken, changes are refused and never wrong."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from dt_jupyter.dispatch.spark_errors import error_message
from dt_jupyter.failures.key_errors import find_broken_key
from dt_jupyter.model import DTError
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sources.declared_keys import require_key, surely_unique
from dt_jupyter.sources.row_identity import By, Identity
from tests.cases import some
from tests.spark.engine_lab import Lab, refused

KEYED = "TBLPROPERTIES ('dt.primaryKey' = 'id')"
NO_FEED = "TBLPROPERTIES ('dt.primaryKey' = 'id', 'delta.enableChangeDataFeed' = 'false')"
OTHER_FILES = "TBLPROPERTIES ('dt.primaryKey' = 'id', 'delta.enableDeletionVectors' = 'false')"


@pytest.fixture
def keyed(quick_lab: Lab) -> Lab:
    quick_lab.sql(f"CREATE TABLE t (id INT, v STRING) {KEYED}")
    quick_lab.insert("t", "1, 'a'", "2, 'b'")
    return quick_lab


def rows(lab: Lab, name: str, at: Any = 1, **options: Any) -> list[tuple[Any, ...]]:
    frame = lab.engine.changes(name, at, **options)
    return sorted((tuple(r)[:4] for r in frame.collect()), key=repr)


@pytest.mark.parametrize("properties", [NO_FEED, OTHER_FILES])
def test_two_inserts_of_one_key_are_refused_however_they_are_read(
    quick_lab: Lab, properties: str
) -> None:
    quick_lab.sql(f"CREATE TABLE t (id INT, v STRING) {properties}")
    quick_lab.insert("t", "7, 'x'")
    quick_lab.sql("UPDATE t SET v = 'z'; INSERT INTO t VALUES (7, 'y')")
    with refused("DT-3108"):
        quick_lab.engine.changes("t", 1)


def test_two_inserts_of_one_key_are_refused_with_an_example(keyed: Lab) -> None:
    lab = keyed
    lab.sql("CREATE TABLE kept (id INT, v STRING); CREATE VIEW w AS SELECT v, id FROM t")
    lab.sql("CREATE STREAM s ON TABLE t")
    lab.insert("t", "7, 'x'")
    lab.insert("t", "7, 'y'")
    with refused("DT-3108") as errors:
        lab.engine.changes("t", 1)
    assert errors[0].facts == {"keys": "id of t", "example": "id = 7 has 2 rows"}
    for statement in (
        "SELECT * FROM t CHANGES AT (VERSION => 1)",
        "SELECT * FROM w CHANGES AT (VERSION => 1)",
        "SELECT * FROM s",
        "INSERT INTO kept SELECT id, v FROM s",
    ):
        with refused("DT-3108"):
            lab.sql(statement)
    assert lab.rows("kept") == []
    lab.sql("DELETE FROM t WHERE id = 7 AND v = 'x'")
    assert rows(lab, "t") == [(7, "y", "INSERT", False)], "kept again, at both ends"
    lab.sql("INSERT INTO kept SELECT id, v FROM s")
    assert lab.rows("kept") == [(7, "y")]


def test_the_same_row_twice_and_null_twice(keyed: Lab) -> None:
    keyed.insert("t", "3, 'c'", "3, 'c'")
    with refused("DT-3108"):
        keyed.engine.changes("t", 1)
    keyed.sql("DELETE FROM t WHERE id = 3")
    keyed.insert("t", "NULL, 'n'")
    assert rows(keyed, "t") == [(None, "n", "INSERT", False)], "NULL is a value of a key"
    keyed.insert("t", "NULL, 'm'")
    with refused("DT-3108") as errors:
        keyed.engine.changes("t", 1)
    assert errors[0].facts["example"] == "id = NULL has 2 rows"


def test_a_row_that_moves_often_keeps_its_key(keyed: Lab) -> None:
    """Many rows of one key in the interval, of which all but two cancel."""
    for v in ("c", "d", "a"):
        keyed.sql(f"UPDATE t SET v = '{v}' WHERE id = 1")
    keyed.sql("DELETE FROM t WHERE id = 2")
    keyed.insert("t", "2, 'z'")
    assert rows(keyed, "t") == [(2, "b", "DELETE", True), (2, "z", "INSERT", True)]


@pytest.mark.nightly
def test_a_key_that_an_update_gives_to_two_rows(keyed: Lab) -> None:
    keyed.sql("UPDATE t SET id = 5")
    for statement in (
        "SELECT * FROM t CHANGES AT (VERSION => 1)",
        "SELECT * FROM t CHANGES (INFORMATION => REDO) AT (VERSION => 1)",
    ):
        with refused("DT-3108"):
            keyed.sql(statement)


def test_rows_as_first_inserted_are_there_once(keyed: Lab) -> None:
    """Repeated inserts are not repeated (CQ 2.2.1), two rows of one key are refused."""
    keyed.sql("CREATE STREAM s ON TABLE t APPEND_ONLY = TRUE")
    keyed.insert("t", "3, 'c'")
    keyed.sql("DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (3, 'd')")
    keyed.sql("UPDATE t SET v = 'e' WHERE id = 3")
    assert rows(keyed, "t", append_only=True) == [(3, "c", "INSERT", False)]
    assert len(keyed.sql("SELECT * FROM s")) == 1
    keyed.insert("t", "3, 'twice'")
    keyed.sql("DELETE FROM t WHERE v = 'twice'")
    assert rows(keyed, "t") == [(3, "e", "INSERT", False)], "both ends keep it"
    for statement in (
        "SELECT * FROM s",
        "SELECT * FROM t CHANGES (INFORMATION => APPEND_ONLY) AT (VERSION => 1)",
        "SELECT * FROM t CHANGES (INFORMATION => REDO) AT (VERSION => 1)",
    ):
        with refused("DT-3108"):
            keyed.sql(statement)


def test_initial_rows_keep_the_promise_too(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(f"CREATE TABLE t (id INT, v STRING) {KEYED}; INSERT INTO t VALUES (1, 'a'), (1, 'b')")
    lab.sql("CREATE STREAM s ON TABLE t SHOW_INITIAL_ROWS = TRUE")
    with refused("DT-3108"):
        lab.sql("SELECT * FROM s")
    lab.sql("DELETE FROM t WHERE v = 'b'")
    assert [r[:2] for r in lab.sql("SELECT * FROM s")] == [(1, "a")]


@pytest.fixture
def joined(quick_lab: Lab) -> Lab:
    """`u` broke its promise before the interval, in which nothing of it changes."""
    lab = quick_lab
    lab.sql(f"CREATE TABLE t (id INT, u INT) {KEYED}; CREATE TABLE u (id INT, w STRING) {KEYED}")
    lab.sql("INSERT INTO u VALUES (1, 'x'), (1, 'y'), (2, 'z'); INSERT INTO t VALUES (10, 2)")
    lab.sql("CREATE VIEW both AS SELECT t.id, u.w FROM t JOIN u ON u.id = t.u")
    lab.sql("CREATE STREAM s ON VIEW both; CREATE TABLE kept (id INT, w STRING)")
    return lab


@pytest.mark.parametrize("more", some(1, ["; DELETE FROM t WHERE id = 10", ""]))
def test_rows_that_meet_a_broken_key(joined: Lab, more: str) -> None:
    joined.sql(f"INSERT INTO t VALUES (11, 1){more}")
    with refused("DT-3108") as errors:
        joined.sql("INSERT INTO kept SELECT id, w FROM s")
    assert "two rows have the id of (11, " in errors[0].facts["example"]
    assert joined.rows("kept") == []
    with pytest.raises(PySparkException) as raised:
        joined.sql("SELECT id FROM s")
    told = find_broken_key(str(raised.value))
    assert told is not None
    assert told.facts == errors[0].facts
    assert error_message(raised.value).code == "DT-3108"
    joined.sql("DELETE FROM t WHERE id = 11; INSERT INTO t VALUES (12, 2)")
    joined.sql("INSERT INTO kept SELECT id, w FROM s WHERE $ACTION = 'INSERT'")
    assert joined.rows("kept") == [(12, "z")]


def test_a_dynamic_table_keeps_ids_of_its_own(quick_lab: Lab) -> None:
    """Its source has no key: duplicates are rows."""
    lab = quick_lab
    lab.table("t", "id INT, v STRING", "1, 'a'")
    lab.dynamic_table("d", "SELECT id, v FROM t")
    lab.dynamic_table("g", "SELECT id, count(*) AS n FROM t GROUP BY id")
    lab.sql("CREATE STREAM s ON DYNAMIC TABLE d; CREATE STREAM p ON DYNAMIC TABLE g")
    lab.insert("t", "1, 'a'", "1, 'b'", "NULL, 'c'", "NULL, 'c'")
    assert (lab.refresh("d"), lab.refresh("g")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("d", "g")
    assert len(lab.rows("d")) == 5
    found = lab.engine.sql("SELECT * FROM s").collect()
    assert len({r["$ROW_ID"] for r in found}) == len(found) == 4
    assert sorted((r[:4] for r in lab.sql("SELECT * FROM p")), key=repr) == [
        (1, 1, "DELETE", True),
        (1, 3, "INSERT", True),
        (None, 2, "INSERT", False),
    ]


KEY = Identity(By.KEY, (("id", "int"), ("x", "double")), "t")
TYPES = (("id", "int"), ("x", "double"), ("v", "string"))
SCHEMA = pa.schema(
    [("id", pa.int32()), ("x", pa.float64()), ("v", pa.string()), (WEIGHT, pa.int64())]
)


@pytest.mark.nightly
def test_the_driver_acquits_as_spark_does(shared_lab: Lab) -> None:
    """Random rows, floats, NaN, NULL and −0.0 among their keys: they agree on each."""
    rng = random.Random(4)
    verdicts = set()
    for _ in range(25):
        made = [
            (
                rng.choice([1, None]),
                rng.choice([0.0, -0.0, float("nan"), None]),
                rng.choice("ab"),
                rng.choice([1, -1]),
            )
            for _ in range(rng.randrange(1, 6))
        ]
        table = pa.Table.from_pylist(
            [dict(zip(SCHEMA.names, r, strict=True)) for r in made], schema=SCHEMA
        )
        shared_lab.spark.createDataFrame(table).createOrReplaceTempView("made")
        try:
            require_key(shared_lab.spark, "made", "t", KEY, TYPES)
            guilty = False
        except DTError:
            guilty = True
        assert surely_unique(table, KEY.names) is not guilty, made
        verdicts.add(guilty)
    assert verdicts == {True, False}
