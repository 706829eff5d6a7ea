"""Queries in words that only Spark's parser knows: kept incrementally, shown as they were written,
and read again when what they read has changed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.spark.engine_lab import Lab, refused

TEXTS: Mapping[str, str] = {
    "piped": "FROM t |> SET v = v + 1 |> WHERE v > 1 |> DROP f",
    "whole": "TABLE t",
    "cluster": "SELECT id, sum(v) OVER (CLUSTER BY k) AS s FROM t",
}
MORE: Mapping[str, str] = {
    "named": "FROM t |> AS x |> SELECT x.id, x.k",
    "fields": "SELECT s.* FROM (SELECT struct(id, k AS `odd ``name`) AS s FROM t) q",
    "using": "SELECT k FROM t FULL JOIN u USING (k) FULL JOIN w USING (k)",
    "rolled": "SELECT k, v, count(*) AS n FROM t GROUP BY ROLLUP(1, 2)",
    "over_view": "FROM seen |> SET v = 2 * v",
    "over_table": "FROM piped |> AGGREGATE count(*) AS n GROUP BY k |> SET n = n + 1",
}


def tables(lab: Lab) -> None:
    lab.table("t", "id INT, k STRING, v INT, f INT", "1, 'a', 1, 2", "2, 'a', 1, NULL",
              "3, 'b', 2, 1", "0, NULL, 3, 1", "1, 'a', 1, 2")  # fmt: skip
    lab.table("u", "id INT, k STRING", "1, 'a'", "2, 'a'", "3, NULL")
    lab.table("w", "k STRING, x INT", "'a', 1", "'b', NULL")


def change(lab: Lab) -> None:
    lab.sql("INSERT INTO t VALUES (7, 'b', 5, 1)")
    lab.sql("DELETE FROM t WHERE id = 2")
    lab.sql("UPDATE u SET k = 'b' WHERE id = 1")


def shown(lab: Lab, texts: Mapping[str, str]) -> None:
    """Each table has the rows that Spark gives for its own text."""
    for name, text in texts.items():
        wanted = sorted((tuple(r) for r in lab.spark.sql(text).collect()), key=repr)
        assert lab.rows(name) == wanted, name


def test_a_text_that_only_spark_reads_is_kept_incrementally(quick_lab: Lab) -> None:
    tables(quick_lab)
    for name, text in TEXTS.items():
        made = quick_lab.dynamic_table(name, text)
        assert (name, made.effective_mode) == (name, "INCREMENTAL")
        assert made.definition.query == text
    shown(quick_lab, TEXTS)
    change(quick_lab)
    quick_lab.reopen()
    assert {n: quick_lab.refresh(n) for n in TEXTS} == dict.fromkeys(TEXTS, "INCREMENTAL")
    shown(quick_lab, TEXTS)
    quick_lab.sql("ALTER TABLE t ADD COLUMNS (g INT AFTER id)")
    assert quick_lab.refresh("whole") == "INCREMENTAL"  # a column that the text takes
    shown(quick_lab, {"whole": TEXTS["whole"]})
    assert TEXTS["piped"] in str(quick_lab.engine.export())


@pytest.mark.nightly
def test_every_kind_of_such_a_text_is_kept(quick_lab: Lab) -> None:
    tables(quick_lab)
    quick_lab.sql("CREATE VIEW seen AS SELECT id, v FROM t WHERE v IS NOT NULL")
    texts = {**TEXTS, **MORE}
    for name, text in texts.items():
        made = quick_lab.dynamic_table(name, text)
        assert (name, made.effective_mode) == (name, "INCREMENTAL"), made.mode_reason
    change(quick_lab)
    quick_lab.sql("CREATE DYNAMIC TABLE twin CLONE piped")
    for name in texts:
        assert quick_lab.refresh(name) == "INCREMENTAL", name
    shown(quick_lab, texts)
    assert all(quick_lab.engine.verify(name, all=True) for name in texts)
    quick_lab.refresh("twin")
    shown(quick_lab, {"twin": TEXTS["piped"]})
    quick_lab.sql("CREATE OR REPLACE VIEW seen AS SELECT v, id FROM t WHERE v > 1")
    quick_lab.refresh("over_view")
    shown(quick_lab, {"over_view": MORE["over_view"]})


@pytest.mark.nightly
def test_what_such_a_text_means_is_found_anew(quick_lab: Lab) -> None:
    lab = quick_lab
    tables(lab)
    lab.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    kept = {"both": "TABLE t |> UNION ALL TABLE t", "piped": TEXTS["piped"]}
    for name, text in kept.items():
        assert lab.dynamic_table(name, text).effective_mode == "INCREMENTAL"
    lab.sql("ALTER TABLE t ALTER COLUMN f FIRST")
    assert lab.refresh("both") == "REINITIALIZE"
    shown(lab, {"both": kept["both"]})
    lab.sql("ALTER TABLE t RENAME COLUMN k TO key")
    assert lab.refresh("piped") == "REINITIALIZE"
    lab.refresh("both")
    shown(lab, kept)
    lab.sql("ALTER TABLE t DROP COLUMN f")
    record = lab.record("piped")
    assert record.error is not None
    lab.sql("CREATE OR ALTER DYNAMIC TABLE piped TARGET_LAG = '1 hour' AS SELECT id, v FROM t")
    shown(lab, {"piped": "SELECT id, v FROM t"})


@pytest.mark.nightly
def test_what_has_no_incremental_form_is_computed_anew_and_knows_its_sources(
    quick_lab: Lab,
) -> None:
    lab = quick_lab
    tables(lab)
    made = lab.dynamic_table("asked", TEXTS["piped"], "REFRESH_MODE = FULL")
    assert [str(s.name) for s in made.definition.sources] == ["t"]
    assert lab.refresh("asked") == "NO_DATA"
    lab.insert("t", "9, 'z', 9, 9")
    assert lab.refresh("asked") == "FULL"
    shown(lab, {"asked": TEXTS["piped"]})
    lab.dynamic_table("late", "FROM t |> SET v = unix_timestamp()")
    assert (lab.mode("late"), lab.why("late")) == ("FULL", "CONTEXT_FUNCTION")
    lab.dynamic_table("random", "FROM t |> SET v = rand()")
    assert lab.mode("random") == "FULL"
    with refused("DT-1102"):
        lab.dynamic_table("wrong", "FROM t |> SET nope = 1")
