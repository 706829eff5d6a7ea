"""`*`, positions and column lists over sources whose columns come, go, move and change names."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dt_jupyter.refresh.execute as execute
from tests.cases import nightly, some
from tests.spark.engine_lab import Lab

MAPPED = (
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableChangeDataFeed' = 'true')"
)


@pytest.fixture
def lab(shared_lab: Lab) -> Lab:
    return shared_lab


def columns(lab: Lab, name: str) -> list[str]:
    return list(lab.spark.table(name).columns)


def reason(lab: Lab, name: str) -> str:
    record = lab.engine.records(name, 1)[0]
    assert record.reason is not None
    return record.reason.code


def make(lab: Lab, name: str, *rows: str, properties: str = "") -> None:
    lab.sql(f"DROP TABLE IF EXISTS {name}")
    lab.sql(f"CREATE TABLE {name} (a INT, b INT, c INT) USING delta {properties}")
    lab.insert(name, *rows)


def agrees(lab: Lab, name: str, query: str) -> None:
    """The table has the rows, names and order that Spark gives the user's text now."""
    kept, wanted = lab.spark.table(name), lab.spark.sql(query)
    assert kept.dtypes == wanted.dtypes
    assert sorted(map(tuple, kept.collect()), key=repr) == sorted(
        map(tuple, wanted.collect()), key=repr
    )
    lab.verified(name)


TEXTS = {
    "star": "SELECT * FROM ro",
    "nested": "SELECT a, z FROM (SELECT * FROM ro) AS t(a, y, z)",
    "union": "SELECT a, b, c FROM rp UNION ALL SELECT * FROM ro",
    "joined": "SELECT q.* FROM rp JOIN ro q ON q.a = rp.a",
    "member": "SELECT a FROM rp WHERE (a, b, c) IN (SELECT * FROM ro)",
}
"""What else stands for positions is in the tests of `equivalent`."""


@pytest.mark.parametrize("text", some(1, TEXTS.values()), ids=list(TEXTS))
def test_a_column_that_moves_is_followed(lab: Lab, text: str) -> None:
    make(lab, "rp", "1, 2, 3", "30, 10, 20")
    make(lab, "ro", "1, 2, 3")
    lab.sql(f"CREATE OR REPLACE DYNAMIC TABLE d AS {text}")
    assert lab.mode("d") == "INCREMENTAL"
    lab.sql("ALTER TABLE ro ALTER COLUMN c FIRST")
    lab.sql("INSERT INTO ro (a, b, c) VALUES (10, 20, 30)")
    assert lab.refresh("d") == "REINITIALIZE"
    assert reason(lab, "d") == "SCHEMA_EVOLVED"
    agrees(lab, "d", text)
    lab.sql("INSERT INTO ro (a, b, c) VALUES (11, 21, 31)")
    assert lab.refresh("d") in ("INCREMENTAL", "NO_DATA")
    agrees(lab, "d", text)


