"""Our statements: what each form says, whatever its spelling."""

from __future__ import annotations

import re

import pytest

from dt_jupyter.model import Initialize, Name, RefreshMode, Span, TargetLag
from dt_jupyter.sql.grammar.parse import parse_script, parse_statement
from dt_jupyter.sql.grammar.statement_values import (
    AlterDynamicTable,
    AlterWarehouse,
    CloneDynamicTable,
    CloneSchema,
    CreateAction,
    CreateDynamicTable,
    CreateWarehouse,
    DescribeDynamicTable,
    DropDynamicTable,
    DropWarehouse,
    ExplainDynamicTable,
    PointKind,
    Refresh,
    RenameSchema,
    RenameTo,
    Resume,
    SetOptions,
    SetWarehouse,
    ShowDynamicTables,
    ShowWarehouses,
    Statement,
    Suspend,
    SwapSchemas,
    SwapWith,
    TimePoint,
    UndropDynamicTable,
    UndropSchema,
    UndropTable,
    UnsetOptions,
)

T = Name("default", "t")
DAILY = CreateDynamicTable(T, "SELECT 1 AS a")


def created(text: str) -> CreateDynamicTable:
    statement = parse_statement(text)
    assert isinstance(statement, CreateDynamicTable)
    return statement


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE DYNAMIC TABLE t AS SELECT 1 AS a", DAILY),
        ("create /* a */ dynamic -- b\n table T\nas\nSELECT 1 AS a -- end\n;", DAILY),
        ("CREATE DYNAMIC TABLE spark_catalog.`default`.t AS SELECT 1 AS a", DAILY),
        (
            "CREATE OR REPLACE DYNAMIC TABLE db.`a ``b` AS SELECT 1 AS a",
            CreateDynamicTable(Name("db", "a `b"), "SELECT 1 AS a", action=CreateAction.REPLACE),
        ),
        (
            "CREATE OR ALTER DYNAMIC TABLE t AS SELECT 1 AS a",
            CreateDynamicTable(T, "SELECT 1 AS a", action=CreateAction.ALTER),
        ),
        (
            "CREATE DYNAMIC TABLE IF NOT EXISTS t AS SELECT 1 AS a",
            CreateDynamicTable(T, "SELECT 1 AS a", action=CreateAction.IF_NOT_EXISTS),
        ),
        (
            "CREATE DYNAMIC TABLE t (x, `y z` COMMENT 'it''s') AS VALUES (1, 2)",
            CreateDynamicTable(T, "VALUES (1, 2)", (("x", None), ("y z", "it's"))),
        ),
        ("CREATE DYNAMIC TABLE t CLONE db.m", CloneDynamicTable(T, Name("db", "m"))),
        (
            "CREATE DYNAMIC TABLE t CLONE m AT (OFFSET => -60 * (1 + 1))",
            CloneDynamicTable(
                T, Name("default", "m"), TimePoint(PointKind.OFFSET, "-60 * (1 + 1)")
            ),
        ),
        (
            "CREATE OR REPLACE DYNAMIC TABLE t CLONE m BEFORE (ts => '2026-01-01')",
            CloneDynamicTable(
                T,
                Name("default", "m"),
                TimePoint(PointKind.TIMESTAMP, "'2026-01-01'", before=True),
                CreateAction.REPLACE,
            ),
        ),
        (
            "CREATE DYNAMIC TABLE t CLONE m WAREHOUSE = w TARGET_LAG = '2 hours'",
            CloneDynamicTable(T, Name("default", "m"), target_lag=TargetLag(7200), warehouse="w"),
        ),
        ("UNDROP SCHEMA S", UndropSchema("s")),
        ("ALTER SCHEMA A RENAME TO `B`", RenameSchema("a", "b")),
        ("ALTER DATABASE a SWAP WITH B", SwapSchemas("a", "b")),
        ("CREATE SCHEMA B CLONE `A`", CloneSchema("b", "a")),
        (
            "CREATE DATABASE IF NOT EXISTS b CLONE a AT (OFFSET => -60)",
            CloneSchema("b", "a", TimePoint(PointKind.OFFSET, "-60"), CreateAction.IF_NOT_EXISTS),
        ),
        (
            "ALTER DYNAMIC TABLE t CLUSTER BY (a, b.c)",
            AlterDynamicTable(T, SetOptions(cluster_by=("a", "b.c"))),
        ),
        (
            "ALTER DYNAMIC TABLE t DROP CLUSTERING KEY",
            AlterDynamicTable(T, UnsetOptions(frozenset({"CLUSTER BY"}))),
        ),
        ("ALTER DYNAMIC TABLE t SUSPEND", AlterDynamicTable(T, Suspend())),
        ("ALTER DYNAMIC TABLE IF EXISTS t RESUME", AlterDynamicTable(T, Resume(), True)),
        ("ALTER DYNAMIC TABLE t REFRESH", AlterDynamicTable(T, Refresh())),
        ("ALTER DYNAMIC TABLE t REFRESH FULL", AlterDynamicTable(T, Refresh(full=True))),
        ("ALTER DYNAMIC TABLE t REFRESH nowait", AlterDynamicTable(T, Refresh(nowait=True))),
        ("ALTER DYNAMIC TABLE t REFRESH FULL NOWAIT", AlterDynamicTable(T, Refresh(True, True))),
        ("ALTER DYNAMIC TABLE t RENAME TO db.m", AlterDynamicTable(T, RenameTo(Name("db", "m")))),
        ("ALTER DYNAMIC TABLE t SWAP WITH m", AlterDynamicTable(T, SwapWith(Name("default", "m")))),
        (
            "ALTER DYNAMIC TABLE t SET TARGET_LAG = '2 hours' WAREHOUSE = big SCHEDULER = DISABLE "
            "CLUSTER BY (a, b.c) DATA_RETENTION_TIME_IN_DAYS = 7 ALTER_SOURCES = FALSE COMMENT ''",
            AlterDynamicTable(
                T, SetOptions(TargetLag(7200), "big", False, ("a", "b.c"), 7, False, "")
            ),
        ),
        (
            "ALTER DYNAMIC TABLE t UNSET COMMENT, CLUSTER BY, warehouse",
            AlterDynamicTable(T, UnsetOptions(frozenset({"COMMENT", "CLUSTER BY", "WAREHOUSE"}))),
        ),
        ("DROP DYNAMIC TABLE t", DropDynamicTable(T)),
        ("DROP DYNAMIC TABLE IF EXISTS t", DropDynamicTable(T, True)),
        ("UNDROP DYNAMIC TABLE t", UndropDynamicTable(T)),
        ("UNDROP TABLE t", UndropTable(T)),
        ("DESCRIBE DYNAMIC TABLE t", DescribeDynamicTable(T)),
        ("DESC DYNAMIC TABLE t", DescribeDynamicTable(T)),
        ("SHOW DYNAMIC TABLES", ShowDynamicTables()),
        ("SHOW DYNAMIC TABLES LIKE 'a\\'%'", ShowDynamicTables("a'%")),
        ("EXPLAIN DYNAMIC TABLE t", ExplainDynamicTable(T)),
        ("EXPLAIN CREATE DYNAMIC TABLE t AS SELECT 1 AS a", ExplainDynamicTable(DAILY)),
        ("CREATE WAREHOUSE W", CreateWarehouse("w")),
        (
            "CREATE WAREHOUSE IF NOT EXISTS w WEIGHT = 3 MAX_CONCURRENCY_LEVEL = 4",
            CreateWarehouse("w", 4, 3, CreateAction.IF_NOT_EXISTS),
        ),
        ("CREATE OR REPLACE WAREHOUSE w", CreateWarehouse("w", action=CreateAction.REPLACE)),
        ("ALTER WAREHOUSE w SUSPEND", AlterWarehouse("w", Suspend())),
        ("ALTER WAREHOUSE IF EXISTS w RESUME", AlterWarehouse("w", Resume(), True)),
        ("ALTER WAREHOUSE w SET WEIGHT = 3", AlterWarehouse("w", SetWarehouse(weight=3))),
        ("DROP WAREHOUSE IF EXISTS w", DropWarehouse("w", True)),
        ("SHOW WAREHOUSES LIKE 'a%'", ShowWarehouses("a%")),
    ],
)
def test_what_a_statement_says(text: str, statement: Statement) -> None:
    assert parse_statement(text) == statement


