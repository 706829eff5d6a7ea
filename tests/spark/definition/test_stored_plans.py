"""Plans of queries are stored: a process that opens a lake does not ask Spark for them."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from dt_jupyter.catalog import StoredPlan, schema
from dt_jupyter.definition import Compiled, SparkAnswers
from dt_jupyter.definition.spark_answers import NO_PLAN, OTHER_QUERY, OTHER_SESSION
from dt_jupyter.refresh.compilations import Compilations
from dt_jupyter.spark import Catalyst
from tests.spark.engine_lab import Lab

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Asked:
    """What Spark was asked while definitions were read and compiled."""

    analysed: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    compiled: list[Compiled] = field(default_factory=list)

    def nothing(self) -> bool:
        """Whether something was compiled, and Spark was asked for nothing; forgets it."""
        found = bool(self.compiled) and not self.analysed and not self.questions
        self.forget()
        return found

    def forget(self) -> None:
        for each in (self.analysed, self.questions, self.compiled):
            each.clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    found = Asked()
    analyse, keep, compile_ = Catalyst.analyse, SparkAnswers._keep, Compilations.compile

    def analysing(catalyst: Catalyst, text: str) -> Any:
        found.analysed.append(text)
        return analyse(catalyst, text)

    def keeping(answers: SparkAnswers, question: str, answer: str) -> str:
        found.questions.append(question)
        return keep(answers, question, answer)

    def compiling(compilations: Compilations, spark: SparkSession, *args: Any) -> Compiled:
        sql = spark.sql

        def reading(text: str) -> DataFrame:
            found.analysed.append(text)
            return sql(text)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(spark, "sql", reading)
            made = compile_(compilations, spark, *args)
        found.compiled.append(made)
        return made

    monkeypatch.setattr(Catalyst, "analyse", analysing)
    monkeypatch.setattr(SparkAnswers, "_keep", keeping)
    monkeypatch.setattr(Compilations, "compile", compiling)
    return found


@pytest.fixture
def lab(quick_lab: Lab) -> Lab:
    quick_lab.table("t", "k INT NOT NULL, v INT, s STRING", "1, 10, 'a'", "2, 20, 'b'")
    quick_lab.table("u", "k INT, c CHAR(5)", "1, 'x'", "3, 'y'")
    return quick_lab


def stored(lab: Lab, name: str) -> StoredPlan | None:
    return lab.context.catalog.stored_plan(lab.engine.table(name).id)


def change_row(lab: Lab, **values: str) -> None:
    with lab.context.catalog._write() as connection:
        connection.execute(update(schema.stored_plan).values(values))


def read_again(lab: Lab, asked: Asked, name: str, k: int, why: str, log: Any) -> None:
    """A change is refreshed after Spark has read the query once more, and without it from then."""
    lab.reopen()
    asked.forget()
    log.clear()
    lab.insert("t", f"{k}, 1, 'n'")
    with log.at_level(logging.INFO):
        assert lab.refresh(name) == "INCREMENTAL"
    assert asked.questions
    assert why in log.text
    lab.verified(name)
    refreshed_without_analyser(lab, asked, name, k + 1)


def refreshed_without_analyser(lab: Lab, asked: Asked, name: str, k: int) -> None:
    lab.reopen()
    asked.forget()
    lab.insert("t", f"{k}, 1, 'n'")
    assert lab.refresh(name) == "INCREMENTAL"
    assert asked.nothing()
    lab.verified(name)


QUERIES = {
    "grouped": "SELECT k, sum(v) AS s, max(s) AS m FROM t GROUP BY k",
    "joined": "SELECT t.k, v, c FROM t JOIN u ON t.k = u.k WHERE c = 'x'",
    "ranked": "SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS r FROM t",
    "semi": "SELECT k, v FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "staged": "SELECT t.k, x.n FROM (SELECT k, count(*) AS n FROM t GROUP BY k) x JOIN t USING (k)",
    "viewed": "SELECT k, w + 1 AS w FROM seen",
    "called": "SELECT k, doubled(v) AS d FROM t",
    "first": "SELECT k, v FROM t ORDER BY v LIMIT 3",
    "python": "SELECT k, plus_one(v) AS d FROM t",
}


def plus_one(value: int) -> int:
    return value + 1


def test_a_restart_compiles_without_the_analyser(lab: Lab, asked: Asked) -> None:
    lab.sql("CREATE VIEW seen AS SELECT k, v AS w FROM t WHERE v > 0")
    lab.sql("CREATE FUNCTION doubled(x INT) RETURNS INT RETURN x * 2")
    lab.engine.register_udf("plus_one", plus_one, "int", immutable=True)
    for name, query in QUERIES.items():
        lab.dynamic_table(name, query, "REFRESH_MODE = INCREMENTAL")
    assert asked.questions
    lab.reopen()
    asked.forget()
    lab.insert("t", "1, 30, 'c'")
    for name in QUERIES:
        assert lab.refresh(name) == "INCREMENTAL"
    assert len(asked.compiled) >= len(QUERIES)
    assert asked.nothing()
    padded = lab.rows("joined")
    assert padded == [(1, 10, "x    "), (1, 30, "x    ")]  # Spark pads both sides
    lab.verified(*(n for n in QUERIES if n != "joined"))


def test_a_lake_of_before_is_read_once(
    lab: Lab, asked: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    before = stored(lab, "a")
    with lab.context.catalog._write() as connection:
        connection.execute(schema.stored_plan.delete())
    read_again(lab, asked, "a", 3, NO_PLAN, caplog)
    after = stored(lab, "a")
    assert before is not None
    assert after is not None
    assert (before.query_key, before.session_key) == (after.query_key, after.session_key)
    assert before.digest == after.digest


@pytest.mark.parametrize(
    ("column", "why"),
    [("content", NO_PLAN), ("digest", NO_PLAN), ("checksum", NO_PLAN)],
)
def test_a_damaged_plan_is_read_again(
    lab: Lab, asked: Asked, caplog: pytest.LogCaptureFixture, column: str, why: str
) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    change_row(lab, **{column: "garbage"})
    read_again(lab, asked, "a", 3, why, caplog)


@pytest.mark.parametrize(
    ("changed", "why"), [("session_key", OTHER_SESSION), ("query_key", OTHER_QUERY)]
)
def test_a_plan_of_another_release_or_query_is_read_again(
    lab: Lab, asked: Asked, caplog: pytest.LogCaptureFixture, changed: str, why: str
) -> None:
    """Whatever it says: its answers are those of another query."""
    lab.dynamic_table("a", QUERIES["grouped"])
    lab.dynamic_table("other", QUERIES["ranked"])
    mine, theirs = stored(lab, "a"), stored(lab, "other")
    assert mine is not None
    assert theirs is not None
    keys = {"query_key": mine.query_key, "session_key": mine.session_key, changed: "another"}
    plan = StoredPlan(**keys, digest=theirs.digest, answers=theirs.answers)
    lab.context.catalog.store_plan(lab.engine.table("a").id, plan)
    read_again(lab, asked, "a", 3, why, caplog)


def test_a_widened_source_is_read_again(
    lab: Lab, asked: Asked, caplog: pytest.LogCaptureFixture
) -> None:
    lab.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    lab.dynamic_table("a", "SELECT k, v + 1 AS w FROM t")
    before = stored(lab, "a")
    lab.sql("ALTER TABLE t ALTER COLUMN v TYPE BIGINT")
    lab.insert("t", "7, 3000000000, 'n'")
    assert lab.refresh("a") == "REINITIALIZE"
    after = stored(lab, "a")
    assert before is not None
    assert after is not None
    assert before.query_key != after.query_key
    assert (7, 3000000001) in lab.rows("a")
    refreshed_without_analyser(lab, asked, "a", 8)


def test_collated_columns_are_the_same_in_each_process(lab: Lab, asked: Asked) -> None:
    check = "spark.databricks.delta.schema.typeCheck.enabled"
    lab.spark.conf.set(check, "false")
    try:
        lab.table("c", "k INT, s STRING COLLATE UTF8_LCASE", "1, 'a'", "2, 'b'")
        lab.dynamic_table("a", "SELECT k FROM c WHERE s = 'a'", "REFRESH_MODE = INCREMENTAL")
        lab.reopen()
        asked.forget()
        lab.insert("c", "3, 'A'")
        assert lab.refresh("a") == "INCREMENTAL"
        assert asked.nothing()
        assert lab.rows("a") == [(1,), (3,)]
    finally:
        lab.spark.conf.unset(check)


def test_a_replaced_function_is_read_again(lab: Lab, asked: Asked) -> None:
    lab.sql("CREATE FUNCTION more(x INT) RETURNS INT RETURN x * 2")
    lab.dynamic_table("a", "SELECT k, more(v) AS w FROM t")
    before = stored(lab, "a")
    lab.sql("CREATE OR REPLACE FUNCTION more(x INT) RETURNS INT RETURN x + 1000")
    lab.reopen()
    assert lab.refresh("a") == "REINITIALIZE"
    after = stored(lab, "a")
    assert before is not None
    assert after is not None
    assert before.query_key != after.query_key
    assert lab.rows("a") == [(1, 1010), (2, 1020)]
    refreshed_without_analyser(lab, asked, "a", 3)


def test_a_view_that_is_replaced_is_read_again(lab: Lab, asked: Asked) -> None:
    lab.sql("CREATE VIEW seen AS SELECT k, v AS w FROM t")
    lab.dynamic_table("a", "SELECT k, w FROM seen")
    lab.sql("CREATE OR REPLACE VIEW seen AS SELECT k, -v AS w FROM t")
    lab.reopen()
    assert lab.refresh("a") == "REINITIALIZE"
    assert lab.rows("a") == [(1, -10), (2, -20)]
    refreshed_without_analyser(lab, asked, "a", 3)


@pytest.mark.parametrize(
    ("conf", "values"),
    [
        ("spark.sql.session.timeZone", ("UTC", "Asia/Tokyo")),
        ("spark.sql.ansi.enabled", ("true", "false")),
    ],
)
def test_another_setting_is_another_plan(
    lab: Lab, asked: Asked, conf: str, values: tuple[str, str]
) -> None:
    query = "SELECT k, hour(CAST(s AS TIMESTAMP)) AS h FROM t WHERE s LIKE '20%'"
    was, plans = lab.spark.conf.get(conf), []
    try:
        for value in values:
            lab.spark.conf.set(conf, value)
            lab.sql(f"CREATE OR REPLACE DYNAMIC TABLE a TARGET_LAG = '1 hour' AS {query}")
            lab.insert("t", "5, 1, '2026-01-01 10:00:00Z'")
            lab.refresh("a")
            plans.append(stored(lab, "a"))
    finally:
        lab.spark.conf.set(conf, str(was))
    first, second = plans
    assert first is not None
    assert second is not None
    assert first.query_key == second.query_key
    assert first.session_key != second.session_key
    assert first.digest != second.digest
    hours = {h for _, h in lab.rows("a")}
    assert hours == ({19} if "timeZone" in conf else {10})
    refreshed_without_analyser(lab, asked, "a", 6)


def test_settings_without_meaning_leave_the_plan(lab: Lab, asked: Asked) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    lab.spark.conf.set("spark.sql.shuffle.partitions", "7")
    lab.spark.conf.set("spark.sql.adaptive.enabled", "true")
    refreshed_without_analyser(lab, asked, "a", 3)


def test_two_engines_store_one_plan(lab: Lab, asked: Asked) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    lab.dynamic_table("b", QUERIES["ranked"])
    with lab.context.catalog._write() as connection:
        connection.execute(schema.stored_plan.delete())
    lab.reopen()
    other = Lab.open(lab.spark, lab.folder)
    lab.insert("t", "3, 1, 'n'")
    with ThreadPoolExecutor(2) as pool:
        made = [pool.submit(e.engine.refresh, n) for e, n in ((lab, "a"), (other, "b"))]
        made += [pool.submit(e.engine.explain, n) for e, n in ((lab, "b"), (other, "a"))]
        for each in made:
            each.result()
    other.engine.close()
    assert stored(lab, "a") is not None
    assert stored(lab, "b") is not None
    lab.verified("a", "b")
    refreshed_without_analyser(lab, asked, "a", 4)
    refreshed_without_analyser(lab, asked, "b", 5)


def test_a_table_that_is_brought_back_has_its_plan(lab: Lab, asked: Asked) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    lab.sql("DROP DYNAMIC TABLE a; UNDROP DYNAMIC TABLE a")
    refreshed_without_analyser(lab, asked, "a", 3)
    lab.sql("DROP DYNAMIC TABLE a")
    lab.dynamic_table("b", QUERIES["ranked"])  # which removes plans of dropped tables
    lab.sql("UNDROP DYNAMIC TABLE a")
    assert stored(lab, "a") is None
    lab.insert("t", "4, 1, 'n'")
    lab.reopen()
    assert lab.refresh("a") == "INCREMENTAL"
    lab.verified("a")
    refreshed_without_analyser(lab, asked, "a", 5)


def test_a_clone_has_a_plan_of_its_own(lab: Lab, asked: Asked) -> None:
    lab.dynamic_table("a", QUERIES["semi"])
    lab.sql("CREATE DYNAMIC TABLE b CLONE a")
    lab.insert("t", "1, 1, 'n'")
    lab.refresh("b")
    assert stored(lab, "a") == stored(lab, "b")
    lab.sql("DROP DYNAMIC TABLE a")
    refreshed_without_analyser(lab, asked, "b", 3)


def test_lineage_is_read_from_stored_plans(lab: Lab, asked: Asked) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    lab.dynamic_table("b", "SELECT k, s + 1 AS s FROM a", "REFRESH_MODE = FULL")
    found = lab.engine.lineage("b")
    assert {(str(e.source), e.source_column, e.target_column) for e in found.edges} == {
        ("t", "k", "k"), ("t", "v", "s"), ("t", "s", "m"), ("a", "k", "k"), ("a", "s", "s"),
    }  # fmt: skip
    lab.reopen()
    lab.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # of who looks
    asked.forget()
    assert lab.engine.lineage("b") == found
    assert not asked.analysed
    assert not asked.questions


def test_an_exported_lake_and_its_commits_have_no_plan(lab: Lab) -> None:
    lab.dynamic_table("a", QUERIES["grouped"])
    plan = stored(lab, "a")
    assert plan is not None
    assert "CREATE" in str(lab.engine.export())
    log = lab.context.refresher.sources.logs[
        str(lab.context.layout.public(lab.engine.table("a").id))
    ]
    said = str(log.user_metadata(log.version())) + str(lab.engine.export())
    assert plan.digest not in said
    assert plan.query_key not in said
    assert "PlanDocument" not in said
