"""Streams and transactions as statements: what each form says, and what is no form."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, Name
from dt_jupyter.sql.grammar.parse import parse_script, parse_statement
from dt_jupyter.sql.grammar.statement_values import (
    AlterStream,
    Begin,
    CloneStream,
    Commit,
    CreateAction,
    CreateStream,
    DescribeStream,
    DropStream,
    PointKind,
    Rollback,
    SetStream,
    ShowStreams,
    SparkKind,
    SparkStatement,
    Statement,
    StreamSource,
    TimePoint,
    UndropStream,
    UnsetOptions,
)

S = Name("default", "s")
T = Name("default", "t")
STREAM = CreateStream(S, StreamSource.TABLE, T)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE STREAM s ON TABLE t", STREAM),
        ("create /* a */ stream S -- b\n on table `T` ;", STREAM),
        (
            "CREATE STREAM a.`b c` ON VIEW spark_catalog.`ü`.`on`",
            CreateStream(Name("a", "b c"), StreamSource.VIEW, Name("ü", "on")),
        ),
        (
            "CREATE STREAM stream ON DYNAMIC TABLE table",
            CreateStream(
                Name("default", "stream"), StreamSource.DYNAMIC_TABLE, Name("default", "table")
            ),
        ),
        (
            "CREATE OR REPLACE STREAM s ON TABLE t",
            CreateStream(S, StreamSource.TABLE, T, action=CreateAction.REPLACE),
        ),
        (
            "CREATE STREAM IF NOT EXISTS s ON TABLE t",
            CreateStream(S, StreamSource.TABLE, T, action=CreateAction.IF_NOT_EXISTS),
        ),
        (
            "CREATE STREAM s ON TABLE t AT (VERSION => 3)",
            CreateStream(S, StreamSource.TABLE, T, TimePoint(PointKind.VERSION, "3")),
        ),
        (
            "CREATE STREAM s ON TABLE t BEFORE (STATEMENT => 'x)')",
            CreateStream(S, StreamSource.TABLE, T, TimePoint(PointKind.STATEMENT, "'x)'", True)),
        ),
        (
            "CREATE STREAM s ON TABLE t at(stream=>'o') append_only=true show_initial_rows = TRUE "
            "COMMENT 'it''s'",
            CreateStream(
                S, StreamSource.TABLE, T, TimePoint(PointKind.STREAM, "'o'"), True, True, "it's"
            ),
        ),
        (
            "CREATE STREAM s ON TABLE t COMMENT = 'c', SHOW_INITIAL_ROWS = FALSE, "
            "AT (TS => now() - INTERVAL 1 DAY), APPEND_ONLY = TRUE",
            CreateStream(
                S,
                StreamSource.TABLE,
                T,
                TimePoint(PointKind.TIMESTAMP, "now() - INTERVAL 1 DAY"),
                append_only=True,
                comment="c",
            ),
        ),
        (
            "CREATE STREAM s ON TABLE t MAX_DATA_EXTENSION_TIME_IN_DAYS = 3",
            CreateStream(S, StreamSource.TABLE, T, extension_days=3),
        ),
        ("CREATE OR REPLACE STREAM s CLONE t", CloneStream(S, T, action=CreateAction.REPLACE)),
        (
            "CREATE STREAM IF NOT EXISTS s CLONE t AT (VERSION => 1)",
            CloneStream(S, T, TimePoint(PointKind.VERSION, "1"), action=CreateAction.IF_NOT_EXISTS),
        ),
        ("ALTER STREAM s SET COMMENT = 'x'", AlterStream(S, SetStream("x"))),
        (
            "ALTER STREAM IF EXISTS s SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 0",
            AlterStream(S, SetStream(extension_days=0), True),
        ),
        ("ALTER STREAM s UNSET COMMENT", AlterStream(S, UnsetOptions(frozenset({"COMMENT"})))),
        ("UNDROP STREAM IF EXISTS s", UndropStream(S, True)),
        ("DROP STREAM s", DropStream(S)),
        ("DROP STREAM IF EXISTS s", DropStream(S, True)),
        ("DESCRIBE STREAM s", DescribeStream(S)),
        ("DESC STREAM `s`", DescribeStream(S)),
        ("SHOW STREAMS", ShowStreams()),
        ("SHOW STREAMS LIKE 'a%'", ShowStreams("a%")),
        ("BEGIN", Begin()),
        ("begin;", Begin()),
        ("BEGIN TRANSACTION", Begin()),
        ("BEGIN WORK NAME `my load`", Begin("my load")),
        ("BEGIN NAME x", Begin("x")),
        ("START TRANSACTION", Begin()),
        ("START TRANSACTION NAME x", Begin("x")),
        ("COMMIT", Commit()),
        ("commit work", Commit()),
        ("ROLLBACK", Rollback()),
        ("ROLLBACK WORK;", Rollback()),
    ],
)
def test_what_a_statement_says(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


def test_a_transaction_among_other_statements() -> None:
    script = "BEGIN; INSERT INTO t SELECT * FROM s; COMMIT; BEGIN SELECT 1; END; ROLLBACK"
    begin, insert, commit, block, rollback = parse_script(script)
    assert (begin, commit, rollback) == (Begin(), Commit(), Rollback())
    assert isinstance(insert, SparkStatement)
    assert isinstance(block, SparkStatement)
    assert block.kind is SparkKind.SCRIPT
    assert script[commit.offset :].startswith("COMMIT;")


@pytest.mark.parametrize(
    "text",
    ["DESCRIBE stream", "DESC stream.t", "BEGIN END", "BEGIN SELECT 1; END", "SELECT 1 AS commit",
     "CREATE STREAMING TABLE t", "SHOW TABLES LIKE 'streams'"],
)  # fmt: skip
def test_what_only_looks_like_one_is_spark_s(text: str) -> None:
    assert isinstance(parse_statement(text), SparkStatement)


def test_places_are_those_of_the_script() -> None:
    script = "SELECT 1; CREATE STREAM a.b ON VIEW c AT (OFFSET => -(60)) APPEND_ONLY = TRUE"
    statement = parse_script(script)[1]
    for key, text in (
        ("name", "a.b"),
        ("source", "c"),
        ("at", "AT (OFFSET => -(60))"),
        ("APPEND_ONLY", "TRUE"),
    ):
        span = statement.place(key)
        assert span is not None
        assert script[span.start : span.end] == text
    assert statement.place("COMMENT") is None


C = "CREATE STREAM s ON TABLE t "


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("CREATE STREAM", "DT-1001", ""),
        ("CREATE STREAM s", "DT-1001", ""),
        ("CREATE STREAM s FOR TABLE t", "DT-1001", "FOR"),
        ("CREATE STREAM s ON t", "DT-1001", "t"),
        ("CREATE STREAM s ON STAGE t", "DT-1001", "STAGE"),
        ("CREATE STREAM s ON TABLE", "DT-1001", ""),
        ("CREATE STREAM s CLONE t APPEND_ONLY = TRUE", "DT-1001", "APPEND_ONLY"),
        ("ALTER STREAM s SET APPEND_ONLY = TRUE", "DT-1002", "APPEND_ONLY"),
        ("ALTER STREAM s SET MAX_DATA_EXTENSION_TIME_IN_DAYS = 91", "DT-1003", "91"),
        ("ALTER STREAM s SUSPEND", "DT-1001", "SUSPEND"),
        ("ALTER STREAM s SET", "DT-1001", ""),
        ("ALTER STREAM s UNSET APPEND_ONLY", "DT-1002", "APPEND_ONLY"),
        ("CREATE STREAM s ON DYNAMIC t", "DT-1001", "DYNAMIC"),
        ("CREATE OR ALTER STREAM s ON TABLE t", "DT-1001", "CREATE"),
        ("CREATE OR REPLACE STREAM IF NOT EXISTS s ON TABLE t", "DT-1001", "IF"),
        ("CREATE STREAM __dt_s ON TABLE t", "DT-1114", "__dt_s"),
        (C + "AT", "DT-1001", ""),
        (C + "AT (HOUR => 1)", "DT-1001", "HOUR"),
        (C + "AT (COMMON)", "DT-1001", "COMMON"),
        (C + "AT (VERSION => )", "DT-1001", ")"),
        (C + "AT (VERSION = 1)", "DT-1001", "="),
        (C + "AT (VERSION => 1) BEFORE (VERSION => 2)", "DT-1001", "BEFORE"),
        (C + "APPEND_ONLY", "DT-1001", ""),
        (C + "APPEND_ONLY = TRUE APPEND_ONLY = TRUE", "DT-1001", "APPEND_ONLY"),
        (C + "AS SELECT 1", "DT-1002", "AS"),
        (C + "INSERT_ONLY = TRUE", "DT-1002", "INSERT_ONLY"),
        (C + "APPEND_ONLY = 1", "DT-1003", "1"),
        (C + "COMMENT = x", "DT-1003", "x"),
        ("DROP STREAM", "DT-1001", ""),
        ("DROP STREAM s CASCADE", "DT-1001", "CASCADE"),
        ("DESCRIBE STREAM s EXTENDED", "DT-1001", "EXTENDED"),
        ("SHOW STREAMS IN x", "DT-1001", "IN"),
        ("SHOW STREAMS LIKE p", "DT-1001", "p"),
        ("BEGIN TRANSACTION READ ONLY", "DT-1001", "READ"),
        ("BEGIN NAME", "DT-1001", ""),
        ("START TRANSACTION WORK", "DT-1001", "WORK"),
        ("COMMIT AND CHAIN", "DT-1001", "AND"),
        ("ROLLBACK TO x", "DT-1001", "TO"),
    ],
)
@pytest.mark.parametrize("before", ["", "SELECT 1;\n-- two\n"])
def test_where_and_why(before: str, text: str, code: str, place: str) -> None:
    with pytest.raises(DTError) as caught:
        parse_script(before + text)
    found = caught.value
    assert found.code == code
    assert found.query == before + text
    assert found.span is not None
    assert found.query[found.span.start : found.span.end] == place
    assert found.span.start >= len(before)
    assert found.hint
