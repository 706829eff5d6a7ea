"""Everything else is Spark's: what it touches, and what a later release will take."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, Name, Span
from dt_jupyter.sql.grammar.functions import (
    FunctionCall,
    find_functions,
    find_parameters,
    qualified_name,
    replace_spans,
)
from dt_jupyter.sql.grammar.parse import parse_script, parse_statement
from dt_jupyter.sql.grammar.statement_values import SparkKind, SparkStatement, Unsupported

K = SparkKind


def spark(text: str) -> SparkStatement:
    statement = parse_statement(text)
    assert isinstance(statement, SparkStatement)
    return statement


@pytest.mark.parametrize(
    ("text", "kind", "targets"),
    [
        ("SELECT 1", K.QUERY, ""),
        ("  /* x */ (SELECT 1) UNION SELECT 2", K.QUERY, ""),
        ("WITH a AS (SELECT 1) SELECT * FROM a", K.QUERY, ""),
        ("WITH insert AS (SELECT 1), b(table) AS (SELECT 2) SELECT * FROM insert", K.QUERY, ""),
        ("FROM t SELECT a", K.QUERY, ""),
        ("FROM t |> WHERE a > 1", K.QUERY, ""),
        ("VALUES (1)", K.QUERY, ""),
        ("TABLE t", K.QUERY, ""),
        ("CREATE TABLE a.b (x INT) USING delta", K.CREATE_TABLE, "a.b"),
        ("CREATE OR REPLACE TABLE t AS SELECT 1", K.CREATE_TABLE, "default.t"),
        ("REPLACE TABLE t AS SELECT 1", K.CREATE_TABLE, "default.t"),
        ("CREATE EXTERNAL TABLE IF NOT EXISTS t (x INT)", K.CREATE_TABLE, "default.t"),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1", K.CREATE_VIEW, "default.v"),
        ("CREATE GLOBAL TEMP VIEW v AS SELECT 1", K.CREATE_VIEW, "default.v"),
        ("CREATE VIEW IF NOT EXISTS v AS SELECT 1", K.CREATE_VIEW, "default.v"),
        ("ALTER TABLE t ADD COLUMN a INT", K.ALTER_TABLE, "default.t"),
        ("ALTER VIEW v AS SELECT 1", K.ALTER_VIEW, "default.v"),
        ("DROP TABLE IF EXISTS a.b PURGE", K.DROP_TABLE, "a.b"),
        ("DROP VIEW v", K.DROP_VIEW, "default.v"),
        ("DROP SCHEMA s CASCADE", K.DROP_SCHEMA, ""),
        ("INSERT INTO t VALUES (1)", K.INSERT, "default.t"),
        ("INSERT INTO TABLE t SELECT 1", K.INSERT, "default.t"),
        ("INSERT OVERWRITE a.b PARTITION (x = 1) SELECT 1", K.INSERT, "a.b"),
        ("INSERT WITH SCHEMA EVOLUTION INTO t SELECT 1", K.INSERT, "default.t"),
        ("INSERT OVERWRITE DIRECTORY 'x' SELECT 1", K.INSERT, ""),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", K.INSERT, "default.t"),
        (
            "FROM a INSERT INTO b SELECT 1 INSERT OVERWRITE c SELECT 2",
            K.INSERT,
            "default.b default.c",
        ),
        ("UPDATE t SET a = 1", K.UPDATE, "default.t"),
        ("DELETE FROM `t` WHERE a = 1", K.DELETE, "default.t"),
        ("WITH a AS (SELECT 1) DELETE FROM t WHERE x IN (SELECT * FROM a)", K.DELETE, "default.t"),
        ("MERGE INTO a.b USING c ON x = y WHEN MATCHED THEN DELETE", K.MERGE, "a.b"),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO t USING c ON x = y WHEN MATCHED THEN DELETE",
            K.MERGE,
            "default.t",
        ),
        ("TRUNCATE TABLE t", K.TRUNCATE, "default.t"),
        ("RESTORE TABLE t TO VERSION AS OF 1", K.RESTORE, "default.t"),
        ("OPTIMIZE t ZORDER BY (a)", K.OPTIMIZE, "default.t"),
        ("REORG TABLE t APPLY (PURGE)", K.OPTIMIZE, "default.t"),
        ("VACUUM t RETAIN 1 HOURS", K.VACUUM, "default.t"),
        ("SET spark.sql.ansi.enabled = false", K.SET, ""),
        ("RESET", K.SET, ""),
        ("EXECUTE IMMEDIATE 'DROP TABLE t'", K.SCRIPT, ""),
        ("BEGIN DROP TABLE t; END", K.SCRIPT, ""),
        ("SHOW TABLES", K.OTHER, ""),
        ("DESCRIBE t", K.OTHER, ""),
        ("EXPLAIN SELECT 1", K.OTHER, ""),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", K.OTHER, ""),
        ("CREATE STREAMING TABLE t", K.OTHER, ""),
        ("REFRESH TABLE t", K.OTHER, ""),
        ("42", K.OTHER, ""),
        ("INSERT", K.INSERT, ""),
        ("DROP TABLE", K.DROP_TABLE, ""),
        # no table of the session catalog
        ("DELETE FROM delta.`/x/Y`", K.DELETE, ""),
        ("INSERT INTO other.db.t VALUES (1)", K.INSERT, ""),
        ("DROP TABLE IDENTIFIER('t')", K.DROP_TABLE, ""),
        ("INSERT INTO spark_catalog.db.t VALUES (1)", K.INSERT, "db.t"),
    ],
)
def test_what_a_statement_touches(text: str, kind: SparkKind, targets: str) -> None:
    statement = spark(text)
    assert statement.kind is kind
    assert [f"{name.schema}.{name.table}" for name in statement.targets] == targets.split()
    place = statement.place("name")
    if statement.target and place:
        assert text[place.start : place.end].strip("`").endswith(statement.target.table)


def test_what_it_says_besides() -> None:
    assert spark("CREATE OR REPLACE TEMP VIEW v AS SELECT 1").temporary
    assert spark("CREATE OR REPLACE TABLE t AS SELECT 1").or_replace
    assert spark("CREATE TABLE IF NOT EXISTS t (a INT)").if_not_exists
    assert spark("DROP TABLE IF EXISTS t").if_exists
    assert not spark("DROP TABLE t").if_exists
    assert spark("ALTER TABLE t RENAME TO db.u").new_name == Name("db", "u")
    assert spark("ALTER TABLE t RENAME COLUMN a TO b").new_name is None
    assert spark("USE s").target_parts == ("s",)
    assert spark("USE SCHEMA s").target_parts == ("s",)
    assert spark("DELETE FROM delta.`/x/Y`").target_parts == ("delta", "/x/Y")


@pytest.mark.parametrize(
    ("text", "what", "place"),
    [
        ("CREATE DYNAMIC TABLE u AS SELECT * FROM t AT (VERSION => 3)",
         "AT (…) in the query of a dynamic table", "t AT (VERSION => 3)"),
        ("CREATE DYNAMIC TABLE u AS SELECT * FROM t BEFORE (STATEMENT => 'x')",
         "BEFORE (…) in the query of a dynamic table", "t BEFORE (STATEMENT => 'x')"),
        ("EXPLAIN CREATE DYNAMIC TABLE u AS SELECT * FROM t CHANGES AT (VERSION => 1) WHERE true",
         "CHANGES in the query of a dynamic table", "t CHANGES AT (VERSION => 1)"),
        ("CREATE DYNAMIC TABLE u AS SELECT SYSTEM$STREAM_HAS_DATA('s'), a FROM t AT (VERSION => 3)",
         "SYSTEM$STREAM_HAS_DATA in the query of a dynamic table", "SYSTEM$STREAM_HAS_DATA('s')"),
        ("CREATE DYNAMIC TABLE u AS SELECT * FROM TABLE(DYNAMIC_TABLES())",
         "DYNAMIC_TABLES() in the query of a dynamic table", "TABLE(DYNAMIC_TABLES())"),
        ("CREATE TRANSIENT DYNAMIC TABLE t AS SELECT 1", "TRANSIENT",
         "CREATE TRANSIENT DYNAMIC TABLE"),
    ],
)  # fmt: skip
def test_what_a_later_release_brings(text: str, what: str, place: str) -> None:
    script = f"SELECT 1; {text}"
    statement = parse_script(script)[1]
    assert isinstance(statement, Unsupported)
    found = statement.error(script)
    assert found.code == "DT-1005"
    assert found.sentence == f"{what} is not supported by this version."
    assert found.hint
    assert found.span is not None
    assert script[found.span.start : found.span.end] == place


@pytest.mark.parametrize(
    "text",
    [
        "USE role",
        "DESCRIBE stream",
        "SELECT at(timestamp => 1)",
        "SELECT 1 WHERE before(version => 1)",
        "SELECT a AS at FROM t changes",
        "SELECT * FROM t at JOIN u ON at.version = u.version",
        "SELECT * FROM t TIMESTAMP AS OF '2026-01-01'",
        "SELECT 'GRANT' AS commit",
        "SELECT '-- AT (VERSION => 1)' /* t AT (VERSION => 1) */",
        "SELECT * FROM stream",
    ],
)
def test_what_only_looks_like_one_is_spark_s(text: str) -> None:
    assert isinstance(parse_statement(text), SparkStatement)


H = "DYNAMIC_TABLE_REFRESH_HISTORY"


@pytest.mark.parametrize(
    ("query", "name", "args", "place"),
    [
        ("SELECT * FROM TABLE(DYNAMIC_TABLES())", "DYNAMIC_TABLES", (), "TABLE(DYNAMIC_TABLES())"),
        (f"SELECT * FROM table ( information_schema.{H.lower()}(name => 'a''b') ) h", H,
         (("NAME", "a'b"),),
         f"table ( information_schema.{H.lower()}(name => 'a''b') )"),
        (f"SELECT (SELECT max(x) FROM TABLE(db.INFORMATION_SCHEMA.{H}()))", H, (),
         f"TABLE(db.INFORMATION_SCHEMA.{H}())"),
        ("SELECT * FROM t JOIN DYNAMIC_TABLE_GRAPH_HISTORY() g", "DYNAMIC_TABLE_GRAPH_HISTORY", (),
         "DYNAMIC_TABLE_GRAPH_HISTORY()"),
    ],
)  # fmt: skip
def test_table_functions(
    query: str, name: str, args: tuple[tuple[str, str], ...], place: str
) -> None:
    (call,) = find_functions(query)
    assert call == FunctionCall(name, args)
    assert query[call.span.start : call.span.end] == place
    assert spark(query).functions == (call,)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 'TABLE(DYNAMIC_TABLES())' -- TABLE(DYNAMIC_TABLES())",
        "SELECT DYNAMIC_TABLES()",
        "SELECT dynamic_tables FROM t",
        "SELECT * FROM `TABLE`(`DYNAMIC_TABLES`())",
    ],
)
def test_no_table_function(query: str) -> None:
    assert find_functions(query) == ()


def test_functions_are_replaced_by_names() -> None:
    query = f"SELECT * FROM TABLE(DYNAMIC_TABLES()) a, TABLE({H}(NAME => 'x')) b"
    views = [(call.span, f"v{i}") for i, call in enumerate(find_functions(query))]
    assert replace_spans(query, views) == "SELECT * FROM v0 a, v1 b"


@pytest.mark.parametrize(
    "args",
    ["'x'", "NAME => x", "NAME => 'x' NAME => 'y'", "NAME =>", "1, 2", "NAME => 'x', NAME => 'y'"],
)
def test_bad_arguments_of_a_function(args: str) -> None:
    with pytest.raises(DTError) as caught:
        find_functions(f"SELECT * FROM TABLE({H}({args}))")
    assert caught.value.code == "DT-1001"


def test_parameters() -> None:
    text = "SELECT :a, x::int, ':no', m:field, arr[1:n], `:q`, :_b1 -- :c\nWHERE y=:y AND :a > 1"
    found = find_parameters(text)
    assert [p.name for p in found] == ["a", "_b1", "y", "a"]
    assert all(text[p.span.start : p.span.end] == ":" + p.name for p in found)
    assert found[0].span == Span(7, 9)


def test_qualified_names() -> None:
    assert qualified_name("T") == Name("default", "t")
    assert qualified_name(" a . `b.c` ") == Name("a", "b.c")
    assert qualified_name("t", "s") == Name("s", "t")
    for bad in ("", "a b", "a;", "a.b.c", "x'", "a.", "(a)"):
        with pytest.raises(DTError):
            qualified_name(bad)