OPTIONS = {
    "TARGET_LAG = '5 minutes'": ("target_lag", TargetLag(300)),
    "TARGET_LAG = downstream": ("target_lag", TargetLag(None)),
    "WAREHOUSE = Big": ("warehouse", "big"),
    "WAREHOUSE = `my wh`": ("warehouse", "my wh"),
    "REFRESH_MODE = incremental": ("refresh_mode", RefreshMode.INCREMENTAL),
    "REFRESH_MODE = 'FULL'": ("refresh_mode", RefreshMode.FULL),
    "INITIALIZE = ON_SCHEDULE": ("initialize", Initialize.ON_SCHEDULE),
    "SCHEDULER = DISABLE": ("scheduler", False),
    "SCHEDULER = ENABLE": ("scheduler", True),
    "CLUSTER BY (a, `b c`)": ("cluster_by", ("a", "b c")),
    "DATA_RETENTION_TIME_IN_DAYS = 0": ("retention_days", 0),
    "ALTER_SOURCES = false": ("alter_sources", False),
    "COMMENT = 'a ; AS b'": ("comment", "a ; AS b"),
    "COMMENT 'spelled as Spark does'": ("comment", "spelled as Spark does"),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option(option: str) -> None:
    field, value = OPTIONS[option]
    statement = created(f"CREATE DYNAMIC TABLE t {option} AS SELECT 1")
    assert getattr(statement, field) == value
    assert statement.given == {re.split(r" [=('']", option, maxsplit=1)[0]}


def test_options_come_in_any_order_with_or_without_commas() -> None:
    one = created("CREATE DYNAMIC TABLE t WAREHOUSE = w TARGET_LAG = '1 day' AS SELECT 1")
    two = created("CREATE DYNAMIC TABLE t TARGET_LAG = '24 hours', WAREHOUSE = W AS SELECT 1")
    assert one == two
    assert one.given == {"WAREHOUSE", "TARGET_LAG"}


def test_the_query_is_exact_and_has_its_place() -> None:
    query = "WITH a AS (SELECT ';' AS s /* ; */) -- ;\n  SELECT *\tFROM a"
    script = (
        f"SELECT 1; -- first\nCREATE DYNAMIC TABLE t COMMENT = 'x' AS -- why\n{query} ; SELECT 2"
    )
    statement = parse_script(script)[1]
    assert isinstance(statement, CreateDynamicTable)
    assert statement.query == query
    assert script[statement.query_offset :].startswith(query)
    assert statement.place("query") == Span(
        statement.query_offset, statement.query_offset + len(query)
    )
    assert script[statement.offset :].startswith(statement.text)
    assert statement.text.startswith("CREATE")
    assert statement.text.endswith(query)


def test_places_are_those_of_the_script() -> None:
    script = "SELECT 1; EXPLAIN CREATE DYNAMIC TABLE a.b WAREHOUSE = w AS SELECT 2"
    statement = parse_script(script)[1]
    assert isinstance(statement, ExplainDynamicTable)
    assert isinstance(statement.subject, CreateDynamicTable)
    for key, text in (("name", "a.b"), ("WAREHOUSE", "w"), ("query", "SELECT 2")):
        span = statement.subject.place(key)
        assert span is not None
        assert script[span.start : span.end] == text
    assert statement.place("COMMENT") is None


def test_names_without_a_schema_are_of_the_current_one() -> None:
    statement = parse_statement("ALTER DYNAMIC TABLE t RENAME TO u", "sales")
    assert statement == AlterDynamicTable(Name("sales", "t"), RenameTo(Name("sales", "u")))


def test_keywords_can_be_quoted_names() -> None:
    assert created("CREATE DYNAMIC TABLE `as` AS SELECT 1").name == Name("default", "as")
    assert parse_statement("DROP DYNAMIC TABLE dynamic") == DropDynamicTable(
        Name("default", "dynamic")
    )
