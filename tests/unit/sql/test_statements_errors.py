"""Bad statements: a code, and the very place."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sql.grammar.parse import parse_script, parse_statement

C = "CREATE DYNAMIC TABLE "


def failure(script: str) -> DTError:
    with pytest.raises(DTError) as caught:
        parse_script(script)
    return caught.value


@pytest.mark.parametrize(
    ("script", "code", "place"),
    [
        # 1001: the form
        (C + "t", "DT-1001", ""),
        (C + "t AS", "DT-1001", ""),
        (C + "t AS ; SELECT 1", "DT-1001", ""),
        (C + "AS SELECT 1", "DT-1001", "AS"),
        (C + "TARGET_LAG = '1 day' AS SELECT 1", "DT-1001", "TARGET_LAG"),
        (C + "t SELECT 1", "DT-1001", "SELECT"),
        (C + "t AS DELETE FROM x", "DT-1001", "DELETE"),
        (C + "t AS WITH a AS (SELECT 1) INSERT INTO b SELECT * FROM a", "DT-1001", "WITH"),
        (C + "my-table AS SELECT 1", "DT-1001", "my-"),
        (C + "a.b.c.d AS SELECT 1", "DT-1001", "a.b.c.d"),
        (C + "hive.b.c AS SELECT 1", "DT-1001", "hive.b.c"),
        (C + "`` AS SELECT 1", "DT-1001", "``"),
        (C + "1 AS SELECT 1", "DT-1001", "1"),
        (C + "'t' AS SELECT 1", "DT-1001", "'t'"),
        (C + "a. AS SELECT 1", "DT-1001", "AS"),
        (C + "t (a, A) AS SELECT 1", "DT-1001", "A"),
        (C + "t (a INT) AS SELECT 1", "DT-1001", "INT"),
        (C + "t () AS SELECT 1", "DT-1001", ")"),
        (C + "t WAREHOUSE w AS SELECT 1", "DT-1001", "w"),
        (C + "t WAREHOUSE = AS SELECT 1", "DT-1001", "AS"),
        (C + "t WAREHOUSE = a WAREHOUSE = b AS SELECT 1", "DT-1001", "WAREHOUSE"),
        (C + "t CLUSTER BY (a) CLUSTER BY (b) AS SELECT 1", "DT-1001", "CLUSTER"),
        (C + "t CLUSTER BY (a + 1) AS SELECT 1", "DT-1001", "+"),
        ("CREATE OR ALTER DYNAMIC TABLE t CLONE m", "DT-1001", "CREATE"),
        (C + "t CLONE m COMMENT = 'x'", "DT-1002", "COMMENT"),
        ("CREATE SCHEMA b CLONE a AT (VERSION => 1)", "DT-1001", "AT (VERSION => 1)"),
        ("CREATE SCHEMA b CLONE a WITH", "DT-1001", "WITH"),
        ("CREATE OR REPLACE SCHEMA b CLONE a", "DT-1001", "CREATE"),
        ("ALTER DYNAMIC TABLE t CLUSTER BY", "DT-1001", ""),
        ("ALTER DYNAMIC TABLE t CLUSTER BY (a) SUSPEND", "DT-1002", "SUSPEND"),
        ("ALTER DYNAMIC TABLE t DROP CLUSTERING KEY x", "DT-1001", "x"),
        (C + "t CLONE m AT (HOUR => 1)", "DT-1001", "HOUR"),
        (C + "t CLONE m AT (OFFSET => )", "DT-1001", ")"),
        (C + "t CLONE m AT (OFFSET => (1)", "DT-1001", ""),
        ("CREATE OR REPLACE DYNAMIC TABLE IF NOT EXISTS t AS SELECT 1", "DT-1001", "IF"),
        ("CREATE OR ALTER WAREHOUSE w", "DT-1001", "CREATE"),
        ("ALTER DYNAMIC TABLE t", "DT-1001", ""),
        ("ALTER DYNAMIC TABLE t DANCE", "DT-1001", "DANCE"),
        ("ALTER DYNAMIC TABLE t SUSPEND RESUME", "DT-1001", "RESUME"),
        ("ALTER DYNAMIC TABLE t SET", "DT-1001", ""),
        ("ALTER DYNAMIC TABLE t SET REFRESH_MODE = FULL", "DT-1001", "REFRESH_MODE"),
        ("ALTER DYNAMIC TABLE t UNSET", "DT-1001", ""),
        ("ALTER DYNAMIC TABLE t UNSET COMMENT,", "DT-1001", ""),
        ("ALTER WAREHOUSE w", "DT-1001", ""),
        ("ALTER WAREHOUSE w SET", "DT-1001", ""),
        ("DROP DYNAMIC TABLE t CASCADE", "DT-1001", "CASCADE"),
        ("DROP DYNAMIC TABLE", "DT-1001", ""),
        ("UNDROP STREAMS s", "DT-1001", "STREAMS"),
        ("ALTER SCHEMA a RENAME TO", "DT-1001", ""),
        ("ALTER SCHEMA a RENAME TO b.c", "DT-1001", "."),
        ("UNDROP SCHEMA s.t", "DT-1001", "."),
        ("REFRESH DYNAMIC TABLE t", "DT-1001", "REFRESH"),
        ("SHOW DYNAMIC TABLES LIKE p", "DT-1001", "p"),
        ("SHOW WAREHOUSES IN x", "DT-1001", "IN"),
        ("EXPLAIN DYNAMIC TABLE t AS SELECT 1", "DT-1001", "AS"),
        ("SELECT 1; SELECT 'abc\nFROM t", "DT-1001", "'abc"),
        ("SELECT `abc", "DT-1001", "`abc"),
        ("SELECT 1 /* /* */", "DT-1001", "/* /* */"),
        ("SELECT $$abc", "DT-1001", "$$abc"),
        # 1002: options
        (C + "t TARGET_LOG = '1 day' AS SELECT 1", "DT-1002", "TARGET_LOG"),
        (C + "t FOO AS SELECT 1", "DT-1002", "FOO"),
        ("ALTER DYNAMIC TABLE t SET WEIGHT = 1", "DT-1002", "WEIGHT"),
        ("ALTER DYNAMIC TABLE t UNSET REFRESH_MODE", "DT-1002", "REFRESH_MODE"),
        ("CREATE WAREHOUSE w SIZE = 1", "DT-1002", "SIZE"),
        ("SELECT * FROM TABLE(DYNAMIC_TABLES(NAME => 'x'))", "DT-1002", "NAME"),
        # 1003: values
        (C + "t TARGET_LAG = '5 parsecs' AS SELECT 1", "DT-1003", "'5 parsecs'"),
        (C + "t TARGET_LAG = '0 seconds' AS SELECT 1", "DT-1003", "'0 seconds'"),
        (C + "t TARGET_LAG = 5 AS SELECT 1", "DT-1003", "5"),
        (C + "t REFRESH_MODE = FUL AS SELECT 1", "DT-1003", "FUL"),
        (C + "t INITIALIZE = NOW AS SELECT 1", "DT-1003", "NOW"),
        (C + "t SCHEDULER = TRUE AS SELECT 1", "DT-1003", "TRUE"),
        (C + "t ALTER_SOURCES = 1 AS SELECT 1", "DT-1003", "1"),
        (C + "t COMMENT = x AS SELECT 1", "DT-1003", "x"),
        (C + "t WAREHOUSE = '' AS SELECT 1", "DT-1003", "''"),
        (C + "t DATA_RETENTION_TIME_IN_DAYS = -1 AS SELECT 1", "DT-1003", "-1"),
        (C + "t DATA_RETENTION_TIME_IN_DAYS = 1.5 AS SELECT 1", "DT-1003", "1.5"),
        (C + f"t DATA_RETENTION_TIME_IN_DAYS = {'9' * 5000} AS SELECT 1", "DT-1003", "9" * 5000),
        ("CREATE WAREHOUSE w WEIGHT = 0", "DT-1003", "0"),
        ("CREATE WAREHOUSE w WEIGHT = 1001", "DT-1003", "1001"),
        # 1114: reserved names
        (C + "__DT_x AS SELECT 1", "DT-1114", "__DT_x"),
        (C + "__dt_s.t AS SELECT 1", "DT-1114", "__dt_s"),
        (C + "t (a, `__dt_b`) AS SELECT 1", "DT-1114", "`__dt_b`"),
        ("ALTER DYNAMIC TABLE t RENAME TO __dt_x", "DT-1114", "__dt_x"),
        ("CREATE WAREHOUSE __dt_w", "DT-1114", "__dt_w"),
        (C + "t WAREHOUSE = __dt_w AS SELECT 1", "DT-1114", "__dt_w"),
        ("CREATE TABLE db.__dt_x (a INT)", "DT-1114", "db.__dt_x"),
        ("ALTER TABLE t RENAME TO a.__dt_x", "DT-1114", "a.__dt_x"),
    ],
)
@pytest.mark.parametrize("before", ["", "SELECT 1;\n-- two\n"])
def test_where_and_why(before: str, script: str, code: str, place: str) -> None:
    found = failure(before + script)
    assert found.code == code
    assert found.query == before + script
    assert found.span is not None
    assert found.query[found.span.start : found.span.end] == place
    assert found.span.start >= len(before)
    assert found.hint


def test_the_option_that_was_meant_comes_first() -> None:
    found = failure(C + "t TARGET_LOG = '1 day' AS SELECT 1")
    assert found.hint.startswith("Known options: TARGET_LAG (did you mean this?), ")
    assert failure(C + "t REFRESH_MODE = FUL AS SELECT 1").hint == "Did you mean FULL?"


@pytest.mark.parametrize(
    ("script", "meant"),
    [
        (C + "t LAG = '1 day' AS SELECT 1", "TARGET_LAG"),
        (C + "t MODE = FULL AS SELECT 1", "REFRESH_MODE"),
        (C + "t FREQUENCY = '1 day' AS SELECT 1", "TARGET_LAG"),
        (C + "t DESCRIPTION = 'x' AS SELECT 1", "COMMENT"),
        ("ALTER DYNAMIC TABLE t SET LAG = '1 day'", "TARGET_LAG"),
        ("ALTER DYNAMIC TABLE t UNSET RETENTION", "DATA_RETENTION_TIME_IN_DAYS"),
        ("CREATE WAREHOUSE w SIZE = 3", "MAX_CONCURRENCY_LEVEL"),
    ],
)
def test_a_part_of_an_option_and_another_systems_word_are_understood(
    script: str, meant: str
) -> None:
    assert failure(script).hint.startswith(f"Known options: {meant} (did you mean this?)")


@pytest.mark.parametrize(
    ("script", "meant"),
    [
        ("ALTER DYNAMIC TABLE t SUSPND", "SUSPEND"),
        ("ALTER DYNAMIC TABLE t REFERSH", "REFRESH"),
        ("ALTER WAREHOUSE w RESUM", "RESUME"),
        ("ALTER TASK k EXECUT", "EXECUTE"),
        ("ALTER SINK s RESETT", "RESET"),
        ("CREATE SINK s FORM TABLE t INTO 'sqlite:///x'", "FROM"),
        ("ALTER STREAM s UNSETT COMMENT", "UNSET"),
    ],
)
def test_a_misspelled_keyword_of_ours_is_suggested(script: str, meant: str) -> None:
    found = failure(script)
    assert found.code == "DT-1001"
    assert found.hint.startswith(f"Did you mean {meant}"), found.hint


def test_a_fixed_option_says_what_to_do_instead() -> None:
    found = failure("ALTER DYNAMIC TABLE t SET WAREHOUSE = w INITIALIZE = ON_CREATE")
    assert "can only be set at creation" in found.sentence
    assert "CREATE OR ALTER" in found.hint


def test_one_statement_is_one() -> None:
    with pytest.raises(DTError, match="no statement"):
        parse_statement(" -- nothing\n;")
    with pytest.raises(DTError, match="not several") as caught:
        parse_statement("SELECT 1; SELECT 2")
    assert caught.value.span is not None
    assert caught.value.span.start == len("SELECT 1; ")


def test_a_script_of_comments_is_empty() -> None:
    assert parse_script("") == ()
    assert parse_script(" ; -- a\n /* b; */ ;;") == ()
