"""What a refresh does, and what it reads: before, change, after, and the action taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import dt_jupyter.definition.define as define
import dt_jupyter.refresh.stage_run as apply
from dt_jupyter.ivm import Literal, aggregates
from dt_jupyter.lake import TableLog
from dt_jupyter.model import RefreshAction, RefreshTrigger, Timestamp
from dt_jupyter.sql.emit import state_sql as maintain
from tests.cases import some
from tests.spark import rival
from tests.spark.engine_lab import Lab, refused, without_check
from tests.unit.ivm.test_groups import sum_of_all, sum_of_inserts


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without_check(monkeypatch)
    return


def jobs(lab: Lab) -> set[int]:
    """The Spark jobs of no group, and of all groups that the tracker knows, by their ids."""
    store = lab.spark._jsparkSession.sparkContext().statusStore()  # type: ignore[attr-defined]
    listed = store.jobsList(None)
    return {listed.apply(i).jobId() for i in range(listed.length())}


WIDE = "1234567890123456789012345678901234567"


def settled(lab: Lab) -> set[int]:
    context = lab.spark._jsparkSession.sparkContext()  # type: ignore[attr-defined]
    context.listenerBus().waitUntilEmpty()
    return jobs(lab)


# -- nothing new ----------------------------------------------------------------------------------


def test_unchanged_sources_start_no_job_and_write_nothing(lab: Lab) -> None:
    lab.table("item", "id INT, name STRING", "1, 'rug'", "2, 'car'")
    lab.dynamic_table("rugs", "SELECT * FROM item WHERE name = 'rug'")
    lab.dynamic_table("names", "SELECT name, count(*) AS n FROM rugs GROUP BY name")
    before, files, ran = lab.engine.table("names"), lab.files(), settled(lab)
    record = lab.record("names")
    assert (record.action, record.version) == ("NO_DATA", before.version)
    assert settled(lab) == ran
    assert lab.files() == files
    after = lab.engine.table("names")
    assert after.sequence == before.sequence
    assert after.data_timestamp is not None
    assert before.data_timestamp is not None
    assert after.data_timestamp > before.data_timestamp


@pytest.mark.nightly
def test_a_refresh_that_another_overtook_before_it_began_looks_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.table("item", "id INT, v INT", "1, 1")
    lab.dynamic_table("d", "SELECT v, count(*) AS n FROM item GROUP BY v")
    lab.insert("item", "2, 1")
    refresher = lab.context.refresher
    choose, others = refresher._choose, []

    def overtaken(table: Any, seen: Any, **more: Any) -> Any:
        chosen = choose(table, seen, **more)
        monkeypatch.setattr(refresher, "_choose", choose)
        before = seen.frontier.data_timestamp.plus(-0.001)
        others.append(refresher.refresh(table.id, before, RefreshTrigger.MANUAL))
        return chosen

    monkeypatch.setattr(refresher, "_choose", overtaken)
    record = lab.record("d")
    assert [(r.action, r.error) for r in others] == [("INCREMENTAL", None)]
    assert (record.action, record.error) == ("NO_DATA", None)
    assert lab.engine.table("d").sequence == 2
    lab.verified("d")


def test_optimizing_a_source_is_no_change(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.insert("item", "2")
    lab.dynamic_table("d", "SELECT id FROM item")
    lab.sql("OPTIMIZE item")
    assert lab.refresh("d") == "NO_DATA"
    lab.insert("item", "3")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_a_change_that_the_query_filters_away_changes_no_row(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", "1, 1")
    lab.dynamic_table("d", "SELECT id FROM item WHERE v > 0")
    version = lab.version("d")
    lab.insert("item", "2, -1")
    record = lab.record("d")
    assert (record.statistics.inserted_rows, record.statistics.deleted_rows) == (0, 0)
    assert lab.version("d") == version
    lab.verified("d")


# -- rows read ------------------------------------------------------------------------------------


def test_an_appended_row_is_the_only_one_read(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", *(f"{i}, {i}" for i in range(50)))
    lab.dynamic_table("d", "SELECT id, v + 1 AS w FROM item WHERE v >= 0")
    lab.insert("item", "100, 1", "101, 2", "102, 3")
    record = lab.record("d")
    assert record.action == "INCREMENTAL"
    assert record.statistics.rows_read == 3
    assert record.statistics.inserted_rows == 3
    lab.verified("d")


@pytest.mark.nightly
def test_an_update_reads_both_of_its_images_and_no_more(lab: Lab) -> None:
    lab.table("item", "id INT, name STRING", *(f"{i}, 'rug'" for i in range(40)))
    lab.dynamic_table("rugs", "SELECT * FROM item WHERE name = 'rug'")
    lab.sql("UPDATE item SET name = 'lamp' WHERE id = 1")
    record = lab.record("rugs")
    assert record.action == "INCREMENTAL"
    assert record.statistics.deleted_rows == 1
    assert record.statistics.inserted_rows == 0
    assert len(lab.rows("rugs")) == 39
    lab.verified("rugs")


def test_a_group_is_moved_from_its_state_not_from_its_rows(lab: Lab) -> None:
    many = [f"'{'abcdefghij'[i % 10]}', {i}" for i in range(400)]
    lab.table("item", "k STRING, v INT", *many)
    lab.dynamic_table("d", "SELECT k, count(*) AS n, sum(v) AS s, max(v) AS m FROM item GROUP BY k")
    lab.insert("item", "'a', 1000", "'b', 5")
    record = lab.record("d")
    assert record.action == "INCREMENTAL"
    # Two changes and the ten rows of state; the 400 rows of the source are not read.
    assert record.statistics.rows_read <= 2 + 10
    lab.verified("d")


@pytest.mark.nightly
def test_a_number_of_many_digits_leaves_a_sum_as_it_came(lab: Lab) -> None:
    """Spark rounds the negative of a decimal to 34 digits."""
    lab.table("t", "k INT, v DECIMAL(37, 0)", f"1, {WIDE}", "1, 5")
    lab.dynamic_table("d", "SELECT k, sum(v) AS s, count(v) AS n FROM t GROUP BY k")
    lab.sql(f"DELETE FROM t WHERE v = {WIDE}")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


# -- graphs ---------------------------------------------------------------------------------------


def test_a_diamond_stands_at_one_data_timestamp(lab: Lab) -> None:
    lab.table("item", "id INT, k STRING, v INT", "1, 'a', 1", "2, 'b', 2")
    lab.dynamic_table("base", "SELECT id, k, v FROM item WHERE v > 0")
    lab.dynamic_table("left_", "SELECT k, count(*) AS n FROM base GROUP BY k")
    lab.dynamic_table("right_", "SELECT k, sum(v) AS s FROM base GROUP BY k HAVING sum(v) > 1")
    lab.dynamic_table("top", "SELECT l.k, l.n, r.s FROM left_ l JOIN right_ r ON l.k = r.k")
    lab.insert("item", "3, 'a', 5", "4, 'c', 1")
    record = lab.record("top")
    assert {r.name.table for r in record.upstream} == {"left_", "right_"}
    stamps = {str(lab.engine.table(n).data_timestamp) for n in ("base", "left_", "right_", "top")}
    assert stamps == {str(record.data_timestamp)}
    assert [lab.engine.records(n, 1)[0].action for n in ("base", "left_", "right_", "top")] == [
        "INCREMENTAL"
    ] * 4
    assert lab.rows("top") == [("a", 2, 6), ("b", 1, 2)]
    lab.verified("base", "left_", "right_", "top")


@pytest.mark.nightly
def test_groups_come_into_sight_and_out_of_it(lab: Lab) -> None:
    lab.table("item", "k STRING", "'a'", "'a'", "'b'")
    lab.dynamic_table("many", "SELECT k, count(*) AS n FROM item GROUP BY k HAVING count(*) > 1")
    lab.dynamic_table("above", "SELECT n, count(*) AS c FROM many GROUP BY n")
    assert lab.rows("many") == [("a", 2)]
    lab.sql("INSERT INTO item VALUES ('b'), ('b')")
    assert lab.refresh("above") == "INCREMENTAL"
    assert lab.rows("many") == [("a", 2), ("b", 3)]
    lab.sql("DELETE FROM item WHERE k = 'a'")
    assert lab.refresh("above") == "INCREMENTAL"
    assert lab.rows("many") == [("b", 3)]
    assert lab.rows("above") == [(3, 1)]
    lab.verified("many", "above")


def test_a_refresh_at_a_past_time_sees_the_past(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM item")
    between = lab.context.clock.now()
    lab.insert("item", "2")
    record = lab.engine.refresh("d", at=between)
    assert record.action == "NO_DATA"
    assert lab.rows("d") == [(1,)]
    with refused("DT-2109"):
        lab.engine.refresh("d", at=between)
    with refused("DT-2109"):
        lab.engine.refresh("d", at=Timestamp(lab.context.clock.now().micros + 10**12))
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(1,), (2,)]


# -- empty ----------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_no_rows_are_rows_too(lab: Lab) -> None:
    lab.table("item", "k STRING, v INT")
    lab.dynamic_table("bag", "SELECT k, v FROM item")
    lab.dynamic_table(
        "grouped", "SELECT k, 100 * sum(v) / count(*) AS a, max(v) AS m FROM item GROUP BY k"
    )
    assert lab.rows("bag") == lab.rows("grouped") == []
    lab.insert("item", "'a', 1", "'a', 1", "NULL, NULL")
    assert (lab.refresh("bag"), lab.refresh("grouped")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("bag", "grouped")
    lab.sql("DELETE FROM item")
    assert (lab.refresh("bag"), lab.refresh("grouped")) == ("INCREMENTAL", "INCREMENTAL")
    assert lab.rows("bag") == lab.rows("grouped") == []
    lab.insert("item", "'b', 2")
    assert (lab.refresh("bag"), lab.refresh("grouped")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("bag", "grouped")


@pytest.mark.nightly
def test_duplicates_leave_one_by_one(lab: Lab) -> None:
    lab.table("item", "id INT, v STRING", "1, 'x'", "2, 'x'", "3, 'x'")
    lab.dynamic_table("d", "SELECT v FROM item")
    lab.sql("DELETE FROM item WHERE id = 2")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [("x",), ("x",)]
    lab.verified("d")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("one", "two"),
    some(
        1,
        [
            ("INT", "DOUBLE"),
            ("DECIMAL(10,2)", "DECIMAL(12,4)"),
            ("DATE", "TIMESTAMP"),
            ("INT", "BIGINT"),
        ],
    ),
)
def test_a_union_of_two_types_loses_rows_by_either_branch(lab: Lab, one: str, two: str) -> None:
    value = "DATE'2024-01-01'" if one == "DATE" else "1"
    lab.table("a", f"id INT, x {one}", f"1, {value}", f"2, {value}")
    lab.table("b", f"id INT, x {two}", f"1, {value}")
    both = "SELECT x FROM a UNION ALL SELECT x FROM b"
    lab.dynamic_table("bag", both)
    lab.dynamic_table("grouped", f"SELECT x, count(*) AS n FROM ({both}) GROUP BY x")
    lab.sql("DELETE FROM a WHERE id = 1")
    assert (lab.refresh("bag"), lab.refresh("grouped")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("bag", "grouped")
    lab.sql("DELETE FROM b")
    assert (lab.refresh("bag"), lab.refresh("grouped")) == ("INCREMENTAL", "INCREMENTAL")
    lab.verified("bag", "grouped")


@pytest.mark.nightly
def test_groups_may_be_of_any_type(lab: Lab) -> None:
    lab.table(
        "item",
        "id INT, l ARRAY<INT>, s STRUCT<a: INT, b: ARRAY<STRING>>, b BINARY, f DOUBLE",
        "1, array(1, NULL), struct(1, array('x')), X'00', CAST('NaN' AS DOUBLE)",
        "2, array(), struct(1, NULL), X'', -0.0",
        "3, NULL, NULL, NULL, 0.0",
    )
    for column in ("l", "s", "b", "f"):
        query = f"SELECT {column}, count(*) AS n, max(id) AS m FROM item GROUP BY {column}"
        lab.dynamic_table(f"by_{column}", query)
    lab.dynamic_table("bag", "SELECT l, s, b, f FROM item")
    lab.sql("INSERT INTO item SELECT id + 10, l, s, b, f FROM item WHERE id > 1")
    lab.sql("DELETE FROM item WHERE id IN (1, 2)")
    for name in ("by_l", "by_s", "by_b", "by_f", "bag"):
        assert lab.refresh(name) == "INCREMENTAL", name
        lab.verified(name)
    lab.sql("DELETE FROM item")
    for name in ("by_l", "by_s", "by_b", "by_f", "bag"):
        assert lab.refresh(name) == "INCREMENTAL", name
        assert lab.rows(name) == []


# -- sources that are not to be altered, and those that have no versions --------------------------


@pytest.mark.nightly
def test_a_source_that_is_not_to_be_altered_is_not(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE plain (id INT, v INT) USING delta")
    lab.spark.sql("INSERT INTO plain VALUES (1, 1), (2, 2)")
    made = lab.dynamic_table("d", "SELECT id, v FROM plain", "ALTER_SOURCES = FALSE")
    (source,) = made.definition.sources
    assert source.path is not None
    log = TableLog(source.path)
    version = log.version()
    assert "delta.enableChangeDataFeed" not in log.properties()
    lab.spark.sql("UPDATE plain SET v = 9 WHERE id = 1")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(1, 9), (2, 2)]
    lab.verified("d")
    assert log.version() == version + 1
    assert "delta.enableChangeDataFeed" not in log.properties()


@pytest.mark.nightly
def test_a_source_of_another_format_is_recomputed_and_says_so(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE files (id INT, k CHAR(1)) USING parquet PARTITIONED BY (k)")
    lab.spark.sql("INSERT INTO files VALUES (1, 'a')")
    lab.dynamic_table("d", "SELECT id FROM files")
    assert (lab.mode("d"), lab.why("d")) == ("FULL", "FOREIGN_SOURCE")
    lab.spark.sql("INSERT INTO files VALUES (2, 'a')")
    assert lab.refresh("d") == "FULL"
    assert lab.rows("d") == [(1,), (2,)]


def test_a_full_table_follows_what_has_no_incremental_form(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", "1, 1", "2, 5")
    lab.dynamic_table("d", "SELECT count(*) AS n, percentile_approx(v, 0.5) AS m FROM item")
    assert (lab.mode("d"), lab.why("d")) == ("FULL", "AGGREGATE")
    assert lab.refresh("d") == "NO_DATA"
    lab.insert("item", "3, 3")
    assert lab.refresh("d") == "FULL"
    assert lab.rows("d") == [(3, 3)]
    lab.verified("d")


@pytest.mark.nightly
def test_explain_foretells_that_a_full_table_is_incremental_again(lab: Lab) -> None:
    lab.table("item", "id INT, v INT", "1, 1", "2, 5")
    query = "CREATE OR REPLACE VIEW w AS SELECT id, v FROM item"
    lab.sql(query)
    lab.dynamic_table("d", "SELECT sum(v) AS s FROM w")
    lab.sql("CREATE OR REPLACE VIEW w AS SELECT id, CAST(rand() AS INT) + v AS v FROM item")
    lab.refresh("d")
    assert (lab.mode("d"), lab.why("d")) == ("FULL", "NON_DETERMINISTIC")
    lab.insert("item", "3, 3")
    assert lab.engine.explain("d").action is RefreshAction.FULL
    lab.sql(query)
    before = lab.engine.table("d")
    told = lab.engine.explain("d")
    assert lab.engine.table("d") == before
    assert told.tree, "the plan of an incremental table"
    record = lab.record("d")
    assert (told.action, told.action_reason) == (record.action, record.reason)
    assert str(record.action) == "REINITIALIZE"
    assert lab.mode("d") == "INCREMENTAL"
    assert lab.rows("d") == [(9,)]
    lab.insert("item", "4, 1")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(10,)]


def test_every_supported_aggregate_follows_its_rows(lab: Lab) -> None:
    lab.table(
        "item",
        "k STRING, v INT, f DOUBLE, ok BOOLEAN",
        "'a', 1, 1.5, true",
        "'a', 2, CAST('NaN' AS DOUBLE), false",
        "'b', NULL, NULL, NULL",
    )
    items = []
    within = "0.5) WITHIN GROUP (ORDER BY v"
    special = {
        "percentile_cont": within,
        "percentile_disc": within,
        "count_min_sketch": "v, 0.5D, 0.5D, 1",
        **dict.fromkeys(("bitmap_or_agg", "bitmap_and_agg"), "CAST(k AS BINARY)"),
    }
    for function in sorted(aggregates.RECOMPUTED | set(aggregates._RULES)):
        two = function.startswith(("regr", "cov", "corr", "min_by", "max_by"))
        args = "v, f" if two else "ok" if function in ("bool_or", "bool_and", "count_if") else "v"
        args += ", 0.5" if function == "percentile" else ""
        args = special.get(function, args)
        items.append(f"{function}({args}) AS c_{function}")
    lab.dynamic_table("d", f"SELECT k, {', '.join(items)} FROM item GROUP BY k")
    assert lab.mode("d") == "INCREMENTAL", lab.why("d")
    for change in (
        "INSERT INTO item VALUES ('a', 5, 2.5, NULL), ('c', 1, 1.0, true)",
        "DELETE FROM item WHERE v = 2",
        "UPDATE item SET v = 7, f = -0.0 WHERE k = 'b'",
        "DELETE FROM item WHERE k = 'a'",
    ):
        lab.sql(change)
        assert lab.refresh("d") == "INCREMENTAL"
        lab.verified("d")


# -- the oracle is not vacuous --------------------------------------------------------------------


_MUTANTS = {
    "extremes ignore deletes": lambda m: m.setattr(
        maintain, "_reached", lambda s: Literal("FALSE")
    ),
    "sums ignore deletes": lambda m: m.setitem(
        aggregates.WEIGHTED, aggregates.Kind.SUM, sum_of_inserts
    ),
    "a delete takes all copies": lambda m: m.setattr(
        apply, "newest_copies", lambda found, gone: found
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", _MUTANTS)
def test_a_mutated_rule_is_caught(lab: Lab, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By verify, or by a validation of the refresh itself: never silently."""
    rows = ("1, 'a', 1", "2, 'a', 5", "3, 'a', 5", "4, 'a', 5", "5, 'b', 9", "6, 'b', 1")
    lab.table("item", "id INT, k STRING, v INT", *rows)
    lab.dynamic_table("extremes", "SELECT k, max(v) AS m FROM item WHERE id > 0 GROUP BY k")
    lab.dynamic_table("sums", "SELECT k, sum(v) AS s FROM item GROUP BY k")
    lab.dynamic_table("bag", "SELECT k, v FROM item")
    _MUTANTS[name](monkeypatch)
    lab.sql("DELETE FROM item WHERE id IN (4, 5)")
    caught = []
    for table in ("extremes", "sums", "bag"):
        record = lab.record(table)
        by_verify, by_rival = lab.engine.verify(table).difference, rival.difference(lab, table)
        assert (by_verify is None) == (by_rival is None), (by_verify, by_rival)
        if record.error_code == "DT-2107" or by_rival:
            caught.append(table)
    assert caught, name


