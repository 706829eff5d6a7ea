"""CREATE OR ALTER keeps the rows where the new query's follow from them, and is never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.engine import Created
from dt_jupyter.model import DTError
from dt_jupyter.refresh import derived_contents
from tests.spark.engine_lab import Lab, refused

ROWS = "SELECT id, g, v * 2 AS w, name FROM src WHERE v > 0"
GROUPS = "SELECT g, sum(v) AS s, min(v) AS low, count(DISTINCT name) AS d FROM src GROUP BY g"
SUMS = "SELECT g, sum(v) AS s, min(v) AS low, max(v) AS high FROM src GROUP BY g"
COUNTS = "SELECT g, count(DISTINCT name) AS d, count(*) AS c FROM src GROUP BY g"
LEVELS = "SELECT n, count(*) AS k FROM (SELECT g, count(*) AS n FROM src GROUP BY g) GROUP BY n"
KEPT, DERIVED, ANEW = "kept", "DERIVED", "DEFINITION_CHANGED"
CASES = [
    (ROWS, "SELECT id, g, v * 2 AS w, name  -- said\nFROM src WHERE v > 0", KEPT),
    (ROWS, "SELECT name AS n, id FROM src WHERE v > 0", DERIVED),
    (ROWS, "SELECT id, w + 1 AS z FROM (SELECT id, v * 2 AS w FROM src WHERE v > 0)", ANEW),
    (ROWS, "SELECT id, name FROM src WHERE v > 0 AND name IS NULL", DERIVED),
    (ROWS, "SELECT id, v FROM src WHERE v > 0", ANEW),
    (ROWS, "SELECT id FROM src", ANEW),
    (ROWS, "SELECT DISTINCT g FROM src WHERE v > 0", ANEW),
    (GROUPS, "SELECT sum(v) + 1 AS t, g, count(DISTINCT name) AS d FROM src GROUP BY g", DERIVED),
    (GROUPS, f"{GROUPS} HAVING sum(v) > 3", DERIVED),
    (GROUPS, "SELECT g, sum(v) AS s, min(v) AS low FROM src GROUP BY g", ANEW),
    (SUMS, "SELECT g, sum(v) AS s, min(v) AS low FROM src WHERE g > 1 GROUP BY g", DERIVED),
    (COUNTS, "SELECT g, count(DISTINCT name) AS d FROM src GROUP BY g", ANEW),
    (COUNTS, "SELECT g, count(DISTINCT name) + 1 AS d, count(*) AS c FROM src GROUP BY g", DERIVED),
    ("SELECT g, count(DISTINCT name) AS d FROM src GROUP BY g", COUNTS, ANEW),
    (GROUPS, "SELECT g, max(v) AS s FROM src GROUP BY g", ANEW),
    (GROUPS, "SELECT g, sum(v) AS s FROM src WHERE v > 1 GROUP BY g", ANEW),
    (LEVELS, "SELECT k AS groups, n FROM "
     "(SELECT n, count(*) AS k FROM (SELECT g, count(*) AS n FROM src GROUP BY g) GROUP BY n)",
     DERIVED),
    (LEVELS, LEVELS.replace("count(*) AS n", "count(v) AS n"), ANEW),
]  # fmt: skip


def outcome(lab: Lab, name: str, before: int) -> str:
    """What CREATE OR ALTER did with the rows, by the history."""
    records = lab.engine.records(name)[: -before or None]
    codes = [r.reason.code for r in records if r.reason]
    assert not any(r.error for r in records)
    assert all(r.action == "REINITIALIZE" for r in records if r.reason.code == ANEW)
    return next((c for c in codes if c in (DERIVED, ANEW)), KEPT)


FEW = [CASES[i] for i in (3, 7, 8, 11, 16)]


@pytest.mark.parametrize("cases", [FEW, pytest.param(CASES, marks=pytest.mark.nightly)])
def test_rows_are_kept_or_derived_or_computed_anew(
    quick_lab: Lab, cases: list[tuple[str, str, str]]
) -> None:
    lab = quick_lab
    lab.table("src", "id INT, g INT, v INT, name STRING",
              "1, 1, 1, 'a'", "1, 1, 1, 'a'", "2, 2, 5, NULL", "3, NULL, -1, 'c'")  # fmt: skip
    tables = [f"t{i}" for i in range(len(cases))]
    for name, (old, _, _) in zip(tables, cases, strict=True):
        lab.dynamic_table(name, old)
    lab.sql("DELETE FROM src WHERE id = 3; UPDATE src SET v = 7 WHERE id = 2")
    lab.insert("src", "4, 2, 3, 'd'", "5, 3, 0, 'e'", "1, 1, 1, 'a'", "6, 9, 4, NULL")
    for name in tables:
        assert lab.refresh(name) == "INCREMENTAL"
    found = {}
    for name, (_, new, _) in zip(tables, cases, strict=True):
        before = len(lab.engine.records(name))
        lab.sql(f"CREATE OR ALTER DYNAMIC TABLE {name} TARGET_LAG = '2 hours' AS {new}")
        found[new] = outcome(lab, name, before)
        assert lab.engine.table(name).target_lag.seconds == 7200
    assert found == {new: wanted for _, new, wanted in cases}
    lab.verified(*tables)
    lab.sql("DELETE FROM src WHERE id IN (1, 4); UPDATE src SET name = 'x' WHERE id = 2")
    lab.insert("src", "2, 2, 7, 'y'", "7, 3, 3, 'z'", "8, 2, -5, 'b'")
    for name in tables:
        assert lab.refresh(name) == "INCREMENTAL"
    lab.verified(*tables)
    assert lab.engine.verify(tables[0], all=True).equal


@pytest.mark.nightly
def test_below_it_and_after_a_restart(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT, v INT", "1, 1", "2, 2", "2, 2")
    lab.dynamic_table("up", "SELECT id, v FROM src")
    lab.dynamic_table("down", "SELECT id, count(*) AS n FROM up GROUP BY id")
    lab.sql("CREATE STREAM seen ON DYNAMIC TABLE up")
    lab.insert("src", "3, 3")  # the refresh after the derivation brings it
    lab.sql("CREATE OR ALTER DYNAMIC TABLE up TARGET_LAG = '1 hour' AS "
            "SELECT v, id AS id FROM src WHERE id > 1")  # fmt: skip
    assert outcome(lab, "up", 1) == DERIVED
    assert lab.engine.records("up")[0].action == "INCREMENTAL"
    assert lab.rows("up") == [(2, 2), (2, 2), (3, 3)]
    assert lab.refresh("down") == "INCREMENTAL"
    lab.verified("up", "down")
    lab.sql("CREATE OR ALTER DYNAMIC TABLE up (v COMMENT 'value', id) TARGET_LAG = '1 hour' AS "
            "SELECT v, id FROM src WHERE id > 1")  # fmt: skip
    assert lab.refresh("up") == "NO_DATA"
    lab.reopen()
    lab.insert("src", "4, 4")
    assert (lab.refresh("up"), lab.refresh("down")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("up", "down")


@pytest.mark.nightly
def test_a_derivation_that_was_cut_off_is_whole_or_did_not_happen(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = quick_lab
    lab.table("src", "id INT, v INT", "1, 1", "2, 2", "2, 2")
    lab.dynamic_table("t", "SELECT id, v FROM src")
    new = "CREATE OR ALTER DYNAMIC TABLE t TARGET_LAG = '1 hour' AS SELECT v AS w FROM src"

    def fail(*given: object, **named: object) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(derived_contents, "commit_stage", fail)
        with pytest.raises(Exception, match="no space"):
            lab.sql(new)
    assert lab.rows("t") == [(1, 1), (2, 2), (2, 2)]
    assert lab.engine.records("t")[0].state == "FAILED"
    lab.insert("src", "3, 3")
    assert lab.refresh("t") == "INCREMENTAL"
    lab.verified("t")
    with monkeypatch.context() as patched:  # its process ended after the commit
        patched.setattr(lab.context.catalog, "finish", fail)
        with pytest.raises(Exception, match="no space"):
            lab.sql(new)
    lab.reopen()
    assert lab.rows("t") == [(1,), (2,), (2,), (3,)]
    lab.sql("DELETE FROM src WHERE id = 2")
    assert lab.refresh("t") == "INCREMENTAL"
    assert lab.engine.table("t").definition.query == "SELECT v AS w FROM src"
    lab.verified("t")


def altered(lab: Lab, text: str) -> Created:
    (made,) = lab.engine.run(f"CREATE OR ALTER DYNAMIC TABLE {text}")
    assert isinstance(made, Created)
    return made


def test_the_same_definition_again_does_nothing_and_says_so(quick_lab: Lab) -> None:
    lab, dt = quick_lab, quick_lab.engine
    lab.table("src", "id INT, v INT", "1, 1", "2, 0")
    text = "t TARGET_LAG = '1 hour' AS SELECT * FROM src"
    lab.sql(f"CREATE DYNAMIC TABLE {text}")
    frame = lab.spark.table("src").groupBy("id").count()
    dt.create("framed", frame)
    lab.reopen()
    dt = lab.engine
    before = [
        (t.version, t.definition, len(dt.records(t.name))) for t in lab.context.catalog.list()
    ]
    for again in (text, "default.T TARGET_LAG = '1 hour' AS select *\n from default.SRC -- said"):
        made = altered(lab, again)
        assert (made.record, made.status) == (None, "Dynamic table t is unchanged.")
    same = dt.create("framed", lab.spark.table("src").groupBy("id").count())
    assert (bool(same.change), same.status) == (False, "Dynamic table framed is unchanged.")
    after = [(t.version, t.definition, len(dt.records(t.name))) for t in lab.context.catalog.list()]
    assert after == before
    with refused("DT-1105") as errors:
        dt.create("framed", frame.where("id > 1"))
    assert "or_alter=True" in str(errors[0])
    with refused("DT-1105") as errors:
        lab.sql(f"CREATE DYNAMIC TABLE {text}")
    assert "CREATE OR ALTER" in str(errors[0])
    made = altered(lab, text.replace("1 hour", "2 hours"))
    assert made.change is not None
    assert (made.change.differs, made.record) == (("TARGET_LAG 1 hour → 2 hours",), None)
    lab.sql("ALTER DYNAMIC TABLE t SUSPEND; ALTER TABLE src ADD COLUMN w INT")
    made = altered(lab, text.replace("1 hour", "2 hours"))  # * is more than it was
    assert made.change is not None
    assert (made.change.columns, made.record and made.record.action) == (
        ("+ w int",), "REINITIALIZE",
    )  # fmt: skip
    made = altered(lab, text.replace("1 hour", "2 hours"))
    assert (made.record, "RESUME" in str(made.notes)) == (None, True)
    lab.verified("t", "framed")


def test_what_was_said_of_an_edit_is_what_comes_of_it(quick_lab: Lab, tmp_path: Path) -> None:
    lab = quick_lab
    lab.table("src", "id INT, v INT, w INT", "1, 1, 1", "2, 0, 4")
    lab.dynamic_table("t", "SELECT id, v FROM src")
    lab.dynamic_table("sums", "SELECT id, sum(v) AS s FROM t GROUP BY id")
    lab.dynamic_table("every", "SELECT * FROM t")
    lab.sql("CREATE STREAM s ON DYNAMIC TABLE t")
    lab.sql(f"CREATE SINK k FROM DYNAMIC TABLE t INTO 'sqlite://{tmp_path}/k.db' KEY (id)")
    made = altered(lab, "t TARGET_LAG = '1 hour' AS SELECT id, v, w FROM src")
    change = made.change
    assert change is not None
    assert (change.rows.partition(":")[0], made.record and made.record.action) == (
        "recomputed", "REINITIALIZE",
    )  # fmt: skip
    assert change.costs == (
        "every: gets the new columns at the next refresh",
        "sums: refreshed by the rows that differ",
        "stream s: holds the rows that differ",
        "sink k: delivers the rows that differ",
    )
    assert (lab.refresh("every"), lab.refresh("sums")) == ("INCREMENTAL", "INCREMENTAL")
    lab.sql("ALTER SINK k REFRESH")
    lab.verified("t", "every", "sums")
    dropping = altered(lab, "t TARGET_LAG = '1 hour' AS SELECT id, w FROM src").change
    assert dropping is not None
    assert dropping.costs[0] == "sums reads v: its next refresh fails (DT-2116)"
    assert "sink k: paused (DT-6142)" in dropping.costs[-1]
    with refused("DT-6142"):
        lab.sql("ALTER SINK k REFRESH")
    assert lab.engine.refresh("sums").error_code == "DT-2116"
    (fixed,) = lab.engine.run(
        "CREATE OR ALTER DYNAMIC TABLE sums AS SELECT id, sum(w) AS s FROM t GROUP BY id"
    )
    assert isinstance(fixed, Created)
    assert lab.engine.table("sums").error_count == 0
    (made,) = lab.engine.run("CREATE OR REPLACE DYNAMIC TABLE t AS SELECT id, w FROM src")
    assert isinstance(made, Created)
    assert made.change is not None
    told = "\n".join(made.change.costs)
    assert "stream s: stale" in told
    assert "sink k: paused; ALTER SINK k RESET" in told
    (stream,) = lab.engine.stream_reports()
    assert stream.reason == "t was replaced"
    with pytest.raises(DTError) as paused:
        lab.sql("ALTER SINK k REFRESH")
    assert paused.value.code in ("DT-6142", "DT-6151")
    assert lab.refresh("sums") == "REINITIALIZE"
    (dropped,) = lab.sql("DROP DYNAMIC TABLE t")
    assert "dynamic tables every, sums, stream s and sink k" in str(dropped)
    assert "UNDROP DYNAMIC TABLE t" in str(dropped)
    (dropped,) = lab.sql("DROP TABLE src")
    assert "Still read" not in str(dropped), "t is gone"
    lab.sql("UNDROP TABLE src; UNDROP DYNAMIC TABLE t")
    (dropped,) = lab.sql("DROP TABLE src")
    assert "dynamic table t (every, sums downstream)" in str(dropped)


def test_a_schema_that_a_table_needs_is_said_and_goes_with_it(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT", "1", "0")
    with refused("DT-2105"):
        lab.sql("CREATE DYNAMIC TABLE fresh.t AS SELECT 1 / (id - 1) AS x FROM src")
    assert not lab.spark.catalog.databaseExists("fresh")
    (said,) = lab.sql("CREATE DYNAMIC TABLE fresh.t AS SELECT id FROM src")
    assert "Dynamic table fresh.t created, and schema fresh for it." in str(said)
    (said,) = lab.sql("CREATE DYNAMIC TABLE fresh.u AS SELECT id FROM src")
    assert "schema" not in str(said)
    (said,) = lab.sql("ALTER DYNAMIC TABLE fresh.u RENAME TO other.u")
    assert "renamed to other.u, and schema other for it" in str(said)
    lab.sql("CREATE VIEW seen AS SELECT id FROM src")
    lab.sql("CREATE DYNAMIC TABLE d AS SELECT seen.id FROM seen JOIN fresh.t ON seen.id = t.id")
    (said,) = lab.sql("DROP VIEW seen")
    assert "Still read by dynamic table d." in str(said)
    (said,) = lab.sql("DROP SCHEMA fresh CASCADE")
    assert "Still read by dynamic table d. What reads it fails until: UNDROP SCHEMA" in str(said)
    lab.sql("DROP SCHEMA other CASCADE")