def test_a_column_that_moves_alone_is_no_change_of_what_is_named(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT c, sum(a) AS s FROM ro GROUP BY c")
    lab.sql("ALTER TABLE ro ALTER COLUMN c FIRST; INSERT INTO ro (a, b, c) VALUES (10, 20, 3)")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.sql("ALTER TABLE ro ADD COLUMN s INT AFTER a; ALTER TABLE ro ALTER COLUMN a COMMENT 'x'")
    assert lab.refresh("d") == "NO_DATA"
    agrees(lab, "d", "SELECT c, sum(a) AS s FROM ro GROUP BY c")


ADDED = {
    "whole": "SELECT * FROM ro",
    "joined": "SELECT q.*, rp.b AS z FROM rp JOIN ro q ON q.a = rp.a",
    "outer_joined": "SELECT rp.a AS p, q.* EXCEPT (b) FROM rp LEFT JOIN ro q ON q.a = rp.a",
    "numbered": "SELECT q.*, row_number() OVER (PARTITION BY q.a ORDER BY q.b, rp.c) AS n "
    "FROM ro q JOIN rp ON q.a = rp.a",
    "counted": "SELECT q.*, n FROM ro q JOIN (SELECT a, count(*) AS n FROM ro GROUP BY a) k "
    "ON k.a = q.a",
    "above": "SELECT *, a + 1 AS more FROM whole",
}
RECOMPUTED = {"once": "SELECT DISTINCT * FROM ro", "first": "SELECT * FROM ro ORDER BY a LIMIT 2"}


def follows(lab: Lab, name: str, text: str, code: str, most: int) -> None:
    """A refresh that does what EXPLAIN says, and moves no row that is as it was."""
    said = lab.engine.explain(name)
    record = lab.record(name)
    assert record.error is None
    assert (said.action, said.action_reason) == (record.action, record.reason)
    assert (str(record.action), record.reason.code) == ("INCREMENTAL", code), record.reason
    assert record.statistics.inserted_rows + record.statistics.deleted_rows <= most
    agrees(lab, name, text)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "names", [("whole", "counted", "once"), nightly((*ADDED, *RECOMPUTED))], ids=["some", "all"]
)
def test_a_column_that_is_only_added_is_null_in_the_stored_rows(
    lab: Lab, names: tuple[str, ...]
) -> None:
    added = {name: text for name, text in ADDED.items() if name in names}
    recomputed = {name: text for name, text in RECOMPUTED.items() if name in names}
    make(lab, "rp", "1, 2, 3", "30, 10, 20")
    make(lab, "ro", "1, 2, 3", "1, 2, 3", "4, 5, NULL", "6, 7, 8", "30, 1, 1")
    for name, text in {**added, **recomputed}.items():
        lab.sql(f"CREATE OR REPLACE DYNAMIC TABLE {name} AS {text}")
    lab.sql(
        "INSERT INTO ro VALUES (7, 7, 7); ALTER TABLE ro ADD COLUMN x INT FIRST; "
        "UPDATE ro SET x = 9 WHERE a = 6; DELETE FROM ro WHERE a = 1 OR a = 4; "
        "INSERT INTO ro (a, x) VALUES (1, 1); INSERT INTO rp VALUES (6, 1, 1)"
    )
    for name, text in added.items():
        follows(lab, name, text, "COLUMNS_ADDED", 12)
    assert lab.engine.replay_refresh("whole").equal
    for name, text in recomputed.items():
        assert lab.refresh(name) == "REINITIALIZE"
        sentence = str(lab.engine.records(name, 1)[0].reason)
        assert "the new columns are not added to the stored rows, since its" in sentence
        agrees(lab, name, text)
    lab.sql("ALTER TABLE ro ADD COLUMN s STRUCT<p: INT, q: ARRAY<STRING>>")
    for name, text in added.items():
        follows(lab, name, text, "COLUMNS_ADDED", 0)
    lab.sql("UPDATE ro SET s = named_struct('p', 1, 'q', array('y')) WHERE a = 30")
    lab.sql("DELETE FROM ro WHERE a = 6 OR a = 7")
    for name, text in added.items():
        follows(lab, name, text, "SOURCES_CHANGED", 10)
    assert lab.engine.replay_refresh("whole").equal