def test_the_check_at_creation_catches_a_mutated_rule(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dt_jupyter.definition.validate.creation_check import check

    monkeypatch.setattr(define, "check", check)
    lab.table("item", "k STRING, v INT", "'a', 1", "'b', 2", "'a', 7", "'b', 5")
    query = "SELECT k, sum(v) AS s FROM item GROUP BY k"
    lab.dynamic_table("fine", query)
    assert lab.mode("fine") == "INCREMENTAL"
    monkeypatch.setitem(aggregates.WEIGHTED, aggregates.Kind.SUM, sum_of_all)
    lab.dynamic_table("broken", query)
    assert (lab.mode("broken"), lab.why("broken")) == ("FULL", "GUARD_MISMATCH")
    lab.verified("broken")
    with refused("DT-1107") as errors:
        lab.dynamic_table("demanded", query, "REFRESH_MODE = INCREMENTAL")
    assert "GUARD_MISMATCH" in str(errors[0])
    assert lab.context.catalog.get(lab.context.name("demanded")) is None


def test_what_is_not_incremental_is_shown_in_the_query(lab: Lab) -> None:
    """Spark read it over views with longer names."""
    lab.table("item", "k STRING, v INT", "'a', 1")
    for call in ("rand()", "percentile_approx(i.v, 0.5)"):
        query = f"SELECT 'rand' AS n, {call} AS r FROM item i JOIN item USING (k)"
        with refused("DT-1107") as errors:
            lab.dynamic_table("demanded", query, "REFRESH_MODE = INCREMENTAL")
        statement, span = errors[0].query, errors[0].span
        assert statement is not None
        assert span is not None
        assert statement[span.start : span.end] == call


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT k, sum(id) AS s FROM item GROUP BY k HAVING count(*) > 20", 2),
        ("SELECT DISTINCT k FROM item", 1),
        ("SELECT id, k FROM item WHERE k <> 3", 2),
    ],
)
def test_the_check_at_creation_sees_of_a_dynamic_table_what_people_see(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, query: str, columns: int
) -> None:
    """All columns of one are its public ones, and its rows those in sight."""
    from dt_jupyter.definition.validate.creation_check import check

    monkeypatch.setattr(define, "check", check)
    lab.table("item", "id INT, k INT")
    lab.sql("INSERT INTO item SELECT id, id % 7 FROM range(100) WHERE id % 7 <> 5 OR id < 9")
    lab.dynamic_table("below", query)
    lab.dynamic_table("above", "SELECT * FROM below")
    lab.dynamic_table("counted", "SELECT count(*) AS n FROM below")
    assert [lab.mode(n) for n in ("above", "counted")] == ["INCREMENTAL", "INCREMENTAL"]
    assert len(lab.spark.table("above").columns) == columns
    lab.sql("UPDATE item SET k = 4 WHERE id < 20")
    assert [lab.refresh(n) for n in ("above", "counted")] == ["INCREMENTAL", "INCREMENTAL"]
    lab.verified("above", "counted")
