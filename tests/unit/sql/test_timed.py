"""Relations at another time, the names that are read, and our words inside Spark's queries."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from dt_jupyter.model import DTError, Span
from dt_jupyter.sql.grammar.functions import replace_spans
from dt_jupyter.sql.grammar.parse import parse_script, parse_statement
from dt_jupyter.sql.grammar.statement_values import (
    HasData,
    Information,
    PointKind,
    SparkStatement,
    TimedRelation,
    TimePoint,
)
from dt_jupyter.sql.grammar.table_places import table_places
from dt_jupyter.sql.grammar.timed_relations import (
    find_has_data,
    find_last_query_id,
    find_timed,
    has_alias,
    quote_change_columns,
    relations_in,
)
from dt_jupyter.sql.grammar.unsupported import later

QUERIES = (Path(__file__).parents[1] / "queries.sql").read_text("utf-8").splitlines()
DEFAULT, APPEND_ONLY, REDO = Information
V1 = TimePoint(PointKind.VERSION, "1")
V2 = TimePoint(PointKind.VERSION, "2")


def at(kind: str, value: str = "", *, before: bool = False) -> TimePoint:
    return TimePoint(PointKind(kind), value, before)


def cut(text: str, span: Span | None) -> str:
    assert span is not None
    return text[span.start : span.end]


@pytest.mark.parametrize(
    ("relation", "parts", "information", "start", "end"),
    [
        ("t AT (VERSION => 1)", "t", None, V1, None),
        ("t BEFORE (STATEMENT => 'a)b')", "t", None, at("STATEMENT", "'a)b'", before=True), None),
        ("t at(ts=>'2026-01-01')", "t", None, at("TIMESTAMP", "'2026-01-01'"), None),
        ("t AT (OFFSET => -60 * (1 + 1))", "t", None, at("OFFSET", "-60 * (1 + 1)"), None),
        ("t AT (STREAM => 's')", "t", None, at("STREAM", "'s'"), None),
        ("T AT (COMMON)", "T", None, at("COMMON"), None),
        ("t /* x */ AT -- y\n (VERSION /* => */ => 1 /* one */)", "t", None, V1, None),
        ("db.t AT (VERSION => 1)", "db t", None, V1, None),
        ("spark_catalog . db . t AT (VERSION => 1)", "spark_catalog db t", None, V1, None),
        ("`At`.`CHANGES` AT (VERSION => 1)", "At CHANGES", None, V1, None),
        ("`a``b`.日本 AT (VERSION => 1)", "a`b 日本", None, V1, None),
        ("changes CHANGES AT (VERSION => 1)", "changes", DEFAULT, V1, None),
        ("at AT (VERSION => 1)", "at", None, V1, None),
        ("end CHANGES END (VERSION => 2)", "end", DEFAULT, None, V2),
        ("stream AT (VERSION => 1)", "stream", None, V1, None),
        ("delta.`/a/b` AT (VERSION => 1)", "delta /a/b", None, V1, None),
        ("t CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1)", "t", DEFAULT, V1, None),
        ("t changes(information=>append_only)at(version=>1)end(version=>2)", "t", APPEND_ONLY, V1,
         V2),
        ("t CHANGES (INFORMATION => REDO) BEFORE (VERSION => 1) END (OFFSET => -5)", "t", REDO,
         at("VERSION", "1", before=True), at("OFFSET", "-5")),
        ("t CHANGES (INFORMATION => APPEND_ONLY)", "t", APPEND_ONLY, None, None),
        ("t CHANGES (INFORMATION => DEFAULT) END (VERSION => 2)", "t", DEFAULT, None, V2),
        ("t CHANGES BEFORE (STATEMENT => 'x')", "t", DEFAULT, at("STATEMENT", "'x'", before=True),
         None),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "around",
    [
        "SELECT * FROM {}",
        "SELECT * FROM {} AS x WHERE a = 'AT (VERSION => 9)'",
        "SELECT x.a FROM u JOIN {} x ON u.a = x.a, w",
        "SELECT (SELECT max(a) FROM u, {}) FROM w",
        "WITH c AS (SELECT * FROM {}) SELECT * FROM c UNION SELECT * FROM w",
        "INSERT INTO w SELECT * FROM {} -- t AT (VERSION => 9)",
        "CREATE TABLE w AS SELECT * FROM {}",
        "MERGE INTO w USING {} x ON w.a = x.a WHEN MATCHED THEN DELETE",
        "UPDATE w SET a = 1 WHERE a IN (SELECT a FROM {})",
        "DELETE FROM w WHERE EXISTS (SELECT 1 FROM (u CROSS JOIN {}))",
        "TABLE {}",
        "FROM {} |> WHERE a > 1",
        "EXPLAIN SELECT * FROM {}",
    ],
)
def test_a_name_at_a_time(
    around: str, relation: str, parts: str, information: Information | None,
    start: TimePoint | None, end: TimePoint | None,
) -> None:  # fmt: skip
    text = around.format(relation)
    (found,) = find_timed(text)
    assert found == TimedRelation(tuple(parts.split()), information, start, end)
    assert cut(text, found.span) == relation
    assert relation.startswith(cut(text, found.name_span))
    assert found.query_span is None
    assert replace_spans(text, [(found.span, "{}")]) == around
    statement = parse_script(f"SELECT 1; {text}")[1]
    assert isinstance(statement, SparkStatement)
    assert statement.timed == (found,)
    assert cut(f"SELECT 1; {text}", statement.timed[0].span) == relation


@pytest.mark.parametrize(
    ("text", "inside", "found"),
    [
        ("SELECT * FROM (SELECT * FROM t) CHANGES AT (VERSION => 1)", "SELECT * FROM t",
         TimedRelation((), DEFAULT, V1)),
        ("SELECT * FROM u, ( TABLE t ) BEFORE (VERSION => 1) x", " TABLE t ",
         TimedRelation((), None, at("VERSION", "1", before=True))),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) CHANGES (INFORMATION => APPEND_ONLY)"
         " END (VERSION => 2) JOIN u", "WITH a AS (SELECT 1) SELECT * FROM a",
         TimedRelation((), APPEND_ONLY, None, V2)),
        ("SELECT * FROM ((SELECT 1) UNION ALL (SELECT 2)) CHANGES AT (VERSION => 1)",
         "(SELECT 1) UNION ALL (SELECT 2)", TimedRelation((), DEFAULT, V1)),
        ("SELECT * FROM ((SELECT ')')) AT (VERSION => 1)", "(SELECT ')')",
         TimedRelation((), None, V1)),
        ("MERGE INTO t USING (SELECT * FROM u) CHANGES AT (VERSION => 1) s ON a WHEN MATCHED THEN "
         "DELETE", "SELECT * FROM u", TimedRelation((), DEFAULT, V1)),
    ],
)  # fmt: skip
def test_a_subquery_at_a_time(text: str, inside: str, found: TimedRelation) -> None:
    (relation,) = find_timed(text)
    assert relation == found
    assert cut(text, relation.query_span) == inside
    assert cut(text, relation.name_span) == f"({inside})"


def test_of_nested_ones_the_outermost() -> None:
    text = (
        "SELECT * FROM v, (SELECT * FROM t AT (VERSION => 1), s) CHANGES AT (STREAM => 's') JOIN "
        "u AT (TIMESTAMP => (SELECT max(x) FROM w AT (VERSION => 2), q)), z"
    )
    query, name = find_timed(text)
    assert (query.parts, name.parts) == ((), ("u",))
    assert name.at == at("TIMESTAMP", "(SELECT max(x) FROM w AT (VERSION => 2), q)")
    assert [parts for parts, _ in relations_in(text)] == [("v",), ("z",)]
    inside = cut(text, query.query_span)
    assert find_timed(inside) == (TimedRelation(("t",), None, V1),)
    assert [parts for parts, _ in relations_in(inside)] == [("s",)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT changes.a FROM t changes WHERE changes.a > 1",
        "SELECT a FROM t changes WHERE `Changes`.a > 1",
        "SELECT changes.* FROM t Changes",
        "SELECT max(EXTRACT(DAY FROM changes.d)) FROM changes.t changes",
        "MERGE INTO w USING (SELECT * FROM s) changes ON w.a = changes.a WHEN MATCHED THEN DELETE",
        "WITH c AS (SELECT * FROM t) SELECT * FROM C changes",
        "DELETE FROM t changes",
        "SELECT * FROM range(3) changes, (a JOIN b) changes",
        "SELECT * FROM t AS changes JOIN u ON changes.a = u.a",
        "SELECT * FROM t changes (a, b)",
        "SELECT * FROM t changes (information)",
        "SELECT * FROM t at",
        "SELECT * FROM t at JOIN u before ON at.version = before.version",
        "SELECT * FROM t at (a, b)",
        "SELECT * FROM t end",
        "SELECT at(timestamp => 1), before(version => 1) FROM t WHERE at(version => 1) = 2",
        "SELECT * FROM at(version => 1)",
        "SELECT * FROM t LATERAL VIEW at(version => 1) x AS y",
        "SELECT * FROM t JOIN u ON at(version => 1) > before(version => 1)",
        "SELECT CASE WHEN a THEN b END FROM t",
        "SELECT * FROM t CHANGES FROM VERSION 1 TO VERSION 2",
        "SELECT * FROM t TIMESTAMP AS OF '2026-01-01'",
        "SELECT * FROM t VERSION AS OF 3",
        "SELECT '-- FROM t AT (VERSION => 1)' /* FROM t AT (VERSION => 1) */",
        "SELECT * FROM t -- AT (VERSION => 1)",
        "SELECT * FROM `t AT (VERSION => 1)`",
        "SELECT * FROM t `AT`",
        "SELECT r'FROM t AT (VERSION => 1)', $$ FROM t CHANGES AT (VERSION => 1) $$",
        "SELECT a IN (SELECT 1) AS at, changes FROM t",
        "INSERT INTO changes VALUES (1)",
        "CREATE TABLE changes (at INT, before INT)",
        "SHOW COLUMNS FROM t",
    ],
)
def test_what_only_looks_like_one_is_spark_s(text: str) -> None:
    assert find_timed(text) == ()
    statement = parse_statement(text)
    assert isinstance(statement, SparkStatement)
    assert statement.timed == ()
    assert later(statement) is None


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("SELECT * FROM t CHANGES", "t CHANGES"),
        ("select * from t changes where a > 1", "t changes"),
        ("SELECT * FROM t CHANGES AS c", "t CHANGES"),
        ("SELECT * FROM t CHANGES `c`, u", "t CHANGES"),
        ("SELECT c.a FROM t CHANGES c JOIN u ON c.a = u.a", "t CHANGES"),
        ("SELECT changes.a FROM t CHANGES AS changes", "t CHANGES"),
        ("SELECT changes FROM u JOIN db.t changes USING (changes)", "db.t changes"),
        ("SELECT s.changes.a FROM t CHANGES", "t CHANGES"),
        ("SELECT a FROM changes.t CHANGES", "changes.t CHANGES"),
        ("SELECT a FROM changes.u, t CHANGES", "t CHANGES"),
        ("INSERT INTO changes.w SELECT * FROM t CHANGES", "t CHANGES"),
        (
            "SELECT * FROM (SELECT changes.a FROM t AS changes) CHANGES WHERE true",
            "(SELECT changes.a FROM t AS changes) CHANGES",
        ),
        ("SELECT * FROM changes CHANGES", "changes CHANGES"),
        ("TABLE t CHANGES", "t CHANGES"),
        ("FROM t CHANGES |> WHERE a > 1", "t CHANGES"),
        ("MERGE INTO w USING t CHANGES ON w.a = b WHEN MATCHED THEN DELETE", "t CHANGES"),
        ("SELECT (SELECT count(*) FROM t CHANGES) FROM w", "t CHANGES"),
    ],
)
def test_bare_changes(text: str, relation: str) -> None:
    (found,) = find_timed(text)
    parts = () if relation.startswith("(") else tuple(relation.split(maxsplit=1)[0].split("."))
    assert found == TimedRelation(parts, DEFAULT, None)
    assert cut(text, found.span) == relation
    statement = parse_statement(text)
    assert isinstance(statement, SparkStatement)
    assert statement.timed == (found,)


F = "SELECT * FROM "


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (F + "t AT (HOUR => 1)", "DT-1001", "HOUR"),
        (F + "t AT (VERSION => )", "DT-1001", ")"),
        (F + "t AT (VERSION = 1)", "DT-1001", "="),
        (F + "t AT (VERSION => 1", "DT-1001", ""),
        (F + "t BEFORE (COMMON)", "DT-1001", "BEFORE"),
        (F + "t AT (VERSION => 1, ARCHIV => TRUE)", "DT-1002", "ARCHIV"),
        (F + "t AT (VERSION => 1, ARCHIVE => yes)", "DT-1003", "yes"),
        (F + "t CHANGES AT (VERSION => 1, ARCHIVE => TRUE)", "DT-1001", ","),
        (F + "t END (VERSION => 1)", "DT-1001", "END"),
        (F + "t AT (VERSION => 1) END (VERSION => 2)", "DT-1001", "END"),
        (F + "t AT (VERSION => 1) AT (VERSION => 2)", "DT-1001", "AT"),
        (F + "t AT (VERSION => 1) BEFORE (VERSION => 2)", "DT-1001", "BEFORE"),
        (F + "t AT (VERSION => 1) CHANGES (INFORMATION => DEFAULT)", "DT-1001", "CHANGES"),
        (F + "t CHANGES AT (COMMON)", "DT-1001", "COMMON"),
        (F + "t CHANGES AT (VERSION => 1) END (COMMON)", "DT-1001", "COMMON"),
        (F + "t CHANGES END (VERSION => 1) BEFORE (VERSION => 1)", "DT-1001", "BEFORE"),
        (F + "t CHANGES AT (VERSION => 1) END (VERSION => 1) END (VERSION => 1)", "DT-1001", "END"),
        (F + "t CHANGES (INFORMATION => )", "DT-1001", ")"),
        (F + "t CHANGES (INFORMATION = DEFAULT)", "DT-1001", "="),
        (F + "t CHANGES (INFORMATION => DEFAULT, x)", "DT-1001", ","),
        (F + "t CHANGES (INFO => DEFAULT) AT (VERSION => 1)", "DT-1002", "INFO"),
        (F + "t CHANGES (INFORMATION => EVERYTHING)", "DT-1003", "EVERYTHING"),
        (F + "(SELECT 1) CHANGES (INFORMATION => REDO) AT (VERSION => 1)", "DT-1001", "REDO"),
        (F + "(SELECT 1) END (VERSION => 1)", "DT-1001", "END"),
        (F + "(SELECT 1) x AT (VERSION => 1)", "DT-1001", "AT"),
        (F + "(a JOIN b) AT (VERSION => 1)", "DT-1001", "AT"),
        (F + "range(3) CHANGES AT (VERSION => 1)", "DT-1001", "CHANGES"),
        (F + "t x AT (VERSION => 1)", "DT-1001", "AT"),
        (F + "t AS x CHANGES (INFORMATION => DEFAULT)", "DT-1001", "CHANGES"),
        (F + "t CHANGES x AT (VERSION => 1)", "DT-1001", "AT"),
        (F + "a.b.c.d AT (VERSION => 1)", "DT-1001", "a.b.c.d"),
        (F + "`` AT (VERSION => 1)", "DT-1001", "``"),
        ("WITH c AS (SELECT 1) SELECT * FROM C AT (VERSION => 1)", "DT-1001", "C"),
        ("SELECT SYSTEM$STREAM_HAS_DATA", "DT-1001", ""),
        ("SELECT SYSTEM$STREAM_HAS_DATA()", "DT-1001", ")"),
        ("SELECT SYSTEM$STREAM_HAS_DATA(s)", "DT-1001", "s"),
        ("SELECT SYSTEM$STREAM_HAS_DATA('s', 't')", "DT-1001", ","),
        ("SELECT SYSTEM$STREAM_HAS_DATA('a b')", "DT-1001", "'a b'"),
        ("SELECT SYSTEM$STREAM_HAS_DATA('__dt_s')", "DT-1114", "'__dt_s'"),
    ],
)
@pytest.mark.parametrize("before", ["", "SELECT 1;\n-- two\n"])
def test_where_and_why(before: str, text: str, code: str, place: str) -> None:
    with pytest.raises(DTError) as caught:
        parse_script(before + text)
    found = caught.value
    assert found.code == code
    assert found.query == before + text
    assert cut(found.query, found.span) == place
    assert found.span is not None
    assert found.span.start >= len(before)
    assert found.hint


@pytest.mark.parametrize(
    "text",
    [
        F + "t AT (VERSION => 3)",
        F + "t BEFORE (TIMESTAMP => '2026-01-01')",
        F + "t AT (STREAM => 's')",
        F + "t CHANGES (INFORMATION => REDO)",
        F + "t BEFORE (STATEMENT => 'x')",
        F + "t CHANGES AT (STATEMENT => LAST_QUERY_ID()) END (STATEMENT => 'y')",
        F + "u AT (VERSION => 1), t AT (COMMON) x",
        "SELECT SYSTEM$STREAM_HAS_DATA('s')",
        "INSERT INTO u " + F + "t CHANGES AT (OFFSET => -60) END (VERSION => 3)",
    ],
)
def test_what_the_engine_reads(text: str) -> None:
    assert later(parse_script(text)[0]) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT 1", ""),
        ("SELECT a, b FROM t, db.u x, `w z` JOIN v ON t.a = v.a, y WHERE a IN (1, 2)",
         "t db.u w z v y"),
        ("SELECT * FROM ((a JOIN (b)) LEFT JOIN c USING (id, k)), LATERAL (SELECT * FROM d)",
         "a b c d"),
        ("SELECT * FROM t LATERAL VIEW explode(m) e AS k, v", "t"),
        ("SELECT * FROM range(10), TABLE(f(TABLE(a), TABLE b)), IDENTIFIER('c'), d", "a b d"),
        ("SELECT * FROM VALUES (1), (2) AS v, w JOIN u ON true", "w u"),
        ("SELECT EXTRACT(YEAR FROM a), trim(BOTH 'x' FROM b), c IS NOT DISTINCT FROM d, "
         "substring(e FROM 2) FROM t", "t"),
        ("TABLE a UNION ALL TABLE b EXCEPT (TABLE c)", "a b c"),
        ("FROM a |> JOIN b ON x = y |> SELECT p, q", "a b"),
        ("FROM a INSERT INTO b SELECT 1 INSERT INTO c SELECT 2", "a"),
        ("WITH a AS (SELECT * FROM a), b(x, y) AS (SELECT * FROM a JOIN c) SELECT * FROM A, b, d",
         "a c d"),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r, s", "s"),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", "a"),
        ("WITH a AS (SELECT 1) SELECT * FROM db.a", "db.a"),
        ("INSERT INTO t SELECT * FROM s", "s"),
        ("INSERT INTO TABLE t TABLE s", "s"),
        ("INSERT INTO t (a, b) TABLE s", "s"),
        ("INSERT OVERWRITE t FROM s SELECT a", "s"),
        ("WITH c AS (SELECT * FROM s) INSERT INTO t SELECT * FROM c", "s"),
        ("UPDATE t SET a = (SELECT max(a) FROM s)", "s"),
        ("DELETE FROM t WHERE a IN (SELECT a FROM s)", "s"),
        ("WITH c AS (SELECT * FROM s) DELETE FROM t WHERE a IN (TABLE c)", "s"),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = 1, b = s.b WHEN NOT "
         "MATCHED THEN INSERT (a, b) VALUES (s.a, (SELECT max(x) FROM u))", "s u"),
        ("MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT * FROM a JOIN b USING (id)) s ON true "
         "WHEN MATCHED THEN DELETE", "a b"),
        ("WITH c AS (SELECT 1) MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE", "s"),
        ("CREATE TABLE t AS SELECT * FROM s", "s"),
        ("CREATE TABLE t AS TABLE s", "s"),
        ("CREATE OR REPLACE VIEW v AS FROM s SELECT a", "s"),
        ("EXPLAIN DELETE FROM t WHERE a IN (TABLE s)", "s"),
        ("BEGIN DELETE FROM t; INSERT INTO u SELECT * FROM s; DELETE FROM u; END", "s"),
        ("SELECT 'FROM a' /* FROM b */ -- FROM c\n FROM `FROM d`", "FROM d"),
        ("SELECT a.from, b.join FROM x.`from`.table", "x.from.table"),
        ("SELECT * FROM t CHANGES FROM VERSION 1 TO VERSION 2, u", "t u"),
        ("SELECT * FROM t AT (VERSION => 1), s", "s"),
        ("SELECT * FROM delta.`/a/b` VERSION AS OF 1", "delta./a/b"),
        ("SHOW COLUMNS FROM t", ""),
        ("DROP TABLE t", ""),
        ("TRUNCATE TABLE t", ""),
    ],
)  # fmt: skip
def test_what_is_read(text: str, names: str) -> None:
    found = relations_in(text)
    assert " ".join(".".join(parts) for parts, _ in found) == names
    for parts, span in found:
        assert cut(text, span).replace("`", "") == ".".join(parts)


@pytest.mark.parametrize("query", QUERIES)
def test_what_is_read_is_what_the_parser_of_definitions_finds(query: str) -> None:
    places = table_places(query)
    ours = {(parts, span.start, span.end) for parts, span in relations_in(query)}
    assert ours == {(parts, start, end) for parts, start, end, _ in places}
    aliased = {(start, has_alias(query, end)) for _, start, end in ours}
    assert aliased == {(start, alias) for _, start, _, alias in places}


@pytest.mark.parametrize(
    ("after", "aliased"),
    [("", False), (" x", True), (" AS x", True), (" `where`", True), (" WHERE a", False),
     (" JOIN u", False), (" LEFT JOIN u", False), (", u", False), (") x", False), (" -- x", False),
     (" VERSION AS OF 1", False), (" FOR VERSION AS OF 1", False), (" changes", True),
     (" |> AS x", False), (" TABLESAMPLE (1 ROWS)", False), (" UNION SELECT 1", False),
     (" ON a = b", False), (" LATERAL VIEW explode(a)", False)],
)  # fmt: skip
def test_whether_an_alias_follows(after: str, aliased: bool) -> None:
    assert has_alias(f"SELECT * FROM t{after}", len("SELECT * FROM t")) is aliased


def test_has_data() -> None:
    text = (
        "SELECT system$stream_has_data ( 'db.`a b`' ), 'SYSTEM$STREAM_HAS_DATA(1)' -- SYSTEM$\n"
        'WHERE SYSTEM$STREAM_HAS_DATA("s")'
    )
    found = find_has_data(text)
    assert found == (HasData("db.`a b`"), HasData("s"))
    assert cut(text, found[0].span) == "system$stream_has_data ( 'db.`a b`' )"
    assert replace_spans(text, [(f.span, "true") for f in found]).endswith("WHERE true")
    statement = parse_statement(text)
    assert isinstance(statement, SparkStatement)
    assert statement.has_data == found


def test_last_query_id() -> None:
    text = "SELECT last_query_id ( ), 'LAST_QUERY_ID()', LAST_QUERY_ID(-1) -- LAST_QUERY_ID()"
    (span,) = find_last_query_id(text)
    assert cut(text, span) == "last_query_id ( )"
    assert find_last_query_id("SELECT last_query_id FROM t") == ()


def test_what_a_statement_holds_does_not_overlap() -> None:
    inside = "SELECT SYSTEM$STREAM_HAS_DATA('a') FROM TABLE(DYNAMIC_TABLES())"
    script = (
        f"SELECT SYSTEM$STREAM_HAS_DATA('b') FROM ({inside}) CHANGES AT (VERSION => 1), "
        "TABLE(DYNAMIC_TABLE_GRAPH_HISTORY())"
    )
    statement = parse_statement(script)
    assert isinstance(statement, SparkStatement)
    assert [call.stream for call in statement.has_data] == ["b"]
    assert [call.name for call in statement.functions] == ["DYNAMIC_TABLE_GRAPH_HISTORY"]
    (timed,) = statement.timed
    assert [call.stream for call in find_has_data(cut(script, timed.query_span))] == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT $ACTION, c.$isUpdate, c . $row_id FROM c",
         "SELECT `$ACTION`, c.`$isUpdate`, c . `$row_id` FROM c"),
        ("SELECT `$ACTION`, '$ACTION', \"$ACTION\" -- $ACTION\n/* $ROW_ID */",
         "SELECT `$ACTION`, '$ACTION', \"$ACTION\" -- $ACTION\n/* $ROW_ID */"),
        ("SELECT x$ACTION, $ACTIONS, $ACTION_, $$ $ACTION $$, $t$ $ACTION $t$",
         "SELECT x$ACTION, $ACTIONS, $ACTION_, $$ $ACTION $$, $t$ $ACTION $t$"),
        ("WHERE $ACTION='INSERT'AND($ISUPDATE)", "WHERE `$ACTION`='INSERT'AND(`$ISUPDATE`)"),
        ("SELECT count($ROW_ID) AS $ACTION", "SELECT count(`$ROW_ID`) AS `$ACTION`"),
        ("", ""),
    ],
)  # fmt: skip
def test_change_columns(text: str, expected: str) -> None:
    assert quote_change_columns(text) == expected
    assert quote_change_columns(expected) == expected


NAMES = st.sampled_from(["t", "db.t", "`a b`", "日本.`x``y`", "changes", "at.`end`",
                         "(SELECT 'a)' FROM t AT (VERSION => 1))", "(TABLE u)"])  # fmt: skip
POINTS = st.sampled_from(["(VERSION => 1)", "(ts=>now() - INTERVAL 1 DAY)", "(OFFSET => -(5))",
                          "( STATEMENT /* ) */ => ')' )", "(STREAM => \"s\")"])  # fmt: skip
STARTS = st.builds(lambda k, p: f" {k} {p}", st.sampled_from(["AT", "before"]), POINTS)
ENDS = st.one_of(st.just(""), POINTS.map(lambda p: f" END{p}"))
CLAUSES = st.one_of(
    STARTS,
    st.builds(lambda s, e: f" CHANGES{s}{e}", STARTS, ENDS),
    st.builds(
        lambda s, e: f" Changes (information => append_only){s}{e}",
        st.one_of(st.just(""), STARTS),
        ENDS,
    ),
)
TIMED = st.builds(lambda n, c: n + c, NAMES, CLAUSES)
BETWEEN = st.sampled_from([", ", " x JOIN ", " AS `changes`, ", "\n-- t AT (VERSION => 1)\n, ",
                           " a JOIN u at ON at.x = 'AT (VERSION => 1)' CROSS JOIN ",
                           " WHERE at(version => 1) UNION SELECT $ACTION FROM ",
                           " JOIN LATERAL (SELECT EXTRACT(DAY FROM d) FROM w), "])  # fmt: skip


@given(st.lists(st.tuples(TIMED, BETWEEN), min_size=1, max_size=5))
def test_replaced_by_names_the_rest_is_as_it_was(parts: list[tuple[str, str]]) -> None:
    text = "SELECT * FROM " + "".join(relation + between for relation, between in parts) + "z"
    found = find_timed(text)
    assert [cut(text, timed.span) for timed in found] == [relation for relation, _ in parts]
    views = [(timed.span, f"v{i}") for i, timed in enumerate(found)]
    expected = "SELECT * FROM " + "".join(f"v{i}{b}" for i, (_, b) in enumerate(parts)) + "z"
    assert replace_spans(text, views) == expected
    assert find_timed(expected) == ()


def check(error: DTError, text: str) -> None:
    assert error.code in {"DT-1001", "DT-1002", "DT-1003"}
    assert error.query == text
    assert error.span is not None


BITS = st.sampled_from(
    ["SELECT", "FROM", "t", "u", "(", ")", ",", "AT", "BEFORE", "END", "CHANGES", "VERSION", "=>",
     "(VERSION => 1)", "(INFORMATION => REDO)", "JOIN", "AS", "WITH", "c", "USING", "MERGE", "INTO",
     "TABLE", "LATERAL", "VALUES", "UNION", ".", ";", "`q`", "1", "'s'", "COMMON", "DELETE",
     "WHERE", "RECURSIVE"]
)  # fmt: skip


@given(st.lists(BITS, max_size=25), st.randoms(use_true_random=False))
@settings(max_examples=500)
def test_any_words(bits: list[str], rng: random.Random) -> None:
    text = "".join(bit + rng.choice([" ", "\n", " /* AT */ "]) for bit in bits)
    try:
        found = find_timed(text)
    except DTError as error:
        check(error, text)
        return
    spans = [timed.span for timed in found] + [span for _, span in relations_in(text)]
    spans.sort(key=lambda span: span.start)
    assert all(one.end <= two.start for one, two in pairwise(spans))
    assert all(span.start < span.end <= len(text) for span in spans)
    for timed in found:
        assert timed.span.start == timed.name_span.start < timed.name_span.end < timed.span.end
