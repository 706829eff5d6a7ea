"""Statements that nobody writes first: queries without tables, functions for tables, names that are
taken by another kind, points that are out of reach. Each works, or says with a code why not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dt_jupyter.model import DTError
from tests.spark.engine_lab import Lab, refused

HALF = chr(0xD800)


def code(lab: Lab, script: str) -> str:
    """The code of the error that a statement ends in."""
    try:
        lab.sql(script)
    except DTError as e:
        return e.code
    return ""


def test_a_query_without_a_table_is_kept_and_never_changes(lab: Lab) -> None:
    queries = {
        "one": ("SELECT 1 AS a", [(1,)]),
        "listed": ("VALUES (1, 'a'), (2, 'b')", [(1, "a"), (2, "b")]),
        "counted": (
            "SELECT a, count(*) AS n FROM VALUES (1), (1), (2) v(a) GROUP BY a",
            [(1, 2), (2, 1)],
        ),
        "joined": (
            "SELECT x.a, explode(array(7, 8)) AS b FROM (SELECT 1 AS a) x"
            " JOIN VALUES (1) y(a) ON x.a = y.a",
            [(1, 7), (1, 8)],
        ),
    }
    for name, (query, rows) in queries.items():
        table = lab.dynamic_table(name, query, "REFRESH_MODE = INCREMENTAL")
        assert table.effective_mode.value == "INCREMENTAL"
        assert lab.rows(name) == rows
        assert lab.refresh(name) == "NO_DATA"
    lab.verified(*queries)
    lab.dynamic_table("above", "SELECT l.*, o.a FROM listed l JOIN one o ON o.a = l.col1")
    assert lab.rows("above") == [(1, "a", 1)]


FUNCTIONS = {
    "ranged": ("SELECT id FROM range(3)", "NO_DATA"),
    "beside": ("SELECT s.id, r.id AS n FROM src s JOIN range(3) r ON r.id >= s.id", "INCREMENTAL"),
    "within": ("SELECT s.id FROM src s WHERE s.id IN (SELECT id FROM range(3))", "INCREMENTAL"),
    "stacked": ("SELECT * FROM stack(2, 1, 2) AS s(a)", "NO_DATA"),
    "over": ("SELECT * FROM seen", "NO_DATA"),
    "fed": ("SELECT id, _change_type AS kind FROM table_changes('src', 0)", "FULL"),
    "meant": ("SELECT id FROM IDENTIFIER('src')", "INCREMENTAL"),
    "whole": ("TABLE src", "INCREMENTAL"),
    "piped": ("FROM src |> WHERE id > 0 |> SELECT id", None),
}
"""Queries, and the action of their refresh after `src` has changed."""


@pytest.mark.nightly
def test_what_a_table_function_reads_is_read_again(quick_lab: Lab) -> None:
    """Not one of them stands still while what it reads goes on."""
    lab = quick_lab
    lab.table("src", "id INT, v STRING", "1, 'a'")
    lab.sql("CREATE VIEW seen AS SELECT id FROM range(2)")
    for name, (query, _) in FUNCTIONS.items():
        lab.dynamic_table(name, query)
    made = {n: lab.why(n) for n in ("ranged", "beside", "within", "stacked", "over")}
    assert made == dict.fromkeys(made, "INCREMENTAL")
    lab.insert("src", "2, 'b'")
    done = {name: lab.refresh(name) for name in FUNCTIONS}
    assert done == {n: action or done[n] for n, (_, action) in FUNCTIONS.items()}
    lab.verified(*FUNCTIONS)
    assert lab.rows("ranged") == [(0,), (1,), (2,)]
    assert lab.rows("within") == lab.rows("meant") == lab.rows("piped") == [(1,), (2,)]
    assert lab.rows("whole") == [(1, "a"), (2, "b")]


@pytest.mark.nightly
def test_a_source_as_of_a_fixed_time_stays_there(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT, v STRING", "1, 'a'")
    lab.sql("CREATE VIEW was AS SELECT * FROM src VERSION AS OF 1")
    lab.dynamic_table("pinned", "SELECT * FROM src VERSION AS OF 1")
    lab.dynamic_table(
        "both", "SELECT a.id, b.id AS o FROM src a LEFT JOIN src VERSION AS OF 1 b ON a.id = b.id"
    )
    lab.dynamic_table("looked", "SELECT id FROM was")
    assert {lab.why(n) for n in ("pinned", "both", "looked")} == {"TIME_TRAVEL"}
    lab.insert("src", "2, 'b'")
    for name in ("pinned", "both", "looked"):
        assert lab.refresh(name) == "FULL"
    for name in ("pinned", "both", "looked"):
        assert lab.engine.verify(name).equal  # the rival reads views, which have no past
    assert lab.rows("pinned") == [(1, "a")]
    assert lab.rows("both") == [(1, 1), (2, None)]
    assert lab.rows("looked") == [(1,)]
    with refused("DT-1107"):
        lab.dynamic_table("nope", "SELECT * FROM was", "REFRESH_MODE = INCREMENTAL")
    assert code(lab, "CREATE DYNAMIC TABLE nope AS SELECT * FROM src VERSION AS OF 88") == "DT-4102"


def test_one_name_is_of_one_thing(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM src")
    lab.sql("CREATE STREAM st ON TABLE src; CREATE VIEW vw AS SELECT id FROM src")
    lab.sql("CREATE TABLE gone (id INT); DROP TABLE gone; CREATE STREAM gone ON TABLE src")
    lab.sql("CREATE DYNAMIC TABLE was AS SELECT id FROM src; DROP DYNAMIC TABLE was")
    lab.sql("CREATE STREAM was ON TABLE src")
    taken = [
        *(f"CREATE {a} DYNAMIC TABLE {i} st AS SELECT id FROM src"
          for a, i in (("", ""), ("OR REPLACE", ""), ("OR ALTER", ""), ("", "IF NOT EXISTS"))),
        "CREATE DYNAMIC TABLE st CLONE d", "ALTER DYNAMIC TABLE d RENAME TO st",
        "CREATE TABLE st (id INT)", "CREATE OR REPLACE TABLE st (id INT)",
        "CREATE TABLE IF NOT EXISTS st (id INT)", "CREATE TABLE st AS SELECT id FROM src",
        "CREATE VIEW st AS SELECT 1 AS a", "ALTER TABLE src RENAME TO st",
        "ALTER VIEW vw RENAME TO st", "ALTER TABLE src RENAME TO d",
        "ALTER DYNAMIC TABLE d RENAME TO vw", "ALTER DYNAMIC TABLE d RENAME TO src",
        *(f"CREATE {a} STREAM {n} ON TABLE src" for n in ("d", "src", "vw")
          for a in ("", "OR REPLACE")),
    ]  # fmt: skip
    assert {s: code(lab, s) for s in taken} == dict.fromkeys(taken, "DT-1105")
    mine = [
        "CREATE TABLE d (id INT)",
        "CREATE TABLE IF NOT EXISTS d (id INT)",
        "CREATE VIEW d AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW d AS SELECT 1 AS a",
    ]
    assert {s: code(lab, s) for s in mine} == dict.fromkeys(mine, "DT-1109")
    assert code(lab, "UNDROP TABLE gone") == code(lab, "UNDROP DYNAMIC TABLE was") == "DT-1118"
    assert {str(s.name) for s in lab.context.catalog.streams()} == {"st", "gone", "was"}
    assert [str(t.name) for t in lab.context.catalog.list()] == ["d"]
    lab.sql("CREATE OR REPLACE STREAM st ON TABLE src; CREATE STREAM IF NOT EXISTS st ON TABLE src")
    lab.sql("DROP STREAM st; CREATE DYNAMIC TABLE st AS SELECT id FROM src")
    assert lab.rows("st") == [(1,)]


def test_a_stream_is_read_by_queries_alone(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT", "1")
    lab.sql("CREATE STREAM st ON TABLE src")
    for statement, expected in (
        ("CREATE DYNAMIC TABLE d AS SELECT id FROM st", "DT-1123"),
        ("CREATE DYNAMIC TABLE d AS SELECT id FROM src WHERE id IN (SELECT id FROM st)", "DT-1123"),
        ("CREATE STREAM other ON TABLE st", "DT-1109"),
    ):
        assert code(lab, statement) == expected, statement
    with refused("DT-1109") as errors:
        lab.engine.changes("st")
    assert errors[0].facts["kind"] == "stream"
    assert code(lab, "CREATE VIEW v AS SELECT id FROM st") == "DT-3107"


def test_more_than_one_statement_is_no_definition(quick_lab: Lab) -> None:
    """Whoever hands the text over: nothing of it has run."""
    from dataclasses import replace

    from dt_jupyter.sql.grammar.parse import parse_script
    from dt_jupyter.sql.grammar.statement_values import CreateDynamicTable

    lab = quick_lab
    lab.table("src", "id INT", "1")
    (made,) = parse_script("CREATE DYNAMIC TABLE d AS SELECT id FROM src", "default")
    assert isinstance(made, CreateDynamicTable)
    for query in ("SELECT 1 AS a; SELECT 2", "INSERT INTO src VALUES (2)", "DROP TABLE src", ""):
        with refused("DT-1001"):
            lab.engine.create(replace(made, query=query))
    assert lab.rows("src") == [(1,)]


def test_half_a_character_reaches_nothing(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "v STRING")
    for statement in (
        f"SELECT '{HALF}' AS a",
        f"INSERT INTO src VALUES ('{HALF}')",
        f"CREATE DYNAMIC TABLE d AS SELECT '{HALF}' AS a FROM src",
        f"CREATE DYNAMIC TABLE d COMMENT = '{HALF}' AS SELECT v FROM src",
    ):
        assert code(lab, statement) == "DT-1001", ascii(statement)
    with refused("DT-1001"):
        lab.engine.query_changes(f"SELECT '{HALF}' AS a FROM src")
    for value in (HALF, [HALF], {"k": HALF}):
        with refused("DT-1003"):
            lab.engine.sql("SELECT :x AS a", {"x": value})
    assert lab.sql("SELECT :x AS a".replace(":x", "'\U0001f600'")) == [("\U0001f600",)]


def test_a_dropped_schema_takes_what_it_held_along(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql("CREATE SCHEMA s2; CREATE TABLE s2.tt (id INT)")
    lab.sql(
        "CREATE DYNAMIC TABLE s2.dd AS SELECT id FROM s2.tt; CREATE STREAM s2.ss ON TABLE s2.tt"
    )
    lab.sql("DROP SCHEMA s2 CASCADE")
    assert not lab.context.catalog.list()
    assert not lab.context.catalog.streams()
    for name in ("tt", "dd", "ss"):
        with refused("DT-1101") as errors:
            lab.sql(f"SELECT * FROM s2.{name}")
        assert f"s2.{name}" not in errors[0].hint
    lab.reopen()
    assert code(lab, "SELECT * FROM s2.tt") == "DT-1101"


def test_consuming_looks_first_at_what_it_is_given(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT")
    lab.dynamic_table("d", "SELECT id FROM src")
    lab.sql("CREATE STREAM st ON TABLE src; CREATE VIEW vw AS SELECT id FROM src")
    wrong = {"nosuch": "DT-1101", "d": "DT-1109", "vw": "DT-1109", "st": "DT-1109"}
    for into, expected in wrong.items():
        with refused(expected):
            lab.engine.consume("st", lambda rows: rows, into=into)
    with refused("DT-1031"):
        lab.engine.consume("st", None)  # type: ignore[arg-type]
    with refused("DT-3201"):
        lab.engine.consume("nosuch", lambda rows: rows, batches=0)
    assert lab.engine.consume("st", lambda rows: rows, into="src") == 0


def test_a_refresh_is_found_by_the_version_that_it_made(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM src")
    lab.insert("src", "2")
    made = lab.record("d")
    lab.record("d")
    found = lab.engine.replay_refresh("d", at=made.version)
    assert (found.query_id, found.equal) == (made.query_id, True)
    assert lab.engine.replay_refresh("d", at=timedelta(0)).action.value == "NO_DATA"
    with refused("DT-4109"):
        lab.engine.replay_refresh("d", at=99)
    for wrong, expected in ((3.5, "DT-1031"), ("soon", "DT-1003"), (object(), "DT-1031")):
        with refused(expected):
            lab.engine.replay_refresh("d", at=wrong)  # type: ignore[arg-type]


def test_points_that_are_out_of_reach(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT", "1", "2")
    expected = {
        "SELECT * FROM src VERSION AS OF 77": "DT-4102",
        "SELECT * FROM src a JOIN src TIMESTAMP AS OF '2001-01-01' b ON a.id = b.id": "DT-4101",
        "SELECT * FROM src TIMESTAMP AS OF '2101-01-01'": "DT-4102",
        "RESTORE TABLE src TO VERSION AS OF 77": "DT-4102",
        "RESTORE TABLE src TO TIMESTAMP AS OF '2001-01-01'": "DT-4101",
        "RESTORE TABLE src TO TIMESTAMP AS OF '2101-01-01'": "DT-4102",
        "CREATE TABLE c AS SELECT * FROM src VERSION AS OF 77": "DT-4102",
    }
    assert {s: code(lab, s) for s in expected} == expected
    with refused("DT-4102") as errors:
        lab.sql("SELECT * FROM src VERSION AS OF 77")
    assert errors[0].facts["point"] == "version 77"


@pytest.mark.parametrize("long", ["a", "`a`.", " ", "("])
def test_a_refused_statement_with_a_long_literal_is_answered(quick_lab: Lab, long: str) -> None:
    """A text is looked at once, not once from each of its characters: that took minutes."""
    lab = quick_lab
    lab.table("src", "id INT", "1", "2")
    literal = long * (400_000 // len(long))
    with refused("DT-4102") as errors:
        lab.sql(f"SELECT '{literal}' AS x, * FROM src VERSION AS OF 77")
    assert errors[0].facts["point"] == "version 77"
    assert code(lab, f"INSERT INTO src SELECT nowhere + '{literal}' FROM src") == "DT-1112"
    assert code(lab, f"CREATE DYNAMIC TABLE d AS SELECT nofn('{literal}') FROM src") == "DT-1117"


def test_a_pin_outlives_the_retention(quick_lab: Lab) -> None:
    """What is held can be read, whatever Delta's own retention says; what is not has a code."""
    lab = quick_lab
    at_once = "'delta.deletedFileRetentionDuration' = 'interval 0 seconds'"
    lab.sql(f"CREATE TABLE t (id INT) TBLPROPERTIES ({at_once}, 'dt.primaryKey' = 'id')")
    lab.insert("t", "1")
    lab.sql("CREATE VIEW counted AS SELECT id, count(*) AS n FROM t GROUP BY id")
    lab.dynamic_table("d", "SELECT a.id, b.id AS o FROM t a LEFT JOIN t b ON b.id = a.id + 1")
    lab.engine.pin("kept", "t", at=1)
    lab.sql("INSERT INTO t VALUES (2); DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (3)")
    assert lab.sql("SELECT * FROM t AT (VERSION => 1)") == [(1,)]
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
    assert {(r[0], r["$ACTION"]) for r in lab.engine.changes("counted", 1).collect()} == {
        (1, "DELETE"),
        (2, "INSERT"),
        (3, "INSERT"),
    }
    with lab.engine.replay("t", at=1) as replay:
        assert next(iter(replay)).row_count == 1
    assert code(lab, "SELECT * FROM t VERSION AS OF 1") == "DT-4111"


