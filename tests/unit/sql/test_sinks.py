"""Statements of sinks: what they say, and where they are wrong."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, Name, TargetLag
from dt_jupyter.sql.grammar.parse import parse_statement
from dt_jupyter.sql.grammar.statement_values import (
    AlterSink,
    CreateAction,
    CreateSink,
    DescribeSink,
    DropSink,
    Refresh,
    ResetSink,
    Resume,
    RetryDeadLetters,
    SetSink,
    ShowSinks,
    SparkStatement,
    Statement,
    StreamSource,
    Suspend,
)

S, T = Name("default", "s"), Name("default", "t")
TABLE = StreamSource.TABLE
C = "CREATE SINK s FROM TABLE t INTO 'sqlite:///a' "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (C, CreateSink(S, TABLE, T, "sqlite:///a")),
        (
            "create sink if not exists a.s from dynamic table t into 'file:///x'",
            CreateSink(
                Name("a", "s"), StreamSource.DYNAMIC_TABLE, T, "file:///x",
                action=CreateAction.IF_NOT_EXISTS,
            ),
        ),
        (
            f"{C} KEY (id, `a b`) DELTA_UPDATES = TRUE TARGET_LAG = '1 minute', WAREHOUSE = W "
            "REDUCE (n SUM, tags set) PARTITIONS = 4 OPTIONS (Adopt = TRUE, timeout = '5') "
            "COMMENT = 'c'",
            CreateSink(
                S, TABLE, T, "sqlite:///a", ("id", "a b"), True, TargetLag(60.0), "w",
                (("n", "SUM"), ("tags", "SET")), 4, (("adopt", "TRUE"), ("timeout", "5")), "c",
            ),
        ),
        ("ALTER SINK s SUSPEND", AlterSink(S, Suspend())),
        ("ALTER SINK IF EXISTS s RESUME", AlterSink(S, Resume(), True)),
        ("ALTER SINK s REFRESH", AlterSink(S, Refresh())),
        ("ALTER SINK s RESET", AlterSink(S, ResetSink())),
        ("ALTER SINK s RETRY DEAD LETTERS", AlterSink(S, RetryDeadLetters())),
        (
            "ALTER SINK s SET TARGET_LAG = DOWNSTREAM PARTITIONS = 2",
            AlterSink(S, SetSink(TargetLag(None), partitions=2)),
        ),
        ("DROP SINK IF EXISTS s", DropSink(S, True)),
        ("DESC SINK s", DescribeSink(S)),
        ("SHOW SINKS LIKE 'a%'", ShowSinks("a%")),
    ],
)  # fmt: skip
def test_what_a_statement_says(text: str, expected: Statement) -> None:
    assert parse_statement(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("CREATE SINK s", "DT-1001", ""),
        ("CREATE SINK s FROM t INTO 'x'", "DT-1001", "t"),
        ("CREATE SINK s FROM TABLE t", "DT-1001", ""),
        ("CREATE SINK s FROM TABLE t INTO x", "DT-1001", "x"),
        ("CREATE OR REPLACE SINK s FROM TABLE t INTO 'x'", "DT-1001", "CREATE"),
        (f"{C} KEY id", "DT-1001", "id"),
        (f"{C} KEY ()", "DT-1001", ")"),
        (f"{C} KEY (a, A)", "DT-1001", "A"),
        (f"{C} KEY (a) KEY (b)", "DT-1001", "KEY"),
        (f"{C} REDUCE (a SOME)", "DT-1001", "SOME"),
        (f"{C} OPTIONS (a 'b')", "DT-1001", "'b'"),
        (f"{C} TARGET_LGA = '1 minute'", "DT-1002", "TARGET_LGA"),
        (f"{C} PARTITIONS = 0", "DT-1003", "0"),
        ("ALTER SINK s", "DT-1001", ""),
        ("ALTER SINK s SET DELTA_UPDATES = TRUE", "DT-1002", "DELTA_UPDATES"),
        ("CREATE SINK __dt_s FROM TABLE t INTO 'x'", "DT-1114", "__dt_s"),
    ],
)
def test_where_a_statement_is_wrong(text: str, code: str, place: str) -> None:
    with pytest.raises(DTError) as e:
        parse_statement(text)
    assert e.value.code == code
    assert e.value.span is not None
    assert text[e.value.span.start : e.value.span.end] == place


def test_what_is_no_statement_of_sinks() -> None:
    assert isinstance(parse_statement("DESCRIBE sink"), SparkStatement)
