"""The statements of a frozen region, and what else happens to a table that has one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.spark.engine_lab import Lab, refused

SUMS = "SELECT g, sum(v) AS s FROM src GROUP BY g"


def reason(lab: Lab, name: str) -> str:
    record = lab.engine.records(name)[0]
    assert record.reason is not None
    return record.reason.code


@pytest.mark.nightly
def test_a_region_is_set_moved_and_given_up(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, v INT", "1, 10", "2, 20", "3, 30")
    lab.dynamic_table("sums", SUMS)
    lab.dynamic_table("bag", "SELECT g, v FROM src")
    lab.sql("ALTER DYNAMIC TABLE sums SET FROZEN WHERE (g < 2) COMMENT = 'closed'")
    lab.sql("ALTER DYNAMIC TABLE bag SET IMMUTABLE WHERE (g < 2)")
    assert (reason(lab, "sums"), reason(lab, "bag")) == ("DEFINITION_CHANGED", "FIRST_REFRESH")
    lab.sql("UPDATE src SET v = v + 1")
    assert (lab.refresh("sums"), lab.refresh("bag")) == ("INCREMENTAL", "INCREMENTAL")
    assert lab.rows("sums") == lab.rows("bag") == [(1, 10), (2, 21), (3, 31)]
    records = len(lab.engine.records("bag"))
    for name in ("sums", "bag"):
        lab.sql(f"ALTER DYNAMIC TABLE {name} SET FROZEN WHERE (g < 3)")
    assert len(lab.engine.records("bag")) == records  # it holds the old one: nothing is computed
    lab.sql("UPDATE src SET v = v + 1")
    assert (lab.refresh("sums"), lab.refresh("bag")) == ("INCREMENTAL", "INCREMENTAL")
    assert lab.rows("sums") == lab.rows("bag") == [(1, 10), (2, 21), (3, 32)]
    for name in ("sums", "bag"):
        lab.sql(f"ALTER DYNAMIC TABLE {name} SET FROZEN WHERE (g < 2)")
        assert reason(lab, name) == "FROZEN_REGION_CHANGED"
        assert lab.rows(name) == [(1, 10), (2, 22), (3, 32)]
        lab.sql(f"ALTER DYNAMIC TABLE {name} UNSET FROZEN WHERE")
        assert lab.rows(name) == [(1, 12), (2, 22), (3, 32)]
    lab.verified("sums", "bag")
    lab.sql("UPDATE src SET v = 0 WHERE g = 1")
    assert (lab.refresh("sums"), lab.refresh("bag")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("sums", "bag")


@pytest.mark.nightly
def test_every_action_leaves_frozen_rows_as_they_are(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, v INT", "1, 10", "2, 20")
    lab.dynamic_table("sums", SUMS, "FROZEN WHERE (g = 1)")
    lab.dynamic_table("below", "SELECT count(*) AS n, sum(s) AS s FROM sums")
    lab.sql("UPDATE src SET v = v + 1")
    lab.sql("ALTER DYNAMIC TABLE sums REFRESH FULL")
    assert lab.rows("sums") == [(1, 10), (2, 21)]
    assert lab.refresh("sums") == "NO_DATA"
    lab.sql("CREATE OR REPLACE TABLE src AS SELECT 1 AS g, 99 AS v UNION ALL SELECT 5, 50")
    assert lab.refresh("sums") == "REINITIALIZE"
    assert lab.rows("sums") == [(1, 10), (5, 50)]
    lab.refresh("below")
    assert lab.rows("below") == [(2, 60)]
    lab.verified("below")
    lab.sql("CREATE DYNAMIC TABLE twin CLONE sums")
    lab.insert("src", "1, 1", "5, 5")
    for name in ("sums", "twin"):
        assert lab.refresh(name) == "INCREMENTAL"
        assert lab.rows(name) == [(1, 10), (5, 55)]
    verdict = lab.engine.verify("sums")
    assert verdict.equal
    assert verdict.note == "1 frozen row not compared"
    assert lab.engine.verify("sums", all=True).equal
    for record in lab.engine.records("sums")[:2]:
        found = lab.engine.replay_refresh("sums", query_id=record.query_id)
        assert found.equal, str(found)
    lab.sql("DELETE FROM src")
    lab.refresh("sums")
    assert lab.rows("sums") == [(1, 10)]
    assert "FROZEN WHERE (g = 1)" in lab.engine.export()
    assert not lab.engine.plan(lab.engine.export())
    kinds = {r[2]: r[0] for r in lab.sql("DESCRIBE DYNAMIC TABLE sums")}
    assert kinds["FROZEN WHERE"] == "g = 1"


@pytest.mark.nightly
def test_a_region_that_follows_the_clock_only_grows(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, at TIMESTAMP", "1, TIMESTAMP'2020-01-01'", "2, TIMESTAMP'2999-01-01'")
    lab.dynamic_table("old", "SELECT * FROM src", "FROZEN WHERE (at < current_timestamp())")
    lab.sql("UPDATE src SET g = g + 1")
    assert lab.refresh("old") == "INCREMENTAL"
    assert [r[0] for r in lab.rows("old")] == [1, 3]
    lab.sql("UPDATE src SET at = TIMESTAMP'2021-01-01' WHERE g = 3")
    lab.sql("INSERT INTO src SELECT 7, current_timestamp() + INTERVAL 1 SECOND")
    assert lab.refresh("old") == "INCREMENTAL"
    there = lab.rows("old")
    assert [r[0] for r in there] == [1, 7]
    lab.sql("DELETE FROM src WHERE g = 7")
    while lab.engine.sql("SELECT current_timestamp() < max(at) FROM old").first()[0]:
        pass
    assert lab.refresh("old") == "INCREMENTAL"  # what is deleted was frozen by then
    assert lab.rows("old") == there
    for shrinking in ("at > now()", "NOT (at < now())", "g = year(current_date())"):
        with refused("DT-1140"):
            lab.sql(f"ALTER DYNAMIC TABLE old SET FROZEN WHERE ({shrinking})")


def test_what_is_no_condition_of_a_row_is_refused(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, v INT, f DOUBLE", "1, 10, 0.5")
    makes = "CREATE DYNAMIC TABLE t FROZEN WHERE ({}) AS SELECT g, v, f FROM src"
    for where in ("nope < 1", "g + 1", "g IN (SELECT 1)", "rand() < 0.5", "max(g) < 2",
                  "row_number() OVER (ORDER BY g) < 2", "g <", "mine(g)"):  # fmt: skip
        with refused("DT-1139") as found:
            lab.sql(makes.format(where))
        assert "FROZEN WHERE" in str(found[0]), where
    assert lab.names()[0] == set()
    with refused("DT-1141") as found:
        lab.sql("CREATE DYNAMIC TABLE t BACKFILL FROM src AS SELECT g FROM src")
    assert found[0].span is not None
    for text in ("FROZEN WHERE g < 1", "FROZEN WHERE ()", "FROZEN WHERE (g < 1",
                 "FROZEN WHERE (g < 1) IMMUTABLE WHERE (g < 2)"):  # fmt: skip
        with refused("DT-1001"):
            lab.sql(f"CREATE DYNAMIC TABLE t {text} AS SELECT g FROM src")
    sums = "SELECT g, sum(f) AS s FROM src GROUP BY g"
    with refused("DT-1107"):  # a last bit would decide what is frozen
        lab.dynamic_table("t", sums, "REFRESH_MODE = INCREMENTAL FROZEN WHERE (s < 1)")
    lab.dynamic_table("t", sums, "REFRESH_MODE = INCREMENTAL")
    with refused("DT-1139"):
        lab.sql("ALTER DYNAMIC TABLE t SET FROZEN WHERE (s < 1)")
    lab.dynamic_table("full", sums, "FROZEN WHERE (s < 1)")
    assert lab.mode("full") == "FULL"
    lab.sql("UPDATE src SET f = 0.25")
    assert lab.refresh("full") == "FULL"
    assert lab.rows("full") == [(1, 0.5)]


@pytest.mark.nightly
def test_columns_that_frozen_rows_have_not(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, v INT", "1, 10", "2, 20")
    lab.dynamic_table("star", "SELECT * FROM src", "FROZEN WHERE (g < 2)")
    lab.dynamic_table("named", "SELECT g, v FROM src", "FROZEN WHERE (g < 2)")
    lab.sql("ALTER TABLE src ADD COLUMNS (w INT); UPDATE src SET v = v + 1, w = 5")
    assert lab.refresh("star") == "REINITIALIZE"
    assert lab.rows("star") == [(1, 10, None), (2, 21, 5)]
    lab.sql("CREATE OR ALTER DYNAMIC TABLE named FROZEN WHERE (h < 2) AS SELECT v, g AS h FROM src")
    assert lab.rows("named") == [(10, 1), (21, 2)]
    lab.sql("UPDATE src SET v = 0")
    assert lab.refresh("named") == "INCREMENTAL"
    assert lab.rows("named") == [(0, 2), (10, 1)]
    with refused("DT-1142"):  # nothing tells what of the stored rows would be frozen
        lab.sql("CREATE OR ALTER DYNAMIC TABLE named FROZEN WHERE (k < 2) AS "
                "SELECT v, g + 0 AS k FROM src")  # fmt: skip
    with refused("DT-1142"):
        lab.sql("CREATE OR ALTER DYNAMIC TABLE named FROZEN WHERE (h < 2) AS "
                "SELECT CAST(v AS STRING) AS v, g AS h FROM src")  # fmt: skip
    assert lab.rows("named") == [(0, 2), (10, 1)]
    lab.sql("CREATE OR ALTER DYNAMIC TABLE named FROZEN WHERE (h < 2) AS "
            "SELECT CAST(v AS BIGINT) AS v, g AS h FROM src")  # fmt: skip
    assert lab.rows("named") == [(0, 2), (10, 1)]
    lab.sql("CREATE OR ALTER DYNAMIC TABLE named FROZEN WHERE (h < 2) AS SELECT g AS h FROM src")
    assert lab.rows("named") == [(1,), (2,)]  # the statement says that v goes
    lab.sql("ALTER TABLE src SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.sql("ALTER TABLE src DROP COLUMN w")
    record = lab.record("star")
    assert record.error_code == "DT-1142"
    assert "w" in str(record.error)
    lab.sql("ALTER DYNAMIC TABLE star UNSET FROZEN WHERE")
    lab.verified("star", "named")


def test_frozen_rows_that_are_lost_are_never_made_up(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, v INT", "1, 10", "2, 20")
    for name in ("one", "two"):
        lab.dynamic_table(name, SUMS, "FROZEN WHERE (g < 2)")
    lab.sql("UPDATE src SET v = v + 1")
    public = lab.context.layout.public
    one, two = (public(lab.engine.table(n).id) for n in ("one", "two"))
    for file in Path(one).glob("*.parquet"):
        file.unlink()
    shutil.rmtree(two)
    for name in ("one", "two"):
        record = lab.record(name)
        assert record.error_code == "DT-1144", record
        lab.sql(f"ALTER DYNAMIC TABLE {name} UNSET FROZEN WHERE")
        assert lab.rows(name) == [(1, 11), (2, 21)]
        lab.verified(name)


@pytest.mark.nightly
def test_a_region_is_filled_from_another_table(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "g INT, v BIGINT", "1, 10", "2, 20", "1, 5")
    lab.table("past", "s BIGINT, g INT", "-1, 1", "-1, 1", "-5, 0", "-9, 2", "-3, NULL")
    options = "FROZEN WHERE (g < 2) BACKFILL FROM past"
    lab.dynamic_table("sums", SUMS, options)
    lab.dynamic_table("full", SUMS, f"REFRESH_MODE = FULL {options}")
    lab.dynamic_table("later", SUMS, f"INITIALIZE = ON_SCHEDULE {options}")
    lab.sql("DELETE FROM past")  # it is read as it was when the statement ran
    lab.engine.vacuum("past", retain_hours=0)  # by which it is held until then
    filled = [(0, -5), (1, -1), (1, -1), (2, 20)]
    assert lab.refresh("later") == "REINITIALIZE"
    for name in ("sums", "full", "later"):
        assert lab.rows(name) == filled, name
    lab.insert("src", "1, 1", "2, 2", "3, 3")
    for name in ("sums", "full", "later"):
        lab.refresh(name)
        assert lab.rows(name) == [*filled[:3], (2, 22), (3, 3)], name
    frame = lab.spark.sql(SUMS)
    lab.engine.create("framed", frame, frozen="g < 3", backfill="sums")
    assert lab.rows("framed") == lab.rows("sums")
    first = lab.engine.records("sums")[-1].query_id
    assert lab.engine.replay_refresh("sums", query_id=first).equal
    lab.sql(
        f"CREATE OR REPLACE DYNAMIC TABLE sums FROZEN WHERE (g < 3) BACKFILL FROM sums AS {SUMS}"
    )
    assert lab.rows("sums") == [*filled[:3], (2, 22), (3, 3)]
    lab.table("odd", "g INT, t BIGINT")
    lab.table("wide", "g INT, s BIGINT, more INT")
    lab.table("small", "g INT, s INT")
    for name, said in (("odd", "no column s"), ("wide", "no column more"), ("small", "s is int")):
        with refused("DT-1143") as found:
            lab.dynamic_table("no", SUMS, f"FROZEN WHERE (g < 2) BACKFILL FROM {name}")
        assert said in str(found[0])
    with refused("DT-1101"):
        lab.dynamic_table("no", SUMS, "FROZEN WHERE (g < 2) BACKFILL FROM nothing")
    assert "no" not in lab.names()[0]