@pytest.mark.nightly
def test_a_column_that_comes_back_brings_its_values(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3", properties=MAPPED)
    lab.sql("ALTER TABLE ro ADD COLUMN x INT; INSERT INTO ro VALUES (4, 5, 6, 7)")
    (with_x, *_), *_ = lab.sql("DESCRIBE HISTORY ro")
    lab.sql("ALTER TABLE ro DROP COLUMN x")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM ro")
    lab.sql(f"RESTORE TABLE ro TO VERSION AS OF {with_x}")
    assert lab.refresh("d") == "REINITIALIZE"
    assert "RESTORE brought them back" in str(lab.engine.records("d", 1)[0].reason)
    agrees(lab, "d", "SELECT * FROM ro")


@pytest.mark.nightly
def test_columns_without_the_commit_that_follows_them_are_noticed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM ro")
    lab.sql("ALTER TABLE ro ADD COLUMN x INT; INSERT INTO ro VALUES (4, 5, 6, 7)")

    def cut_off(*given: object, **named: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(execute, "commit_stage", cut_off)
        assert "the disk is gone" in str(lab.record("d").error)
    assert (columns(lab, "d"), lab.rows("d")) == (["a", "b", "c"], [(1, 2, 3)])
    assert lab.refresh("d") == "REINITIALIZE"
    assert reason(lab, "d") == "FOREIGN_WRITE"
    agrees(lab, "d", "SELECT * FROM ro")


@pytest.mark.nightly
def test_a_column_is_added_without_a_change_feed(lab: Lab) -> None:
    make(
        lab,
        "ro",
        "1, 2, 3",
        "4, 5, 6",
        properties="TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')",
    )
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d ALTER_SOURCES = FALSE AS SELECT * FROM ro")
    lab.sql("ALTER TABLE ro ADD COLUMN x STRING; UPDATE ro SET x = 'u' WHERE a = 1")
    follows(lab, "d", "SELECT * FROM ro", "COLUMNS_ADDED", 4)
    lab.sql("ALTER TABLE ro SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.sql("ALTER TABLE ro ADD COLUMN `x (y)` INT; INSERT INTO ro VALUES (7, 8, 9, 'v', 1)")
    follows(lab, "d", "SELECT * FROM ro", "COLUMNS_ADDED", 1)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", some(1, ["AUTO", "FULL"]))
def test_a_column_list_stays_and_its_contents_move(lab: Lab, mode: str) -> None:
    make(lab, "ro", "1, 2, 3", properties=MAPPED)
    options = f"(x COMMENT 'first', y, z) REFRESH_MODE = {mode}"
    lab.sql(f"CREATE OR REPLACE DYNAMIC TABLE d {options} AS SELECT * FROM ro")
    again = "FULL" if mode == "FULL" else "REINITIALIZE"
    lab.sql("ALTER TABLE ro ALTER COLUMN c FIRST")
    assert lab.refresh("d") == again
    assert (columns(lab, "d"), lab.rows("d")) == (["x", "y", "z"], [(3, 1, 2)])
    lab.sql("ALTER TABLE ro RENAME COLUMN b TO bb")
    assert lab.refresh("d") == again
    assert (columns(lab, "d"), lab.rows("d")) == (["x", "y", "z"], [(3, 1, 2)])
    assert lab.engine.table("d").definition.columns[0][2] == "first"
    lab.verified("d")
    lab.sql("ALTER TABLE ro ADD COLUMN more INT")
    record = lab.record("d")
    assert record.error_code == "DT-1111"
    assert lab.rows("d") == [(3, 1, 2)]


@pytest.mark.parametrize("mode", some(1, ["AUTO", "FULL"]))
def test_a_renamed_column_has_its_new_name(lab: Lab, mode: str) -> None:
    make(lab, "ro", "1, 2, 3", properties=MAPPED)
    lab.sql(f"CREATE OR REPLACE DYNAMIC TABLE d REFRESH_MODE = {mode} AS SELECT * FROM ro")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE above AS SELECT * FROM d")
    lab.sql("ALTER TABLE ro RENAME COLUMN b TO bb")
    assert "bb int" in str(lab.engine.explain("d").action_reason)
    assert lab.refresh("above") == "REINITIALIZE"
    for name in ("d", "above"):
        agrees(lab, name, "SELECT * FROM ro")
        assert columns(lab, name) == ["a", "bb", "c"]
    lab.sql("INSERT INTO ro VALUES (4, 5, 6)")
    assert lab.refresh("above") == "INCREMENTAL"
    agrees(lab, "above", "SELECT * FROM ro")


@pytest.mark.nightly
def test_a_replaced_source_gives_its_names_and_their_number(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM ro")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE f REFRESH_MODE = FULL AS SELECT * FROM ro")
    for shape in ("a INT, b INT, other INT", "a INT", "q STRING, a INT, b INT, c INT"):
        lab.sql(f"DROP TABLE ro; CREATE TABLE ro ({shape}) USING delta")
        lab.sql(f"INSERT INTO ro (a) VALUES ({len(shape)})")
        assert (lab.refresh("d"), lab.refresh("f")) == ("REINITIALIZE", "FULL")
        agrees(lab, "d", "SELECT * FROM ro")
        agrees(lab, "f", "SELECT * FROM ro")


@pytest.mark.nightly
def test_a_replaced_view_gives_its_aliases(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE VIEW seen AS SELECT a AS x, b AS y FROM ro")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM seen")
    for text in ("b AS y, a AS x", "a AS p, b AS q", "a AS p", "a AS p, b AS q, c AS r"):
        lab.sql(f"CREATE OR REPLACE VIEW seen AS SELECT {text} FROM ro")
        assert lab.refresh("d") == "REINITIALIZE"
        agrees(lab, "d", "SELECT * FROM seen")


@pytest.mark.nightly
def test_a_first_refresh_on_schedule_sees_what_the_source_is_then(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d INITIALIZE = ON_SCHEDULE AS SELECT * FROM ro")
    lab.sql("ALTER TABLE ro ALTER COLUMN c FIRST; ALTER TABLE ro ADD COLUMN d INT")
    assert lab.refresh("d") == "REINITIALIZE"
    agrees(lab, "d", "SELECT * FROM ro")


@pytest.mark.nightly
def test_a_past_data_timestamp_has_the_columns_of_its_time(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM ro")
    lab.sql("ALTER TABLE ro ADD COLUMN e INT; INSERT INTO ro VALUES (4, 5, 6, 7)")
    between = lab.context.clock.now()
    lab.sql("ALTER TABLE ro ALTER COLUMN c FIRST; INSERT INTO ro VALUES (9, 7, 8, 10)")
    record = lab.engine.refresh("d", at=between)
    assert (record.error, str(record.action)) == (None, "INCREMENTAL")
    assert (columns(lab, "d"), len(lab.rows("d"))) == (["a", "b", "c", "e"], 2)
    lab.verified("d")
    assert lab.refresh("d") == "REINITIALIZE"
    agrees(lab, "d", "SELECT * FROM ro")


@pytest.mark.nightly
def test_verify_compares_names_order_and_types(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM ro")
    table = lab.engine.table("d")
    a, b, c = table.definition.columns
    for columns in ((b, a, c), (("x", "int", None), b, c), ((a[0], "bigint", None), b, c)):
        wrong = replace(table.definition, columns=columns)
        lab.context.catalog.update(table.id, definition=wrong)
        verdict = lab.engine.verify("d")
        assert not verdict.equal
        assert "columns" in str(verdict)
    lab.context.catalog.update(table.id, definition=table.definition)
    lab.verified("d")


@pytest.mark.nightly
def test_rows_that_ask_for_the_time_move_with_it(lab: Lab) -> None:
    make(lab, "ro", "1, 2, 3")
    lab.sql("CREATE OR REPLACE VIEW seen AS SELECT a, now() AS t FROM ro")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE d AS SELECT * FROM seen")
    lab.sql("CREATE OR REPLACE DYNAMIC TABLE e AS SELECT a, localtimestamp() AS t FROM ro")
    for name in ("d", "e"):
        assert lab.mode(name) == "FULL"
        before = lab.rows(name)
        assert lab.refresh(name) == "FULL"
        assert reason(lab, name) == "CLOCK_MOVED"
        assert lab.rows(name) != before
        verdict = lab.engine.verify(name)
        assert verdict.equal, str(verdict)


@pytest.mark.nightly
def test_a_source_that_is_not_delta_may_change_its_columns(lab: Lab) -> None:
    lab.spark.sql("CREATE SCHEMA IF NOT EXISTS shop")
    lab.sql("USE shop; CREATE OR REPLACE TABLE ro (wrong INT) USING delta; USE default")
    for shape, row in (("a INT, b INT", "1, 2"), ("b INT", "3"), ("b INT, c INT", "4, 5")):
        lab.spark.sql(f"CREATE TABLE shop.plain ({shape}) USING parquet")
        lab.spark.sql(f"INSERT INTO shop.plain VALUES ({row})")
        if shape == "a INT, b INT":
            lab.sql("USE shop; CREATE DYNAMIC TABLE foreign_star AS SELECT * FROM plain")
            lab.sql("USE default")
        else:
            assert lab.refresh("shop.foreign_star") == "REINITIALIZE"
        kept, wanted = lab.spark.table("shop.foreign_star"), lab.spark.table("shop.plain")
        assert (kept.dtypes, kept.collect()) == (wanted.dtypes, wanted.collect())
        lab.spark.sql("DROP TABLE shop.plain")
    lab.spark.sql("DROP VIEW shop.foreign_star")
    lab.spark.sql("DROP SCHEMA shop CASCADE")


@pytest.mark.nightly
def test_a_partition_column_that_is_not_used_may_change_its_name(lab: Lab) -> None:
    make(lab, "ro", properties=f"PARTITIONED BY (c) {MAPPED}")
    lab.insert("ro", "1, 2, 3", "4, 5, 3", "4, 6, NULL")
    texts = {"d": "SELECT a, sum(b) AS s FROM ro GROUP BY a", "e": "SELECT a, b FROM ro"}
    for name, text in texts.items():
        lab.sql(f"CREATE OR REPLACE DYNAMIC TABLE {name} AS {text}")
    for change in (
        "ALTER TABLE ro RENAME COLUMN c TO cc",
        "DELETE FROM ro WHERE a = 1; ALTER TABLE ro RENAME COLUMN cc TO c",
        "ALTER TABLE ro RENAME COLUMN c TO `c c`; UPDATE ro SET b = 9 WHERE `c c` IS NULL",
    ):
        lab.sql(f"{change}; INSERT INTO ro VALUES (7, 8, 9)")
        for name, text in texts.items():
            assert lab.refresh(name) == "INCREMENTAL", change
            agrees(lab, name, text)
