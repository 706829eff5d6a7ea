"""The meaning of a definition is fixed when it is created: variables, parameters, IDENTIFIER."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from dt_jupyter.dispatch.static_messages import card_message
from dt_jupyter.spark import is_connect
from tests.spark.engine_lab import Lab, refused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAG = "TARGET_LAG = '1 hour'"
TABLE = "CREATE DYNAMIC TABLE {} TARGET_LAG = '1 hour' {} AS SELECT f, '${{x}}|${{nope}}' n FROM t"
HELD = "$\\u007bx}"
"""A text that no session replaces."""


@pytest.fixture
def t(quick_lab: Lab) -> Lab:
    """A table of two rows, one of which holds a reference."""
    quick_lab.table("t", "f INT, s STRING", "0, 'a'", f"1, '{HELD}'")
    quick_lab.sql("SET x = before")
    return quick_lab


def test_a_definition_keeps_the_values_that_its_variables_had(t: Lab, spark: SparkSession) -> None:
    created = t.engine.run(TABLE.format("a", ""))[0]
    t.sql(TABLE.format("b", "REFRESH_MODE = FULL"))
    t.engine.create("c", "SELECT f, '${x}|${nope}' n FROM t", target_lag="1 hour")
    t.sql(
        f"CREATE VIEW v AS SELECT f, '${{x}}|' n FROM t; "
        f"CREATE DYNAMIC TABLE d {LAG} AS SELECT * FROM v; "
        f"SET y = t; CREATE DYNAMIC TABLE e {LAG} AS SELECT f, '${{x}}|${{nope}}' n FROM ${{y}}"
    )
    assert "${x}, ${nope}" in created.notes[-1]
    names = ("a", "b", "c", "d", "e")
    for name in names:
        assert t.rows(name) == [(0, "before|"), (1, "before|")], name
        assert "$" not in t.engine.table(name).definition.query
    assert spark.sql("SELECT '${x}|${nope}'").collect() == [("before|",)]
    t.sql("SET x = after; INSERT INTO t VALUES (2, 'b')")
    t.reopen()
    actions = {name: t.refresh(name) for name in names}
    assert actions == {n: "FULL" if n == "b" else "INCREMENTAL" for n in names}
    for name in names:
        assert t.rows(name) == [(0, "before|"), (1, "before|"), (2, "before|")], name
    t.verified(*names)
    plan = t.engine.plan(TABLE.format("a", ""))
    assert "a" not in [c.name for c in plan.changes if c.action.name == "NONE"]  # x is another now


def test_texts_of_data_are_no_variables(t: Lab) -> None:
    reads = "SELECT f FROM t WHERE s = :p"
    t.engine.sql(f"CREATE DYNAMIC TABLE a {LAG} AS {reads}", {"p": "${x}"})
    frame = t.spark.table("t").where(F.col("s") == F.lit("${x}")).select("f")
    t.engine.create("b", frame, target_lag="1 hour")
    t.sql(f"CREATE DYNAMIC TABLE c {LAG} AS SELECT s, count(*) n FROM t GROUP BY s")
    t.sql(f"INSERT INTO t VALUES (2, '{HELD}'), (3, 'before')")
    for name in ("a", "b", "c"):
        assert t.refresh(name) == "INCREMENTAL"
    assert t.rows("a") == t.rows("b") == [(1,), (2,)]
    assert t.rows("c") == [("${x}", 2), ("a", 1), ("before", 1)]


def test_a_session_that_replaces_nothing_defines_the_text_itself(t: Lab) -> None:
    t.sql("SET spark.sql.variable.substitute = false")
    for name, mode in (("a", ""), ("b", "REFRESH_MODE = FULL")):
        t.sql(TABLE.format(name, mode))
    t.sql("SET spark.sql.variable.substitute = true; INSERT INTO t VALUES (2, 'b')")
    for name in ("a", "b"):
        t.refresh(name)
        assert t.rows(name) == [(f, "${x}|${nope}") for f in range(3)]


def test_a_task_runs_the_text_that_it_was_created_with(t: Lab) -> None:
    t.sql(
        "CREATE TABLE log (s STRING) USING delta; "
        "CREATE TASK k SCHEDULE = '1 hour' AS INSERT INTO log VALUES ('${x}'); "
        "SET x = after; EXECUTE TASK k"
    )
    assert t.rows("log") == [("before",)]


def test_an_identifier_of_a_text_is_the_table_that_it_names(t: Lab) -> None:
    t.sql("CREATE VIEW v AS SELECT f FROM IDENTIFIER('t')")
    t.dynamic_table("a", "SELECT IDENTIFIER('abs')(f) f FROM IDENTIFIER('default.' || 't')")
    t.dynamic_table("b", "SELECT f FROM v")
    t.engine.sql(f"CREATE DYNAMIC TABLE c {LAG} AS SELECT f FROM IDENTIFIER(:n)", {"n": "t"})
    t.sql("INSERT INTO t VALUES (5, 'z')")
    for name in ("a", "b", "c"):
        assert [s.name.table for s in t.engine.table(name).definition.sources] == ["t"]
        assert t.refresh(name) == "INCREMENTAL"
        assert t.rows(name) == [(0,), (1,), (5,)]
    with refused("DT-1156"):
        t.dynamic_table("d", "SELECT f FROM IDENTIFIER(concat('t', ''))")
    with refused("DT-1101"):
        t.dynamic_table("d", "SELECT f FROM IDENTIFIER('nowhere')")
    with refused("DT-1106"):
        t.sql(f"CREATE OR REPLACE DYNAMIC TABLE a {LAG} AS SELECT f FROM IDENTIFIER('a')")


def test_a_parameter_names_a_table_wherever_a_name_stands(t: Lab) -> None:
    args = {"n": "t", "s": ["a", "z"], "v": 1, "d": "a"}

    def run(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in t.engine.sql(text, args).collect()]

    read = "SELECT f FROM IDENTIFIER(:n) WHERE array_contains(:s, s)"
    run(f"CREATE DYNAMIC TABLE a {LAG} AS {read}")
    run("CREATE VIEW w AS SELECT f, :v AS one FROM IDENTIFIER('default.' || :n)")
    run(f"CREATE STREAM st ON TABLE IDENTIFIER(:n); CREATE DYNAMIC TABLE b {LAG} AS TABLE w")
    t.engine.create("c", "SELECT count(*) n FROM IDENTIFIER(:n)", args, target_lag="1 hour")
    run("INSERT INTO IDENTIFIER(:n) VALUES (5, 'z')")
    for name in ("a", "b", "c"):
        assert [s.name.table for s in t.engine.table(name).definition.sources] == ["t"]
        assert t.refresh(name) == "INCREMENTAL"
    t.verified("a", "b", "c")
    assert t.rows("a") == [(0,), (5,)]
    assert run("SELECT f FROM IDENTIFIER(:n) AT (VERSION => 1) WHERE f >= :v") == [(1,)]
    assert run("SELECT f FROM st") == [(5,)]
    with refused("DT-1109"):
        run("INSERT INTO IDENTIFIER(:d) VALUES (7)")
    for text in ("{}", "CREATE DYNAMIC TABLE no AS {}"):
        with refused("DT-1112") as errors:
            run(text.format("SELECT f FROM t WHERE s IN (:s)"))
        assert "array_contains(:list, x)" in errors[0].hint
    t.reopen()
    told = [(r[0], r[3]) for r in t.sql("DESCRIBE DYNAMIC TABLE a") if r[2] == "PARAMETER"]
    assert told == [(":n", "'t'"), (":s", "array('a', 'z')")]
    card = card_message(t.engine.table("a"))
    assert ":n = 't', :s = array('a', 'z')" in card.notes[-1]


def test_what_only_a_session_has_is_refused(t: Lab) -> None:
    if is_connect(t.spark):
        pytest.skip("the same statements, over a slower session")
    t.sql("DECLARE VARIABLE own INT DEFAULT 5; CREATE TEMPORARY FUNCTION tf(a INT) RETURN a + 1")
    for read in ("own", "session.own", "system.session.own"):
        with refused("DT-1102"):
            t.dynamic_table("a", f"SELECT f, {read} n FROM t")
    with refused("DT-1117"):
        t.dynamic_table("a", "SELECT tf(f) n FROM t")
    t.sql("DROP TEMPORARY VARIABLE own")