@pytest.mark.parametrize("statement", ["SELECT nofn(id) AS a FROM src"])
def test_a_function_of_the_session_is_named(quick_lab: Lab, statement: str) -> None:
    quick_lab.table("src", "id INT")
    with refused("DT-1117") as errors:
        quick_lab.sql(f"CREATE DYNAMIC TABLE d AS {statement}")
    assert "dt.register_udf" in errors[0].hint


def test_what_reads_no_table_has_no_past_to_walk(lab: Lab) -> None:
    lab.sql("CREATE VIEW one AS SELECT 1 AS x; CREATE VIEW few AS SELECT id FROM range(3)")
    for view in ("one", "few"):
        for call in (
            lambda: lab.engine.replay(view, to=1),  # noqa: B023
            lambda: lab.engine.replay(view),  # noqa: B023
            lambda: lab.engine.diff(view, 0, 1),  # noqa: B023
        ):
            with refused("DT-3106") as found:
                call()
            assert "it reads no table" in found[0].sentence
        assert lab.sql(f"SELECT count(*) FROM {view} AT (OFFSET => 0)")


@pytest.mark.parametrize("value", [timedelta.max, timedelta.min, timedelta(days=106_751_992)])
def test_a_duration_beyond_spark_is_refused(lab: Lab, value: timedelta) -> None:
    with refused("DT-1003"):
        lab.engine.sql("SELECT :x AS x", {"x": value})
    with refused("DT-1003"):
        lab.engine.sql("SELECT :x AS x", {"x": [value]})
    assert lab.engine.sql("SELECT :x AS x", {"x": timedelta(days=106_751_990)}).collect()
